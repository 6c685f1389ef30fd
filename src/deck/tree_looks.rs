//! [`TreeLooks`]: reads of the work tree beside the deck, one at a time.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::deck_options::{DeckOptions, TreeOfNow};
use super::model::Model;

/// A read that began before it was asked for another one may have missed what changed in between:
/// it is followed by one more.
pub(super) struct TreeLooks {
    reads: mpsc::Sender<Option<TreeOfNow>>,
    done: mpsc::Receiver<Option<TreeOfNow>>,
    is_wanted_again: bool,
}

impl TreeLooks {
    pub(super) fn new() -> Self {
        let (reads, done) = mpsc::channel(1);
        Self {
            reads,
            done,
            is_wanted_again: false,
        }
    }

    /// Begins a read, now or once the one before is done.
    pub(super) fn look(&mut self, options: &DeckOptions, model: &Model) {
        let Ok(place) = self.reads.clone().try_reserve_owned() else {
            self.is_wanted_again = true;
            return;
        };
        let read = Arc::clone(&options.read_tree);
        let approved = model.world.approved_tree.clone();
        tokio::task::spawn_blocking(move || {
            place.send(read(approved));
        });
    }

    /// What a read came to. Ready only when one is done.
    pub(super) async fn done(&mut self) -> Option<TreeOfNow> {
        self.done.recv().await.flatten()
    }

    /// After one is done: begins the next, if one was asked for meanwhile.
    pub(super) fn go_on(&mut self, options: &DeckOptions, model: &Model) {
        if std::mem::take(&mut self.is_wanted_again) {
            self.look(options, model);
        }
    }
}
