//! [`Coordinator`]: the one who writes to git.

use crate::agent::Agent;
use crate::word::words;

words! {
    /// Who alone writes to git in a project. The operator is never hindered.
    #[derive(PartialOrd, Ord)]
    pub closed enum Coordinator {
        /// Claude Code.
        Claude = "claude",
        Codex = "codex",
        /// The operator, and no agent.
        Human = "human",
    }
}

impl Coordinator {
    /// The agent, when it is one.
    pub fn agent(self) -> Option<Agent> {
        match self {
            Self::Claude => Some(Agent::Claude),
            Self::Codex => Some(Agent::Codex),
            Self::Human => None,
        }
    }
}
