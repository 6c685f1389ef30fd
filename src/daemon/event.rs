//! [`Event`]: everything that can wake the daemon's loop. Closed on purpose.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::attach::{ConnId, Outlet};
use super::peer::ClientProcess;
use super::reply::ReplySender;
use super::tamper::fact::WatchFact;
use crate::adapters::claude::inference::InferenceAnswer;
use crate::adapters::claude::transcript::BlockedPrompt;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::passed::Passed;
use crate::adapters::gate::GateFact;
use crate::adapters::process::StartedProcess;
use crate::core::agent::Agent;
use crate::core::continuity::{ContextMarker, GitFacts};
use crate::core::delivery::Checked;
use crate::core::entry::{CompactionTrigger, Entry, LifecycleEvent, TreeFound};
use crate::core::id::{EntryId, RuntimeSession, SessionId};
use crate::core::instructions::{FileName, RuleTexts, RulesDiff, SharedRules};
use crate::core::snapshot::ChangedFiles;
use crate::daemon::base::agent_programs::FoundPrograms;
use crate::daemon::base::settings::{SettingsKept, SettingsRead};
use crate::daemon::base::under_way::{UnderWay, WorkBeside};
use crate::daemon::decisions::approval_texts::ReadApproval;
use crate::daemon::decisions::approvals::AnswerNumber;
use crate::daemon::deliveries::bodies::BodiesRead;
use crate::daemon::sessions::carrying::{EndingWish, SessionEnding};
use crate::daemon::sessions::reopening::SealedTaskRead;
use crate::store::erase::KeptTexts;
use crate::store::ledger::WriterEvent;
use crate::store::queue::QueueEvent;
use crate::wire::claude::transcript::{CompactBoundary, TranscriptEnd};
use crate::wire::control::{
    ClearParams, Cleared, Command, DecideParams, Hello, PolicySet, ProposeParams, Recorded,
    Refusal, Welcome,
};

