//! The envelope in which each message is given, whichever way it goes.

use super::bodies::Body;
use super::clock::now_ms;
use super::owners::Daemon;
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
    pub(super) fn enveloped(&self, body: &Body, repeat: bool) -> InboxMessage {
        self.enveloped_text(body, repeat, whole_text(body))
    }

    /// Its first [`BEGINNING_CHARS`] characters, in an envelope that says so.
    pub(super) fn enveloped_beginning(&self, body: &Body) -> InboxMessage {
        self.enveloped_text(body, false, &beginning(whole_text(body)))
    }

    fn enveloped_text(&self, body: &Body, repeat: bool, text: &str) -> InboxMessage {
        let entry = &body.stored.entry;
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
        let age_s = age_s(entry);
        let text = wrap(
            &Envelope {
                id: &entry.id,
                from: &entry.source,
                kind,
                age_s,
                head_moved: self.head_moved(body),
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
    fn head_moved(&self, body: &Body) -> bool {
        let entry = &body.stored.entry;
        let then = entry.meta.get(HEAD).and_then(Value::as_str);
        self.says_whether_head_moved(entry)
            && then
                .zip(body.commit.as_deref())
                .is_some_and(|(then, now)| then != now)
    }

    /// Whether a message that is given now says so.
    pub(super) fn says_whether_head_moved(&self, entry: &Entry) -> bool {
        let is_late = age_s(entry) >= LATE_S || entry.timestamp_ms < self.identity.started_ms;
        is_late && entry.meta.contains_key(HEAD)
    }

    /// Writes into a message on which commit the work tree stands, for [`Self::head_moved`]. It was
    /// read before the loop heard of the message.
    pub(super) fn note_head(&self, entry: &mut Entry) {
        if let Some(head) = self.commit.known() {
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

pub(in crate::daemon) fn whole_text(body: &Body) -> &str {
    body.text.as_deref().unwrap_or(&body.stored.entry.content)
}

fn age_s(entry: &Entry) -> i64 {
    (now_ms() - entry.timestamp_ms).max(0) / 1000
}

/// How a text begins, and a line that says so.
pub(in crate::daemon) fn beginning(text: &str) -> String {
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
