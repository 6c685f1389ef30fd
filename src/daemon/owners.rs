//! [`Daemon`]: the owners that the loop has, and nothing that they do.

use tokio::sync::mpsc;

use super::agent_processes::AgentProcesses;
use super::approvals::Approvals;
use super::bodies::BodyReads;
use super::claude_lane::ClaudeLane;
use super::claude_processes::ClaudeProcesses;
use super::clients::Clients;
use super::clock::Clock;
use super::codex_lane::CodexLane;
use super::configuration::Configuration;
use super::contexts::Contexts;
use super::continuation::{Then, ThenRead, ThenReloaded, ThenStored};
use super::costs::Costs;
use super::event::Event;
use super::gates::Gates;
use super::given_heads::GivenHeads;
use super::handoff_dedup::HandoffDedup;
use super::identity::Identity;
use super::imports::Imports;
use super::inferences::Inferences;
use super::limits::Limits;
use super::loop_times::LoopTimes;
use super::notices::Notices;
use super::operations::Operations;
use super::outbox::Outbox;
use super::pending_decisions::PendingDecisions;
use super::readers::Readers;
use super::recent_writes::RecentWrites;
use super::recorder::Recorder;
use super::reloads::Reloads;
use super::reminders::Reminders;
use super::renderings::Renderings;
use super::rules_watch::RulesWatch;
use super::shown_turn::ShownTurn;
use super::silence::Silences;
use super::spoken_turns::SpokenTurns;
use super::tamper::Alarms;
use super::touched_files::TouchedFiles;
use super::tree_commit::TreeCommit;
use super::work_lane::WorkLane;
use crate::core::delivery::{HeldEffects, LaterInputs};
use crate::store::dirs::ProjectDirs;
use crate::store::publisher::Board;
use crate::wire::control::Refusal;

/// The only owner of mutable world state.
pub struct Daemon {
    pub(super) dirs: ProjectDirs,
    pub(super) identity: Identity,
    pub(super) recorder: Recorder<Then>,
    pub(super) outbox: Outbox,
    pub(super) held: HeldEffects<ThenStored, Refusal>,
    pub(super) later: LaterInputs,
    pub(super) bodies: BodyReads<ThenRead>,
    pub(super) commit: TreeCommit,
    pub(super) clock: Clock,
    pub(super) clients: Clients,
    pub(super) claude: ClaudeLane,
    pub(super) claude_processes: ClaudeProcesses,
    pub(super) codex: CodexLane,
    pub(super) silences: Silences,
    pub(super) shown_turn: ShownTurn,
    pub(super) limits: Limits,
    pub(super) contexts: Contexts,
    pub(super) costs: Costs,
    pub(super) given: GivenHeads,
    pub(super) notices: Notices,
    pub(super) handoff_dedup: HandoffDedup,
    pub(super) deciding: PendingDecisions,
    pub(super) approvals: Approvals,
    pub(super) reloads: Reloads<ThenReloaded>,
    pub(super) reminders: Reminders,
    pub(super) renderings: Renderings,
    pub(super) rules_watch: RulesWatch,
    pub(super) touched: TouchedFiles,
    pub(super) spoken: SpokenTurns,
    pub(super) inferences: Inferences,
    pub(super) recent_writes: RecentWrites,
    pub(super) agent_processes: AgentProcesses,
    pub(super) events: mpsc::WeakSender<Event>,
    pub(super) operations: Operations,
    pub(super) configuration: Configuration,
    pub(super) settings_work: WorkLane,
    pub(super) alarms: Alarms,
    /// What others read on the disk.
    pub(super) board: Board,
    pub(super) loop_times: LoopTimes,
    pub(super) readers: Readers,
    pub(super) gates: Gates,
    pub(super) imports: Imports,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").finish_non_exhaustive()
    }
}

impl Daemon {
    pub(super) fn new(
        dirs: ProjectDirs,
        identity: Identity,
        recorder: Recorder<Then>,
        outbox: Outbox,
        codex: CodexLane,
        commit: TreeCommit,
        events: mpsc::WeakSender<Event>,
    ) -> Self {
        let clock = Clock::start();
        let reminders = Reminders::since(clock.now_ms());
        let handoff_dedup = HandoffDedup::of(recorder.world(), clock.now_ms());
        Self {
            dirs,
            identity,
            recorder,
            outbox,
            held: HeldEffects::default(),
            later: LaterInputs::default(),
            bodies: BodyReads::default(),
            commit,
            clock,
            clients: Clients::default(),
            claude: ClaudeLane::default(),
            claude_processes: ClaudeProcesses::default(),
            codex,
            silences: Silences::default(),
            shown_turn: ShownTurn::default(),
            limits: Limits::default(),
            contexts: Contexts::default(),
            costs: Costs::default(),
            given: GivenHeads::default(),
            notices: Notices::default(),
            handoff_dedup,
            deciding: PendingDecisions::default(),
            approvals: Approvals::default(),
            reloads: Reloads::default(),
            reminders,
            renderings: Renderings::default(),
            rules_watch: RulesWatch::default(),
            touched: TouchedFiles::default(),
            spoken: SpokenTurns::default(),
            inferences: Inferences::default(),
            recent_writes: RecentWrites::default(),
            agent_processes: AgentProcesses::default(),
            events,
            operations: Operations::default(),
            configuration: Configuration::default(),
            settings_work: WorkLane::default(),
            alarms: Alarms::default(),
            board: Board::default(),
            loop_times: LoopTimes::default(),
            readers: Readers::default(),
            gates: Gates::numbered_from(clock.now_ms()),
            imports: Imports::default(),
        }
    }
}
