//! [`Reply`]: what the daemon answers, and its parts.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::variant;
use super::{
    ApprovalAnswer, CapsuleCheck, CapsuleList, CapsuleText, EntryLine, FindingText, GateReport,
    GatesReport, PlacedFinding, QueueRow, ReviewChanged, TaskChanged,
};
use crate::delivery::MessageCursor;
use crate::entry::{Entry, Outcome};
use crate::envelope::MessageKind;
use crate::id::{AttemptId, EntryId, Seq, SessionId, ThreadId};
use crate::live_turn::LiveTurn;
use crate::plain_value::list;
use crate::snapshot::Snapshot;
use crate::wire::search::{FoundPage, IndexReport, SealedPage, SearchPage};
use crate::wire::status::Status;
use crate::wire::window::WindowPage;

/// The replies. What a reply carries is had from it by its type, except of the first ones: they carry
/// nothing, or what another one carries too. A reply of another kind is handed back.
macro_rules! replies {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$alone_doc:meta])* $alone:ident $(($twin:ty))?, )+
            ;
            $( $(#[$doc:meta])* $kind:ident($carried:ty), )+
        }
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $( $(#[$alone_doc])* $alone $(($twin))?, )+
            $( $(#[$doc])* $kind($carried), )+
        }

        $(impl TryFrom<$name> for $carried {
            type Error = $name;

            fn try_from(reply: $name) -> Result<Self, $name> {
                match reply {
                    $name::$kind(carried) => Ok(carried),
                    other => Err(other),
                }
            }
        })+
    };
}

replies! {
    /// The answer to a [`Command`](super::Command). On the wire it has another form than serde's, see
    /// [`Reply::to_json`].
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub enum Reply {
        /// It is done and there is nothing to say.
        Done,
        /// These were acknowledged.
        Acked(Vec<EntryId>),
        ;
        /// A message or handoff was recorded.
        Sent(Sent),
        /// What waits for an agent.
        Messages(MessagePage),
        /// Not all were acknowledged that could have been.
        AckedPartly(AckedPartly),
        /// An entry was written.
        Recorded(Recorded),
        /// A proposal was written.
        Proposed(Proposed),
        /// A page of context.
        Context(ContextPage),
        /// What the record holds of an agent's work, or the project's files of its rules.
        Work(WorkText),
        /// The folded world, as it is in this moment; in process it is shared.
        Snapshot(Arc<Snapshot>),
        /// `status --json`.
        Status(Box<Status>),
        /// What Codex's turn has done so far.
        Turn(LiveTurn),
        /// A page of entries as on disk.
        Entries(EntryPage),
        /// One entry as on disk.
        Entry(EntryLine),
        /// Rows of the timeline.
        Window(WindowPage),
        /// What a search found.
        Found(SearchPage),
        /// What a search in tasks found; how each stands to the work tree is not said.
        FoundTasks(FoundPage),
        /// What a search in sealed sessions found.
        FoundSealed(SealedPage),
        /// How far what is derived is.
        Index(IndexReport),
        /// The outbox.
        Queue(Vec<QueueRow>),
        /// These messages were changed.
        QueueChanged(Vec<EntryId>),
        /// What a hook should print.
        Hook(HookReply),
        /// What the operator answered; `None` when it is answered elsewhere, or nobody looks.
        Approval(Option<ApprovalAnswer>),
        /// Where the Codex terminal can join.
        Codex(CodexJoin),
        /// The session was sealed.
        Cleared(Cleared),
        /// The session was sealed, and what was open in it carried on.
        Compacted(Compacted),
        /// A task was changed.
        Task(TaskChanged),
        /// Findings were recorded, or something was said of one.
        Review(ReviewChanged),
        /// What a finding says.
        Finding(FindingText),
        /// Where findings stand, as far as that was asked for and could be told in time.
        FindingPlaces(Vec<PlacedFinding>),
        /// The tasks that there are.
        Capsules(CapsuleList),
        /// A task as a text.
        CapsuleText(CapsuleText),
        /// How a task stands to the work tree.
        CapsuleCheck(CapsuleCheck),
        /// The gates, and what they came to.
        Gates(GatesReport),
        /// The rules for the agents were changed.
        PolicySet(PolicySet),
    }
}

impl Reply {
    /// The word of its kind, as it is on the wire.
    pub fn kind(&self) -> &'static str {
        variant::word(self)
    }

    /// `{kind, value}`, as it is on the wire.
    ///
    /// # Errors
    ///
    /// What it carries is no JSON.
    pub fn to_json(&self) -> serde_json::Result<Value> {
        let (kind, value) = variant::apart(self)?;
        let mut json = json!({"kind": kind});
        if let Some(value) = value {
            json["value"] = value;
        }
        Ok(json)
    }

    /// A reply from the wire.
    ///
    /// # Errors
    ///
    /// It is of no kind that is known here, or what it carries has another shape.
    pub fn from_json(mut json: Value) -> serde_json::Result<Self> {
        let value = json.get_mut("value").map(Value::take);
        let kind = json.get("kind").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| serde_json::Error::missing_field("kind"))?;
        variant::together(kind, value)
    }
}

