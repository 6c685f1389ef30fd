//! A project of ContextRelay 3 becomes ours: the first chained entry says so, and messages that
//! Claude never fetched are carried over.
//!
//! What that product wrote of its deliveries is no proof, so that nothing of it is sent again by
//! itself: what its queue calls unread becomes *ambiguous* here, and the operator decides.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::core::agent::{Agent, Party};
use crate::core::entry::{Entry, EntryKind, LifecycleEvent, Message};
use crate::core::id::RuntimeSession;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::deliveries::outbox::Outbox;
use crate::store::contextrelay3::{Unread, UnreadMessage};
use crate::store::ledger::Stored;

/// The key of an entry's `meta` with the product that it was carried over from, and that product.
const IMPORTED_FROM: &str = "importedFrom";
const CONTEXTRELAY_3: &str = "contextrelay-3";

/// The key of its `meta` with the time at which it was sent there, ms since the epoch.
const SENT_AT: &str = "sentAt";

/// The first entries after an unchained prefix: all of them or none. With the messages that were
/// carried over, of which it is to be recorded that nobody knows what became of them.
pub(in crate::daemon) fn adopted<T>(
    recorder: &Recorder<T>,
    entries: u64,
    unread: &Unread,
) -> (Entry, Vec<Entry>) {
    let first = recorder.entry(
        Party::System,
        None,
        LifecycleEvent::ContextRelay3Adopted,
        adopted_text(entries, unread),
        None,
    );
    let carried = unread.messages.iter();
    let carried = carried.map(|message| carried_over(recorder, message));
    (first, carried.collect())
}

/// They are recorded: none was ever attempted here, so that none needs a row.
pub(in crate::daemon) fn take_up<T>(
    recorder: &Recorder<T>,
    outbox: &mut Outbox,
    recorded: &[Arc<Stored>],
) {
    for stored in recorded {
        let id = &stored.entry.id;
        if let Some(message) = recorder.world().unsettled.get(id) {
            outbox.track_unknowable(id.clone(), message, now_ms());
        }
    }
}

fn carried_over<T>(recorder: &Recorder<T>, message: &UnreadMessage) -> Entry {
    let mut entry = recorder.entry(
        Party::Agent(Agent::Codex),
        Some(Agent::Claude.into()),
        EntryKind::Message(Message::new(Default::default())),
        message.content.clone(),
        Some(RuntimeSession::default()),
    );
    for (key, value) in [
        (IMPORTED_FROM, Value::from(CONTEXTRELAY_3)),
        ("bridgeMessageId", Value::from(message.id.as_str())),
        (SENT_AT, Value::from(message.at_ms)),
        ("pushed", Value::from(message.pushed)),
    ] {
        entry.meta.insert(key.to_owned(), value);
    }
    entry
}

/// When a message was sent: one that was carried over, before it was recorded here.
pub(in crate::daemon) fn sent_ms(entry: &Entry) -> i64 {
    let from = entry.meta.get(IMPORTED_FROM).and_then(Value::as_str);
    let sent = entry.meta.get(SENT_AT).and_then(Value::as_i64);
    // That product may not have said when.
    let sent = sent.filter(|at_ms| from == Some(CONTEXTRELAY_3) && *at_ms > 0);
    sent.unwrap_or(entry.timestamp_ms)
}

/// Where the other product's queue is now.
pub(in crate::daemon) fn queue_set_aside(aside: &Path) -> String {
    format!(
        "state/queue.db was ContextRelay 3's and is kept as {}; its texts are not redacted",
        aside.file_name().unwrap_or_default().display()
    )
}

fn adopted_text(entries: u64, unread: &Unread) -> String {
    let mut text = format!(
        "this record was begun by ContextRelay 3: its {entries} entries stay as they are, and the \
         chain begins here"
    );
    if unread.total > 0 {
        let carried = unread.messages.len();
        text.push_str(&format!(
            "; of {} messages that Claude never fetched the youngest {carried} follow, and you \
             decide about them (`ctxrelay queue list`)",
            unread.total
        ));
    }
    text
}
