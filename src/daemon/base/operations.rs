//! [`Operations`]: whether the daemon goes on: a fault of ours, a stop, a takeover by another
//! process ([`TakeoverProgress`]), and since when nobody has needed it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::daemon::base::under_way::{FailedReads, UnderWay, WorkBeside};
use crate::daemon::fault::{DaemonFault, FaultSlot};
use crate::daemon::reply::stopping;
use crate::daemon::sessions::waiting_ending::WaitingEnding;
use crate::daemon::stop::Stop;
use crate::daemon::takeover::TakeoverProgress;
use crate::wire::control::Refusal;

/// How long the end of a session waits for the disk.
const ENDING_WAIT: Duration = Duration::from_secs(5);

/// How, when and for whom the daemon ends.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Operations {
    /// Our fault because of which it ends; the holders of a handle learn it, too.
    fault: FaultSlot,
    stopping: Option<Stop>,
    takeover: TakeoverProgress,
    /// Since when nobody has needed it.
    idle_since: Option<Instant>,
    /// Held by all work beside the loop.
    beside: Arc<()>,
    /// Held by the part of that work that belongs to the end of a session.
    ending_beside: Arc<()>,
    /// The kinds of reads beside the loop whose last read panicked.
    failed_reads: FailedReads,
    /// The session ends once everything in it is on the disk; the deadline of that wait.
    ending: Option<(WaitingEnding, Instant)>,
    /// Whether of a session that has ended the files are being deleted.
    deletion: DeletionState,
}

/// How far the deletion of a session that has ended is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum DeletionState {
    /// There is none, or it was carried out.
    #[default]
    Over,
    UnderWay,
    /// A fault of ours cut it short.
    Failed,
}

impl Operations {
    /// Shares the slot of the fault: others may look at it, and may set it.
    pub(in crate::daemon) fn share_fault(&mut self, slot: FaultSlot) {
        self.fault = slot;
    }

    /// Something of ours failed: it ends. The first fault counts.
    pub(in crate::daemon) fn fail(&self, fault: DaemonFault) {
        self.fault.set(fault);
    }

    pub(in crate::daemon) fn fault(&self) -> Option<DaemonFault> {
        self.fault.get()
    }

    /// The loop takes nothing more: who gets no answer from here on hears that it has ended.
    pub(in crate::daemon) fn begin_end(&self) {
        self.fault.begin_end();
    }

    /// It ends so; what was said before does not count any more.
    pub(in crate::daemon) fn stop(&mut self, stop: Stop) {
        self.stopping = Some(stop);
    }

    /// It takes no more commands and delivers nothing.
    pub(in crate::daemon) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// The operator killed it: nothing may start it again by itself.
    pub(in crate::daemon) fn is_killed(&self) -> bool {
        self.stopping.is_some_and(|stop| stop.kill)
    }

    /// Why it stops in order though nobody has told it to.
    pub(in crate::daemon) fn stops_because_of(&self) -> Option<DaemonFault> {
        self.stopping.and_then(|stop| stop.fault)
    }

    /// Whether nothing more has to be waited for. `is_at_work`: something is on its way to the disk,
    /// or is about to be.
    pub(in crate::daemon) fn may_stop(&self, is_at_work: bool) -> bool {
        let Some(stop) = self.stopping else {
            return false;
        };
        self.takeover.is_over() && !is_at_work || Instant::now() >= stop.by
    }

    /// Something is being done beside the loop, and the loop is to hear of its end.
    pub(in crate::daemon) fn begin_beside(&self) -> UnderWay {
        UnderWay::of(&self.beside)
    }

    /// As [`Self::begin_beside`], of work of this kind.
    pub(in crate::daemon) fn begin_work(&self, what: &WorkBeside) -> UnderWay {
        let begun = self.begin_beside();
        match what.ends_session() {
            true => begun.of_ending(&self.ending_beside),
            false => begun,
        }
    }

    /// The reads beside the loop that panicked the last time: shared with those that read.
    pub(in crate::daemon) fn failed_reads(&self) -> FailedReads {
        Arc::clone(&self.failed_reads)
    }

    /// Whether a session is being ended, or the rest of one deleted, and somebody waits for that.
    pub(in crate::daemon) fn is_ending_session(&self) -> bool {
        let waits = self.ending.as_ref();
        Arc::strong_count(&self.ending_beside) > 1
            || waits.is_some_and(|(waits, _)| !waits.is_abandoned())
    }

    /// The files of a session that has ended are being deleted beside the loop.
    pub(in crate::daemon) fn begin_deletion(&mut self) {
        self.deletion = DeletionState::UnderWay;
    }

    /// They were, as far as they could be.
    pub(in crate::daemon) fn deletion_over(&mut self) {
        self.deletion = DeletionState::Over;
    }

    /// A fault of ours cut that short.
    pub(in crate::daemon) fn deletion_failed(&mut self) {
        self.deletion = DeletionState::Failed;
    }

    /// Whether they are, or some may be left.
    pub(in crate::daemon) fn is_deleting(&self) -> bool {
        self.deletion != DeletionState::Over
    }

    /// Whether some may be left that nobody deletes now.
    pub(in crate::daemon) fn has_failed_deletion(&self) -> bool {
        self.deletion == DeletionState::Failed
    }

