//! The control protocol: [`Command`] is everything a client may ask, [`Reply`] what it gets,
//! [`Notification`] what it is told unasked. JSON-RPC over the control WebSocket and
//! `operator.sock`; the in-process client passes the same types without JSON.
//!
//! Additive changes are free: readers ignore unknown fields, [`PROTOCOL`] changes when they
//! must not.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::search::{IndexReport, RebuildParams, SearchPage, SearchParams};
use super::status::Status;
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryState, OnBusy, Outcome};
use crate::core::entry::{ArtifactStatus, NoteKind};
use crate::core::id::{AttemptId, EntryId, RuntimeSession, Seq, SessionId, ThreadId, TurnId};
use crate::core::snapshot::Snapshot;

/// The version of this protocol, said in `hello` both ways.
pub const PROTOCOL: u32 = 1;

/// The largest frame, in bytes. A message text of 1,000,000 characters may need 4 bytes each and
/// JSON escapes for some, so this is above it; more is a mistake or an attack.
pub const FRAME_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The largest free text, in characters.
pub const TEXT_CHARS_MAX: usize = 1_000_000;

/// Who a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Claude's bridge.
    Claude,
    /// Codex's MCP shim, or the `/mcp` endpoint.
    Codex,
    /// A deck.
    Deck,
    /// The command line.
    Cli,
    /// A hook or the doorbell of a Claude process.
    Hook,
}

impl Role {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Deck => "deck",
            Self::Cli => "cli",
            Self::Hook => "hook",
        }
    }
}

/// The first call on every connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// [`PROTOCOL`] of the client.
    pub protocol: u32,
    /// The client's version, for the log.
    #[serde(default)]
    pub version: String,
    /// Who it is.
    pub role: Role,
    /// Its process.
    pub pid: u32,
    /// The agent's process that it serves: a bridge's parent, a hook's `CLAUDE_PID`.
    #[serde(default)]
    pub agent_pid: Option<u32>,
    /// The pair that it belongs to.
    #[serde(default)]
    pub runtime_session_id: RuntimeSession,
    /// How the bridge wants to be served (`CONTEXTRELAY_MODE`).
    #[serde(default)]
    pub mode: DeliveryMode,
}

/// `CONTEXTRELAY_MODE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryMode {
    /// Every message also goes out as a channel notification at once.
    Push,
    /// Nothing is announced; the agent asks.
    Pull,
    /// The ladder.
    #[default]
    Auto,
}

impl DeliveryMode {
    /// The word in status and environment.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Pull => "pull",
            Self::Auto => "auto",
        }
    }

    /// The mode with this word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Push, Self::Pull, Self::Auto]
            .into_iter()
            .find(|mode| mode.as_str() == word)
    }
}

/// The daemon's answer to [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// [`PROTOCOL`] of the daemon.
    pub protocol: u32,
    /// The daemon's version.
    pub version: String,
    /// The project's instance.
    pub instance_id: String,
    /// The current session.
    pub session_id: SessionId,
    /// Whether this connection gets deliveries: one receiver per agent and runtime session.
    pub receiver: bool,
    /// Whether operator commands are accepted on this connection.
    pub operator: bool,
}

