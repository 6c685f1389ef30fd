//! [`ReadsBeside`]: reads beside the loop whose reader continues by itself, even without a result.

use tokio::sync::mpsc;
use tokio::task::JoinError;

use crate::daemon::base::under_way::{FailedReads, WorkBeside};
use crate::daemon::event::Event;

/// Reads beside the loop. If a read panics, its caller gets nothing and goes on, so nobody waits
/// for it; the loop is told, and told again when a later read of this kind does not panic.
#[derive(Debug, Clone)]
pub(in crate::daemon) struct ReadsBeside {
    events: mpsc::WeakSender<Event>,
    failed: FailedReads,
}

impl ReadsBeside {
    /// `failed`: the reads that panicked the last time.
    pub(in crate::daemon) fn of(events: mpsc::WeakSender<Event>, failed: FailedReads) -> Self {
        Self { events, failed }
    }

    /// The way back into the loop.
    pub(in crate::daemon) fn events(&self) -> &mpsc::WeakSender<Event> {
        &self.events
    }

    /// What was read on a thread that may wait for a disk; nothing where that panicked.
    pub(in crate::daemon) async fn read<T: Send + 'static>(
        &self,
        what: WorkBeside,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let read = what.begin(read).await;
        let has_failed = read.as_ref().is_err_and(JoinError::is_panic);
        self.tell(what, has_failed).await;
        read.ok()
    }

    /// Has the loop told of a read that panicked, and of the next one that did not.
    pub(in crate::daemon) async fn tell(&self, what: WorkBeside, has_failed: bool) {
        let key = what.key();
        // Held until it is told: of two reads of a kind the loop hears in the order of their ends.
        let mut failed = self.failed.lock().await;
        let event = if has_failed {
            failed.insert(key);
            Event::WorkFailed {
                what,
                under_way: None,
            }
        } else if failed.remove(&key) {
            Event::WorkDone(what)
        } else {
            return;
        };
        // Without a loop nobody has to be told.
        if let Some(events) = self.events.upgrade() {
            let _ = events.send(event).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_read_that_panics_is_told_each_time_and_its_end_once() {
        let (events, mut told) = mpsc::channel(64);
        let reads = ReadsBeside::of(events.downgrade(), FailedReads::default());
        let read = async |panics: bool| {
            let work = move || assert!(!panics, "a test's");
            reads.read(WorkBeside::Bodies, work).await
        };
        assert_eq!(read(false).await, Some(()));
        for _ in 0..2 {
            assert_eq!(read(true).await, None);
        }
        assert_eq!(
            reads.read(WorkBeside::Packet, || 7).await,
            Some(7),
            "of another kind"
        );
        for _ in 0..2 {
            assert_eq!(read(false).await, Some(()));
        }
        let mut kinds = Vec::new();
        while let Ok(event) = told.try_recv() {
            kinds.push(event.kind());
        }
        assert_eq!(kinds, ["work_failed", "work_failed", "work_done"]);
    }
}