    /// Whether something is being done beside the loop, or was done and nobody has heard of it.
    pub(in crate::daemon) fn is_beside(&self) -> bool {
        Arc::strong_count(&self.beside) > 1
    }

    /// The session is to end once the disk has what has happened in it. One at most waits for that:
    /// handed back where another does.
    pub(in crate::daemon) fn wait_to_end(
        &mut self,
        ending: WaitingEnding,
    ) -> Option<WaitingEnding> {
        let other = self.ending.as_ref();
        if other.is_some_and(|(other, _)| !other.is_abandoned()) {
            return Some(ending);
        }
        self.ending = Some((ending, Instant::now() + ENDING_WAIT));
        None
    }

    /// The one that waits, if it is its turn: nothing is on its way to the disk any more
    /// (`is_written`), or it has waited long enough. One that nobody waits for is dropped.
    pub(in crate::daemon) fn take_ending(&mut self, is_written: bool) -> Option<WaitingEnding> {
        let (_, until) = self.ending.as_ref()?;
        let is_due = is_written || self.is_stopping() || Instant::now() >= *until;
        let (ending, _) = is_due.then(|| self.ending.take()).flatten()?;
        (!ending.is_abandoned()).then_some(ending)
    }

    /// Whether another process is to go on, and how far that is.
    pub(in crate::daemon) fn takeover(&self) -> &TakeoverProgress {
        &self.takeover
    }

    /// What of it changes.
    pub(in crate::daemon) fn takeover_mut(&mut self) -> &mut TakeoverProgress {
        &mut self.takeover
    }

    /// Refuses because the daemon ends, or goes on elsewhere.
    pub(in crate::daemon) fn refusal(&self) -> Refusal {
        self.takeover.refusal().unwrap_or_else(stopping)
    }

    /// Whether nobody needs the daemon just now. Anything that happens begins the count again.
    pub(in crate::daemon) fn set_idle(&mut self, is_idle: bool) {
        match (is_idle, self.idle_since) {
            (true, None) => self.idle_since = Some(Instant::now()),
            (false, Some(_)) => self.idle_since = None,
            _ => {}
        }
    }

    /// Whether nobody has needed it for that long.
    pub(in crate::daemon) fn is_idle_for(&self, long: Duration) -> bool {
        self.idle_since
            .is_some_and(|since| Instant::now() >= since + long)
    }

    /// When it is to be looked at again. `idle`: after how long it ends that nobody needs it.
    pub(in crate::daemon) fn next_deadline(&self, idle: Duration) -> Option<Instant> {
        // What has led to the end is past, and would be due for ever.
        let idle_since = self.idle_since.filter(|_| self.stopping.is_none());
        let idle_at = idle_since.map(|since| since + idle);
        let proofs_until = self.takeover.proofs_until();
        idle_at
            .into_iter()
            .chain(self.stopping.map(|stop| stop.by))
            .chain(proofs_until.filter(|until| *until > Instant::now()))
            .chain(self.ending.as_ref().map(|(_, until)| *until))
            .min()
    }

    #[cfg(test)]
    pub(in crate::daemon) fn idle_since(&self) -> Option<Instant> {
        self.idle_since
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::daemon::sessions::carrying::EndingWish;
    use crate::wire::control::{ClearParams, Reply};

    fn asked() -> (WaitingEnding, oneshot::Receiver<Result<Reply, Refusal>>) {
        let (reply, answer) = oneshot::channel();
        let wish = EndingWish::Clear(ClearParams::default());
        (WaitingEnding::Asked(wish, reply), answer)
    }

    #[test]
    fn one_ending_waits_for_the_disk_for_so_long_and_not_for_somebody_who_has_gone() {
        let mut operations = Operations::default();
        let (first, answer) = asked();
        let (second, _other) = asked();
        assert!(operations.wait_to_end(first).is_none());
        let second = operations.wait_to_end(second);
        assert!(second.is_some() && operations.take_ending(false).is_none());
        // The first one's asker has gone.
        drop(answer);
        let second = second.and_then(|second| operations.wait_to_end(second));
        assert!(second.is_none());
        let until = operations.next_deadline(Duration::MAX);
        assert!(until.is_some_and(|until| until > Instant::now()));
        operations.ending = operations
            .ending
            .map(|(ending, _)| (ending, Instant::now()));
        assert!(operations.next_deadline(Duration::MAX) <= Some(Instant::now()));
        assert!(
            operations
                .take_ending(false)
                .is_some_and(|it| !it.is_abandoned())
        );
        assert!(operations.take_ending(true).is_none());
        assert_eq!(operations.next_deadline(Duration::MAX), None);
    }

    #[test]
    fn once_it_ends_that_nobody_needed_it_is_due_no_more() {
        let mut operations = Operations::default();
        operations.set_idle(true);
        let idle = Duration::ZERO;
        assert!(operations.is_idle_for(idle));
        assert!(operations.next_deadline(idle) <= Some(Instant::now()));
        let stop = Stop::now(false);
        operations.stop(stop);
        assert_eq!(operations.next_deadline(idle), Some(stop.by));
    }
}