/// Everything a client may ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params")]
pub enum Command {
    /// An agent's message to its peer, or (operator) a person's to an agent.
    #[serde(rename = "message/send")]
    Send(SendParams),
    /// Work handed over.
    #[serde(rename = "handoff/create")]
    Handoff(HandoffParams),
    /// What waits for an agent. Reading proves nothing: see [`Command::Fetched`].
    #[serde(rename = "messages/get")]
    GetMessages(GetMessagesParams),
    /// As [`Command::GetMessages`], answered when there is something or the time is up.
    #[serde(rename = "messages/wait")]
    WaitMessages(WaitMessagesParams),
    /// The bridge handed these bodies to its agent: proof of delivery.
    #[serde(rename = "messages/fetched")]
    Fetched(IdsParams),
    /// The agent says that it has read these.
    #[serde(rename = "messages/ack")]
    Ack(IdsParams),
    /// Something to remember.
    #[serde(rename = "note/append")]
    AppendNote(NoteParams),
    /// A claim with evidence.
    #[serde(rename = "artifact/record")]
    RecordArtifact(ArtifactParams),
    /// The work is done, says an agent.
    #[serde(rename = "finality/propose")]
    ProposeFinal(ProposeParams),
    /// A page of the record and all open handoffs.
    #[serde(rename = "context/read")]
    ReadContext(ReadContextParams),
    /// The folded world.
    #[serde(rename = "snapshot/read")]
    ReadSnapshot,
    /// `status --json`.
    #[serde(rename = "status/read")]
    ReadStatus,
    /// A page of entries as on disk.
    #[serde(rename = "ledger/list")]
    LedgerList(LedgerListParams),
    /// One entry as on disk.
    #[serde(rename = "ledger/show")]
    LedgerShow {
        /// An entry id, or a seq in digits.
        entry: String,
        /// With all of a text that the line holds only the beginning of, in its place.
        #[serde(default)]
        full: bool,
    },
    /// Words in the record.
    #[serde(rename = "ledger/search")]
    LedgerSearch(SearchParams),
    /// How far the search index is; or begin it, and all else that is derived, anew. Nothing of
    /// the record changes by it, so that it is nobody's decision.
    #[serde(rename = "ledger/rebuild")]
    LedgerRebuild(RebuildParams),
    /// The outbox.
    #[serde(rename = "queue/list")]
    QueueList,
    /// Entries from now on as [`Notification::Entry`].
    #[serde(rename = "entries/subscribe")]
    Subscribe,
    /// A Claude hook ran.
    #[serde(rename = "hook/report")]
    Hook(HookParams),
    /// The hook's output, with these bodies in it, was taken by Claude.
    #[serde(rename = "hook/handed")]
    HookHanded(IdsParams),
    /// This connection is the doorbell of a Claude process; rings as [`Notification::Ring`].
    #[serde(rename = "doorbell/attach")]
    DoorbellAttach,
    /// Start what the Codex terminal needs, and say where it is.
    #[serde(rename = "codex/ensure")]
    EnsureCodex,

    /// Operator: decide a proposal.
    #[serde(rename = "finality/decide")]
    Decide(DecideParams),
    /// Operator: seal the session and start a new one.
    #[serde(rename = "ledger/clear")]
    Clear(ClearParams),
    /// Operator: seal the session, and go on in a new one with what is open in it.
    #[serde(rename = "ledger/compact")]
    Compact(CompactParams),
    /// Operator: end the daemon.
    #[serde(rename = "daemon/stop")]
    Stop(StopParams),
    /// Operator: have another program go on in place of the daemon's process.
    #[serde(rename = "daemon/handOver")]
    HandOver(HandOverParams),
    /// Operator: what to do with a message.
    #[serde(rename = "queue/change")]
    QueueChange(QueueChangeParams),
    /// Operator: take back all that can be taken back.
    #[serde(rename = "queue/drain")]
    QueueDrain(QueueDrainParams),
    /// Operator: make the queue anew from the record.
    #[serde(rename = "queue/rebuild")]
    QueueRebuild,
    /// Operator: trust what `config.json` says now.
    #[serde(rename = "config/trust")]
    Trust(TrustParams),
    /// Operator: what to do about an agent that is silent, or at its usage limit.
    #[serde(rename = "agent/attend")]
    Attend(AttendParams),
}

impl Command {
    /// Whether only the operator may ask this.
    pub fn is_operator_only(&self) -> bool {
        match self {
            Self::Decide(_)
            | Self::Clear(_)
            | Self::Compact(_)
            | Self::Stop(_)
            | Self::HandOver(_)
            | Self::QueueChange(_)
            | Self::QueueDrain(_)
            | Self::QueueRebuild
            | Self::Trust(_)
            | Self::Attend(_) => true,
            Self::Send(params) => params.from.is_none(),
            Self::Handoff(params) => params.from.is_none(),
            _ => false,
        }
    }
}

