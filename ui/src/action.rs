//! [`Action`]: what a key can do, under a name that a person can write.

use crate::pane::Pane;

/// The enum of these variants and of [`Action::Focus`], and the table of their names.
macro_rules! actions {
    ($( $(#[$doc:meta])* $action:ident = $name:literal, )+) => {
        /// A verb of the deck.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            /// To this pane.
            Focus(Pane),
            $( $(#[$doc])* $action, )+
        }

        /// Every action with its name.
        const NAMES: &[(&str, Action)] = &[
            ("focus agents", Action::Focus(Pane::Agents)),
            ("focus timeline", Action::Focus(Pane::Timeline)),
            ("focus inbox", Action::Focus(Pane::Inbox)),
            ("focus tasks", Action::Focus(Pane::Tasks)),
            ("focus handoffs", Action::Focus(Pane::Handoffs)),
            $( ($name, Action::$action), )+
        ];
    };
}

actions! {
    /// To the next pane.
    FocusNext = "focus next",
    /// To the pane before.
    FocusPrev = "focus prev",
    /// One row or line down.
    MoveDown = "move down",
    /// One row or line up.
    MoveUp = "move up",
    /// To the first row.
    MoveFirst = "move first",
    /// To the last row.
    MoveLast = "move last",
    /// Half a page down.
    HalfDown = "half down",
    /// Half a page up.
    HalfUp = "half up",
    /// To the newest entry; the timeline follows again.
    Newest = "newest",
    /// To the oldest entry.
    Oldest = "oldest",
    /// To an entry's number or a time, to be typed.
    GoTo = "go to",
    /// To the decision, failure or message of the operator's before the selected entry.
    LandmarkOlder = "landmark older",
    /// To the next one after it.
    LandmarkNewer = "landmark newer",
    /// Where one was before a reference was followed, or before a jump.
    Return = "return",
    /// One chip on or off.
    ToggleChip = "toggle chip",
    /// All chips off.
    ClearChips = "clear chips",
    /// Open what is selected; agree to what an overlay says.
    Open = "open",
    /// Close the overlay in front, drop the search, the filter.
    Back = "back",
    /// Search the whole record.
    Search = "search",
    /// The next match.
    SearchNext = "search next",
    /// The match before.
    SearchPrev = "search prev",
    /// Choose what the timeline shows.
    Filter = "filter",
    /// Follow or pause the timeline.
    Follow = "follow",
    /// All commands, to be searched.
    Palette = "palette",
    /// All keys.
    Help = "help",
    /// Choose a theme.
    Theme = "theme",
    /// Write to an agent.
    Message = "message",
    /// Hand work to an agent.
    Handoff = "handoff",
    /// Write a note.
    Note = "note",
    /// Say who alone writes to git.
    Coordinator = "coordinator",
    /// Clear the session's history.
    Clear = "clear",
    /// What a first run lacks.
    Steps = "steps",
    /// Start the selected agent.
    Start = "start",
    /// Stop an agent's turn.
    Interrupt = "interrupt",
    /// Send messages again whose turn ended early.
    SendAgain = "send again",
    /// Let a silent turn be.
    Snooze = "let be",
    /// Try an agent at its limit now.
    TryNow = "try now",
    /// Make no tries at a limit by itself.
    CancelRetries = "no tries",
    /// Have an agent's context compacted.
    Compact = "compact",
    /// What an agent is at, and what it was given of it.
    WorkState = "work state",
    /// What an agent is told by the project's files.
    Instructions = "instructions",
    Approve = "approve",
    Reject = "reject",
    /// Run the gates, or stop them.
    Gates = "gates",
    /// Read what differs from a proposal's commit.
    Diff = "diff",
    /// Try again.
    Retry = "retry",
    /// Give messages up.
    GiveUp = "give up",
    /// Mark a row, or take its mark away.
    Mark = "mark",
    /// Mark the rows up to here.
    MarkRange = "mark range",
    /// Say that an alarm was seen.
    Acknowledge = "acknowledge",
    /// Put the text on the clipboard.
    Copy = "copy",
    /// Put the id on the clipboard.
    CopyId = "copy id",
    /// Read the text in the person's editor.
    Edit = "edit",
    /// The thread that an entry belongs to.
    Thread = "thread",
    /// The entry as JSON, or as text again.
    Raw = "raw",
    /// To the next entry, opened or not.
    NextEntry = "next entry",
    /// To the entry before, opened or not.
    PrevEntry = "prev entry",
    /// The pane in focus on the whole screen, or back.
    Zoom = "zoom",
    /// To the next column of the tasks.
    NextColumn = "next column",
    /// To the column of the tasks before.
    PrevColumn = "prev column",
    /// Start the daemon again; what [`Self::Recover`] does while one runs.
    Restart = "restart",
    /// Show where the work stands after a break, and how each agent goes on.
    Recover = "recover",
    /// What reviews of a pull request say.
    Findings = "findings",
    /// Say that a review finding is dealt with.
    Resolve = "resolve",
    /// Say that a review finding does not count.
    Dismiss = "dismiss",
    /// How findings are brought in.
    Import = "import",
    /// The tasks that can travel.
    Capsules = "capsules",
    /// Begin a task.
    NewTask = "new task",
    /// Write a task into a file.
    Export = "export",
    /// A task is over.
    CloseTask = "close task",
    /// Forget the unlocked key.
    LockKey = "lock key",
    /// Draw everything again.
    Redraw = "redraw",
    /// Back to the shell for a while.
    Suspend = "suspend",
    /// Leave.
    Quit = "quit",
    /// Send what was written.
    Send = "send",
    /// A line break in what is written.
    Newline = "newline",
    /// To the next field of a form.
    NextField = "next field",
    /// To the other agent, or to another sort of note.
    OtherAgent = "other agent",
    /// What becomes of it while the agent works.
    WhenBusy = "when busy",
    /// Search in the next place: the record, tasks, sealed sessions, all of them.
    OtherPlace = "other place",
}

impl Action {
    /// The action of a name.
    pub fn parse(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, action)| *action)
    }

    /// Something is done about an agent that is there.
    pub(crate) fn is_of_agent(self) -> bool {
        matches!(
            self,
            Self::Interrupt
                | Self::SendAgain
                | Self::Snooze
                | Self::TryNow
                | Self::CancelRetries
                | Self::Compact
        )
    }

    pub fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, action)| *action == self)
            .map_or("", |(name, _)| *name)
    }

    /// All names, for messages about a misspelt one.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}
