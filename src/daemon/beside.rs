//! [`Daemon::beside`]: what may wait for a disk is done on a thread of its own; what comes of it is an
//! event.

use super::event::Event;
use super::owners::Daemon;
use super::under_way::UnderWay;
use super::work_lane::tell;

impl Daemon {
    /// Has something done on a thread that may wait for the disk; what comes of it is an event,
    /// before which the daemon does not end.
    pub(super) fn beside(&self, work: impl FnOnce(UnderWay) -> Event + Send + 'static) {
        let Some(events) = self.events.upgrade() else {
            return;
        };
        let under_way = self.operations.begin_beside();
        tokio::spawn(async move {
            let done = tokio::task::spawn_blocking(|| work(under_way)).await;
            tell(Some(events), done).await;
        });
    }

    /// As [`Self::beside`], behind what was given before, for the files of the configuration and of
    /// trust: what the record says last is what they hold last.
    pub(super) fn beside_in_order(
        &mut self,
        work: impl FnOnce(UnderWay) -> Event + Send + 'static,
    ) {
        let under_way = self.operations.begin_beside();
        let work = Box::new(move || work(under_way));
        self.settings_work.take(&self.events, work);
    }
}
