//! [`TurnView`]: what an agent's turn has done so far.

/// What a line of it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnAct {
    /// The model said something.
    Said,
    /// It ran a command.
    Ran,
    /// It changed files.
    Changed,
    /// It called a tool.
    Called,
}

impl TurnAct {
    /// A line about it, as both the pane and the sheet say it.
    pub(crate) fn in_words(self, text: &str) -> String {
        match self {
            Self::Said | Self::Changed => text.to_owned(),
            Self::Ran => format!("$ {text}"),
            Self::Called => format!("calls {text}"),
        }
    }
}

/// One thing that it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLine {
    /// When, ms since the epoch.
    pub at_ms: i64,
    pub act: TurnAct,
    /// In its words, or the beginning of them; hostile.
    pub text: String,
}

/// How far a step of its plan is, as the model says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepProgress {
    /// Not begun.
    Open,
    /// Under way.
    Active,
    Done,
}

/// The turn that runs, or the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnView {
    /// It runs.
    pub is_running: bool,
    /// What it did, the newest first.
    pub lines: Vec<TurnLine>,
    /// How many older lines are not kept.
    pub left_out: u64,
    /// The steps of its plan; hostile.
    pub plan: Vec<(StepProgress, String)>,
}

impl TurnView {
    /// Whether there is nothing to show of it.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.plan.is_empty()
    }
}
