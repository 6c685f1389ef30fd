//! Carries out the [`RecorderAction`]s of the [`Recorder`] for the loop.
//!
//! [`Recorder`]: crate::daemon::base::recorder::Recorder

use std::io;
use std::sync::Arc;

use crate::core::delivery::{ClaudeInput, LaterInput};
use crate::daemon::base::disk_space::space_changed;
use crate::daemon::base::foreign::told_of_alarms;
use crate::daemon::base::recorder::RecorderAction;
use crate::daemon::fault::DaemonFault;
use crate::daemon::owners::continuation::Then;
use crate::daemon::owners::{Base, Daemon};
use crate::store::ledger::Stored;
use crate::wire::control::Notification;
use crate::wire::status::NoticeKey;

impl Daemon {
    /// Does what the recorder wants.
    pub(in crate::daemon) fn follow_recorder(&mut self, action: RecorderAction<Then>) {
        match action {
            RecorderAction::Recorded { entries, then } => {
                let held = self.deliveries.held_answers();
                self.base.publish(&entries);
                // Before anything that follows has a lane go on.
                let named = entries.iter().flat_map(|stored| stored.entry.handles());
                self.take_back_closed(named.cloned());
                self.base.end_waits(&entries);
                match then {
                    Some(then) => then(self, Ok(&entries)),
                    None => self
                        .deliveries
                        .forget_taken_back(&mut self.agents.codex, &entries),
                }
                if self.deliveries.let_answers_go(&self.base, held) {
                    self.base.clients.status_changed();
                }
                self.base
                    .later
                    .push(LaterInput::Claudes(ClaudeInput::Recordable));
                self.base.later.push(LaterInput::News);
            }
            RecorderAction::Refused { then, refusal } => then(self, Err(&refusal)),
            RecorderAction::FactRefused {
                entries,
                refusal,
                is_kept,
            } => self.fact_refused(&entries, &refusal, is_kept),
            RecorderAction::Unwritable(why) => {
                self.base.notice(NoticeKey::LedgerUnwritable, why);
            }
            RecorderAction::Writable => {
                self.base.notice_over(&NoticeKey::LedgerUnwritable);
                self.base
                    .later
                    .push(LaterInput::Claudes(ClaudeInput::Recordable));
            }
            RecorderAction::FactsLost(text) => {
                // It stays for as long as this daemon runs, and the record has it then.
                self.base.notice(NoticeKey::FactsLost, text);
            }
            RecorderAction::SpaceChanged => space_changed(
                self.base.recorder.space(),
                &mut self.base.notices,
                &self.base.clients,
            ),
            RecorderAction::Foreign(alarm) => self.base.raise_alarm(&alarm),
            RecorderAction::WriterGone => self.base.operations.fail(DaemonFault::Writer),
        }
        self.agents.take_heard(&mut self.base);
    }
}

impl Base {
    /// The operator's word counts only with the head outside of the project.
    pub(in crate::daemon) fn on_head(&mut self, written: io::Result<()>) {
        let key = NoticeKey::HeadUnwritable;
        match written {
            Ok(()) => self.notice_over(&key),
            Err(error) => {
                let path = self.recorder.head_path();
                let text = format!(
                    "your decisions and messages are refused until {} can be written: {error}",
                    path.display()
                );
                self.notice(key, text);
            }
        }
    }

    /// Tells what is durable and folded.
    pub(in crate::daemon) fn publish(&mut self, entries: &[Arc<Stored>]) {
        for stored in entries {
            self.clients
                .tell_subscribers(|| Notification::Entry(Arc::clone(stored)));
        }
        let (notices, clients) = (&mut self.notices, &self.clients);
        told_of_alarms(&self.recorder, notices, clients, entries);
        self.look_for_work(entries);
    }
}