/// What wakes the loop. Behind each arrow stands the file of the daemon whose flow takes it.
#[derive(Debug)]
pub enum Event {
    /// A client said hello. → `connecting`
    Connected {
        conn: ConnId,
        /// Who it says it is.
        hello: Hello,
        /// In process, or through the operator's socket from a process that is no agent's.
        operator: bool,
        /// Its process, where the kernel says.
        process: Option<ClientProcess>,
        /// Where its notifications go.
        outlet: Outlet,
        reply: oneshot::Sender<Result<Welcome, Refusal>>,
    },
    /// A client answered a ping. → `connecting`
    PingAnswered { conn: ConnId },
    /// A client is gone. → `connecting`
    Disconnected { conn: ConnId },
    /// A client asks. → `commands`
    Command {
        conn: ConnId,
        command: Box<Command>,
        /// The answer; dropped when the client has gone meanwhile.
        reply: ReplySender,
    },
    /// The ledger's writer. → `recorder`, then `recording`
    Ledger(WriterEvent),
    /// The head outside of the project cannot be written any more, or can again. → `recording`
    Head(std::io::Result<()>),
    /// The queue's writer. → `storing`
    Queue(QueueEvent),
    /// The Codex adapter. → `codex::facts`
    Codex(CodexFact),
    /// The Codex adapter has told its last fact. → `operations`
    CodexSilent,
    /// The Codex adapter let go of what runs; `None` when it could not. → `operations`
    CodexLeft(Option<Box<Passed>>),
    /// What an agent is about to ask was read. → `approval_texts`
    ApprovalRead(Box<ReadApproval>),
    /// Whether an agent's usage limit still holds. → `limiting`
    LimitChecked {
        agent: Agent,
        /// What its vendor says.
        checked: Checked,
    },
    /// The end of a transcript of Claude's was read. → `metering`
    TranscriptRead(TranscriptRead),
    /// What Claude said of its work was read. → `claude::speaking`
    ClaudeSpoke(ClaudeSpoke),
    /// Claude's context was compacted. → `claude::compacting`
    ClaudeCompacted(ClaudeCompacted),
    /// A model has read what an agent said, or could not. → `inferring`
    WordsRead(WordsRead),
    /// The project's rules were compared with what the agents were told. → `watching_rules`
    RulesLooked(Box<RulesLooked>),
    /// The files about the agents' work were made, or could not be. → `rendering`
    WorkRendered(UnderWay),
    /// Something in the project's folder was changed by somebody else. → `tamper::alert`
    Watch(WatchFact),
    /// The state of the work tree was read for somebody. → `commands::tree_read`
    TreeRead {
        purpose: TreePurpose,
        /// What came of it.
        tree: TreeFound,
        /// What differs from the tree that was approved last, if that could be told.
        changed: Option<ChangedFiles>,
    },
    /// What a packet waited for was read. → `reloading`
    PacketRead {
        /// The number under which the packet waits.
        number: u64,
        facts: Box<PacketFacts>,
        /// Until it has been taken in.
        under_way: UnderWay,
    },
    /// `config.json` and what is trusted of it were read for a change of them.
    /// → `commands::settings`
    SettingsRead(Box<SettingsRead>),
    /// A change of them was written, or could not be. → `commands::settings`
    SettingsKept(Box<SettingsKept>),
    /// The blocks in the instruction files say what the rules are now. → `run`
    BlocksRewritten {
        set: Box<PolicySet>,
        reply: ReplySender,
        /// Until it has been answered.
        under_way: UnderWay,
    },
    /// What a session that is to end leaves to the next one was read. → `commands::session_ending`
    SessionEnding(Box<SessionEnding>),
    /// A task of a sealed session that is to go on was looked for. → `commands::reopening`
    SealedTaskRead(Box<SealedTaskRead>),
    /// What stays when the session is deleted was found out. → `commands::session_ending`
    DeletionAsked(DeletionAsked),
    /// A session was deleted for good, as far as it could be. → `deletion`
    DeletionDone(DeletionDone),
    /// A gate of the project that runs. → `commands::gates`
    Gate(GateFact),
    /// Work beside the loop panicked: nothing else comes of it. → `work_failed`
    WorkFailed {
        what: WorkBeside,
        /// Until this is heard.
        under_way: Option<UnderWay>,
    },
    /// What panicked beside the loop was done again, and did not. → `run`
    WorkDone(WorkBeside),
    /// The agents' programs were looked for. → `run`
    ProgramsFound(FoundPrograms),
    /// What takes connections, watches the project's files or shows the daemon panicked. → `run`
    ServiceFailed,
    /// An answer of the operator's to a request for approval reached nobody. → `decisions::approving`
    ApprovalUnanswered { id: EntryId, number: AnswerNumber },
    /// One that says no reached Codex: the operator's reason goes after it. → `commands::answer_approval`
    ReasonToTell(Box<Entry>),
    /// Codex did what the operator asked of it. → `commands::agent_action`
    ActionDone {
        action: LifecycleEvent,
        text: String,
        /// Where that is recorded.
        told: oneshot::Sender<Recorded>,
    },
    /// What messages are given from was read for somebody. → `reading_bodies`
    BodiesRead(Box<BodiesRead>),
    /// The line of a message that waits is not the one that was recorded. → `altered`
    Altered(EntryId),
    /// Processes of agents, as far as nobody connected from them. → `registering`
    AgentsSeen(Vec<StartedProcess>),
    /// Processes of agents that have ended. → `agent_processes`
    AgentsEnded(Vec<StartedProcess>),
    /// A Claude was looked at of which nobody is connected any more. → `claude::presence`
    ClaudeLookedAt(ClaudeLook),
    /// Below which processes the operator's socket must refuse now. → `agent_processes`
    AgentsKnown {
        /// The answer; some of them may have ended.
        reply: oneshot::Sender<Vec<StartedProcess>>,
    },
    /// The text of `/metrics`. → `metrics`
    Metrics { reply: oneshot::Sender<String> },
    /// End, and leave everything to another process. → `takeover::begin`
    BeginTakeover {
        /// Whether that has begun.
        reply: oneshot::Sender<Result<(), Refusal>>,
    },
    /// End. → `ending`
    Shutdown {
        /// Write the `killed` sentinel.
        kill: bool,
    },
}