impl TryFrom<Reply> for () {
    type Error = Reply;

    fn try_from(reply: Reply) -> Result<Self, Reply> {
        match reply {
            Reply::Done => Ok(()),
            other => Err(other),
        }
    }
}

/// The rules for the agents were changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicySet {
    /// The entry that says so.
    pub entry_id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// The instruction files whose managed block says so now, as paths inside the project.
    pub rewritten: Vec<String>,
    /// Those that could not be rewritten, each with the reason.
    pub left: Vec<String>,
}

impl HookReply {
    /// A text without messages in it.
    pub fn of_text(text: Option<String>) -> Self {
        Self {
            additional_context: text,
            ids: Vec::new(),
        }
    }

    /// The same, and a line behind it.
    #[must_use]
    pub fn followed_by(mut self, line: Option<String>) -> Self {
        if let Some(line) = line {
            let text = self.additional_context.take();
            let text = text.map(|text| format!("{text}\n{line}"));
            self.additional_context = Some(text.unwrap_or(line));
        }
        self
    }
}

/// A message or handoff was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The message's id; a handoff's id too.
    pub message_id: EntryId,
    /// The first attempt, if one was made before the answer.
    pub delivery_attempt_id: Option<AttemptId>,
    /// What is known.
    pub outcome: Outcome,
    /// Its place in the ledger.
    pub seq: Seq,
    /// A repeated handoff: this is the first one's id, nothing was delivered again.
    pub duplicate: bool,
    /// The receiver's program is neither installed nor attached: nobody is there who could get it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub receiver_missing: bool,
    /// Why the receiver does not get it, or cannot answer, until its human does something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for_human: Option<String>,
    /// Questions that the sender has had, and that neither this nor anything else answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<EntryId>,
}

impl Sent {
    /// What is said of a handoff that is [`Self::duplicate`]. `line`: its place, as it is shown.
    pub fn said_before(line: &str) -> String {
        format!(
            "the same handoff is open already (entry {line}); nothing was sent: other words make it \
             another one"
        )
    }
}

/// A message for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MailMessage {
    pub message_id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// Who sent it.
    pub from: String,
    pub kind: MessageKind,
    /// When it was recorded, ms since the epoch.
    pub sent_at: i64,
    /// How old it was when it was handed over, in s.
    pub age_s: i64,
    /// It was shown before.
    pub repeat: bool,
    /// The sender waits for an answer.
    pub require_reply: bool,
    /// What it answers.
    pub in_reply_to: Option<EntryId>,
    /// Handoffs that it closes.
    pub handles: Vec<EntryId>,
    /// The text, wrapped so that it cannot be taken for the human's.
    pub text: String,
    /// The reason, for a handoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to look at, for a handoff.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_refs: Vec<String>,
    /// Which part of the text this is; `None`: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<TextPart>,
}

/// A stretch of a text, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPart {
    /// Where it begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// How long the whole text is.
    pub total: usize,
}

/// What an acknowledgement came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckedPartly {
    /// These were acknowledged.
    pub acked: Vec<EntryId>,
    /// Of these only the beginning was shown, so that the whole cannot have been read.
    pub unfinished: Vec<EntryId>,
}

/// What the messages of a page may take of a tool's result, in characters of JSON: each with its
/// text twice, because a result has a twin in plain text.
pub const PAGE_CHARS_MAX: usize = 38_000;

