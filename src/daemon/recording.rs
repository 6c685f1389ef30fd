//! How the loop records: what it does about the [`RecorderAction`]s of its [`Recorder`].
//!
//! [`Recorder`]: super::recorder::Recorder

use std::sync::Arc;

use super::continuation::Then;
use super::fault::DaemonFault;
use super::foreign::{raise_alarm, told_of_alarms};
use super::owners::Daemon;
use super::recorder::RecorderAction;
use super::space::space_changed;
use crate::core::delivery::{ClaudeInput, LaterInput};
use crate::store::ledger::Stored;
use crate::wire::control::Notification;
use crate::wire::status::NoticeKey;

impl Daemon {
    /// Does what the recorder wants.
    pub(super) fn follow_recorder(&mut self, action: RecorderAction<Then>) {
        match action {
            RecorderAction::Recorded { entries, then } => {
                self.publish(&entries);
                match then {
                    Some(then) => then(self, Ok(&entries)),
                    None => self.forget_taken_back(&entries),
                }
                self.later
                    .push(LaterInput::Claudes(ClaudeInput::Recordable));
                self.later.push(LaterInput::News);
            }
            RecorderAction::Refused { then, refusal } => then(self, Err(&refusal)),
            RecorderAction::FactRefused {
                entries,
                refusal,
                is_kept,
            } => self.fact_refused(&entries, &refusal, is_kept),
            RecorderAction::Unwritable(why) => {
                if self.notices.set(NoticeKey::LedgerUnwritable, why) {
                    self.clients.status_changed();
                }
            }
            RecorderAction::Writable => {
                if self.notices.clear(&NoticeKey::LedgerUnwritable) {
                    self.clients.status_changed();
                }
                self.later
                    .push(LaterInput::Claudes(ClaudeInput::Recordable));
            }
            RecorderAction::SpaceChanged => {
                space_changed(self.recorder.space(), &mut self.notices, &self.clients)
            }
            RecorderAction::Foreign(alarm) => raise_alarm(&mut self.recorder, &alarm),
            RecorderAction::WriterGone => self.operations.fail(DaemonFault::Writer),
        }
    }

    /// Tells what is durable and folded.
    pub(super) fn publish(&mut self, entries: &[Arc<Stored>]) {
        for stored in entries {
            self.clients
                .tell_subscribers(|| Notification::Entry(Arc::clone(stored)));
        }
        let (notices, clients) = (&mut self.notices, &self.clients);
        told_of_alarms(&self.recorder, notices, clients, entries);
        self.look_for_work(entries);
    }
}
