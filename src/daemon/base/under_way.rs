//! [`UnderWay`]: a token for work that runs beside the loop. [`WorkBeside`]: which work that is.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::core::agent::Agent;
use crate::core::id::RuntimeSession;
use crate::wire::status::NoticeKey;

/// Keeps the daemon from ending by itself while it exists: until the loop was told that the work it
/// stands for is over, or that work has failed.
#[derive(Debug)]
pub struct UnderWay {
    _beside: Arc<()>,
    /// Held as well by what belongs to the end of a session.
    _ending: Option<Arc<()>>,
}

impl UnderWay {
    /// One more of these.
    pub fn of(all: &Arc<()>) -> Self {
        Self {
            _beside: Arc::clone(all),
            _ending: None,
        }
    }

    /// The same, of the end of a session.
    #[must_use]
    pub fn of_ending(self, all: &Arc<()>) -> Self {
        Self {
            _ending: Some(Arc::clone(all)),
            ..self
        }
    }
}

/// The kinds of reads whose last read panicked, by the keys of their notices.
pub type FailedReads = Arc<Mutex<BTreeSet<NoticeKey>>>;

/// Work beside the loop, by the name under which a panic is reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkBeside {
    /// The files about the agents' work are made.
    Rendering,
    /// The project's rules are compared with what the agents were told.
    RulesLook,
    /// A transcript is searched for what Claude said.
    SpokenWords {
        /// The pair of which a turn came to its end with these words.
        ended: Option<RuntimeSession>,
    },
    /// The settings are read, or a change of them is written.
    Settings,
    /// The blocks in the instruction files are written.
    ManagedBlocks,
    /// What an ending session leaves to the next one is read.
    Carrying,
    /// A task of a sealed session is read.
    SealedTask,
    /// Finds out which texts stay when a session is deleted.
    KeptTexts,
    /// The rest of a session is deleted.
    Deletion,
    /// A gate runs.
    Gate,
    /// A model reads what an agent said.
    Inference {
        /// Whose words.
        agent: Agent,
        pair: RuntimeSession,
        /// The name under which it was requested.
        model: String,
    },
    /// Which of the agents' processes have ended.
    AgentsLook,
    /// Messages are read for delivery.
    Bodies,
    /// Claude's transcript is searched for the figures of a compaction.
    CompactionLook,
    /// Whether a Claude without any connection has ended.
    ClaudeLook,
    /// The commit that the work tree is on is read.
    Commit,
    /// The end of Claude's transcript is read for how full its context is.
    ContextLook,
    /// The packet about an agent's work is read.
    Packet,
    /// The agents' programs are searched for.
    ProgramLook,
    /// Bytes pass between a Codex terminal and the app-server.
    Terminal,
}

impl WorkBeside {
    /// Begins work of this kind on a thread that may wait for a disk.
    pub fn begin<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let name = self.what();
        #[cfg(test)]
        let panics = ordered::is_ordered(self);
        spawn_blocking(move || {
            tracing::debug!("beside the loop: {name}");
            #[cfg(test)]
            assert!(!panics, "ordered by a test");
            work()
        })
    }

    /// In words.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Rendering => "making the files about the agents' work",
            Self::RulesLook => "comparing the project's rules",
            Self::SpokenWords { .. } => "reading what Claude said",
            Self::Settings => "reading or writing the settings",
            Self::ManagedBlocks => "writing the instruction files",
            Self::Carrying => "reading what the session leaves",
            Self::SealedTask => "reading a task of a sealed session",
            Self::KeptTexts => "reading what stays of the session",
            Self::Deletion => "deleting the rest of the session",
            Self::Gate => "running a gate",
            Self::Inference { .. } => "having a model read an agent's words",
            Self::AgentsLook => "looking which agents have ended",
            Self::Bodies => "reading messages to be given",
            Self::CompactionLook => "reading the figures of Claude's compaction",
            Self::ClaudeLook => "looking whether Claude has ended",
            Self::Commit => "reading the commit of the work tree",
            Self::ContextLook => "reading how full Claude's context is",
            Self::Packet => "reading what an agent is given of its work",
            Self::ProgramLook => "looking for the agents' programs",
            Self::Terminal => "a connection of the Codex terminal",
        }
    }

    /// Whether it belongs to the end of a session.
    pub fn ends_session(&self) -> bool {
        matches!(self, Self::Carrying | Self::KeptTexts | Self::Deletion)
    }

    /// The key of the notice that it failed.
    pub fn key(&self) -> NoticeKey {
        match self {
            Self::Rendering => NoticeKey::RenderingFailed,
            Self::RulesLook => NoticeKey::RulesLookFailed,
            Self::SpokenWords { .. } => NoticeKey::SpokenWordsFailed,
            Self::Settings => NoticeKey::SettingsFailed,
            Self::ManagedBlocks => NoticeKey::ManagedBlocksFailed,
            Self::Carrying => NoticeKey::CarryingFailed,
            Self::SealedTask => NoticeKey::SealedTaskFailed,
            Self::KeptTexts => NoticeKey::KeptTextsFailed,
            Self::Deletion => NoticeKey::DeletionFailed,
            Self::Gate => NoticeKey::GateFailed,
            Self::Inference { .. } => NoticeKey::InferenceFailed,
            Self::AgentsLook => NoticeKey::AgentsLookFailed,
            Self::Bodies => NoticeKey::BodiesFailed,
            Self::CompactionLook => NoticeKey::CompactionLookFailed,
            Self::ClaudeLook => NoticeKey::ClaudeLookFailed,
            Self::Commit => NoticeKey::CommitFailed,
            Self::ContextLook => NoticeKey::ContextLookFailed,
            Self::Packet => NoticeKey::PacketFailed,
            Self::ProgramLook => NoticeKey::ProgramLookFailed,
            Self::Terminal => NoticeKey::TerminalFailed,
        }
    }

    /// What is told where it panicked.
    pub fn failure(&self) -> String {
        format!(
            "{} failed by a fault of ctxrelay's own: the daemon goes on, and \
             .contextrelay/state/contextrelay.log says where it was",
            self.what()
        )
    }
}

/// Panics that a test orders of what its own thread begins.
#[cfg(test)]
pub mod ordered {
    use std::cell::RefCell;

    use super::WorkBeside;

    thread_local! {
        static NEXT: RefCell<Option<WorkBeside>> = const { RefCell::new(None) };
    }

    /// The next work of this kind panics.
    pub fn order_panic(what: WorkBeside) {
        NEXT.set(Some(what));
    }

    /// Whether this one does.
    pub fn is_ordered(what: &WorkBeside) -> bool {
        NEXT.with_borrow_mut(|next| next.take_if(|next| next == what).is_some())
    }
}