/// Arguments of [`Command::Send`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SendParams {
    /// The sending agent; `None` is the operator.
    pub from: Option<Agent>,
    /// The receiver; needed from the operator, otherwise the peer.
    pub to: Option<Agent>,
    /// The text.
    pub text: String,
    /// What to do when the receiver works.
    pub on_busy: OnBusy,
    /// The sender waits for an answer.
    pub require_reply: bool,
    /// Handoffs that the message answers.
    pub handles: Vec<EntryId>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
    /// Codex: the turn that called (`_meta` of the tool call).
    pub turn_id: Option<String>,
    /// Codex: the thread that called (`_meta.threadId`).
    pub thread_id: Option<ThreadId>,
}

/// Arguments of [`Command::Handoff`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct HandoffParams {
    /// The sending agent; `None` is the operator.
    pub from: Option<Agent>,
    /// The receiver; needed from the operator, otherwise the peer.
    pub to: Option<Agent>,
    /// What is asked.
    pub ask: String,
    /// Why.
    pub reason: String,
    /// Files, entries or links to look at.
    pub context_refs: Vec<String>,
    /// What to do when the receiver works.
    pub on_busy: OnBusy,
    /// Earlier handoffs that this one answers.
    pub handles: Vec<EntryId>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
    /// Codex: the turn that called.
    pub turn_id: Option<String>,
    /// Codex: the thread that called.
    pub thread_id: Option<ThreadId>,
}

/// Arguments of [`Command::GetMessages`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetMessagesParams {
    /// The receiver.
    pub agent: Agent,
    /// Only what stands after this place in the ledger.
    #[serde(default)]
    pub after: Option<Seq>,
    /// At most this many.
    #[serde(default)]
    pub limit: Option<u32>,
    /// Acknowledged in the same call.
    #[serde(default)]
    pub ack: Vec<EntryId>,
    /// The pair; the connection's own when absent.
    #[serde(default)]
    pub runtime_session_id: Option<RuntimeSession>,
}

/// Arguments of [`Command::WaitMessages`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitMessagesParams {
    /// The receiver.
    pub agent: Agent,
    /// Only what stands after this place in the ledger.
    #[serde(default)]
    pub after: Option<Seq>,
    /// Only what answers this message or handoff.
    #[serde(default)]
    pub reply_to: Option<EntryId>,
    /// How long to wait, in ms; at most 50,000.
    pub timeout_ms: u64,
    /// The pair; the connection's own when absent.
    #[serde(default)]
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
    #[serde(default)]
    pub rung: Option<String>,
}

/// Arguments of [`Command::AppendNote`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteParams {
    /// Who writes.
    pub agent: Agent,
    /// What it says.
    pub text: String,
    /// What sort.
    #[serde(default)]
    pub kind: NoteKind,
    /// Handoffs that it answers.
    #[serde(default)]
    pub handles: Vec<EntryId>,
    /// The pair; the connection's own when absent.
    #[serde(default)]
    pub runtime_session_id: Option<RuntimeSession>,
}

/// Arguments of [`Command::RecordArtifact`].
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
    #[serde(default)]
    pub runtime_session_id: Option<RuntimeSession>,
}

/// Arguments of [`Command::ProposeFinal`].
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
    #[serde(default)]
    pub remaining_risk: Option<String>,
    /// Handoffs that it would close.
    #[serde(default)]
    pub handles: Vec<EntryId>,
    /// The pair; the connection's own when absent.
    #[serde(default)]
    pub runtime_session_id: Option<RuntimeSession>,
}

/// How much of the record an agent wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum ContextView {
    /// Messages, handoffs, notes, artifacts and decisions.
    #[default]
    Summary,
    /// Every entry, without its details.
    Recent,
    /// Every entry as on disk.
    Raw,
}

/// Arguments of [`Command::ReadContext`].
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
}

/// Arguments of [`Command::LedgerList`].
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
    #[serde(default)]
    pub since_ms: Option<i64>,
    /// Not after, ms since the epoch.
    #[serde(default)]
    pub until_ms: Option<i64>,
    /// Only with this text in the content, whatever its case.
    #[serde(default)]
    pub text: Option<String>,
    /// Go on from here, in the order asked for.
    pub after: Option<String>,
}

/// The plugin's monitor: its description, by which it stands in the list of running tasks that
/// Claude gives to a `Stop` hook (Claude Code 2.1.330, observed).
pub const MONITOR: &str = "contextrelay inbox";

