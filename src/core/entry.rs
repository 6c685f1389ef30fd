//! [`Entry`]: one fact of the ledger, and [`EntryKind`], the closed set of what can be recorded.
//!
//! Knows nothing of lines, hashes or files; `wire::line` writes and reads them.

mod approval;
mod asked_tool;
mod carried;
mod carried_over;
mod command_run;
mod continuity;
mod delivery;
mod entry_type;
mod error_code;
mod file_change;
mod finality;
mod finding;
mod gate_run;
mod lifecycle;
mod predecessor;
mod referred;
mod task;
mod told_digest;
mod turn_meta;
mod wish;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::agent::{Agent, AgentState, Party};
use super::id::{EntryId, RuntimeSession, Seq, SessionId, ThreadId, TurnId};
use super::whole::Whole;
use super::word::words;
pub use approval::{
    ApprovalChoice, ApprovalEnd, ApprovalKind, ApprovalRecord, ApprovalRequest, ApprovalStep,
    ChoiceEffect, LabelParts, RuleName, SUBJECT_CHARS_MAX, TextHints,
};
pub use asked_tool::AskedTool;
pub use carried::CarriedEntry;
pub use carried_over::{CONTEXTRELAY_3, IMPORTED_FROM, SENT_AT};
pub use command_run::CommandRun;
pub use continuity::{
    ChangedRules, Compaction, CompactionTrigger, ContinuityFact, ContinuityRecord, Inference,
    InferredValue, PacketState, Reload, ReloadCause, ReloadStep, ReloadWay, RulesChange, TurnFiles,
};
pub use delivery::{DeliveryRecord, DeliveryResult, DeliveryWay, OnBusy, Outcome};
pub use entry_type::EntryType;
pub use error_code::ErrorCode;
pub use file_change::{FileAct, FileChange};
pub use finality::{
    DecisionSignature, FinalityDecision, FinalityProposal, ProposalState, TreeFound, WorkTree,
};
pub use finding::{FINDING, FindingFacts, FindingRecord, FindingSeverity, FindingStep, SeverityBy};
pub use gate_run::{GapCause, GateRun, IsolatedRun, RewrittenFiles};
pub use lifecycle::LifecycleEvent;
pub use predecessor::{Fate, Predecessor, SealedSession};
pub use task::{TASK, TASK_HEADING, TASK_ONLY, TaskRecord, TaskStep, handoff_words};
pub use told_digest::{ToldDigest, exported_words};
pub use turn_meta::{ANSWERED_TURN, GOES_ON_WITH, SENT_AGAIN};
pub use wish::Wish;

/// One recorded fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Unique id; for messages and handoffs the id under which they travel.
    pub id: EntryId,
    /// Wall clock at the time of recording, ms since the epoch. Not monotone: order is file order.
    pub timestamp_ms: i64,
    /// The session (ledger file) that the entry was written to.
    pub session_id: SessionId,
    /// Who caused it.
    pub source: Party,
    /// For whom it is.
    pub target: Option<Party>,
    /// The readable text; its beginning when it is too long for a line, see `whole`.
    pub content: String,
    /// Where all of a text is that is cut in `content`.
    pub whole: Option<Whole>,
    /// What happened, with its details.
    pub kind: EntryKind,
    /// The pair that it belongs to; `None` in entries of older ledgers means shared by all.
    pub runtime_session: Option<RuntimeSession>,
    /// Where it stood before a compaction carried it here.
    pub carried: Option<CarriedEntry>,
    /// Further `meta` keys, kept as they were read.
    pub meta: Map<String, Value>,
    /// Where in the ledger it stands. [`Seq`] 0 until it is appended.
    pub seq: Seq,
}

/// The kinds of entries. A kind that this version does not know is kept whole in
/// [`EntryKind::Other`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum EntryKind {
    /// A session begins; the first entry of every file that we start.
    SessionStarted {
        /// The sealed session that this one follows after a clear.
        predecessor: Option<Predecessor>,
    },
    /// Text from one party to another.
    Message(Message),
    /// Work handed over.
    Handoff(Handoff),
    /// Something to remember.
    Note {
        /// What sort of note.
        note: NoteKind,
        /// Handoffs that the note answers.
        handles: Vec<EntryId>,
        /// The proposal or the question to the person, of its own, that the agent takes back with
        /// it.
        withdraws: Option<EntryId>,
    },
    /// A piece of evidence or output: a claim of its source, or verified.
    Artifact(Artifact),
    /// An agent says that the work is done.
    FinalityProposal(FinalityProposal),
    /// The operator's answer to a proposal.
    FinalityDecision(FinalityDecision),
    /// What became of a message.
    Delivery(DeliveryRecord),
    /// An agent attached, left, or changed its state.
    AgentChanged(AgentChanged),
    /// A Codex turn began or ended.
    Turn(TurnRecord),
    /// An agent asked the person for leave, and what became of that.
    Approval(ApprovalRecord),
    /// What an agent touched, forgot and was given again.
    Continuity(ContinuityRecord),
    /// A finding of a review was imported, or the operator said something of one.
    Finding(FindingRecord),
    /// The operator opened a task, made it the current one, or closed it.
    Task(TaskRecord),
    /// The life of the daemon and of what it owns: started, stopped, recovered.
    Lifecycle {
        /// Which step.
        event: LifecycleEvent,
    },
    /// Something went wrong and a person should know.
    Error { code: ErrorCode },
    /// An entry of another version or product, by its type name.
    Other {
        /// The `type` on the line.
        entry_type: String,
        /// All detail fields, untouched.
        detail: Map<String, Value>,
        /// Handoffs that the entry says it handled; every kind may carry them.
        handles: Vec<EntryId>,
    },
}

