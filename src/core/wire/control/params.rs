//! The arguments of commands.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::delivery::MessageCursor;
use crate::entry::{ArtifactStatus, DecisionSignature, DeliveryWay, NoteKind, OnBusy, WorkTree};
use crate::id::{CapsuleId, EntryId, RuntimeSession, Seq, SessionId, ThreadId, TurnId};
use crate::signer::Signer;
use crate::signing::{ActSignature, SignedDecision, SigningChange};
use crate::word::words;

/// Arguments of [`Command::Send`](super::Command::Send).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SendParams {
    /// The sending agent; `None` is the operator.
    pub from: Option<Agent>,
    /// The receiver; needed from the operator, otherwise the peer.
    pub to: Option<Agent>,
    pub text: String,
    /// What to do when the receiver works.
    pub on_busy: OnBusy,
    /// The sender waits for an answer.
    pub require_reply: bool,
    /// Handoffs that the message answers.
    pub handles: Vec<EntryId>,
    /// The message that this one answers.
    pub in_reply_to: Option<EntryId>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
    /// Codex: the turn that called (`_meta` of the tool call).
    pub turn_id: Option<String>,
    /// Codex: the thread that called (`_meta.threadId`).
    pub thread_id: Option<ThreadId>,
}

/// Arguments of [`Command::Handoff`](super::Command::Handoff).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct HandoffParams {
    /// The sending agent; `None` is the operator.
    pub from: Option<Agent>,
    /// The receiver; needed from the operator, otherwise the peer.
    pub to: Option<Agent>,
    pub ask: String,
    /// Why.
    pub reason: String,
    /// Files, entries or links to look at.
    pub context_refs: Vec<String>,
    /// What to do when the receiver works.
    pub on_busy: OnBusy,
    /// Earlier handoffs that this one answers.
    pub handles: Vec<EntryId>,
    /// Of the operator's: the task that is handed over, which need not be current, nor of this
    /// record. Without it the handoff belongs to the current one.
    pub task: Option<CapsuleId>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
    /// Codex: the turn that called.
    pub turn_id: Option<String>,
    /// Codex: the thread that called.
    pub thread_id: Option<ThreadId>,
}

/// Arguments of [`Command::GetMessages`](super::Command::GetMessages).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetMessagesParams {
    /// The receiver.
    pub agent: Agent,
    /// Go on from this place.
    pub after: Option<MessageCursor>,
    /// At most this many.
    pub limit: Option<u32>,
    /// Acknowledged in the same call.
    #[serde(default)]
    pub ack: Vec<EntryId>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

impl GetMessagesParams {
    /// The first page of an agent's messages.
    pub fn of(agent: Agent) -> Self {
        Self {
            agent,
            after: None,
            limit: None,
            ack: Vec::new(),
            runtime_session_id: None,
        }
    }
}

/// Arguments of [`Command::WaitMessages`](super::Command::WaitMessages).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitMessagesParams {
    /// The receiver.
    pub agent: Agent,
    /// Go on from this place.
    pub after: Option<MessageCursor>,
    /// Only what answers this message or handoff.
    pub reply_to: Option<EntryId>,
    /// How long to wait, in ms; at most 50,000.
    pub timeout_ms: u64,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

/// A list of message ids of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdsParams {
    /// The receiver of those messages.
    pub agent: Agent,
    /// The messages.
    pub ids: Vec<EntryId>,
    /// By which way they were handed over (`pull`, `doorbell`, …).
    pub rung: Option<DeliveryWay>,
}

/// Arguments of [`Command::AppendNote`](super::Command::AppendNote).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteParams {
    /// The agent that writes; `None` is the operator.
    pub agent: Option<Agent>,
    /// What it says.
    pub text: String,
    /// What sort.
    #[serde(default)]
    pub kind: NoteKind,
    /// Handoffs that it answers.
    #[serde(default)]
    pub handles: Vec<EntryId>,
    /// The finding of a review that its author has in hand.
    pub finding: Option<String>,
    /// The proposal or the question to the person, of its own, that it takes back.
    pub withdraws: Option<EntryId>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

