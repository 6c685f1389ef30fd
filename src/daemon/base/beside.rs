//! [`Base::beside`]: runs work that may wait for a disk on a thread of its own; its result comes
//! back as an event. A panic there is reported, and nothing keeps waiting for that work.

use crate::core::agent::Party;
use crate::core::entry::ErrorCode;
use crate::daemon::base::reads_beside::ReadsBeside;
use crate::daemon::base::under_way::{UnderWay, WorkBeside};
use crate::daemon::base::work_queue::QueuedWork;
use crate::daemon::event::Event;
use crate::daemon::owners::Base;

impl Base {
    /// Has something done on a thread that may wait for the disk; what comes of it is an event,
    /// before which the daemon does not end.
    pub(in crate::daemon) fn beside(
        &self,
        what: WorkBeside,
        work: impl FnOnce(UnderWay) -> Event + Send + 'static,
    ) {
        let Some(events) = self.events.upgrade() else {
            return;
        };
        let work = self.queued_work(what, work);
        tokio::spawn(async move {
            if let Some(told) = work.run().await {
                let _ = events.send(told).await;
            }
        });
    }

    /// As [`Self::beside`], behind what was given before, for the files of the configuration and of
    /// trust: what the record says last is what they hold last.
    pub(in crate::daemon) fn beside_in_order(
        &mut self,
        what: WorkBeside,
        work: impl FnOnce(UnderWay) -> Event + Send + 'static,
    ) {
        let work = self.queued_work(what, work);
        self.settings_work.take(&self.events, work);
    }

    /// Work for a thread of its own; the daemon does not end before it has heard what came of it.
    pub(in crate::daemon) fn queued_work(
        &self,
        what: WorkBeside,
        work: impl FnOnce(UnderWay) -> Event + Send + 'static,
    ) -> QueuedWork {
        let begun = self.operations.begin_work(&what);
        QueuedWork {
            under_way: self.operations.begin_work(&what),
            what,
            work: Box::new(move || work(begun)),
        }
    }

    /// For reads whose reader goes on by itself.
    pub(in crate::daemon) fn reads(&self) -> ReadsBeside {
        ReadsBeside::of(self.events.clone(), self.operations.failed_reads())
    }

    /// Work of a kind panicked: told once, until it is done again.
    pub(in crate::daemon) fn work_failed(&mut self, what: &WorkBeside) {
        let text = what.failure();
        tracing::error!("{text}");
        if self.notice(what.key(), text.clone()) {
            self.recorder
                .mention(Party::System, ErrorCode::WorkFailed, text);
        }
    }

    /// Work of a kind was done: what was told of one that failed before is over.
    pub(in crate::daemon) fn work_done(&mut self, what: &WorkBeside) {
        self.notice_over(&what.key());
    }
}
