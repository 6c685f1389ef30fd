//! [`DeckView`]: the whole visible world, and the parts of the header.

use std::sync::Arc;

use super::agent::{Agent, AgentCard};
use super::finding::FindingRow;
use super::handoff_rows::HandoffRows;
use super::hint::FirstStep;
use super::inbox::InboxCard;
use super::local_time::LocalTime;
use super::policy::PolicyView;
use super::task::{QuestionRow, Tasks};
use super::timeline::{SentMessage, TimelineRow};
use super::timeline_window::TimelineWindow;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Good to know.
    #[default]
    Info,
    /// Look at it when you can.
    Warn,
    /// Something does not work.
    Error,
}

/// A sentence across the screen, below the header, until the caller takes it away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Banner {
    /// How bad it is.
    pub level: Level,
    /// One sentence with the next step in it.
    pub text: String,
}

/// The ports in use; `None` is shown as a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderPorts {
    /// Control port of the daemon.
    pub control: Option<u16>,
    /// Proxy for the Codex TUI.
    pub proxy: Option<u16>,
    /// The app-server of Codex.
    pub codex: Option<u16>,
}

/// How this deck stands to the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DaemonState {
    /// This process is about to own the project.
    Starting,
    /// This process owns the project.
    Hosting,
    /// Another process owns it; we are its client.
    Attached,
    /// The connection is gone and being dialled again.
    #[default]
    Reconnecting,
    /// It ran in this process and has ended.
    Ended,
}

impl DaemonState {
    /// The word in the header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Hosting => "daemon",
            Self::Attached => "attached",
            Self::Reconnecting => "reconnecting",
            Self::Ended => "no daemon",
        }
    }

    /// Whether it may help to start the daemon again.
    pub fn can_restart(self) -> bool {
        matches!(self, Self::Reconnecting | Self::Ended)
    }

    /// Whether the daemon is a part of this process, or is about to be.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Starting | Self::Hosting)
    }

    /// Whether decisions and messages can be sent now.
    pub fn can_act(self) -> bool {
        matches!(self, Self::Hosting | Self::Attached)
    }
}

/// The daemon, as the header shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderDaemon {
    /// How we stand to it.
    pub state: DaemonState,
    /// Why, when it is not plainly well, for example `refused: 3rd try in 2 s`.
    pub message: Option<String>,
}

/// What is known of the hash chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chain {
    /// Every hash that was checked holds.
    Ok,
    /// An entry does not follow from the one before.
    Broken {
        /// The first bad entry.
        seq: u64,
    },
    /// Nobody has looked yet.
    #[default]
    Unchecked,
}

/// The record, as the header shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderLedger {
    /// Entries of the current session.
    pub entries: u64,
    pub chain: Chain,
    /// Lines that could not be read.
    pub bad_lines: u64,
}

/// Everything the deck shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeckView {
    /// The last entry that it shows the world after.
    pub seen: u64,
    /// Wall clock, ms since the epoch. The deck reads no clock of its own.
    pub now_ms: i64,
    /// What the clocks on the wall show.
    pub local: LocalTime,
    /// Name of the project (its folder).
    pub project: String,
    /// Runtime session, `default` unless the user named one.
    pub runtime_session: String,
    /// Id of the ledger session, full length; shortened when drawn.
    pub session_id: String,
    pub ports: HeaderPorts,
    pub daemon: HeaderDaemon,
    /// What is being done while nothing was read yet, for example `opening the record … 61 %`.
    /// Nothing is claimed then: no pane says that it is empty.
    pub opening: Option<String>,
    /// A sentence that must be seen.
    pub banner: Option<Banner>,
    /// The key that signs what the operator does is unlocked in this deck.
    pub is_key_unlocked: bool,
    /// The record.
    pub ledger: HeaderLedger,
    /// The agents, Claude first.
    pub agents: Vec<AgentCard>,
    /// The rows around the reader, oldest first. The caller caps them and gives others on
    /// [`crate::Effect::ShowTimeline`].
    pub timeline: Vec<TimelineRow>,
    /// Which part of the record they are.
    pub window: TimelineWindow,
    /// The operator's last messages, also those that no row tells of.
    pub sent: Vec<SentMessage>,
    /// Tasks by column.
    pub tasks: Tasks,
    /// Handoffs that are open, all of them.
    pub handoffs: HandoffRows,
    /// The first few of the questions between agents that have no answer, oldest first.
    pub questions: Vec<QuestionRow>,
    /// How many there are.
    pub questions_open: usize,
    /// What waits for the operator, oldest first.
    pub inbox: Vec<InboxCard>,
    /// What reviews say, what stands first, the worst first. Shared, because there may be many.
    pub findings: Arc<Vec<FindingRow>>,
    /// What the pair needs, also what is there already; see [`FirstStep::done`]. Beside it what the
    /// daemon has to say.
    pub missing: Vec<FirstStep>,
    /// No agent has worked in this session yet: the timeline begins with what is missing, until
    /// nothing is.
    pub first_run: bool,
    /// The operator's rules for the agents.
    pub policy: PolicyView,
    /// Agents to name when the operator quits.
    pub attached: Vec<Agent>,
    /// Another deck is open on this daemon.
    pub has_other_deck: bool,
    /// The gate that runs.
    pub running_gate: Option<String>,
    /// Scripted agents: says so in the header.
    pub demo: bool,
}

impl DeckView {
    /// What to add to a moment (ms since the epoch) for local time, in seconds.
    pub(crate) fn utc_offset_s(&self, at_ms: i64) -> i32 {
        self.local.offset_s(at_ms)
    }

    /// How many cards wait for the operator.
    pub fn waiting(&self) -> usize {
        let cards = self.inbox.iter();
        cards.filter(|card| card.kind.waits()).count()
    }

    pub fn agent(&self, agent: Agent) -> Option<&AgentCard> {
        self.agents.iter().find(|card| card.agent == agent)
    }

    /// Whether the row of this line is no entry: lines that could not be read, or rows of the
    /// machine.
    pub(crate) fn is_no_entry(&self, line: u64) -> bool {
        let rows = &self.timeline;
        rows.binary_search_by_key(&line, |row| row.seq)
            .is_ok_and(|row| rows[row].bad_lines.is_some() || rows[row].folded.is_some())
    }
}
