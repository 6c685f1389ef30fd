//! Adopts a project of ContextRelay 3: the first chained entry says so, and messages that Claude
//! never fetched are carried over.
//!
//! What that product wrote about its deliveries proves nothing, so none of it is sent again
//! automatically: what its queue calls unread becomes *ambiguous* here, and the operator decides.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::core::agent::{Agent, Party};
use crate::core::entry::{
    CONTEXTRELAY_3, Entry, EntryKind, IMPORTED_FROM, LifecycleEvent, Message, SENT_AT,
};
use crate::core::id::RuntimeSession;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::deliveries::outbox::Outbox;
use crate::store::contextrelay3::{Unread, UnreadMessage};
use crate::store::ledger::Stored;

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
