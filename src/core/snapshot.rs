//! [`Snapshot`]: the whole visible world, folded from entries by `core::fold`.
//!
//! Holds open matters in full and of the rest only counts and the latest, so that its size follows
//! the work in progress and not the length of the record.

mod activity;
mod agent_status;
mod approval;
mod blocker;
mod blocking;
mod changed_files;
mod exchange;
mod finding;
mod foreign;
mod gates;
mod handoff;
mod message;
mod pair_conversation;
mod proposal;
mod task;
mod told_blockers;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::agent::{Agent, AgentState, Party};
use super::alarm::AlarmSnapshot;
use super::continuity_state::ContinuityState;
use super::entry::{
    Artifact, DeliveryWay, ErrorCode, NoteKind, Predecessor, TurnRecord, TurnStatus, WorkTree,
};
use super::id::{CapsuleId, EntryId, FindingId, RuntimeSession, Seq, SessionId, ThreadId, TurnId};
use super::line_hash::LineHash;
use super::signing::{ActSignature, SigningState};
pub use activity::{ACTIVITY_MINUTES, ActivityMinute, RecentActivity};
pub use agent_status::AgentStatus;
pub use approval::{APPROVALS_OPEN_MAX, ApprovalSnapshot};
pub use blocker::Blocker;
pub use changed_files::{ChangedChecks, ChangedFiles};
pub use exchange::Exchange;
pub use finding::{
    FINDINGS_MAX, FINDINGS_NAMED_MAX, FindingClaim, FindingCursor, FindingSnapshot, FindingState,
    FindingVerdict,
};
pub use gates::{GATES_KEPT_MAX, GateInForce, GateSnapshot, GateStatus, TreeInQuestion};
pub use handoff::{HandoffColumn, HandoffSnapshot, STALE_AFTER_MS};
pub use message::MessageSnapshot;
pub use pair_conversation::PairConversation;
pub use proposal::{ProposalEnd, ProposalSnapshot};
pub use task::{
    CurrentTask, IMPORTED_MAX, ImportedCapsule, KeptDigest, TASK_ITEMS_MAX, TASKS_CLOSED_MAX,
    TASKS_OPEN_MAX, TaskClaim, TaskEnd, TaskFile, TaskHandoff, TaskSnapshot,
};
pub use told_blockers::ToldBlockers;

/// How many closed handoffs, decided proposals, artifacts and notes are kept for display.
pub const RECENT_MAX: usize = 50;

/// How many runtime sessions of an agent's have a state of their own.
pub const RUNTIME_SESSIONS_MAX: usize = 16;

