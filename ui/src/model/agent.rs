//! [`AgentCard`] and its words: [`Agent`], [`Party`], [`AgentState`].

use super::attention::{Silence, UsageLimit};
use super::live_turn::{TurnAct, TurnView};
use crate::named::named;

named! {
    /// One of the two coding agents.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Agent {
        /// Claude Code.
        Claude = "Claude",
        Codex = "Codex",
    }
    /// The name people use.
    pub fn title;
}

impl Agent {
    /// The lower-case name, as typed on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// The other one.
    pub fn peer(self) -> Self {
        match self {
            Self::Claude => Self::Codex,
            Self::Codex => Self::Claude,
        }
    }
}

/// Who wrote something, or for whom it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Party {
    Agent(Agent),
    /// The operator at the keyboard.
    Human,
    /// `ctxrelay` itself.
    #[default]
    System,
    /// A name that an older or foreign ledger holds.
    Other(String),
}

impl Party {
    /// The name people use; hostile for [`Party::Other`].
    pub fn title(&self) -> &str {
        match self {
            Self::Agent(agent) => agent.title(),
            Self::Human => "you",
            Self::System => "ctxrelay",
            Self::Other(name) => name,
        }
    }
}

impl From<Agent> for Party {
    fn from(agent: Agent) -> Self {
        Self::Agent(agent)
    }
}

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AgentState {
    /// Connected, no turn running.
    Idle,
    /// A turn is running.
    Busy,
    /// A turn waits for the human.
    Waiting,
    /// The vendor refuses work until a limit resets.
    Limited,
    /// Connected once, not heard of for too long.
    Stale,
    /// Not connected.
    #[default]
    Offline,
}

impl AgentState {
    /// The word beside the glyph.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Waiting => "waiting",
            Self::Limited => "limited",
            Self::Stale => "stale",
            Self::Offline => "offline",
        }
    }

    /// Whether the agent is there to receive something.
    pub fn is_attached(self) -> bool {
        !matches!(self, Self::Offline | Self::Stale)
    }
}

/// Messages waiting for one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueCounts {
    /// Recorded, not offered yet.
    pub pending: u32,
    /// Offered, no proof of arrival yet.
    pub in_flight: u32,
    /// Offered before a crash; nobody can say whether it arrived.
    pub ambiguous: u32,
}

impl QueueCounts {
    /// Everything that has not been proved to have arrived.
    pub fn open(self) -> u32 {
        self.pending
            .saturating_add(self.in_flight)
            .saturating_add(self.ambiguous)
    }
}

/// How much of the model's window a conversation fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUse {
    /// Tokens used.
    pub used: u64,
    /// Tokens of the window.
    pub window: u64,
}

/// One of the last minutes of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkedMinute {
    /// A turn of its ran.
    pub worked: bool,
    /// Entries that it wrote.
    pub entries: u32,
}

/// What an agent's turn does with a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningTool {
    /// It runs a command, changes files, or calls another tool.
    pub act: TurnAct,
    /// The command line, the files or the tool; hostile.
    pub text: String,
    /// Since when, ms since the epoch.
    pub since_ms: i64,
}

/// One agent, as the Agents pane shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCard {
    pub agent: Agent,
    pub state: AgentState,
    /// Since when, ms since the epoch; `None` when unknown.
    pub since_ms: Option<i64>,
    /// The delivery rung in use, one word: `doorbell`, `queue`, `channel`, `pull`; empty if none.
    pub rung: String,
    /// A delivery on that rung has been proved in this session.
    pub proven: bool,
    /// Why this rung and no better one; shown in the agent's detail.
    pub why: String,
    /// Messages for it that it has not fetched.
    pub unread: u32,
    /// Its outbox.
    pub queue: QueueCounts,
    /// Why what is queued for it waits, where that is known: `waits for its turn to end`.
    pub waits_for: Option<String>,
    /// When it last wrote a note, ms since the epoch.
    pub last_note_ms: Option<i64>,
    /// Further lines, most important first, for example `turn: review src/auth/refresh.rs`.
    pub detail: Vec<String>,
    /// The last minutes, the oldest one first; the last one is not over.
    pub activity: Vec<WorkedMinute>,
    /// Fill of its context window, when it says so.
    pub context: Option<ContextUse>,
    /// How silent its turn is; `None` while it gives signs.
    pub silence: Option<Silence>,
    /// The usage limit that holds; `None` also where nothing is to be said of it.
    pub limit: Option<UsageLimit>,
    /// Messages whose turn ended early, which can be sent again.
    pub cut_off: u32,
    /// Its context is being compacted.
    pub compacting: bool,
    /// What its turn runs right now.
    pub tool: Option<RunningTool>,
    /// What its turn has done so far.
    pub turn: TurnView,
    /// The turn that runs, where it can be named.
    pub turn_id: Option<String>,
    /// What a person should look at, in one sentence, for example
    /// `started, not connected yet: look for its trust question`.
    pub hint: Option<String>,
    /// Its program is on the `PATH`.
    pub installed: bool,
    /// The command that starts it, for example `ctxrelay claude`.
    pub start_command: String,
}

impl AgentCard {
    /// The minutes in which it worked, and the entries that it wrote in all of them.
    pub fn worked(&self) -> (usize, u32) {
        let worked = self.activity.iter().filter(|minute| minute.worked);
        let entries = self.activity.iter().map(|minute| minute.entries);
        (worked.count(), entries.fold(0, u32::saturating_add))
    }

    /// Its state as it is shown: an agent that compacts is at work, and begins no turn.
    pub fn shown_state(&self) -> (AgentState, &'static str) {
        match self.state {
            AgentState::Idle | AgentState::Busy if self.compacting => {
                (AgentState::Busy, "compacting")
            }
            state => (state, state.as_str()),
        }
    }

    /// How many messages are queued for it, and of how many nobody knows yet whether it has them.
    /// Where it is known what they wait for, what was offered is queued, too: it lies behind that.
    pub fn queued_and_unconfirmed(&self) -> (u32, u32) {
        let queue = self.queue;
        match self.waits_for {
            Some(_) => (queue.pending.saturating_add(queue.in_flight), 0),
            None => (queue.pending, queue.in_flight),
        }
    }

    /// A card of an agent that is installed and not running.
    pub fn offline(agent: Agent) -> Self {
        Self {
            agent,
            state: AgentState::Offline,
            since_ms: None,
            rung: String::new(),
            proven: false,
            why: String::new(),
            unread: 0,
            queue: QueueCounts::default(),
            waits_for: None,
            last_note_ms: None,
            detail: Vec::new(),
            activity: Vec::new(),
            context: None,
            silence: None,
            limit: None,
            cut_off: 0,
            compacting: false,
            tool: None,
            turn: TurnView::default(),
            turn_id: None,
            hint: None,
            installed: true,
            start_command: format!("ctxrelay {}", agent.as_str()),
        }
    }
}