/// Hook events that ctxrelay listens to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct HookParams {
    /// The event's name as Claude writes it.
    pub event: String,
    /// `CLAUDE_PID`.
    pub claude_pid: Option<u32>,
    /// Claude's own session id.
    #[serde(default)]
    pub claude_session_id: Option<String>,
    /// The prompt is a monitor event and not the human speaking.
    #[serde(default)]
    pub from_monitor: bool,
    /// `source` of a `SessionStart`, `reason` of a `SessionEnd`, `error` of a `StopFailure`,
    /// `notification_type` of a `Notification`.
    #[serde(default)]
    pub detail: Option<String>,
    /// `Stop`: a stop has prolonged this turn already.
    #[serde(default)]
    pub stop_hook_active: bool,
    /// `Stop`: whether our monitor is among the tasks that run; `None` where that is not told.
    #[serde(default)]
    pub monitor_runs: Option<bool>,
}

/// Arguments of [`Command::Decide`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecideParams {
    /// The proposal.
    pub proposal_id: EntryId,
    /// Yes or no.
    pub approve: bool,
    /// Needed for a rejection.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Arguments of [`Command::Clear`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ClearParams {
    /// Must be the current session, so that a late key does not clear the next one.
    pub session_id: Option<SessionId>,
    /// Delete it instead of keeping it in the archives.
    pub discard: bool,
}

/// Arguments of [`Command::Compact`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactParams {
    /// Must be the current session.
    pub session_id: Option<SessionId>,
}

/// Arguments of [`Command::Trust`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustParams {
    /// The digest of the keys with power as they were shown to the operator: what was written to
    /// the file since then is not trusted.
    pub digest: String,
}

/// Arguments of [`Command::Attend`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttendParams {
    /// The agent.
    pub agent: Agent,
    /// What to do.
    pub act: Attendance,
    /// For [`Attendance::Interrupt`]: the turn that the operator saw, so that a late key does not
    /// stop the next one.
    #[serde(default)]
    pub turn_id: Option<TurnId>,
}

/// What the operator can do about an agent that is silent, or at its usage limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attendance {
    /// Stop the turn that runs.
    Interrupt,
    /// Send the messages again whose turn ended early.
    Requeue,
    /// Let the silent turn be for as long again.
    Wait,
    /// Try again now, limit or not.
    TryNow,
    /// Make no tries by itself.
    Cancel,
}

/// Arguments of [`Command::Stop`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StopParams {
    /// Write the `killed` sentinel: bridges then stay dormant.
    pub kill: bool,
}

/// The code of a refusal because another process is about to go on in place of the daemon's. The
/// call was not carried out; whoever answers next can be asked again.
pub const DAEMON_MOVING: &str = "daemon_moving";

/// Arguments of [`Command::HandOver`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandOverParams {
    /// The program, absolute: `ctxrelay` of the version that is to go on.
    pub program: PathBuf,
}

/// Arguments of [`Command::QueueChange`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueChangeParams {
    /// The message.
    pub id: EntryId,
    /// Send it again, or take it back.
    pub change: QueueChange,
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

/// Arguments of [`Command::QueueDrain`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueDrainParams {
    /// Only what is for this agent.
    pub to: Option<Agent>,
}

/// The answer to a [`Command`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "camelCase")]
pub enum Reply {
    /// It is done and there is nothing to say.
    Done,
    /// A message or handoff was recorded.
    Sent(Sent),
    /// What waits for an agent.
    Messages(MessagePage),
    /// These were acknowledged.
    Acked(Vec<EntryId>),
    /// An entry was written.
    Recorded(Recorded),
    /// A proposal was written.
    Proposed(Proposed),
    /// A page of context.
    Context(ContextPage),
    /// The folded world.
    Snapshot(Box<Snapshot>),
    /// `status --json`.
    Status(Box<Status>),
    /// A page of entries as on disk.
    Entries(EntryPage),
    /// One entry as on disk.
    Entry(Value),
    /// What a search found.
    Found(SearchPage),
    /// How far what is derived is.
    Index(IndexReport),
    /// The outbox.
    Queue(Vec<QueueRow>),
    /// These messages were changed.
    QueueChanged(Vec<EntryId>),
    /// What a hook should print.
    Hook(HookReply),
    /// Where the Codex terminal can join.
    Codex(CodexJoin),
    /// The session was sealed.
    Cleared(Cleared),
    /// The session was sealed, and what was open in it carried on.
    Compacted(Compacted),
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
}