impl Event {
    /// A word for its kind, for figures and the log: a command is named by its method.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connected { .. } => "connected",
            Self::PingAnswered { .. } => "ping_answered",
            Self::Disconnected { .. } => "disconnected",
            Self::Command { command, .. } => command.method(),
            Self::Ledger(WriterEvent::Durable { .. }) => "durable",
            Self::Ledger(_) => "ledger",
            Self::Head(_) => "head",
            Self::Queue(_) => "queue",
            Self::Codex(_) => "codex",
            Self::CodexSilent => "codex_silent",
            Self::CodexLeft(_) => "codex_left",
            Self::ApprovalRead(_) => "approval_read",
            Self::LimitChecked { .. } => "limit_checked",
            Self::TranscriptRead(_) => "transcript_read",
            Self::ClaudeSpoke(_) => "claude_spoke",
            Self::ClaudeCompacted(_) => "claude_compacted",
            Self::WordsRead(_) => "words_read",
            Self::RulesLooked(_) => "rules_looked",
            Self::WorkRendered(_) => "work_rendered",
            Self::Watch(_) => "watch",
            Self::TreeRead { .. } => "tree_read",
            Self::PacketRead { .. } => "packet_read",
            Self::SettingsRead(_) => "settings_read",
            Self::SettingsKept(_) => "settings_kept",
            Self::BlocksRewritten { .. } => "blocks_rewritten",
            Self::SessionEnding(_) => "session_ending",
            Self::SealedTaskRead(_) => "sealed_task_read",
            Self::DeletionAsked(_) => "deletion_asked",
            Self::DeletionDone(_) => "deletion_done",
            Self::Gate(_) => "gate",
            Self::WorkFailed { .. } => "work_failed",
            Self::WorkDone(_) => "work_done",
            Self::ProgramsFound(_) => "programs_found",
            Self::ServiceFailed => "service_failed",
            Self::ApprovalUnanswered { .. } => "approval_unanswered",
            Self::ReasonToTell(_) => "reason_to_tell",
            Self::ActionDone { .. } => "action_done",
            Self::BodiesRead(_) => "bodies_read",
            Self::Altered(_) => "altered",
            Self::AgentsSeen(_) => "agents_seen",
            Self::AgentsEnded(_) => "agents_ended",
            Self::ClaudeLookedAt(_) => "claude_looked_at",
            Self::AgentsKnown { .. } => "agents_known",
            Self::Metrics { .. } => "metrics",
            Self::BeginTakeover { .. } => "begin_takeover",
            Self::Shutdown { .. } => "shutdown",
        }
    }
}

/// Who waits for the state of the work tree.
#[derive(Debug)]
pub enum TreePurpose {
    /// An agent proposes.
    Propose {
        conn: ConnId,
        params: ProposeParams,
        /// The answer; `None` when it was the last words of a turn.
        reply: Option<ReplySender>,
    },
    /// The gates that were run for a proposal are done.
    SignOff { proposal: EntryId },
    /// The operator decides.
    Decide {
        params: DecideParams,
        reply: ReplySender,
    },
}

/// A Claude of which nobody is connected any more.
#[derive(Debug)]
pub struct ClaudeLook {
    pub pair: RuntimeSession,
    pub process: StartedProcess,
    /// How long it was waited before.
    pub pause: Duration,
    /// It is known to have ended.
    pub has_ended: bool,
}

/// The end of a transcript of Claude's.
#[derive(Debug)]
pub struct TranscriptRead {
    pub path: PathBuf,
    /// What it says of the context, if anything.
    pub end: Option<TranscriptEnd>,
    /// It is not looked at again for what asked for this.
    pub is_last: bool,
}