impl From<LifecycleEvent> for EntryKind {
    fn from(event: LifecycleEvent) -> Self {
        Self::Lifecycle { event }
    }
}

impl From<ErrorCode> for EntryKind {
    fn from(code: ErrorCode) -> Self {
        Self::Error { code }
    }
}

/// A note that closes nothing and takes nothing back.
impl From<NoteKind> for EntryKind {
    fn from(note: NoteKind) -> Self {
        Self::Note {
            note,
            handles: Vec::new(),
            withdraws: None,
        }
    }
}

/// A message's details.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// What to do when the receiver works.
    pub on_busy: OnBusy,
    /// The sender waits for an answer.
    pub require_reply: bool,
    /// Handoffs that the message answers.
    pub handles: Vec<EntryId>,
    /// The message that this one answers.
    pub in_reply_to: Option<EntryId>,
    /// The text is the final answer of a Codex turn that a relayed message had started, not a
    /// tool call.
    pub from_turn: Option<TurnId>,
    /// The operator's decision that the message tells its receiver of; `in_reply_to` is the
    /// proposal then.
    pub decision: Option<EntryId>,
}

impl Message {
    /// One that nobody has to answer, and that answers nothing.
    pub fn new(on_busy: OnBusy) -> Self {
        Self {
            on_busy,
            require_reply: false,
            handles: Vec::new(),
            in_reply_to: None,
            from_turn: None,
            decision: None,
        }
    }
}

/// A handoff's details; the content is the ask.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    /// Why it is handed over.
    pub reason: String,
    /// Files, entries or links that the receiver should look at.
    pub context_refs: Vec<String>,
    /// What to do when the receiver works.
    pub on_busy: OnBusy,
    /// Earlier handoffs that this one answers.
    pub handles: Vec<EntryId>,
}

words! {
    #[derive(Default)]
    pub closed enum NoteKind {
        /// What is to be reached.
        Goal = "goal",
        Plan = "plan",
        /// What was decided.
        Decision = "decision",
        /// What stands in the way.
        Blocker = "blocker",
        /// What comes next.
        NextStep = "next_step",
        /// What is not known yet.
        Question = "question",
        /// What is taken to be the cause, and not shown yet.
        Hypothesis = "hypothesis",
        /// What must hold.
        Constraint = "constraint",
        /// What is taken to be so.
        Assumption = "assumption",
        /// What is done, as its author says.
        Done = "done",
        /// Anything else.
        #[default]
        Note = "note",
    }
}

/// An artifact's details.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    pub kind: ArtifactKind,
    /// One line.
    pub title: String,
    /// What it says.
    pub summary: String,
    /// Its outcome.
    pub status: ArtifactStatus,
    /// Commands, files, figures.
    pub evidence: Vec<String>,
    /// What the daemon ran itself; without it, it is a claim.
    pub verified: Option<GateRun>,
    /// What the agent ran itself, where it is about one command.
    pub ran: Option<CommandRun>,
}

words! {
    /// What an artifact is; agents name kinds of their own.
    pub enum ArtifactKind {
        /// What all of the required gates came to.
        ReleaseGate = "release_gate",
        /// A remark of a review.
        ReviewFinding = "review_finding",
        TestReport = "test_report",
    }
}

/// Words in the kind of an artifact that tells of something that was run.
const RUN_WORDS: [&str; 12] = [
    "test",
    "tests",
    "run",
    "command",
    "gate",
    "bench",
    "benchmark",
    "build",
    "lint",
    "check",
    "ci",
    "verification",
];

impl Artifact {
    /// Whether it says that something was run; the others are words about the work. Agents name
    /// kinds of their own.
    pub fn is_run(&self) -> bool {
        let mut words = self
            .kind
            .as_str()
            .split(|letter: char| !letter.is_alphanumeric());
        words.any(|word| RUN_WORDS.iter().any(|run| word.eq_ignore_ascii_case(run)))
    }
}