/// The world as the ledger tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Snapshot {
    /// The session of the last entry.
    pub session_id: Option<SessionId>,
    /// The sealed session before it.
    pub predecessor: Option<Predecessor>,
    /// When the session began, where it follows that one, ms since the epoch: what the agents did
    /// before stands there.
    pub follows_since_ms: Option<i64>,
    /// The last entry folded in.
    pub seq: Seq,
    /// Its timestamp.
    pub last_at_ms: i64,
    /// Entries folded in.
    pub entries: u64,
    /// Entries by type name.
    pub counts: BTreeMap<String, u64>,
    /// The two agents.
    pub agents: BTreeMap<Agent, AgentSnapshot>,
    /// Messages and handoffs that provably arrived, by receiver.
    pub delivered: BTreeMap<Agent, u64>,
    /// Messages and handoffs that their receiver has not settled yet. There can be many, so that
    /// two worlds share them.
    pub unsettled: BTreeMap<EntryId, Arc<MessageSnapshot>>,
    /// Messages that Codex has, and the turn that has them, until it is known how that ended.
    #[serde(default)]
    pub in_turn: BTreeMap<EntryId, (TurnId, Arc<MessageSnapshot>)>,
    /// Messages whose turn ended early, all of them, shared as those are: the operator sends each
    /// again or gives it up.
    #[serde(default)]
    pub cut_off: BTreeMap<EntryId, Arc<MessageSnapshot>>,
    /// Open handoffs, all of them, shared as those are.
    pub open_handoffs: BTreeMap<EntryId, Arc<HandoffSnapshot>>,
    /// Handoffs that were answered lately, and all that a pending proposal names, oldest first.
    pub closed_handoffs: VecDeque<HandoffSnapshot>,
    /// Handoffs that were answered, all in all.
    pub closed_handoffs_total: u64,
    /// What the agents of each pair have said to each other since their person last spoke.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exchanges: BTreeMap<RuntimeSession, Exchange>,
    /// Whether the daemon that records now records the person's prompts, without which that would be
    /// counted over everything that they said.
    #[serde(default)]
    pub prompts_recorded: bool,
    /// Messages whose sender waits for an answer, oldest first.
    pub open_questions: BTreeMap<Seq, QuestionSnapshot>,
    /// Blocker notes that nothing has lifted, all of them, oldest first.
    #[serde(default)]
    pub open_blockers: VecDeque<BlockerSnapshot>,
    /// What the agents ask the person before they go on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub open_approvals: BTreeMap<EntryId, ApprovalSnapshot>,
    /// What each agent is at, by runtime session.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub continuity: BTreeMap<Agent, BTreeMap<RuntimeSession, ContinuityState>>,
    /// Tasks that can travel: the open ones, and the latest of those that are closed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<CapsuleId, TaskSnapshot>,
    /// Capsules from elsewhere that the operator imported.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub imported: BTreeMap<CapsuleId, ImportedCapsule>,
    /// The task to which the work of a runtime session belongs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub current_tasks: BTreeMap<RuntimeSession, CurrentTask>,
    /// What reviews say of the work: what stands, and the latest of the others. Shared, because a
    /// world is copied whole.
    #[serde(default, skip_serializing_if = "no_findings")]
    pub findings: Arc<BTreeMap<FindingId, FindingSnapshot>>,
    /// The latest artifacts, oldest first.
    pub artifacts: VecDeque<ArtifactSnapshot>,
    /// Of those before them what failed and was not taken back, all of it, without summary and
    /// evidence, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub failed_before: VecDeque<ArtifactSnapshot>,
    /// The latest run of each gate.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gates: BTreeMap<String, GateSnapshot>,
    /// The operator's last approval: what failed before it is over.
    #[serde(default)]
    pub approved_through: Seq,
    /// The last entry that the operator had seen by then, where the approval says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_through: Option<Seq>,
    /// The work tree of that approval, where git had a name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_tree: Option<WorkTree>,
    /// Proposals that wait for the operator.
    pub pending_proposals: BTreeMap<EntryId, ProposalSnapshot>,
    /// Proposals that the operator decided lately, oldest first.
    pub decided_proposals: VecDeque<ProposalSnapshot>,
    /// Proposals that ended lately without a decision, oldest first.
    #[serde(default)]
    pub ended_proposals: VecDeque<ProposalSnapshot>,
    /// Decisions, by their entry, of which not every agent has a message yet that it should have.
    #[serde(default)]
    pub untold_decisions: BTreeMap<EntryId, UntoldDecision>,
    /// The latest notes, oldest first.
    pub notes: VecDeque<NoteSnapshot>,
    /// The latest errors, oldest first.
    pub errors: VecDeque<ErrorSnapshot>,
    /// Entries up to this one are somebody else's word: shown, but what they say for the operator
    /// has no effect. Kept outside of the project, and set before anything is folded.
    #[serde(default)]
    pub foreign_through: Seq,
    /// What a compaction carried here of such entries.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub foreign_carried: BTreeSet<Seq>,
    /// Alarms about the record, oldest first: all that are not acknowledged, and the latest ones.
    #[serde(default)]
    pub alarms: VecDeque<AlarmSnapshot>,
    /// The operator's last word on who writes to git, while Codex was not told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold_coordinator: Option<Seq>,
    /// Whether decisions are signed, and by whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningState>,
    /// The operator's signature on the first entry of this session, which another one went before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_by: Option<ActSignature>,
}

fn no_findings(findings: &BTreeMap<FindingId, FindingSnapshot>) -> bool {
    findings.is_empty()
}

