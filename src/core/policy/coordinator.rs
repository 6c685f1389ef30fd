//! [`Coordinator`]: the one who writes to git.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// Who alone writes to git in a project. The operator is never hindered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coordinator {
    /// Claude Code.
    Claude,
    Codex,
    /// The operator, and no agent.
    Human,
}

impl Coordinator {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Human];

    /// The agent, when it is one.
    pub fn agent(self) -> Option<Agent> {
        match self {
            Self::Claude => Some(Agent::Claude),
            Self::Codex => Some(Agent::Codex),
            Self::Human => None,
        }
    }

    /// The name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Claude => Agent::Claude.as_str(),
            Self::Codex => Agent::Codex.as_str(),
        }
    }
}

impl fmt::Display for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
