//! [`Agent`], [`Party`] and [`AgentState`]: who acts, and what it is doing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::RuntimeSession;
use crate::word::words;

words! {
    /// One of the two coding agents.
    #[derive(PartialOrd, Ord)]
    pub closed enum Agent {
        /// Claude Code.
        Claude = "claude",
        Codex = "codex",
    }
}

impl Agent {
    /// The other one.
    pub fn peer(self) -> Self {
        match self {
            Self::Claude => Self::Codex,
            Self::Codex => Self::Claude,
        }
    }

    /// The name people use.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude",
            Self::Codex => "Codex",
        }
    }

    /// That, with its pair where that is not the first.
    pub fn title_in(self, pair: &RuntimeSession) -> String {
        match *pair == RuntimeSession::default() {
            true => self.title().to_owned(),
            false => format!("{} of pair {pair}", self.title()),
        }
    }
}

/// Who wrote an entry, or whom it is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Party {
    Agent(Agent),
    /// The operator at the keyboard.
    Human,
    /// `ctxrelay` itself.
    System,
    /// A name that a ledger of another version holds; kept and shown as it is.
    Other(String),
}

impl Party {
    /// The name on disk.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Agent(agent) => agent.as_str(),
            Self::Human => "human",
            Self::System => "system",
            Self::Other(name) => name,
        }
    }

    /// The name shown to people.
    pub fn title(&self) -> &str {
        match self {
            Self::Agent(agent) => agent.title(),
            _ => self.as_str(),
        }
    }

    /// The agent, when it is one.
    pub fn agent(&self) -> Option<Agent> {
        match self {
            Self::Agent(agent) => Some(*agent),
            _ => None,
        }
    }
}

impl From<Agent> for Party {
    fn from(agent: Agent) -> Self {
        Self::Agent(agent)
    }
}

impl From<String> for Party {
    fn from(name: String) -> Self {
        match name.as_str() {
            "claude" => Self::Agent(Agent::Claude),
            "codex" => Self::Agent(Agent::Codex),
            "human" => Self::Human,
            "system" => Self::System,
            _ => Self::Other(name),
        }
    }
}

impl From<Party> for String {
    fn from(party: Party) -> Self {
        party.as_str().to_owned()
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

words! {
    /// What an agent is doing, as its own events say.
    #[derive(Default)]
    pub closed enum AgentState {
        /// Connected, no turn running.
        Idle = "idle",
        /// A turn is running.
        Busy = "busy",
        /// A turn waits for the human (an approval or a question).
        Waiting = "waiting",
        /// The vendor refuses work until a limit resets.
        Limited = "limited",
        /// Connected once, not heard of for too long.
        Stale = "stale",
        /// Not connected.
        #[default]
        Offline = "offline",
        /// Who could say does not answer. A status alone says it: no agent is ever recorded so.
        Unknown = "unknown",
    }
}

impl AgentState {
    /// Whether the agent's process is there to receive something.
    pub fn is_attached(self) -> bool {
        !matches!(self, Self::Offline | Self::Stale | Self::Unknown)
    }

    /// How much it says where several agents are shown as one: what waits for the person first.
    pub fn weight(self) -> u8 {
        match self {
            Self::Offline | Self::Unknown => 0,
            Self::Idle => 1,
            Self::Limited => 2,
            Self::Stale => 3,
            Self::Busy => 4,
            Self::Waiting => 5,
        }
    }

    /// Whether a turn runs, as far as is known. After a dialog, or a silence, it goes on.
    pub fn is_in_turn(self) -> bool {
        matches!(self, Self::Busy | Self::Waiting | Self::Stale)
    }
}

/// What `ctxrelay claude` and `ctxrelay codex` put into an agent's environment, and the daemon into a
/// gate's: the registry in which its project stands. A daemon looks for it in the parents of each
/// process that connects to the operator's socket, so that one that has just started and knows no
/// process yet finds it too; a deck looks for it in its own parents.
pub const AGENT_VARIABLE: &str = "CONTEXTRELAY_AGENT";

/// What `ctxrelay claude` puts into Claude's environment where no file of a project can switch Claude's
/// hooks off: the process, so that it says nothing of a Claude below that one.
pub const HOOKS_VARIABLE: &str = "CONTEXTRELAY_KEEPS_HOOKS";

/// What a Claude process puts into the environment of its children about itself. The daemon
/// outlives Claude and starts children of its own: they are not below this Claude, and must not
/// hold its messaging token. The user's own `CLAUDE_CODE_*` settings stay.
const AGENT_ENV_PREFIXES: [&str; 2] = ["CLAUDE_CODE_MESSAGING_", "CLAUDE_PLUGIN_"];

/// As [`AGENT_ENV_PREFIXES`], whole names.
const AGENT_ENV: [&str; 9] = [
    AGENT_VARIABLE,
    HOOKS_VARIABLE,
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
];

/// Whether a variable is what an agent's process told its children about itself.
pub fn is_agents_own(name: &str) -> bool {
    AGENT_ENV.contains(&name)
        || AGENT_ENV_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Says that its bridge never starts a daemon, and that its shell is not the operator's.
pub const WORKER_VARIABLE: &str = "CONTEXTRELAY_WORKER";

/// Whether [`WORKER_VARIABLE`] with this value makes a worker: `0` is a no.
pub fn is_worker(value: &[u8]) -> bool {
    !matches!(value, b"" | b"0")
}

/// What an agent's shell has in its environment.
const AGENTS_VARIABLES: [&[u8]; 2] = [b"CLAUDECODE", AGENT_VARIABLE.as_bytes()];

/// How the variables of Codex's sandbox begin.
const SANDBOX_PREFIX: &[u8] = b"CODEX_SANDBOX";

/// Whether an environment variable tells that a shell is an agent's. An empty one is an unset one.
pub fn is_agents_variable(name: &[u8], value: &[u8]) -> bool {
    match name == WORKER_VARIABLE.as_bytes() {
        true => is_worker(value),
        false => {
            !value.is_empty()
                && (AGENTS_VARIABLES.contains(&name) || name.starts_with(SANDBOX_PREFIX))
        }
    }
}
