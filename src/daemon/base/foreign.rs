//! Alarms about the record: raised as entries, shown until the operator acknowledges them, and
//! carried into the next session if nobody has.

use std::sync::Arc;

use crate::core::agent::Party;
use crate::core::alarm::{Alarm, META};
use crate::core::entry::{Entry, LifecycleEvent};
use crate::daemon::base::clients::Clients;
use crate::daemon::base::notices::Notices;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::commands::checks::not_found;
use crate::daemon::owners::Base;
use crate::store::ledger::Stored;
use crate::wire::control::{AcknowledgeParams, Refusal};
use crate::wire::status::NoticeKey;

/// The entries of the alarms that nobody has acknowledged, for the record of a next session.
pub(in crate::daemon) fn open_alarms<T>(recorder: &Recorder<T>) -> Vec<Entry> {
    let alarms = recorder.world().open_alarms();
    alarms
        .map(|open| alarm_entry(recorder, &open.alarm))
        .collect()
}

/// An alarm as the record tells it.
pub(in crate::daemon) fn alarm_entry<T>(recorder: &Recorder<T>, alarm: &Alarm) -> Entry {
    let kind = alarm.code();
    let mut entry = recorder.entry(Party::System, None, kind, alarm.text(), None);
    entry.meta.insert(META.to_owned(), alarm.to_value());
    entry
}

impl Base {
    /// Records an alarm, which is kept outside of the project until the record has it. It is shown
    /// at once: the disk may take long, and the one who filled it may be the one who touched the
    /// record.
    pub(in crate::daemon) fn raise_alarm(&mut self, alarm: &Alarm) {
        tracing::warn!(text = alarm.text(), "alarm");
        let entry = alarm_entry(&self.recorder, alarm);
        self.recorder.keep_entry(entry);
        if say_alarms(&self.recorder, &mut self.notices) {
            self.clients.status_changed();
        }
    }
}

/// Takes note that the record tells of alarms, or that the operator has seen one.
pub(in crate::daemon) fn told_of_alarms<T>(
    recorder: &Recorder<T>,
    notices: &mut Notices,
    clients: &Clients,
    stored: &[Arc<Stored>],
) {
    let is_of_alarm = |stored: &Arc<Stored>| stored.entry.meta.contains_key(META);
    if stored.iter().any(is_of_alarm) && say_alarms(recorder, notices) {
        clients.status_changed();
    }
}

/// The alarms that nobody has acknowledged, also those that the disk has not taken yet.
fn raised<T>(recorder: &Recorder<T>) -> impl Iterator<Item = Alarm> {
    let recorded = recorder.world().open_alarms();
    let recorded = recorded.map(|open| open.alarm.clone());
    recorded.chain(recorder.facts_on_the_way().filter_map(Alarm::of))
}

/// Whether somebody was at the record, and nobody has acknowledged it.
pub(in crate::daemon) fn has_open_alarm<T>(recorder: &Recorder<T>) -> bool {
    raised(recorder).next().is_some()
}

/// Has the banner say what is not acknowledged. Whether that is news.
pub(in crate::daemon) fn say_alarms<T>(recorder: &Recorder<T>, notices: &mut Notices) -> bool {
    let open: Vec<Alarm> = raised(recorder).collect();
    let Some(first) = open.first() else {
        return notices.clear(&NoticeKey::Alarm);
    };
    let mut text = first.text();
    if open.len() > 1 {
        text.push_str(&format!(" (and {} more)", open.len() - 1));
    }
    text.push_str(": look (`ctxrelay ledger verify`), then acknowledge it in the deck's Inbox");
    notices.set(NoticeKey::Alarm, text)
}

/// The operator has seen an alarm. Nothing of what it is about becomes true by that.
pub(in crate::daemon) fn acknowledgement<T>(
    recorder: &Recorder<T>,
    params: &AcknowledgeParams,
) -> Result<Entry, Refusal> {
    let mut open = recorder.world().open_alarms();
    let seen = open.find(|open| open.id == params.alarm_id);
    let Some(seen) = seen else {
        let what = format!("open alarm {}", params.alarm_id);
        return Err(not_found(&what, "it may be acknowledged already"));
    };
    let kind = LifecycleEvent::AlarmAcknowledged;
    let text = format!("seen, and not made true by that: {}", seen.alarm.text());
    let mut entry = recorder.entry(Party::Human, None, kind, text, None);
    let id = params.alarm_id.as_str();
    entry.meta.insert(META.to_owned(), id.into());
    Ok(entry)
}
