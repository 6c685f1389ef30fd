//! [`Action`]: what a key can do, by a name that a person can write.

use crate::pane::Pane;

/// A verb of the deck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// To the next pane.
    FocusNext,
    /// To the pane before.
    FocusPrev,
    /// To this pane.
    Focus(Pane),
    /// One row or line down.
    MoveDown,
    /// One row or line up.
    MoveUp,
    /// To the first row.
    MoveFirst,
    /// To the last row.
    MoveLast,
    /// Half a page down.
    HalfDown,
    /// Half a page up.
    HalfUp,
    /// To the newest entry; the timeline follows again.
    Newest,
    /// To the oldest entry.
    Oldest,
    /// To an entry's number or a time, to be typed.
    GoTo,
    /// To the decision, failure or message of the operator's before the selected entry.
    LandmarkOlder,
    /// To the next one after it.
    LandmarkNewer,
    /// Where one was before a reference was followed, or before a jump.
    Return,
    /// One chip on or off.
    ToggleChip,
    /// All chips off.
    ClearChips,
    /// Open what is selected; agree to what an overlay says.
    Open,
    /// Close the overlay in front, drop the search, the filter.
    Back,
    /// Search the whole record.
    Search,
    /// The next match.
    SearchNext,
    /// The match before.
    SearchPrev,
    /// Choose what the timeline shows.
    Filter,
    /// Follow or pause the timeline.
    Follow,
    /// All commands, to be searched.
    Palette,
    /// All keys.
    Help,
    /// Choose a theme.
    Theme,
    /// Write to an agent.
    Message,
    /// Hand work to an agent.
    Handoff,
    /// Write a note.
    Note,
    /// Say who alone writes to git.
    Coordinator,
    /// Clear the session's history.
    Clear,
    /// What a first run lacks.
    Steps,
    /// Start the selected agent.
    Start,
    /// Stop an agent's turn.
    Interrupt,
    /// Send messages again whose turn ended early.
    SendAgain,
    /// Let a silent turn be.
    Snooze,
    /// Try an agent at its limit now.
    TryNow,
    /// Make no tries at a limit by itself.
    CancelRetries,
    /// Have an agent's context compacted.
    Compact,
    /// What an agent is at, and what it was given of it.
    WorkState,
    /// What an agent is told by the project's files.
    Instructions,
    Approve,
    Reject,
    /// Run the gates, or stop them.
    Gates,
    /// Read what differs from a proposal's commit.
    Diff,
    /// Try again.
    Retry,
    /// Give messages up.
    GiveUp,
    /// Mark a row, or take its mark away.
    Mark,
    /// Mark the rows up to here.
    MarkRange,
    /// Say that an alarm was seen.
    Acknowledge,
    /// Put the text on the clipboard.
    Copy,
    /// Put the id on the clipboard.
    CopyId,
    /// Read the text in the person's editor.
    Edit,
    /// The thread that an entry belongs to.
    Thread,
    /// The entry as JSON, or as text again.
    Raw,
    /// To the next entry, opened or not.
    NextEntry,
    /// To the entry before, opened or not.
    PrevEntry,
    /// The pane in focus on the whole screen, or back.
    Zoom,
    /// To the next column of the tasks.
    NextColumn,
    /// To the column of the tasks before.
    PrevColumn,
    /// Start the daemon again; what [`Self::Recover`] does while one runs.
    Restart,
    /// Show where the work stands after a break, and how each agent goes on.
    Recover,
    /// What reviews of a pull request say.
    Findings,
    /// Say that a review finding is dealt with.
    Resolve,
    /// Say that a review finding does not count.
    Dismiss,
    /// How findings are brought in.
    Import,
    /// The tasks that can travel.
    Capsules,
    /// Begin a task.
    NewTask,
    /// Write a task into a file.
    Export,
    /// A task is over.
    CloseTask,
    /// Forget the unlocked key.
    LockKey,
    /// Draw everything again.
    Redraw,
    /// Back to the shell for a while.
    Suspend,
    /// Leave.
    Quit,
    /// Send what was written.
    Send,
    /// A line break in what is written.
    Newline,
    /// To the next field of a form.
    NextField,
    /// To the other agent, or to another sort of note.
    OtherAgent,
    /// What becomes of it while the agent works.
    WhenBusy,
    /// Search in the next place: the record, tasks, sealed sessions, all of them.
    OtherPlace,
}

