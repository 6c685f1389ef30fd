//! [`WorkQueue`]: work that may wait for a disk, done beside the loop one after the other.
//!
//! Work beside the loop changes nothing that the loop owns, so a panic costs only that work. Its
//! result then never comes: the loop is told of the failure instead, so that nothing waits for
//! ever.

use tokio::sync::mpsc;

use crate::daemon::base::under_way::{UnderWay, WorkBeside};
use crate::daemon::event::Event;

/// Work on a thread that may block; its result is an event.
pub(in crate::daemon) struct QueuedWork {
    pub(in crate::daemon) what: WorkBeside,
    /// Kept until the loop was told that it failed.
    pub(in crate::daemon) under_way: UnderWay,
    /// What is done.
    pub(in crate::daemon) work: Box<dyn FnOnce() -> Event + Send>,
}

impl QueuedWork {
    /// Does it. What the loop is to hear; nothing when the program ends.
    pub(in crate::daemon) async fn run(self) -> Option<Event> {
        let Self {
            what,
            under_way,
            work,
        } = self;
        match what.begin(work).await {
            Ok(event) => Some(event),
            Err(error) if error.is_panic() => Some(Event::WorkFailed {
                what,
                under_way: Some(under_way),
            }),
            Err(_) => None,
        }
    }
}

/// Work that is done in the order of its arrival. It has no bound of its own: its items belong to
/// calls, which are limited per client, or were counted before (`SpokenTurns`).
#[derive(Debug, Default)]
pub(in crate::daemon) struct WorkQueue {
    work: Option<mpsc::UnboundedSender<QueuedWork>>,
}

impl WorkQueue {
    /// Takes work on, which tells what comes of it through `events`.
    pub(in crate::daemon) fn take(&mut self, events: &mpsc::WeakSender<Event>, work: QueuedWork) {
        let queue = self.work.get_or_insert_with(|| {
            let (queue, mut work) = mpsc::unbounded_channel::<QueuedWork>();
            let events = events.clone();
            tokio::spawn(async move {
                while let Some(work) = work.recv().await {
                    // Without a loop nobody hears of it any more.
                    if let (Some(told), Some(events)) = (work.run().await, events.upgrade()) {
                        let _ = events.send(told).await;
                    }
                }
            });
            queue
        });
        // It ends with this queue alone.
        let _ = queue.send(work);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::daemon::attach::ConnId;

    fn work(done: impl FnOnce() -> Event + Send + 'static) -> QueuedWork {
        QueuedWork {
            what: WorkBeside::Settings,
            under_way: UnderWay::of(&Arc::default()),
            work: Box::new(done),
        }
    }

    #[tokio::test]
    async fn a_queue_does_one_thing_after_the_other() {
        let (events, mut told) = mpsc::channel(64);
        let weak = events.downgrade();
        let mut queue = WorkQueue::default();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let first = ConnId::next();
        let begins = move || {
            let _ = gone.recv();
            Event::PingAnswered { conn: first }
        };
        queue.take(&weak, work(begins));
        let later = [ConnId::next(), ConnId::next(), ConnId::next()];
        for conn in later {
            queue.take(&weak, work(move || Event::PingAnswered { conn }));
        }
        assert!(told.try_recv().is_err(), "nothing overtakes the first");
        drop(go);
        for conn in [first].into_iter().chain(later) {
            match told.recv().await.unwrap() {
                Event::PingAnswered { conn: next } => assert_eq!(next, conn),
                other => panic!("{other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn work_that_panics_is_told_in_its_place_and_what_is_behind_it_is_done() {
        let (events, mut told) = mpsc::channel(64);
        let weak = events.downgrade();
        let mut queue = WorkQueue::default();
        let conn = ConnId::next();
        queue.take(&weak, work(|| panic!("a test's")));
        queue.take(&weak, work(move || Event::PingAnswered { conn }));
        let failed = told.recv().await.unwrap();
        assert!(
            matches!(&failed, Event::WorkFailed { what, under_way: Some(_) } if *what == WorkBeside::Settings),
            "{failed:?}"
        );
        let next = told.recv().await.unwrap();
        assert!(matches!(next, Event::PingAnswered { .. }), "{next:?}");
    }
}
