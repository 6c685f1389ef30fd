//! [`Agents`]: what is known of the agents.

use super::continuation::ThenReloaded;
use crate::daemon::agents::agent_processes::AgentProcesses;
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::agents::claude_processes::ClaudeProcesses;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::agents::contexts::Contexts;
use crate::daemon::agents::costs::Costs;
use crate::daemon::agents::inferences::Inferences;
use crate::daemon::agents::limits::Limits;
use crate::daemon::agents::recent_writes::RecentWrites;
use crate::daemon::agents::reloads::Reloads;
use crate::daemon::agents::reminders::Reminders;
use crate::daemon::agents::rules_watch::RulesWatch;
use crate::daemon::agents::shown_turn::ShownTurn;
use crate::daemon::agents::silence::Silences;
use crate::daemon::agents::spoken_turns::SpokenTurns;
use crate::daemon::agents::touched_files::TouchedFiles;
use crate::daemon::base::work_queue::WorkQueue;

/// What is known of the two agents of each pair: whether they run, what they work on, what they
/// were told and what they did. Their lanes belong to it, which decide what can be delivered.
pub struct Agents {
    pub(in crate::daemon) claude: ClaudeLane,
    pub(in crate::daemon) claude_processes: ClaudeProcesses,
    pub(in crate::daemon) codex: CodexLane,
    pub(in crate::daemon) limits: Limits,
    pub(in crate::daemon) contexts: Contexts,
    pub(in crate::daemon) costs: Costs,
    pub(in crate::daemon) silences: Silences,
    pub(in crate::daemon) shown_turn: ShownTurn,
    pub(in crate::daemon) spoken: SpokenTurns,
    pub(in crate::daemon) transcripts_work: WorkQueue,
    pub(in crate::daemon) inferences: Inferences,
    pub(in crate::daemon) touched: TouchedFiles,
    pub(in crate::daemon) reloads: Reloads<ThenReloaded>,
    pub(in crate::daemon) reminders: Reminders,
    pub(in crate::daemon) rules_watch: RulesWatch,
    pub(in crate::daemon) agent_processes: AgentProcesses,
    pub(in crate::daemon) recent_writes: RecentWrites,
}

impl Agents {
    pub(super) fn new(codex: CodexLane, reminders: Reminders) -> Self {
        Self {
            claude: ClaudeLane::default(),
            claude_processes: ClaudeProcesses::default(),
            codex,
            limits: Limits::default(),
            contexts: Contexts::default(),
            costs: Costs::default(),
            silences: Silences::default(),
            shown_turn: ShownTurn::default(),
            spoken: SpokenTurns::default(),
            transcripts_work: WorkQueue::default(),
            inferences: Inferences::default(),
            touched: TouchedFiles::default(),
            reloads: Reloads::default(),
            reminders,
            rules_watch: RulesWatch::default(),
            agent_processes: AgentProcesses::default(),
            recent_writes: RecentWrites::default(),
        }
    }
}