/// What Claude said of its work, up to now.
#[derive(Debug)]
pub struct ClaudeSpoke {
    pub pair: RuntimeSession,
    /// Its words that were not read before.
    pub texts: Vec<String>,
    /// What was found in them.
    pub markers: Vec<ContextMarker>,
    /// Commands of a turn that is over, of which no end was seen.
    pub unfinished: Vec<String>,
    /// Prompts that another hook blocked: of what was added to them, Claude has nothing.
    pub blocked: Vec<BlockedPrompt>,
    /// When the hook came for which it was read, ms by the daemon's clock.
    pub at_ms: i64,
    /// The messages that its transcript says it got from hooks; only where a prompt was blocked.
    pub given: Vec<EntryId>,
    /// Its turn is over.
    pub is_over: bool,
    /// Until this is heard.
    pub under_way: UnderWay,
}

/// A compaction of Claude's that is over.
#[derive(Debug)]
pub struct ClaudeCompacted {
    /// The record's session in which it was.
    pub session: SessionId,
    pub pair: RuntimeSession,
    pub trigger: CompactionTrigger,
    /// Claude's summary, where it was told.
    pub summary: String,
    /// What the transcript says of it.
    pub boundary: Option<CompactBoundary>,
    /// Until this is heard.
    pub under_way: UnderWay,
}

/// What a model took from an agent's words.
#[derive(Debug)]
pub struct WordsRead {
    pub agent: Agent,
    pub pair: RuntimeSession,
    /// The model, by the name that it was asked for.
    pub model: String,
    pub answer: InferenceAnswer,
}

/// The project's rules, and how they differ from what the agents were told.
#[derive(Debug)]
pub struct RulesLooked {
    /// Of each agent that was told some.
    pub differ: Vec<RulesCompared>,
    /// What the files say now.
    pub texts: Arc<RuleTexts>,
    /// Until this is heard.
    pub under_way: UnderWay,
}

/// The project's rules beside what one agent was told.
#[derive(Debug)]
pub struct RulesCompared {
    pub agent: Agent,
    pub pair: RuntimeSession,
    pub told: Arc<RuleTexts>,
    pub differ: Vec<RulesDiff>,
}

/// What is read beside the loop for a packet.
#[derive(Debug, Default)]
pub struct PacketFacts {
    /// `None` when the project is no git repository, or git took too long.
    pub git: Option<GitFacts>,
    /// The rules that the agent does not read by itself; `None` when they are not shared.
    pub rules: Option<SharedRules>,
    /// What all files of rules say; `None` as of `rules`.
    pub told: Option<ToldRules>,
    /// How the files begin that the agent changed last, the latest one first, with their paths.
    pub heads: Vec<(String, String)>,
}

/// What the project's rules say, and how the agent has them.
#[derive(Debug, Clone)]
pub struct ToldRules {
    /// By file.
    pub texts: Arc<RuleTexts>,
    /// The files that it reads by itself; of the others it has what they said before. `None`: it is
    /// given those.
    pub read: Option<Arc<BTreeSet<FileName>>>,
}

/// A session that the operator wants deleted.
#[derive(Debug)]
pub struct DeletionAsked {
    pub params: ClearParams,
    /// What stays.
    pub texts: KeptTexts,
    pub reply: ReplySender,
    /// Until this is heard.
    pub under_way: UnderWay,
}

/// A session that was deleted, as far as it could be.
#[derive(Debug)]
pub struct DeletionDone {
    /// Which.
    pub session: SessionId,
    /// What is still there, and why.
    pub left: Vec<String>,
    /// Who waited for that.
    pub waited: DeletionWaiter,
    /// Until this is heard.
    pub under_way: UnderWay,
}

/// Who waits until a session is deleted.
#[derive(Debug)]
pub enum DeletionWaiter {
    /// Who had it deleted, and hears so.
    Answer(Cleared, ReplySender),
    /// Who has the next one end, after a fault of ours had cut the deletion short.
    Ending(EndingWish, ReplySender),
}