/// An agent as the ledger tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct AgentSnapshot {
    /// What it is doing.
    pub state: AgentState,
    /// Since when, ms since the epoch.
    pub since_ms: i64,
    /// Its process, when known.
    pub pid: Option<u32>,
    /// Codex: the thread in the operator's terminal.
    pub thread_id: Option<ThreadId>,
    /// Claude: the session of the last prompt of each pair's, also of one that is gone; the latest
    /// last.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub conversations: VecDeque<PairConversation>,
    /// Codex: the turn that runs.
    pub turn_id: Option<TurnId>,
    /// Codex: what the running turn is about.
    pub turn_text: Option<String>,
    /// Codex: the turn whose end is not on record, with its thread, until another begins. It may run,
    /// or have ended with nobody there to be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unended_turn: Option<(ThreadId, TurnId)>,
    /// Codex: the turn that the human stopped, until another begins: what waits behind it is theirs
    /// to let go on, over restarts too.
    pub stopped_turn: Option<TurnId>,
    /// The reason for the state.
    pub why: Option<String>,
    /// The way by which a message last provably arrived, and when.
    pub proven_rung: Option<(DeliveryWay, i64)>,
    /// When it last wrote a note.
    pub last_note_ms: Option<i64>,
    /// The usage limit that it ran into and has not worked since, over restarts too.
    pub limit: Option<LimitSnapshot>,
    /// What it did in the last minutes, up to the last entry.
    #[serde(default)]
    pub activity: RecentActivity,
    /// Claude: what that of each pair does, while one of another pair than the first is here. The
    /// fields above are those of the one that says most then, see [`Self::set_status`].
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        rename = "standings"
    )]
    pub statuses: BTreeMap<RuntimeSession, AgentStatus>,
}

/// A usage limit as the ledger tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitSnapshot {
    /// When a turn ran into it, ms since the epoch.
    pub since_ms: i64,
    /// When it ends, ms since the epoch, where the vendor has said.
    pub until_ms: Option<i64>,
}

impl LimitSnapshot {
    /// A limit of which nobody knows the end is believed for this long, ms. After that the next message
    /// is the test.
    const BELIEVED_MS: i64 = 60 * 60_000;

    /// Whether one who knows nothing but the record takes it to hold at this time.
    pub fn is_believed(&self, now_ms: i64) -> bool {
        let end_ms = self.until_ms.unwrap_or(self.since_ms + Self::BELIEVED_MS);
        // A clock that was set back must not hold a lane for ever.
        end_ms > now_ms && self.since_ms <= now_ms
    }
}

/// A message whose sender waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionSnapshot {
    /// The message.
    pub id: EntryId,
    /// Who asked.
    pub from: Party,
    /// Who was asked.
    pub to: Agent,
    /// The pair that it belongs to.
    pub runtime_session: Option<RuntimeSession>,
    /// When, ms since the epoch.
    #[serde(default)]
    pub at_ms: i64,
    /// The beginning of what is asked, at most
    /// [`BRIEF_CHARS_MAX`](crate::kept_text::BRIEF_CHARS_MAX) characters.
    #[serde(default)]
    pub text: String,
}

/// A blocker note that nothing has lifted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockerSnapshot {
    /// The note.
    pub id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// Who wrote it.
    pub by: Party,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// The beginning of what it says, at most
    /// [`BRIEF_CHARS_MAX`](crate::kept_text::BRIEF_CHARS_MAX) characters.
    pub text: String,
    /// The handoffs that it holds up; with the last of them it is lifted.
    pub holds_up: Vec<EntryId>,
}

/// A decision of which not every agent has a message yet that it should have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntoldDecision {
    /// Its place in the ledger.
    pub seq: Seq,
    /// The proposal that it decides.
    pub proposal_id: EntryId,
    /// The agents without a message.
    pub to: Vec<Agent>,
    /// As of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<LineHash>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactSnapshot {
    pub id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// Who claims it.
    pub by: Party,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// What it says.
    pub artifact: Artifact,
    /// The pair that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_session: Option<RuntimeSession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteSnapshot {
    pub id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// Who wrote it.
    pub by: Party,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// What sort.
    pub kind: NoteKind,
    /// What it says.
    pub text: String,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSnapshot {
    /// Its place in the ledger.
    pub seq: Seq,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// Which kind of thing.
    pub code: ErrorCode,
    /// What happened.
    pub text: String,
}

impl AgentSnapshot {
    /// What it did in the minutes before a time, the oldest one first. What it is at now counts.
    pub fn activity_until(&self, now_ms: i64) -> [ActivityMinute; ACTIVITY_MINUTES] {
        let mut activity = self.activity.clone();
        if self.state == AgentState::Busy {
            activity.worked(self.since_ms, now_ms);
        }
        activity.until(now_ms)
    }

    /// Nobody is attached any more.
    pub(super) fn leave(&mut self, at_ms: i64) {
        self.state = AgentState::Offline;
        self.since_ms = at_ms;
        self.pid = None;
        self.turn_id = None;
        self.turn_text = None;
        self.why = None;
        self.statuses.clear();
    }

