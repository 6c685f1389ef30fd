//! The envelope in which each message is given, on every way.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::BEGINNING_CHARS;
use crate::core::entry::{Entry, EntryKind};
use crate::core::envelope::{Envelope, MessageKind, SentWhen, wrap};
use crate::core::id::EntryId;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::identity::Identity;
use crate::daemon::base::tree_commit::TreeCommit;
use crate::daemon::deliveries::bodies::Body;
use crate::wire::control::MailMessage;
use serde_json::Value;

/// A message that is older than this comes late, in s; and so does one that a daemon before this
/// one took.
const LATE_S: i64 = 120;

/// The key of an entry's `meta` with the commit that the work tree stood on.
const HEAD: &str = "gitHead";

/// How much of that commit is said, in characters.
const COMMIT_CHARS: usize = 12;

/// The message as its receiver gets it. Here and nowhere else its text is made, whichever way
/// it goes.
pub(in crate::daemon) fn enveloped(identity: &Identity, body: &Body, repeat: bool) -> MailMessage {
    enveloped_text(body, repeat, whole_text(body), sent_before(identity, body))
}

/// As [`enveloped`], for a receiver that reads it only when something else has ended: what it says is
/// true then, too.
pub(in crate::daemon) fn enveloped_for_later(body: &Body, repeat: bool) -> MailMessage {
    let entry = &body.stored.entry;
    let time = jiff::Timestamp::from_millisecond(entry.sent_ms()).unwrap_or_default();
    let time = time.strftime("%Y-%m-%d %H:%M UTC").to_string();
    let commit = entry.meta.get(HEAD).and_then(Value::as_str);
    let sent = SentWhen::At {
        time: &time,
        commit: commit.and_then(|commit| commit.get(..COMMIT_CHARS)),
    };
    enveloped_text(body, repeat, whole_text(body), sent)
}

/// Its first [`BEGINNING_CHARS`] characters, in an envelope that says so.
pub(in crate::daemon) fn enveloped_beginning(identity: &Identity, body: &Body) -> MailMessage {
    let text = beginning(whole_text(body));
    enveloped_text(body, false, &text, sent_before(identity, body))
}

/// For who reads it now.
fn sent_before(identity: &Identity, body: &Body) -> SentWhen<'static> {
    SentWhen::Ago {
        seconds: age_s(&body.stored.entry),
        head_moved: head_moved(identity, body),
    }
}

fn enveloped_text(body: &Body, repeat: bool, text: &str, sent: SentWhen<'_>) -> MailMessage {
    let entry = &body.stored.entry;
    let (require_reply, in_reply_to, reason, context_refs, kind) = match &entry.kind {
        EntryKind::Message(message) => (
            message.require_reply,
            message.in_reply_to.clone(),
            None,
            Vec::new(),
            if message.decision.is_some() {
                MessageKind::Decision
            } else if message.from_turn.is_some() {
                MessageKind::Answer
            } else if message.in_reply_to.is_some() {
                MessageKind::Reply
            } else {
                MessageKind::Message
            },
        ),
        EntryKind::Handoff(handoff) => (
            false,
            None,
            Some(handoff.reason.clone()),
            handoff.context_refs.clone(),
            MessageKind::Handoff,
        ),
        _ => (false, None, None, Vec::new(), MessageKind::Message),
    };
    let text = wrap(
        &Envelope {
            id: &entry.id,
            from: &entry.source,
            kind: &kind,
            sent,
            repeat,
            require_reply,
            reason: reason.as_deref(),
            context_refs: &context_refs,
        },
        text,
    );
    MailMessage {
        message_id: entry.id.clone(),
        seq: entry.seq,
        from: entry.source.as_str().to_owned(),
        kind,
        sent_at: entry.sent_ms(),
        age_s: age_s(entry),
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
fn head_moved(identity: &Identity, body: &Body) -> bool {
    let entry = &body.stored.entry;
    let then = entry.meta.get(HEAD).and_then(Value::as_str);
    says_whether_head_moved(identity, entry)
        && then
            .zip(body.commit.as_deref())
            .is_some_and(|(then, now)| then != now)
}

/// Whether a message that is given now says so.
pub(in crate::daemon) fn says_whether_head_moved(identity: &Identity, entry: &Entry) -> bool {
    let is_late = age_s(entry) >= LATE_S || entry.timestamp_ms < identity.started_ms();
    is_late && entry.meta.contains_key(HEAD)
}

/// Writes into a message on which commit the work tree stands, for [`head_moved`]. It was
/// read before the loop heard of the message.
pub(in crate::daemon) fn note_head(commit: &TreeCommit, entry: &mut Entry) {
    if let Some(head) = commit.known() {
        entry.meta.insert(HEAD.to_owned(), Value::String(head));
    }
}

pub(in crate::daemon) fn whole_text(body: &Body) -> &str {
    body.text.as_deref().unwrap_or(&body.stored.entry.content)
}

fn age_s(entry: &Entry) -> i64 {
    (now_ms() - entry.sent_ms()).max(0) / 1000
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
pub(in crate::daemon) fn answers(entry: &Entry, question: &EntryId) -> bool {
    entry.handles().contains(question)
        || matches!(&entry.kind, EntryKind::Message(message)
            if message.in_reply_to.as_ref() == Some(question))
}

/// The operator is a party too, but nobody's peer.
pub(in crate::daemon) fn sender(from: Option<Agent>) -> Party {
    from.map_or(Party::Human, Party::Agent)
}
