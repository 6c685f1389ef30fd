//! Long-running tasks beside the loop: if one panics, the loop is told.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt as _;
use tokio::sync::mpsc;

use super::event::Event;

/// Has work done on a task of its own. Where it panics the loop hears `failed`.
pub(super) fn supervise(
    events: mpsc::WeakSender<Event>,
    failed: Event,
    work: impl Future<Output = ()> + Send + 'static,
) {
    tokio::spawn(supervised(events, failed, work));
}

/// Work on the task that it is given. Where it panics the loop hears `failed`.
pub(super) async fn supervised(
    events: mpsc::WeakSender<Event>,
    failed: Event,
    work: impl Future<Output = ()> + Send,
) {
    let is_done = AssertUnwindSafe(work).catch_unwind().await.is_ok();
    if let Some(events) = events.upgrade().filter(|_| !is_done) {
        let _ = events.send(failed).await;
    }
}

/// Work on the thread that it is called on, which is one of ours. Where it panics the loop hears
/// that a service failed.
pub(super) fn supervised_thread(events: &mpsc::WeakSender<Event>, work: impl FnOnce()) {
    let is_done = catch_unwind(AssertUnwindSafe(work)).is_ok();
    if let Some(events) = events.upgrade().filter(|_| !is_done) {
        // The loop reads until it ends, and then this is an error.
        let _ = events.blocking_send(Event::ServiceFailed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::attach::ConnId;

    #[tokio::test]
    async fn work_that_panics_is_told_and_work_that_ends_is_not() {
        let (events, mut told) = mpsc::channel(64);
        supervise(events.downgrade(), Event::ServiceFailed, async {});
        let failed = Event::PingAnswered {
            conn: ConnId::next(),
        };
        supervise(events.downgrade(), failed, async { panic!("a test's") });
        let next = told.recv().await.unwrap();
        assert!(matches!(next, Event::PingAnswered { .. }), "{next:?}");
        let weak = events.downgrade();
        let thread = std::thread::spawn(move || supervised_thread(&weak, || panic!("a test's")));
        let next = told.recv().await.unwrap();
        assert!(matches!(next, Event::ServiceFailed), "{next:?}");
        thread.join().unwrap();
        assert!(told.try_recv().is_err());
    }
}