    /// Takes the end or beginning of a turn in.
    pub(super) fn turn(&mut self, turn: &TurnRecord, text: &str) {
        let id = Some(&turn.turn_id);
        match turn.status {
            TurnStatus::InProgress => {
                self.turn_id = id.cloned();
                self.turn_text = Some(text.to_owned());
                self.unended_turn = Some((turn.thread_id.clone(), turn.turn_id.clone()));
                // The same one may be told again, from the history.
                self.stopped_turn.take_if(|stopped| Some(&*stopped) != id);
            }
            TurnStatus::Completed | TurnStatus::Interrupted | TurnStatus::Failed => {
                if self.turn_id.as_ref() == id {
                    self.turn_id = None;
                    self.turn_text = None;
                }
                self.unended_turn
                    .take_if(|(_, unended)| *unended == turn.turn_id);
            }
        }
        if turn.stopped_by == Some(Party::Human) {
            self.stopped_turn = id.cloned();
        }
    }
}

impl Snapshot {
    /// Gives back what its large maps do not need: entries that come in their order leave half of a
    /// map's nodes empty. For a world that was just read; a copy of it is as small.
    pub fn pack(&mut self) {
        self.unsettled = std::mem::take(&mut self.unsettled).into_iter().collect();
        self.open_handoffs = std::mem::take(&mut self.open_handoffs)
            .into_iter()
            .collect();
    }

    /// Takes note of the hash on the line of the entry that was folded last: what is later made of
    /// that line is made of this very one.
    pub fn note_hash(&mut self, id: &EntryId, hash: &str) {
        if hash.is_empty() {
            return;
        }
        let seq = self.seq;
        let message = self.unsettled.get_mut(id);
        if let Some(message) = message.filter(|message| message.seq == seq) {
            Arc::make_mut(message).hash = LineHash::of(hash);
        }
        let decision = self.untold_decisions.get_mut(id);
        if let Some(decision) = decision.filter(|decision| decision.seq == seq) {
            decision.hash = LineHash::of(hash);
        }
        let proposal = self.pending_proposals.get_mut(id);
        if let Some(proposal) = proposal.filter(|proposal| proposal.seq == seq) {
            proposal.hash = Some(hash.to_owned());
        }
        let signing = self.signing.as_mut();
        if let Some(signing) = signing.filter(|signing| signing.act == seq) {
            signing.head = Some(hash.to_owned());
        }
    }

    /// Whether the operator had seen this entry when they approved last.
    pub fn is_judged(&self, seq: Seq) -> bool {
        seq <= self.judged_through()
    }

    /// The last entry that an approval judged.
    pub(crate) fn judged_through(&self) -> Seq {
        self.seen_through.unwrap_or(self.approved_through)
    }

    /// Alarms that the operator has not acknowledged.
    pub fn open_alarms(&self) -> impl Iterator<Item = &AlarmSnapshot> {
        let alarms = self.alarms.iter();
        alarms.filter(|alarm| alarm.acknowledged_ms.is_none())
    }

    /// The agent's part; offline when the ledger never heard of it.
    pub fn agent(&self, agent: Agent) -> &AgentSnapshot {
        static UNHEARD_OF: LazyLock<AgentSnapshot> = LazyLock::new(AgentSnapshot::default);
        self.agents.get(&agent).unwrap_or(&UNHEARD_OF)
    }

    /// A proposal that waits, or that was decided or ended lately.
    pub fn proposal(&self, id: &EntryId) -> Option<&ProposalSnapshot> {
        self.pending_proposals.get(id).or_else(|| {
            let over = self.decided_proposals.iter().chain(&self.ended_proposals);
            over.rev().find(|proposal| proposal.id == *id)
        })
    }

    /// The proposals that a later one replaced, as far as they are remembered.
    pub fn replaced_by<'a>(
        &'a self,
        later: &'a EntryId,
    ) -> impl Iterator<Item = &'a ProposalSnapshot> {
        let is_by =
            move |end: &ProposalEnd| matches!(end, ProposalEnd::Superseded(by) if by == later);
        let ended = self.ended_proposals.iter();
        ended.filter(move |earlier| earlier.ended.as_ref().is_some_and(is_by))
    }

    /// Handoffs per lane, in the order open, active, blocked, stale, done; without those that nobody
    /// got.
    pub fn columns(&self, now_ms: i64) -> [u64; 5] {
        let mut columns = [0; 5];
        for handoff in self.standing_handoffs() {
            columns[handoff.column(now_ms) as usize] += 1;
        }
        columns[HandoffColumn::Done as usize] = self.closed_handoffs_total;
        columns
    }
}
