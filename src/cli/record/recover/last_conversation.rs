//! [`LastConversation`]: where a pair's Claude would continue if it is opened again.

use super::past;
use crate::cli::text::words::now_ms;
use crate::core::agent::{Agent, AgentState};
use crate::host::ProjectContext;
use crate::store::owner::is_held;

/// The last conversation of a pair's Claude.
#[derive(Debug)]
pub(crate) struct LastConversation {
    /// By which Claude takes it up.
    pub(crate) id: String,
    /// The Claude that is open already, in this conversation as far as is known. A second one would write
    /// into the same file.
    pub(crate) open: Option<OpenClaude>,
}

/// A Claude of the pair that is open.
#[derive(Debug)]
pub(crate) struct OpenClaude {
    /// Its process, where the record names it.
    pub(crate) pid: Option<u32>,
}

impl LastConversation {
    /// That of this pair; `None` where the record knows of none.
    pub(crate) fn of(project: &ProjectContext) -> Option<Self> {
        let past = past(project).ok()?;
        let state = past.pairs.state();
        let id = state.conversations().next()?.to_owned();
        // Its process tells more than the record, which knows of none that leaves or comes while no
        // daemon runs.
        let seen = state.seen_claude().filter(|seen| seen.is_open(now_ms()));
        let known = past.world.agent(Agent::Claude).status(past.pairs.own());
        // A silent one is here: the daemon records one that leaves.
        let is_here = known.state != AgentState::Offline && is_held(&project.dirs);
        let pid = seen.map(|seen| seen.pid);
        let open = (is_here || pid.is_some()).then(|| OpenClaude {
            pid: pid.or(known.pid),
        });
        Some(Self { id, open })
    }
}
