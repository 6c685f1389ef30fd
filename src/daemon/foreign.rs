//! Alarms about the record: raised as entries, shown until the operator acknowledges them, and
//! carried into the next session when nobody has.

use std::sync::Arc;

use super::commands::checks::not_found;
use super::owners::Daemon;
use super::reply::{ReplySender, answer};
use crate::core::agent::Party;
use crate::core::alarm::{Alarm, META};
use crate::core::entry::{Entry, LifecycleEvent};
use crate::store::ledger::Stored;
use crate::wire::control::{AcknowledgeParams, Recorded, Reply};

/// The key of the sentence about alarms.
const ALARM: &str = "alarm";

impl Daemon {
    /// Records an alarm, which is kept outside of the project until the record has it.
    pub(super) fn raise_alarm(&mut self, alarm: Alarm) {
        tracing::warn!(text = alarm.text(), "alarm");
        let entry = self.alarm_entry(&alarm);
        self.record_mere_fact(entry);
    }

    /// The entries of the alarms that nobody has acknowledged, for the record of a next session.
    pub(super) fn open_alarms(&self) -> Vec<Entry> {
        let alarms = self.recorder.world().open_alarms();
        alarms.map(|open| self.alarm_entry(&open.alarm)).collect()
    }

    fn alarm_entry(&self, alarm: &Alarm) -> Entry {
        let kind = alarm.code();
        let mut entry = self.entry(Party::System, None, kind, alarm.text(), None);
        entry.meta.insert(META.to_owned(), alarm.to_value());
        entry
    }

    /// Takes note that the record tells of alarms, or that the operator has seen one.
    pub(super) fn told_of_alarms(&mut self, stored: &[Arc<Stored>]) {
        let mut news = false;
        for stored in stored {
            news |= stored.entry.meta.contains_key(META);
        }
        if news && self.say_alarms() {
            self.status_changed();
        }
    }

    /// Has the banner say what is not acknowledged. Whether that is news.
    pub(super) fn say_alarms(&mut self) -> bool {
        let open: Vec<_> = self.recorder.world().open_alarms().collect();
        let Some(first) = open.first() else {
            return self.notices.clear(ALARM);
        };
        let mut text = first.alarm.text();
        if open.len() > 1 {
            text.push_str(&format!(" (and {} more)", open.len() - 1));
        }
        text.push_str(": look (`ctxrelay ledger verify`), then acknowledge it in the deck's Inbox");
        self.notices.set(ALARM, text)
    }

    /// The operator has seen an alarm. Nothing of what it is about becomes true by that.
    pub(super) fn acknowledge_alarm(&mut self, params: &AcknowledgeParams, reply: ReplySender) {
        let seen = self
            .recorder
            .world()
            .open_alarms()
            .find(|open| open.id == params.alarm_id)
            .map(|open| open.alarm.text());
        let Some(text) = seen else {
            let what = format!("open alarm {}", params.alarm_id);
            let refusal = not_found(&what, "it may be acknowledged already");
            return answer(reply, Err(refusal));
        };
        let kind = LifecycleEvent::AlarmAcknowledged;
        let text = format!("seen, and not made true by that: {text}");
        let mut entry = self.entry(Party::Human, None, kind, text, None);
        let id = params.alarm_id.as_str();
        entry.meta.insert(META.to_owned(), id.into());
        let entry_id = entry.id.clone();
        self.record(
            vec![entry],
            Box::new(move |_, result| {
                let recorded = result.map(|stored| {
                    Reply::Recorded(Recorded {
                        entry_id,
                        seq: stored[0].entry.seq,
                    })
                });
                answer(reply, recorded.map_err(Clone::clone));
            }),
        );
    }
}