/// A message for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InboxMessage {
    /// Its id.
    pub message_id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// Who sent it.
    pub from: String,
    /// `message`, `handoff`, `reply` or `answer`.
    pub kind: String,
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
}

/// What waits for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessagePage {
    /// Oldest first.
    pub messages: Vec<InboxMessage>,
    /// Not acknowledged, this page included.
    pub unread: u64,
    /// Go on after this place.
    pub cursor: Option<Seq>,
    /// The time was up before anything came.
    pub timed_out: bool,
    /// Acknowledged in the same call.
    #[serde(default)]
    pub acked: Vec<EntryId>,
}

/// An entry was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    /// Its id.
    pub entry_id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
}

/// A proposal was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposed {
    /// Its id.
    pub proposal_id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// What stands in the way.
    pub blockers: Vec<String>,
}

/// A page of context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextPage {
    /// Oldest first.
    pub entries: Vec<Value>,
    /// All open handoffs.
    pub open_handoffs: Vec<Value>,
    /// Older entries; `None` at the beginning of the record.
    pub cursor: Option<String>,
}

/// A page of entries as on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryPage {
    /// In the order asked for.
    pub entries: Vec<Value>,
    /// More; `None` at the end.
    pub cursor: Option<String>,
}

/// One row of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRow {
    /// The message.
    pub id: EntryId,
    /// Its receiver.
    pub to: Agent,
    /// Where it stands.
    pub state: String,
    /// How often it was tried.
    pub attempts: u32,
    /// How long ago it was recorded, in ms.
    pub age_ms: i64,
    /// What to do when the receiver works.
    #[serde(rename = "onBusy")]
    pub on_busy: OnBusy,
}

impl QueueRow {
    /// Whether the operator can take it back now. What was handed to Claude and not acknowledged
    /// is unread; what is on its way to Codex cannot be called back.
    pub fn can_be_removed(to: Agent, state: DeliveryState) -> bool {
        match state {
            DeliveryState::Queued | DeliveryState::Ambiguous | DeliveryState::Confirmed => true,
            DeliveryState::Attempted => to == Agent::Claude,
            _ => false,
        }
    }

    /// Whether a rebuilt queue knows nothing of it any more, so that only the operator may have it
    /// sent again.
    pub fn becomes_ambiguous(state: DeliveryState) -> bool {
        !matches!(state, DeliveryState::Ambiguous | DeliveryState::Confirmed)
    }
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
    /// The sealed session.
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
    /// The sealed session.
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

/// What a client is told unasked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params")]
pub enum Notification {
    /// A message for the bridge to push as a channel notification.
    #[serde(rename = "message/push")]
    Push(InboxMessage),
    /// The doorbell's line, at most 500 characters, without a body.
    #[serde(rename = "doorbell/ring")]
    Ring {
        /// The line.
        line: String,
    },
    /// This bridge gets the deliveries from now on, or no longer.
    #[serde(rename = "bridge/receiver")]
    Receiver {
        /// It gets them.
        receiver: bool,
    },
    /// An entry was appended (subscribers only); the entry as on disk.
    #[serde(rename = "entry/appended")]
    Entry(Value),
    /// Something in the status changed that no entry tells (subscribers only).
    #[serde(rename = "status/changed")]
    StatusChanged,
    /// The reader was too slow: this many notifications are missing; read again.
    #[serde(rename = "reader/lagged")]
    Lagged {
        /// How many.
        missed: u64,
    },
    /// The daemon ends.
    #[serde(rename = "daemon/stopping")]
    Stopping {
        /// By `kill`: stay away until somebody starts it again.
        killed: bool,
    },
}

/// A refusal with the next step; `data` of the JSON-RPC error carries `code` and `hint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A stable word.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            hint: hint.into(),
        }
    }
}
