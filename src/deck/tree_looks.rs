//! [`TreeLooks`]: reads of the work tree beside the deck, one at a time. Each uses a [`ReadTree`],
//! which returns the [`TreeOfNow`].

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::core::entry::{TreeFound, WorkTree};
use crate::core::snapshot::ChangedFiles;
use crate::deck::followed::model::Model;

/// While a card that tells of the tree is open, it is read again this long after the last time.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// The work tree of now, and what of it differs from one that was approved.
pub type TreeOfNow = (TreeFound, Option<ChangedFiles>);

/// Reads the work tree of now and compares it.
pub type ReadTree = Arc<dyn Fn(Option<WorkTree>) -> TreeOfNow + Send + Sync>;

/// A read that began before it was asked for another one may have missed what changed in between:
/// it is followed by one more.
pub(super) struct TreeLooks {
    read: ReadTree,
    /// What is read again by itself, while nothing else says that it changed, is read at a glance.
    glance: ReadTree,
    reads: mpsc::Sender<TreeOfNow>,
    done: mpsc::Receiver<TreeOfNow>,
    is_wanted_again: bool,
    /// Whether a card that tells of the tree is open.
    is_told: watch::Receiver<bool>,
    /// When the next read begins by itself.
    due: Option<Instant>,
}

impl TreeLooks {
    pub(super) fn new(read: ReadTree, glance: ReadTree, is_told: watch::Receiver<bool>) -> Self {
        let (reads, done) = mpsc::channel(1);
        Self {
            read,
            glance,
            reads,
            done,
            is_wanted_again: false,
            is_told,
            due: None,
        }
    }

    /// Begins a read, now or once the one before is done.
    pub(super) fn look(&mut self, model: &Model) {
        self.begin(Arc::clone(&self.read), model);
    }

    fn begin(&mut self, read: ReadTree, model: &Model) {
        self.due = None;
        let Ok(place) = self.reads.clone().try_reserve_owned() else {
            self.is_wanted_again = true;
            return;
        };
        let approved = model.world.approved_tree.clone();
        tokio::task::spawn_blocking(move || {
            place.send(read(approved));
        });
    }

    /// When a read begins by itself: only while a card tells of the tree, and none while one goes on.
    pub(super) fn due(&mut self) -> Option<Instant> {
        let is_told = *self.is_told.borrow_and_update();
        let is_reading = self.reads.capacity() == 0;
        self.due = (is_told && !is_reading)
            .then(|| self.due.unwrap_or_else(|| Instant::now() + LOOK_AGAIN));
        self.due
    }

    /// Begins the read that is due.
    pub(super) fn look_when_due(&mut self, model: &Model) {
        if self.due().is_some_and(|due| due <= Instant::now()) {
            self.begin(Arc::clone(&self.glance), model);
        }
    }

    /// What a read came to, once one is done; `None`: the next one may be due at another time.
    pub(super) async fn next(&mut self) -> Option<TreeOfNow> {
        tokio::select! {
            read = self.done.recv() => read,
            Ok(()) = self.is_told.changed() => None,
        }
    }

    /// After one is done: begins the next, if one was asked for meanwhile.
    pub(super) fn go_on(&mut self, model: &Model) {
        if std::mem::take(&mut self.is_wanted_again) {
            self.look(model);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::core::entry::TreeFound;
    use crate::deck::deck_about::DeckAbout;
    use crate::deck::followed::model::DaemonLink;

    #[tokio::test]
    async fn the_tree_is_read_again_only_while_a_card_tells_of_it_and_never_twice_at_once() {
        let model = Model::new(DaemonLink::Attached, DeckAbout::default());
        let counted = || -> (Arc<AtomicUsize>, ReadTree) {
            let count = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&count);
            let read = Arc::new(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
                (TreeFound::NoRepository, None)
            });
            (count, read)
        };
        let ((whole, read), (count, glance)) = (counted(), counted());
        let (card, is_told) = watch::channel(false);
        let mut looks = TreeLooks::new(read, glance, is_told);
        assert_eq!(looks.due(), None, "no card is open");

        card.send_replace(true);
        assert!(looks.next().await.is_none(), "a card was opened");
        assert!(looks.due().is_some_and(|due| due > Instant::now()));
        assert_eq!(looks.due(), looks.due(), "what else wakes delays nothing");
        looks.look_when_due(&model);
        assert!(looks.due().is_some(), "it was not due yet");

        looks.due = Some(Instant::now());
        looks.look_when_due(&model);
        assert_eq!(looks.due(), None, "one goes on");
        looks.due = Some(Instant::now());
        looks.look_when_due(&model);
        assert_eq!(looks.next().await, Some((TreeFound::NoRepository, None)));
        looks.go_on(&model);
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert!(looks.due().is_some(), "and once more");
        assert_eq!(
            whole.load(Ordering::Relaxed),
            0,
            "by itself it only glances"
        );
        looks.look(&model);
        assert_eq!(looks.next().await, Some((TreeFound::NoRepository, None)));
        let counts = [&whole, &count].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [1, 1], "what is asked for is read whole");
        assert!(looks.due().is_some());

        card.send_replace(false);
        assert!(looks.next().await.is_none(), "it was closed");
        assert_eq!(looks.due(), None);
    }
}
