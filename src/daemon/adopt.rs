//! A project of ContextRelay 3 becomes ours: the first chained entry says so, and messages that
//! Claude never fetched are carried over.
//!
//! What that product wrote of its deliveries is no proof, so that nothing of it is sent again by
//! itself: what its queue calls unread becomes *ambiguous* here, and the operator decides.

use std::path::Path;

use serde_json::Value;

use super::owners::Daemon;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::DeliveryFact;
use crate::core::entry::{DeliveryResult, Entry, EntryKind, ErrorCode, LifecycleEvent, Message};
use crate::core::id::RuntimeSession;
use crate::daemon::clock::now_ms;
use crate::store::contextrelay3::{Unread, UnreadMessage};

impl Daemon {
    /// The first entries after an unchained prefix: all of them or none.
    pub(super) fn adopt(&mut self, entries: u64, unread: &Unread) {
        let mut batch = vec![self.entry(
            Party::System,
            None,
            LifecycleEvent::ContextRelay3Adopted,
            adopted_text(entries, unread),
            None,
        )];
        for message in &unread.messages {
            let entry = self.carried_over(message);
            let to = Agent::Claude;
            let unsure = self.delivery_entry(&entry.id, to, DeliveryResult::Ambiguous, None, None);
            batch.extend([entry, unsure]);
        }
        self.record(
            batch,
            Box::new(|daemon, result| match result {
                Ok(stored) => {
                    for stored in stored {
                        let id = &stored.entry.id;
                        let Some(message) = daemon.recorder.world().unsettled.get(id).cloned()
                        else {
                            continue;
                        };
                        daemon.outbox.track(id.clone(), &message);
                        // It was never attempted here, so that it needs no row.
                        let backlog = &mut daemon.outbox.backlog;
                        backlog.apply(id, DeliveryFact::Unknowable, now_ms());
                    }
                }
                // The next start finds the prefix as it was and does it again.
                Err(refusal) => {
                    tracing::error!(code = %refusal.code, "the record could not be taken over");
                }
            }),
        );
    }

    fn carried_over(&self, message: &UnreadMessage) -> Entry {
        let mut entry = self.entry(
            Party::Agent(Agent::Codex),
            Some(Agent::Claude.into()),
            EntryKind::Message(Message {
                on_busy: Default::default(),
                require_reply: false,
                handles: Vec::new(),
                in_reply_to: None,
                from_turn: None,
                decision: None,
            }),
            message.content.clone(),
            Some(RuntimeSession::default()),
        );
        for (key, value) in [
            ("importedFrom", Value::from("contextrelay-3")),
            ("bridgeMessageId", Value::from(message.id.as_str())),
            ("sentAt", Value::from(message.at_ms)),
            ("pushed", Value::from(message.pushed)),
        ] {
            entry.meta.insert(key.to_owned(), value);
        }
        entry
    }

    /// The other product's queue is where it is now.
    pub(super) fn note_foreign_queue(&mut self, aside: &Path) {
        self.note_fact(
            Party::System,
            ErrorCode::ForeignQueue,
            format!(
                "state/queue.db was ContextRelay 3's and is kept as {}; its texts are not redacted",
                aside.file_name().unwrap_or_default().display()
            ),
        );
    }
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
