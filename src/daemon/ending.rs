//! How the loop ends: the steps after its last event, each with a deadline of its own.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::event::{Event, TreePurpose};
use super::fault::DaemonFault;
use super::owners::{Base, Daemon};
use super::reply::answer;
use super::stop::{STEP, Stop};
use crate::core::agent::Party;
use crate::core::entry::LifecycleEvent;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::recorder::{CloseHow, ClosingRecord};
use crate::store::queue::QueueWriter;

/// How long clients may take to receive their last answers when the daemon ends.
pub(super) const LAST_ANSWERS: Duration = Duration::from_secs(1);

impl Daemon {
    pub(super) fn stop(&mut self, stop: Stop) {
        if self.base.operations.is_stopping() {
            return;
        }
        self.stop_serving(stop.kill);
        self.base.note_last_refusals();
        let said = match stop.kill {
            true => "the daemon was killed by the operator",
            false => "the daemon stopped",
        };
        let event = LifecycleEvent::DaemonStopped;
        let recorder = &mut self.base.recorder;
        let last_words = recorder.entry(Party::System, None, event, said, None);
        recorder.end_with(last_words);
        self.base.operations.stop(stop);
    }

    /// Ends what the daemon owns, each step with a deadline of its own; Codex only if it is not
    /// left to another process.
    ///
    /// # Errors
    ///
    /// When not everything is written and closed, or the disk has refused what happened.
    pub(super) async fn finish(self: Box<Self>, with_codex: bool) -> Result<(), DaemonFault> {
        if with_codex {
            self.agents.codex.shutdown().await;
        }
        let is_disowned = self.base.recorder.is_disowned();
        // What waits while another process goes on has kept it from doing so.
        let unrecorded = match with_codex && !is_disowned {
            true => self.base.recorder.unrecorded_count(),
            false => 0,
        };
        let how = match with_codex && unrecorded == 0 {
            true => CloseHow::Ended,
            false => CloseHow::Left,
        };
        let (costs, dirs) = (self.agents.costs, self.base.dirs);
        let (record, rows) = (
            self.base.recorder.into_closing(),
            self.deliveries.outbox.into_writer(),
        );
        let mut closed = close_writers(record, rows, how, costs).await;
        if closed.is_ok() && unrecorded > 0 {
            tracing::error!(unrecorded, "{}", DaemonFault::Unrecorded);
            closed = Err(DaemonFault::Unrecorded);
        }
        if let Err(fault) = closed
            && fault.is_for_next_start()
            && !is_disowned
        {
            fault.leave_mark(&dirs);
        }
        closed
    }
}

/// Closes what writes the record and the queue, and drops what goes with it; gives it up after
/// [`STEP`].
///
/// # Errors
///
/// [`DaemonFault::Hung`] when it was given up: it goes on by itself, and a daemon that began before
/// this process has ended would write to the same files. [`DaemonFault::Service`] when it panicked.
/// [`DaemonFault::Unmarked`] when all is written but the mark of an orderly end.
pub(super) async fn close_writers(
    record: ClosingRecord,
    rows: QueueWriter,
    how: CloseHow,
    with: impl Send + 'static,
) -> Result<(), DaemonFault> {
    let given_up = record.given_up();
    let closed = tokio::task::spawn_blocking(move || {
        tracing::debug!("closing the record and the queue");
        let marked = record.close(how);
        rows.close();
        drop(with);
        marked
    });
    match timeout(STEP, closed).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) => {
            let fault = DaemonFault::Unmarked;
            tracing::error!(%error, code = fault.code().as_str(), "{fault}");
            Err(fault)
        }
        Ok(Err(_)) => {
            let fault = DaemonFault::Service;
            tracing::error!(
                code = fault.code().as_str(),
                "{fault}: it ended over closing"
            );
            Err(fault)
        }
        Err(_) => {
            given_up.store(true, Ordering::Release);
            tracing::error!("what writes the record and the queue did not end in time");
            Err(DaemonFault::Hung)
        }
    }
}

impl Base {
    /// Sends the clients away, and waits until those from outside have their last answers and
    /// have left; a client that does not take them in time is left behind.
    pub(super) async fn drain_clients(&mut self, events: &mut mpsc::Receiver<Event>) {
        // First, or a bridge that is sent away would start another daemon.
        if self.operations.is_killed()
            && let Err(error) = crate::store::sentinel::write(&self.dirs, now_ms())
        {
            tracing::error!(%error, "the killed sentinel could not be written");
        }
        self.clients.close_all();
        let deadline = Instant::now() + LAST_ANSWERS;
        while self.clients.outside().next().is_some() {
            match timeout_at(deadline, events.recv()).await {
                Ok(Some(Event::Disconnected { conn })) => {
                    self.clients.disconnect(conn);
                }
                Ok(Some(
                    Event::Command { reply, .. }
                    | Event::TreeRead {
                        purpose:
                            TreePurpose::Propose {
                                reply: Some(reply), ..
                            }
                            | TreePurpose::Decide { reply, .. },
                        ..
                    },
                )) => answer(reply, Err(self.operations.refusal())),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}
