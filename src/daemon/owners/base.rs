//! [`Base`]: what any flow may need.

use tokio::sync::mpsc;

use super::continuation::Then;
use crate::core::delivery::LaterInputs;
use crate::daemon::base::agent_programs::AgentPrograms;
use crate::daemon::base::clients::Clients;
use crate::daemon::base::clock::Clock;
use crate::daemon::base::configuration::Configuration;
use crate::daemon::base::identity::Identity;
use crate::daemon::base::loop_times::LoopTimes;
use crate::daemon::base::notices::Notices;
use crate::daemon::base::operations::Operations;
use crate::daemon::base::readers::Readers;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::base::renderings::Renderings;
use crate::daemon::base::tree_commit::TreeCommit;
use crate::daemon::base::tree_reads::TreeReads;
use crate::daemon::base::work_queue::WorkQueue;
use crate::daemon::event::Event;
use crate::store::dirs::ProjectDirs;
use crate::store::publisher::Board;

/// What any flow may need: the record, the clients, the notices for the operator, and the three
/// ways in which a flow continues later (`recorder`, `later`, and work beside the loop). Also what
/// derives from the record alone, and what never changes while a daemon runs.
///
/// State of an agent, a message or a decision does not belong here: a method of this group can
/// change none of these.
pub struct Base {
    pub(in crate::daemon) dirs: ProjectDirs,
    pub(in crate::daemon) identity: Identity,
    pub(in crate::daemon) clock: Clock,
    pub(in crate::daemon) events: mpsc::WeakSender<Event>,
    pub(in crate::daemon) operations: Operations,
    pub(in crate::daemon) recorder: Recorder<Then>,
    pub(in crate::daemon) clients: Clients,
    pub(in crate::daemon) notices: Notices,
    pub(in crate::daemon) configuration: Configuration,
    pub(in crate::daemon) settings_work: WorkQueue,
    pub(in crate::daemon) commit: TreeCommit,
    pub(in crate::daemon) programs: AgentPrograms,
    /// What others read on the disk.
    pub(in crate::daemon) board: Board,
    pub(in crate::daemon) renderings: Renderings,
    pub(in crate::daemon) loop_times: LoopTimes,
    pub(in crate::daemon) readers: Readers,
    pub(in crate::daemon) tree_reads: TreeReads,
    pub(in crate::daemon) later: LaterInputs,
}

impl Base {
    pub(super) fn new(
        dirs: ProjectDirs,
        identity: Identity,
        recorder: Recorder<Then>,
        commit: TreeCommit,
        events: mpsc::WeakSender<Event>,
    ) -> Self {
        Self {
            dirs,
            identity,
            clock: Clock::start(),
            events,
            operations: Operations::default(),
            recorder,
            clients: Clients::default(),
            notices: Notices::default(),
            configuration: Configuration::default(),
            settings_work: WorkQueue::default(),
            commit,
            programs: AgentPrograms::default(),
            board: Board::default(),
            renderings: Renderings::default(),
            loop_times: LoopTimes::default(),
            readers: Readers::default(),
            tree_reads: TreeReads::default(),
            later: LaterInputs::default(),
        }
    }
}