/// Every action with its name.
const NAMES: &[(&str, Action)] = &[
    ("focus next", Action::FocusNext),
    ("focus prev", Action::FocusPrev),
    ("focus agents", Action::Focus(Pane::Agents)),
    ("focus timeline", Action::Focus(Pane::Timeline)),
    ("focus inbox", Action::Focus(Pane::Inbox)),
    ("focus tasks", Action::Focus(Pane::Tasks)),
    ("focus handoffs", Action::Focus(Pane::Handoffs)),
    ("move down", Action::MoveDown),
    ("move up", Action::MoveUp),
    ("move first", Action::MoveFirst),
    ("move last", Action::MoveLast),
    ("half down", Action::HalfDown),
    ("half up", Action::HalfUp),
    ("newest", Action::Newest),
    ("oldest", Action::Oldest),
    ("go to", Action::GoTo),
    ("landmark older", Action::LandmarkOlder),
    ("landmark newer", Action::LandmarkNewer),
    ("return", Action::Return),
    ("toggle chip", Action::ToggleChip),
    ("clear chips", Action::ClearChips),
    ("open", Action::Open),
    ("back", Action::Back),
    ("search", Action::Search),
    ("search next", Action::SearchNext),
    ("search prev", Action::SearchPrev),
    ("filter", Action::Filter),
    ("follow", Action::Follow),
    ("palette", Action::Palette),
    ("help", Action::Help),
    ("theme", Action::Theme),
    ("message", Action::Message),
    ("handoff", Action::Handoff),
    ("note", Action::Note),
    ("coordinator", Action::Coordinator),
    ("clear", Action::Clear),
    ("steps", Action::Steps),
    ("start", Action::Start),
    ("interrupt", Action::Interrupt),
    ("send again", Action::SendAgain),
    ("let be", Action::Snooze),
    ("try now", Action::TryNow),
    ("no tries", Action::CancelRetries),
    ("compact", Action::Compact),
    ("work state", Action::WorkState),
    ("instructions", Action::Instructions),
    ("approve", Action::Approve),
    ("reject", Action::Reject),
    ("gates", Action::Gates),
    ("diff", Action::Diff),
    ("retry", Action::Retry),
    ("give up", Action::GiveUp),
    ("mark", Action::Mark),
    ("mark range", Action::MarkRange),
    ("acknowledge", Action::Acknowledge),
    ("copy", Action::Copy),
    ("copy id", Action::CopyId),
    ("edit", Action::Edit),
    ("thread", Action::Thread),
    ("raw", Action::Raw),
    ("next entry", Action::NextEntry),
    ("prev entry", Action::PrevEntry),
    ("zoom", Action::Zoom),
    ("next column", Action::NextColumn),
    ("prev column", Action::PrevColumn),
    ("restart", Action::Restart),
    ("recover", Action::Recover),
    ("findings", Action::Findings),
    ("resolve", Action::Resolve),
    ("dismiss", Action::Dismiss),
    ("import", Action::Import),
    ("capsules", Action::Capsules),
    ("new task", Action::NewTask),
    ("export", Action::Export),
    ("close task", Action::CloseTask),
    ("lock key", Action::LockKey),
    ("redraw", Action::Redraw),
    ("suspend", Action::Suspend),
    ("quit", Action::Quit),
    ("send", Action::Send),
    ("newline", Action::Newline),
    ("next field", Action::NextField),
    ("other agent", Action::OtherAgent),
    ("when busy", Action::WhenBusy),
    ("other place", Action::OtherPlace),
];

impl Action {
    /// The action of a name.
    pub fn parse(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, action)| *action)
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
