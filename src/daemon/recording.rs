//! How the loop records: what it does about the [`RecorderAction`]s of its [`Recorder`].
//!
//! [`Recorder`]: super::recorder::Recorder

use std::sync::Arc;

use super::clients::Counted;
use super::continuation::Then;
use super::fault::DaemonFault;
use super::foreign::{alarm_entry, told_of_alarms};
use super::operator_refusals::refusals_entry;
use super::owners::Daemon;
use super::recorder::{LEDGER_UNWRITABLE, RecorderAction};
use super::space::space_changed;
use crate::core::agent::Party;
use crate::core::alarm::Alarm;
use crate::core::delivery::ClaudeInput;
use crate::core::entry::{Entry, EntryKind};
use crate::core::id::RuntimeSession;
use crate::store::ledger::{Stored, WriterEvent};
use crate::wire::control::Notification;

impl Daemon {
    /// Appends, and calls back when it is durable or has failed.
    pub(super) fn record(&mut self, entries: Vec<Entry>, then: Then) {
        let actions = self.recorder.append(entries, then);
        self.follow_recorder(actions);
    }

    /// Appends what has happened already. While the disk refuses it is kept and tried again: it
    /// cannot be undone, and nobody else would tell it a second time. Calls back when it is durable,
    /// or was given up for good.
    pub(super) fn record_fact(&mut self, entries: Vec<Entry>, then: Then) {
        let actions = self.recorder.append_fact(entries, Some(then));
        self.follow_recorder(actions);
    }

    /// As [`Self::record_fact`], and nothing follows from it.
    pub(super) fn record_mere_fact(&mut self, entry: Entry) {
        let actions = self.recorder.append_fact(vec![entry], None);
        self.follow_recorder(actions);
    }

    pub(super) fn write_again(&mut self) {
        let actions = self.recorder.write_again();
        self.follow_recorder(actions);
    }

    /// Appends what nobody waits for.
    pub(super) fn note_fact(
        &mut self,
        source: Party,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
    ) {
        let entry = self.entry(source, None, kind, content, None);
        self.note(entry);
    }

    fn note(&mut self, entry: Entry) {
        self.record(
            vec![entry],
            Box::new(|_, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = %refusal.code, "a fact could not be recorded");
                }
            }),
        );
    }

    /// Appends how often somebody else gave an operator's command, where that is to be said now.
    pub(super) fn note_refusals(&mut self, counted: Option<Counted>) {
        if let Some(counted) = counted {
            let entry = refusals_entry(&self.recorder, counted);
            self.note(entry);
        }
    }

    /// As [`Self::note_fact`], for what a later start goes by: it is kept while the disk refuses.
    pub(super) fn keep_fact(
        &mut self,
        source: Party,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
    ) {
        let entry = self.entry(source, None, kind, content, None);
        self.record_mere_fact(entry);
    }

    /// Records an alarm, which is kept outside of the project until the record has it.
    pub(super) fn raise_alarm(&mut self, alarm: &Alarm) {
        tracing::warn!(text = alarm.text(), "alarm");
        let entry = alarm_entry(&self.recorder, alarm);
        self.record_mere_fact(entry);
    }

    /// An entry of now.
    pub(super) fn entry(
        &self,
        source: Party,
        target: Option<Party>,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
        runtime_session: Option<RuntimeSession>,
    ) -> Entry {
        self.recorder
            .entry(source, target, kind, content, runtime_session)
    }

    pub(super) fn on_writer(&mut self, event: WriterEvent) {
        let actions = self.recorder.on_writer(event);
        self.follow_recorder(actions);
    }

    fn follow_recorder(&mut self, actions: Vec<RecorderAction<Then>>) {
        for action in actions {
            match action {
                RecorderAction::Recorded {
                    entries,
                    then,
                    is_late,
                } => {
                    self.publish(&entries);
                    match then {
                        Some(then) => then(self, Ok(&entries)),
                        None if is_late => self.forget_taken_back(&entries),
                        None => {}
                    }
                    self.claude_hears(ClaudeInput::Recordable);
                    self.pump();
                    self.outbox.drop_wrong_rows();
                }
                RecorderAction::Refused { then, refusal } => then(self, Err(&refusal)),
                RecorderAction::FactRefused {
                    entries,
                    refusal,
                    is_kept,
                } => self.fact_refused(&entries, &refusal, is_kept),
                RecorderAction::Unwritable(why) => {
                    if self.notices.set(LEDGER_UNWRITABLE, why) {
                        self.status_changed();
                    }
                }
                RecorderAction::Writable => {
                    if self.notices.clear(LEDGER_UNWRITABLE) {
                        self.status_changed();
                    }
                    self.claude_hears(ClaudeInput::Recordable);
                }
                RecorderAction::SpaceChanged => {
                    space_changed(self.recorder.space(), &mut self.notices, &self.clients)
                }
                RecorderAction::Foreign(alarm) => self.raise_alarm(&alarm),
                RecorderAction::WriterGone => self.operations.fail(DaemonFault::Writer),
            }
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