words! {
    /// The outcome that an artifact claims.
    #[derive(Default)]
    pub closed enum ArtifactStatus {
        Passed = "passed",
        Failed = "failed",
        /// It could not go on.
        Blocked = "blocked",
        /// Nobody said.
        #[default]
        Unknown = "unknown",
        /// It was left out.
        Skipped = "skipped",
        /// It took too long.
        TimedOut = "timed_out",
    }
}

impl ArtifactStatus {
    /// Whether it did not come to what it was to come to.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Blocked | Self::TimedOut)
    }
}

/// A change in what an agent is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChanged {
    pub agent: Agent,
    /// Its state from now on.
    pub state: AgentState,
    /// Its process, when known.
    pub pid: Option<u32>,
    /// Codex: the thread in the operator's terminal. Claude: its session, once it had a prompt.
    pub thread_id: Option<ThreadId>,
    /// The reason, when it is not plain from the state.
    pub why: Option<String>,
    /// When the usage limit ends, ms since the epoch, where the vendor has said. Not later than the
    /// entry, of an agent that is gone or in its turn: it is over.
    pub until_ms: Option<i64>,
}

impl AgentChanged {
    /// An agent is in this state, and there is no more to say of it.
    pub fn of(agent: Agent, state: AgentState) -> Self {
        Self {
            agent,
            state,
            pid: None,
            thread_id: None,
            why: None,
            until_ms: None,
        }
    }
}

/// The beginning or end of a Codex turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    pub thread_id: ThreadId,
    pub turn_id: TurnId,
    /// Which of the two, and how it ended.
    pub status: TurnStatus,
    pub started_by: Party,
    /// Who stopped it; `None` for one that was not stopped, or that died with its app-server.
    pub stopped_by: Option<Party>,
}

words! {
    /// The states of a turn, in Codex's own words.
    pub closed enum TurnStatus {
        /// It runs.
        InProgress = "inProgress",
        /// It came to its end.
        Completed = "completed",
        /// It was stopped, or died with the app-server.
        Interrupted = "interrupted",
        /// It ended with an error.
        Failed = "failed",
    }
}

impl EntryKind {
    /// The `type` of the entry in which a compaction says what it left behind.
    pub const SUMMARY: &str = "summary";

    /// A note that answers and takes back nothing.
    pub fn note(note: NoteKind) -> Self {
        Self::Note {
            note,
            handles: Vec::new(),
            withdraws: None,
        }
    }
}

impl Entry {
    /// One that says no more than this: it has no id, session, time and place yet.
    pub fn new(source: Party, kind: EntryKind) -> Self {
        Self {
            id: EntryId::new(""),
            timestamp_ms: 0,
            session_id: SessionId::new(""),
            source,
            target: None,
            content: String::new(),
            whole: None,
            kind,
            runtime_session: None,
            carried: None,
            meta: Map::new(),
            seq: Seq(0),
        }
    }

    /// The pair that it belongs to; the first where it names none.
    pub fn pair(&self) -> RuntimeSession {
        self.runtime_session.clone().unwrap_or_default()
    }

    /// Whether it speaks for the operator: what is by `human`, every decision, also one of a rule
    /// that decides by itself, what a gate came to, on which the operator decides, and what the
    /// operator had imported of a review.
    pub fn is_of_operator(&self) -> bool {
        self.source == Party::Human
            || self.gate_run().is_some()
            || matches!(
                self.kind,
                EntryKind::FinalityDecision(_) | EntryKind::Finding(_)
            )
    }

    /// Whether nobody vouched for it where a compaction took it from.
    pub fn is_carried_foreign(&self) -> bool {
        let carried = self.carried.as_ref();
        carried.is_some_and(|carried| carried.foreign)
    }

    /// The run of a gate that the entry tells of. Only the daemon's word counts: an agent's
    /// artifact is a claim, whatever it says of itself.
    pub fn gate_run(&self) -> Option<&GateRun> {
        match &self.kind {
            EntryKind::Artifact(artifact) if self.source == Party::System => {
                artifact.verified.as_ref()
            }
            _ => None,
        }
    }

    /// Whether its text says more of a run than the command: what that printed, or what was run
    /// before it.
    pub fn tells_output(&self) -> bool {
        let alone = |run: &GateRun| format!("$ {}\n", run.cmd);
        self.gate_run().is_some_and(|run| {
            let told = self.content.split_once('\n');
            told.is_none_or(|(_, behind)| behind != alone(run))
        })
    }

    /// How the receiver's being busy is to be met, for what is delivered at all.
    pub fn on_busy(&self) -> Option<OnBusy> {
        match &self.kind {
            EntryKind::Message(message) => Some(message.on_busy),
            EntryKind::Handoff(handoff) => Some(handoff.on_busy),
            _ => None,
        }
    }

    /// The agent that this entry has to be delivered to, if it is of a kind that is delivered.
    pub fn receiver(&self) -> Option<Agent> {
        self.on_busy()?;
        self.target.as_ref()?.agent()
    }
}
