//! The envelope in which each message is given, whichever way it goes.

use super::clock::now_ms;
use super::owners::Daemon;
use crate::adapters::git_head;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{BEGINNING_CHARS, DeliveryWay};
use crate::core::entry::{DeliveryResult, Entry, EntryKind};
use crate::core::envelope::{Envelope, wrap};
use crate::core::id::EntryId;
use crate::wire::control::InboxMessage;
use serde_json::Value;

/// A message that is older than this comes late, in s; and so does one that a daemon before this
/// one took.
const LATE_S: i64 = 120;

/// The key of an entry's `meta` with the commit that the work tree stood on.
const HEAD: &str = "gitHead";

impl Daemon {
    /// The message as its receiver gets it. Here and nowhere else its text is made, whichever way
    /// it goes.
    pub(super) fn enveloped(&self, entry: &Entry, repeat: bool) -> InboxMessage {
        self.enveloped_text(entry, repeat, &self.whole_text(entry))
    }

    /// Its first [`BEGINNING_CHARS`] characters, in an envelope that says so.
    pub(super) fn enveloped_beginning(&self, entry: &Entry) -> InboxMessage {
        let text = beginning(&self.whole_text(entry));
        self.enveloped_text(entry, false, &text)
    }

    fn enveloped_text(&self, entry: &Entry, repeat: bool, text: &str) -> InboxMessage {
        let (require_reply, in_reply_to, reason, context_refs, kind) = match &entry.kind {
            EntryKind::Message(message) => (
                message.require_reply,
                message.in_reply_to.clone(),
                None,
                Vec::new(),
                if message.decision.is_some() {
                    "decision"
                } else if message.from_turn.is_some() {
                    "answer"
                } else if message.in_reply_to.is_some() {
                    "reply"
                } else {
                    "message"
                },
            ),
            EntryKind::Handoff(handoff) => (
                false,
                None,
                Some(handoff.reason.clone()),
                handoff.context_refs.clone(),
                "handoff",
            ),
            _ => (false, None, None, Vec::new(), "message"),
        };
        let age_s = (now_ms() - entry.timestamp_ms).max(0) / 1000;
        let text = wrap(
            &Envelope {
                id: &entry.id,
                from: &entry.source,
                kind,
                age_s,
                head_moved: self.head_moved(entry, age_s),
                repeat,
                require_reply,
                reason: reason.as_deref(),
                context_refs: &context_refs,
            },
            text,
        );
        InboxMessage {
            message_id: entry.id.clone(),
            seq: entry.seq,
            from: entry.source.as_str().to_owned(),
            kind: kind.to_owned(),
            sent_at: entry.timestamp_ms,
            age_s,
            repeat,
            require_reply,
            in_reply_to,
            handles: entry.handles().to_vec(),
            text,
            reason,
            context_refs,
            part: None,
        }
    }

    /// Whether the work tree stands elsewhere than when a message was recorded that comes late.
    /// What cannot be told is not said: outside of a repository, or where its files are not read.
    fn head_moved(&self, entry: &Entry, age_s: i64) -> bool {
        let is_late = age_s >= LATE_S || entry.timestamp_ms < self.identity.started_ms;
        if !is_late {
            return false;
        }
        let then = entry.meta.get(HEAD).and_then(Value::as_str);
        let now = git_head::head(&self.dirs.root);
        then.zip(now).is_some_and(|(then, now)| then != now)
    }

    /// Writes into a message on which commit the work tree stands, for [`Self::head_moved`].
    pub(super) fn note_head(&self, entry: &mut Entry) {
        if let Some(head) = git_head::head(&self.dirs.root) {
            entry.meta.insert(HEAD.to_owned(), Value::String(head));
        }
    }

    /// The text of what became of a message, for its delivery entry.
    pub(super) fn delivery_text(
        to: Agent,
        result: DeliveryResult,
        rung: Option<&DeliveryWay>,
    ) -> String {
        let to = to.title();
        let by = rung.map(|rung| format!(" by {rung}")).unwrap_or_default();
        match result {
            DeliveryResult::Confirmed => format!("{to} has it{by}"),
            DeliveryResult::Acknowledged if rung.is_some() => {
                format!("the turn of {to} that had it came to its end")
            }
            DeliveryResult::Acknowledged => format!("{to} acknowledged it"),
            DeliveryResult::Rejected => format!("{to} was busy: rejected as asked"),
            DeliveryResult::Expired => "it waited too long".to_owned(),
            DeliveryResult::Ambiguous => {
                format!("nobody can know whether {to} has it; only the operator sends it again")
            }
            DeliveryResult::Cancelled => "the operator took it back".to_owned(),
            DeliveryResult::Requeued => "the operator asked for another try".to_owned(),
        }
    }
}

/// How a text begins, and a line that says so.
fn beginning(text: &str) -> String {
    let shown: String = text.chars().take(BEGINNING_CHARS).collect();
    format!(
        "{shown}\n[the first {} of {} characters; get_messages has all of it]",
        shown.chars().count(),
        text.chars().count()
    )
}

/// Whether an entry answers a message or handoff.
pub(super) fn answers(entry: &Entry, question: &EntryId) -> bool {
    entry.handles().contains(question)
        || matches!(&entry.kind, EntryKind::Message(message)
            if message.in_reply_to.as_ref() == Some(question))
}

/// The operator is a party too, but nobody's peer.
pub(super) fn sender(from: Option<Agent>) -> Party {
    from.map_or(Party::Human, Party::Agent)
}
