//! [`Glyphs`]: the marks of the deck, in Unicode and as ASCII twins.
//!
//! Each is one column wide in every terminal: nothing here has an emoji form, because terminals
//! disagree on the width of those.

use ratatui::symbols::border;

use crate::model::{Agent, GateState, Verdict, WorkedMinute};
use crate::model::{AgentState, InboxKind, OutcomeState, Party, SilenceLevel, TaskColumn};

/// Which set is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// `◆ ◇ ● ○ ✓`.
    #[default]
    Unicode,
    /// `# o * . v`, for terminals without UTF-8.
    Ascii,
}

impl Glyphs {
    fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }

    /// Between groups of one line.
    pub fn bar(self) -> &'static str {
        self.pick("│", "|")
    }

    pub fn agent(self, agent: Agent) -> &'static str {
        match agent {
            Agent::Claude => self.pick("◆", "#"),
            Agent::Codex => self.pick("◇", "o"),
        }
    }

    /// A party; the human and the daemon share one mark, their colour and word differ.
    pub fn party(self, party: &Party) -> &'static str {
        match party {
            Party::Agent(agent) => self.agent(*agent),
            Party::Human => self.pick("●", "@"),
            Party::System => self.pick("▪", "."),
            Party::Other(_) => "?",
        }
    }

    pub fn state(self, state: AgentState) -> &'static str {
        match state {
            AgentState::Idle => self.pick("○", "-"),
            AgentState::Busy => self.pick("●", "*"),
            AgentState::Waiting => self.pick("◐", "?"),
            AgentState::Limited => self.pick("‖", "="),
            AgentState::Stale => self.pick("◌", "~"),
            AgentState::Offline => self.pick("·", "."),
        }
    }

    /// An outcome; empty when there is nothing to judge.
    pub fn outcome(self, state: OutcomeState) -> &'static str {
        match state {
            OutcomeState::Unconfirmed => self.pick("◌", "~"),
            OutcomeState::Done => self.pick("✓", "v"),
            OutcomeState::Failed => self.pick("✗", "x"),
            OutcomeState::Attention => self.pick("▲", "!"),
            OutcomeState::Plain => " ",
        }
    }

    /// What an artifact came to.
    pub fn verdict(self, verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Passed => self.pick("✓", "v"),
            Verdict::Failed => self.pick("✗", "x"),
            Verdict::Blocked => self.pick("‖", "#"),
            Verdict::Unknown => "?",
            Verdict::Skipped => self.pick("–", "-"),
            Verdict::TimedOut => self.pick("◷", "@"),
        }
    }

    /// A silent turn.
    pub fn silence(self, level: SilenceLevel) -> &'static str {
        match level {
            SilenceLevel::Quiet => self.pick("◌", "~"),
            SilenceLevel::Suspect | SilenceLevel::Stuck => self.pick("▲", "!"),
        }
    }

    pub fn column(self, column: TaskColumn) -> &'static str {
        match column {
            TaskColumn::Open => self.pick("○", "-"),
            TaskColumn::Active => self.pick("●", "*"),
            TaskColumn::Blocked => self.pick("‖", "#"),
            TaskColumn::Stale => self.pick("◌", "~"),
            TaskColumn::Done => self.pick("✓", "v"),
        }
    }

    pub fn gate(self, state: GateState) -> &'static str {
        match state {
            GateState::Passed => self.pick("✓", "v"),
            GateState::Failed => self.pick("✗", "x"),
            GateState::Running => self.pick("●", "*"),
            GateState::Missing => self.pick("○", "o"),
            GateState::Skipped => self.pick("–", "-"),
        }
    }

    /// A card of the inbox.
    pub fn card(self, kind: InboxKind) -> &'static str {
        match kind {
            InboxKind::Finality => self.pick("◈", "$"),
            InboxKind::Approval => self.pick("◐", "?"),
            InboxKind::Question => "?",
            InboxKind::Alarm
            | InboxKind::Trust
            | InboxKind::Tampering
            | InboxKind::Stuck
            | InboxKind::CutOff
            | InboxKind::Trouble => self.pick("▲", "!"),
            // Nobody waits for the operator.
            InboxKind::Limited | InboxKind::Full => self.state(AgentState::Limited),
            InboxKind::Setup => self.outcome(OutcomeState::Unconfirmed),
            InboxKind::Notice => self.dot(),
        }
    }

    /// From one party to another.
    pub fn to(self) -> &'static str {
        self.pick("→", ">")
    }

    /// The selected row.
    pub fn cursor(self) -> &'static str {
        self.pick("▸", ">")
    }

    /// A marked row.
    pub fn marked(self) -> &'static str {
        self.pick("●", "*")
    }

    /// The key `enter`.
    pub fn enter(self) -> &'static str {
        self.pick("⏎", "enter")
    }

    /// A key, by its name in the keymap.
    pub(crate) fn key(self, name: &str) -> String {
        match name {
            "enter" => self.enter().to_owned(),
            other => other.to_owned(),
        }
    }

    /// What somebody else wrote.
    pub fn foreign(self) -> &'static str {
        self.pick("†", "%")
    }

    /// Something is well.
    pub fn well(self) -> &'static str {
        self.pick("●", "*")
    }

    /// Something is wrong.
    pub fn wrong(self) -> &'static str {
        self.pick("▲", "!")
    }

    /// Between words on one line.
    pub fn dot(self) -> &'static str {
        self.pick("·", "-")
    }

    /// Full and empty cell of a meter.
    pub fn meter(self) -> (&'static str, &'static str) {
        match self {
            Self::Unicode => ("━", "─"),
            Self::Ascii => ("#", "."),
        }
    }

    /// A minute of an agent's: nothing, a turn that ran, and from one entry on how many it wrote.
    pub fn minute(self, minute: WorkedMinute) -> &'static str {
        match (minute.entries, minute.worked) {
            (0, false) => self.pick("·", "."),
            (0, true) => self.pick("▁", "_"),
            (1, _) => self.pick("▃", "-"),
            (2 | 3, _) => self.pick("▅", "="),
            _ => self.pick("▇", "#"),
        }
    }

    /// Where the scrolled part of a list is.
    pub fn thumb(self) -> &'static str {
        self.pick("┃", "#")
    }

    /// A rule across an overlay.
    pub fn rule(self) -> &'static str {
        self.pick("─", "-")
    }

    /// The frame of panes and overlays.
    pub fn border(self) -> border::Set<'static> {
        match self {
            Self::Unicode => border::ROUNDED,
            Self::Ascii => border::Set {
                top_left: "+",
                top_right: "+",
                bottom_left: "+",
                bottom_right: "+",
                vertical_left: "|",
                vertical_right: "|",
                horizontal_top: "-",
                horizontal_bottom: "-",
            },
        }
    }

    /// Text as the terminal can show it: in the ASCII set everything else becomes `?`, except
    /// what has a twin.
    pub fn text(self, text: String) -> String {
        match self {
            Self::Unicode => text,
            Self::Ascii if text.is_ascii() => text,
            Self::Ascii => text
                .chars()
                .map(|c| match c {
                    '…' => '~',
                    '⏎' => '|',
                    '·' | '–' | '—' | '─' => '-',
                    '×' => 'x',
                    '→' => '>',
                    '‘' | '’' => '\'',
                    '“' | '”' => '"',
                    c if c.is_ascii() => c,
                    _ => '?',
                })
                .collect(),
        }
    }
}