impl NoteParams {
    /// One that answers, concerns and takes back nothing.
    pub fn new(agent: impl Into<Option<Agent>>, kind: NoteKind, text: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            text: text.into(),
            kind,
            handles: Vec::new(),
            finding: None,
            withdraws: None,
            runtime_session_id: None,
        }
    }
}

/// Arguments of [`Command::RecordArtifact`](super::Command::RecordArtifact).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactParams {
    /// Who claims it.
    pub agent: Agent,
    /// One of the ten kinds, or a word of the agent's own.
    pub kind: String,
    /// One line.
    pub title: String,
    /// What it says.
    pub summary: String,
    /// Its outcome.
    #[serde(default)]
    pub status: ArtifactStatus,
    /// Commands, files, figures.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

/// Arguments of [`Command::ProposeFinal`](super::Command::ProposeFinal).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposeParams {
    /// Who proposes.
    pub agent: Agent,
    /// What is done.
    pub summary: String,
    /// Why one should believe it.
    pub evidence: Vec<String>,
    /// What may still be wrong.
    pub remaining_risk: Option<String>,
    /// Handoffs that it would close.
    #[serde(default)]
    pub handles: Vec<EntryId>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

words! {
    /// How much of the record an agent wants.
    #[derive(Default)]
    pub closed enum ContextView {
        /// Messages, handoffs, notes, artifacts and decisions.
        #[default]
        Summary = "summary",
        /// Every entry, without its details.
        Recent = "recent",
        /// Every entry as on disk.
        Raw = "raw",
        /// What the record holds of the work of the agent that asks.
        Resume = "resume",
        /// The project's rules that the agent that asks does not read by itself.
        Instructions = "instructions",
    }
}

/// Arguments of [`Command::ReadContext`](super::Command::ReadContext).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadContextParams {
    /// How much.
    pub view: ContextView,
    /// At most this many entries.
    pub limit: Option<u32>,
    /// Go on (backwards) from here.
    pub cursor: Option<String>,
    /// Only what belongs to this handoff.
    pub handoff_id: Option<EntryId>,
    /// What belongs to the other Claudes' pairs too. Codex reads that always.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_pairs: bool,
}

/// Arguments of [`Command::LedgerList`](super::Command::LedgerList).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerListParams {
    /// At most this many entries; 100 when absent, 1,000 at most.
    pub limit: Option<u32>,
    /// Oldest first when set, newest first otherwise.
    pub ascending: bool,
    /// Only entries of this `type`.
    #[serde(rename = "type")]
    pub entry_type: Option<String>,
    /// Only entries from this party.
    pub source: Option<String>,
    /// Only entries for this party.
    pub target: Option<String>,
    /// Only entries of this pair, and shared ones.
    pub runtime_session_id: Option<RuntimeSession>,
    /// Not before, ms since the epoch.
    pub since_ms: Option<i64>,
    /// Not after, ms since the epoch.
    pub until_ms: Option<i64>,
    /// Only with this text in the content, whatever its case.
    pub text: Option<String>,
    /// Go on from here, in the order asked for.
    pub after: Option<String>,
}

/// Arguments of [`Command::Decide`](super::Command::Decide).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecideParams {
    pub proposal_id: EntryId,
    /// Yes or no.
    pub approve: bool,
    /// Needed for a rejection.
    pub reason: Option<String>,
    /// What lies in the work tree as the operator saw it ([`WorkTree::pin`]), when it is not what
    /// was proposed and is approved nonetheless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_tree: Option<String>,
    /// The last entry of what the operator was shown: an approval is refused where a blocker was
    /// recorded since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seq>,
    /// The session in which `seen` counts: an approval is refused where another one has begun. Clients
    /// before it did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The operator's signature, where decisions are signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<DecisionSignature>,
    /// The work tree that a rejection was signed on. It approves nothing, so that it counts whatever
    /// the agents have written meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_tree: Option<WorkTree>,
}