/// What waits for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessagePage {
    /// What was never shown whole, oldest first, then what was.
    pub messages: Vec<MailMessage>,
    /// Not acknowledged, this page included.
    pub unread: u64,
    /// Go on from this place, for the rest or for what comes later; `None` without messages.
    pub cursor: Option<MessageCursor>,
    /// There is a rest.
    #[serde(default)]
    pub more: bool,
    /// The time was up before anything came.
    pub timed_out: bool,
    /// The wait was for an answer that does not come any more: why, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The daemon that waited is being replaced, before the time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Acknowledged in the same call.
    #[serde(default)]
    pub acked: Vec<EntryId>,
    /// Not acknowledged in the same call, because only the beginning was shown.
    #[serde(default)]
    pub unfinished: Vec<EntryId>,
}

/// An entry was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    pub entry_id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
}

impl Recorded {
    /// This entry was.
    pub fn of(entry: &Entry) -> Self {
        Self {
            entry_id: entry.id.clone(),
            seq: entry.seq,
        }
    }
}

/// A proposal was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposed {
    pub proposal_id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// Proposals that wait no more, because this one resolves all of their handoffs.
    #[serde(default)]
    pub replaces: Vec<EntryId>,
    /// What stands in the way.
    pub blockers: Vec<String>,
    /// For how many things that stands: a row may only count them. `None`: a daemon of an earlier
    /// build, which does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blockers_total: Option<usize>,
    /// The project's gates, and what they last came to.
    #[serde(default)]
    pub gates: Vec<GateReport>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextPage {
    /// Oldest first.
    #[serde(deserialize_with = "list")]
    pub entries: Vec<Value>,
    /// All open handoffs, or of these the one that was named.
    #[serde(deserialize_with = "list")]
    pub open_handoffs: Vec<Value>,
    /// Older entries; `None` at the beginning of the record.
    pub cursor: Option<String>,
    /// How many lines among those that were looked at could not be read.
    #[serde(default, skip_serializing_if = "crate::wire::search::is_none")]
    pub unread_lines: u64,
    /// The oldest and the newest entry that were looked at, where the page has room for more and older
    /// ones were not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<(Seq, Seq)>,
}

/// What the record holds of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkText {
    /// All of it, nothing left out.
    pub text: String,
    /// The last entry that is in it; of rules, a number that is another one when they change.
    pub seq: Seq,
}

/// A page of entries as on disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryPage {
    /// In the order asked for.
    pub entries: Vec<EntryLine>,
    /// Where each of them stands: its line in the record, which in the chained part is its `seq`.
    /// An entry of ContextRelay 3 has no other number.
    #[serde(default)]
    pub places: Vec<u64>,
    /// Up to this place the current record is somebody else's word; 0 where none of it is.
    #[serde(default, skip_serializing_if = "crate::wire::search::is_none")]
    pub foreign_through: u64,
    /// More; `None` at the end.
    pub cursor: Option<String>,
    /// How many lines among those that were looked at could not be read: whether they are wanted nobody
    /// can tell.
    #[serde(default, skip_serializing_if = "crate::wire::search::is_none")]
    pub unread_lines: u64,
}

/// What a hook should print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct HookReply {
    /// For the model, in this very request; under 8,000 characters.
    pub additional_context: Option<String>,
    /// The messages whose bodies are in it.
    pub ids: Vec<EntryId>,
}

/// Where the Codex terminal can join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodexJoin {
    /// The thread to resume.
    pub thread_id: ThreadId,
    /// The proxy's port.
    pub proxy_port: u16,
}

/// The session was sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cleared {
    pub sealed: SessionId,
    /// Where its file lies now; `None` when it was deleted.
    pub archive: Option<String>,
    /// How many entries it had.
    pub entries: u64,
    /// The hash of its last entry.
    pub head: String,
    /// The session that follows.
    pub session_id: SessionId,
    /// Messages that nobody had settled, taken back.
    pub cancelled: Vec<EntryId>,
    /// What should have been deleted and is still there, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// The session was sealed, and what was open in it carried on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    pub sealed: SessionId,
    /// Where its file lies now.
    pub archive: String,
    /// How many entries it had.
    pub entries: u64,
    /// The hash of its last entry.
    pub head: String,
    /// The session that follows.
    pub session_id: SessionId,
    /// How many entries were carried into it, under their own ids.
    pub carried: u64,
}
