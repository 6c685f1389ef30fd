//! [`TrustLooks`]: reads what waits for trust beside the deck, one read at a time: a disk may hang
//! while the daemon still answers.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::deck::deck_about::WaitingTrust;
use crate::deck::deck_options::ReadTrust;

/// A read that began before it was asked for another one is followed by one more.
pub(super) struct TrustLooks {
    read: ReadTrust,
    reads: mpsc::Sender<Option<WaitingTrust>>,
    done: mpsc::Receiver<Option<WaitingTrust>>,
    is_wanted_again: bool,
}

impl TrustLooks {
    pub(super) fn new(read: ReadTrust) -> Self {
        let (reads, done) = mpsc::channel(1);
        Self {
            read,
            reads,
            done,
            is_wanted_again: false,
        }
    }

    /// Begins a read, now or once the one before is done.
    pub(super) fn look(&mut self) {
        let Ok(place) = self.reads.clone().try_reserve_owned() else {
            self.is_wanted_again = true;
            return;
        };
        let read = Arc::clone(&self.read);
        spawn_blocking(move || {
            place.send(read());
        });
    }

    /// What a read came to, once one is done.
    pub(super) async fn next(&mut self) -> Option<Option<WaitingTrust>> {
        self.done.recv().await
    }

    /// After one is done: begins the next, if one was asked for meanwhile.
    pub(super) fn go_on(&mut self) {
        if std::mem::take(&mut self.is_wanted_again) {
            self.look();
        }
    }
}