impl DecideParams {
    /// A bare yes or no, of nothing that was shown.
    pub fn of(proposal_id: EntryId, approve: bool) -> Self {
        Self {
            proposal_id,
            approve,
            reason: None,
            stale_tree: None,
            seen: None,
            session_id: None,
            signature: None,
            signed_tree: None,
        }
    }

    /// With what the operator signed, where decisions are signed.
    #[must_use]
    pub fn signed(self, signed: Option<SignedDecision>) -> Self {
        let Some(SignedDecision { signature, tree }) = signed else {
            return self;
        };
        Self {
            signature: Some(signature),
            signed_tree: tree,
            ..self
        }
    }
}

/// Arguments of [`Command::AcknowledgeAlarm`](super::Command::AcknowledgeAlarm).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcknowledgeParams {
    /// The entry that raised it.
    pub alarm_id: EntryId,
}

/// Arguments of [`Command::Clear`](super::Command::Clear).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ClearParams {
    /// Must be the current session, so that a late key does not clear the next one.
    pub session_id: Option<SessionId>,
    /// Delete it instead of keeping it in the archives.
    pub discard: bool,
    /// The operator's signature, where the operator's acts are signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<ActSignature>,
}

/// Arguments of [`Command::Compact`](super::Command::Compact).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactParams {
    /// Must be the current session.
    pub session_id: Option<SessionId>,
    /// As of [`ClearParams`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<ActSignature>,
}

/// Arguments of [`Command::Trust`](super::Command::Trust).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustParams {
    /// The digest of the keys with power as they were shown to the operator: what was written to
    /// the file since then is not trusted.
    pub digest: String,
    /// What `operator.signing` changes by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningChange>,
    /// As of [`ClearParams`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<ActSignature>,
}

/// Arguments of [`Command::ReportKey`](super::Command::ReportKey).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportKeyParams {
    /// The key that was found in the place of the one that signs.
    pub found: Signer,
}

/// Arguments of [`Command::AgentAction`](super::Command::AgentAction).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentActionParams {
    pub agent: Agent,
    /// What to do.
    pub act: AgentActionKind,
    /// For [`AgentActionKind::Interrupt`]: the turn that the operator saw, so that a late key does not
    /// stop the next one.
    pub turn_id: Option<TurnId>,
    /// Answered with the entry that says so, where one does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub placed: bool,
}

/// What the operator can do about an agent that is silent, at its usage limit, or nearly full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentActionKind {
    /// Stop the turn that runs.
    Interrupt,
    /// Send the messages again whose turn ended early.
    Requeue,
    /// Say nothing of the silent turn for as long again.
    #[serde(rename = "wait")]
    Snooze,
    /// Try again now, limit or not.
    TryNow,
    /// Make no tries by itself.
    #[serde(rename = "cancel")]
    CancelRetries,
    /// Compact its context.
    Compact,
}

/// Arguments of [`Command::Stop`](super::Command::Stop).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StopParams {
    /// Write the `killed` sentinel: bridges then stay dormant.
    pub kill: bool,
}

/// Arguments of [`Command::HandOver`](super::Command::HandOver).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandOverParams {
    /// The program, absolute: `ctxrelay` of the version that is to go on.
    pub program: PathBuf,
}

/// Arguments of [`Command::QueueChange`](super::Command::QueueChange).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueChangeParams {
    /// The message.
    pub id: EntryId,
    /// Send it again, or take it back.
    pub change: QueueChange,
    /// With the entry that says so, where one does. A daemon of an earlier build says only that it
    /// is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub placed: bool,
}

/// What the operator can do with a message that is not settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueChange {
    /// Try again.
    Retry,
    /// Never send it.
    Remove,
}

/// Arguments of [`Command::QueueDrain`](super::Command::QueueDrain).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueDrainParams {
    /// Only what is for this agent.
    pub to: Option<Agent>,
    /// Only these, which were shown to the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<EntryId>>,
}
