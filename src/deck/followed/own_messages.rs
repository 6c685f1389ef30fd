//! [`OwnMessages`]: the operator's last messages, followed wherever in the record the reader is.

use std::collections::BTreeMap;

use crate::core::agent::{Agent, Party};
use crate::core::entry::{Entry, EntryKind};
use crate::core::id::EntryId;

/// How many are followed. The deck tells of the last one; others may be sent from elsewhere.
const FOLLOWED_MAX: usize = 8;

/// One of them.
#[derive(Debug)]
pub struct OwnMessage {
    pub id: EntryId,
    /// For whom.
    pub to: Agent,
    /// When it was recorded, ms since the epoch.
    pub at_ms: i64,
}

/// The last ones, by their line in the record.
#[derive(Debug, Default)]
pub struct OwnMessages(BTreeMap<u64, OwnMessage>);

impl OwnMessages {
    /// Follows an entry, if it is one of them.
    pub(in crate::deck) fn take(&mut self, entry: &Entry) {
        let is_message = matches!(entry.kind, EntryKind::Message(_) | EntryKind::Handoff(_));
        let receiver = entry.receiver().filter(|_| is_message);
        let (Some(to), Party::Human) = (receiver, &entry.source) else {
            return;
        };
        let message = OwnMessage {
            id: entry.id.clone(),
            to,
            at_ms: entry.timestamp_ms,
        };
        self.0.insert(entry.seq.0, message);
        if self.0.len() > FOLLOWED_MAX {
            self.0.pop_first();
        }
    }

    /// Another record has begun.
    pub(in crate::deck) fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether a message is one of them.
    pub(in crate::deck) fn has(&self, id: &EntryId) -> bool {
        self.0.values().any(|message| message.id == *id)
    }

    /// All of them, with their lines.
    pub(in crate::deck) fn iter(&self) -> impl Iterator<Item = (u64, &OwnMessage)> {
        self.0.iter().map(|(line, message)| (*line, message))
    }
}
