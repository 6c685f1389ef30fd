//! [`Effect`]: what the deck wants done. The deck itself does nothing.

use crate::model::{
    Agent, AlikeTo, CapsuleAlong, CapsuleReader, Chips, EntryPlace, FoundSnippet, Party,
    SearchScope, TimelineWish,
};
use crate::named::named;
use crate::notification::NotificationSettings;
use crate::passphrase::Passphrase;

/// How to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QuitChoice {
    /// The daemon goes on in the background, the agents stay attached.
    Stay,
    /// The daemon is stopped.
    Stop,
    /// As [`Self::Stop`]; the agents that are attached do not start it again by themselves.
    KeepStopped,
}

/// What the operator can do about an agent that is silent, at its usage limit, or nearly full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAction {
    /// Stop its turn.
    Interrupt {
        /// The turn that was seen.
        turn_id: String,
    },
    /// Send the messages again whose turn ended early.
    SendAgain,
    /// Let the silent turn be for as long again.
    Snooze,
    /// Try again now, limit or not.
    TryNow,
    /// Make no tries by itself.
    CancelRetries,
    /// Compact its context.
    Compact,
}

/// What becomes of a message while its receiver works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WhenBusy {
    /// It waits until the turn is over.
    #[default]
    Wait,
    /// It joins the turn that runs.
    Join,
    /// It is not sent.
    DoNotSend,
}

impl WhenBusy {
    /// The next choice, round.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Wait => Self::Join,
            Self::Join => Self::DoNotSend,
            Self::DoNotSend => Self::Wait,
        }
    }
}

named! {
    /// What sort of note the operator writes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum NoteTag {
        /// No particular one.
        #[default]
        Note = "note",
        /// What was decided.
        Decision = "decision",
        /// What stands in the way of a proposal.
        Blocker = "blocker",
        /// What is to be reached.
        Goal = "goal",
        Plan = "plan",
        /// What comes next.
        NextStep = "next step",
    }
    /// The word in the title.
    pub fn as_str;
}

impl NoteTag {
    /// The next one, round.
    #[must_use]
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|tag| *tag == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// A wish of the screen, performed by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Tell the person, who looks elsewhere, that something waits.
    Notify {
        /// A harmless sentence.
        text: String,
        by: NotificationSettings,
    },
    /// Leave.
    Quit(QuitChoice),
    /// A card about the work tree or the configuration is looked at: read both again.
    LookAtTree,
    /// The operator approves a finality proposal.
    Approve {
        proposal_id: String,
        /// The work tree that the operator saw and approves although it is not the proposed one.
        stale_tree: Option<String>,
        /// The last entry of what was shown when the operator was asked.
        seen: u64,
        /// The session that it is of.
        session: String,
    },
    /// The operator trusts what a card showed of the configuration.
    Trust {
        /// Names what was shown.
        digest: String,
    },
    /// This was typed where [`crate::Msg::AskPassphrase`] asked; answered by [`crate::Msg::Unlocked`].
    Unlock {
        /// What was typed.
        passphrase: Passphrase,
    },
    /// The question for the passphrase was left: nothing is signed.
    LeaveUnlock,
    /// Forget the unlocked key.
    LockKey,
    /// Run the project's gates; asked before.
    RunGates,
    /// Stop the gates that run.
    StopGates,
    /// The operator rejects a finality proposal.
    Reject {
        proposal_id: String,
        /// Why; never empty.
        reason: String,
    },
    /// The operator answers what an agent asks to be allowed.
    AnswerApproval {
        /// Id of the card.
        id: String,
        /// Id of the choice.
        choice: String,
        /// What the agent is told with a refusal.
        note: Option<String>,
    },
    /// Try again what a card is about, or these messages.
    Retry {
        /// Ids of the messages, oldest first.
        ids: Vec<String>,
    },
    /// Give these messages up: nobody sends them again.
    GiveUp {
        /// Their ids, oldest first.
        ids: Vec<String>,
    },
    /// Read the beginnings of these messages; they come with a view.
    ReadWords {
        /// As [`crate::model::UnclearMessage::line`].
        lines: Vec<u64>,
    },
    /// The operator has seen an alarm about the record.
    Acknowledge {
        /// Id of the card.
        id: String,
    },
    /// The operator says who alone writes to git. Asked before.
    SetCoordinator {
        /// Who; `None`: everybody may.
        to: Option<Party>,
    },
    /// Archive the session's record and start a new one. Asked with a typed word before.
    ClearSession {
        /// The session that the word was typed for, as [`crate::model::DeckView::session_id`].
        session: String,
        /// Throw the old record away instead of archiving it.
        discard: bool,
    },
    /// A message from the operator to an agent.
    SendMessage {
        /// To whom.
        to: Agent,
        /// The text; never empty, without control characters except `\n`.
        text: String,
        /// What becomes of it while the agent works.
        when_busy: WhenBusy,
        /// The number by which it is told what became of it; `None`: nobody typed it.
        draft: Option<u64>,
    },
    /// A note of the operator's in the record, for both agents to read.
    AppendNote {
        /// What sort.
        tag: NoteTag,
        /// The text; never empty.
        text: String,
        /// As of `SendMessage`.
        draft: Option<u64>,
    },
    /// A handoff from the operator to an agent.
    Handoff {
        /// To whom.
        to: Agent,
        /// What to do; never empty.
        ask: String,
        /// Why; may be empty.
        reason: String,
        /// What becomes of it while the agent works.
        when_busy: WhenBusy,
        /// As of `SendMessage`.
        draft: Option<u64>,
    },
    /// The operator does something about an agent that is silent, at its usage limit, or nearly
    /// full.
    AgentAction { agent: Agent, act: AgentAction },
    /// Give the full text of this entry by [`crate::Msg::EntryText`].
    OpenEntry { place: EntryPlace },
    /// Give the thread that this entry belongs to by [`crate::Msg::Thread`].
    OpenThread { place: EntryPlace },
    /// Give what this agent is at by [`crate::Msg::Work`].
    ReadWork {
        agent: Agent,
        /// With what happened in its work, which takes reading the record.
        with_log: bool,
    },
    /// Give what the project's files tell this agent by [`crate::Msg::Rules`].
    ReadRules { agent: Agent },
    /// Give where the work stands, and how it goes on, by [`crate::Msg::Recovery`].
    ReadRecovery,
    /// Give the tasks that can travel, by [`crate::Msg::Capsules`].
    ReadCapsules,
    /// Give one of them, by [`crate::Msg::Capsule`].
    ReadCapsule { id: String },
    /// Write this task's capsule into a file; nothing leaves the machine.
    ExportCapsule {
        id: String,
        /// A file that is not there yet, from the project's folder.
        file: String,
        /// What goes along.
        along: CapsuleAlong,
    },
    /// Look for what was said before about the same, and give it by [`crate::Msg::Alike`].
    FindAlike(AlikeTo),
    /// Begin a task, which is the current one then.
    BeginTask {
        /// One line.
        title: String,
        /// What was said before that is taken to be so; the operator says it.
        found: Vec<FoundSnippet>,
    },
    /// Hand this task to an agent, as a handoff of the operator's. Asked before.
    HandCapsule {
        id: String,
        /// To whom.
        to: Agent,
        /// What was said before that goes along.
        found: Vec<FoundSnippet>,
    },
    /// Tell this task for somebody else, and give the text by [`crate::Msg::CapsuleText`].
    TellCapsule {
        id: String,
        /// For whom.
        to: CapsuleReader,
    },
    /// The person edited what is said of a task: each change is an entry of theirs.
    EditCapsule {
        id: String,
        /// As [`crate::model::CapsuleView::draft`].
        before: String,
        /// What they left.
        after: String,
    },
    /// The task is over.
    CloseCapsule {
        id: String,
        /// What came of it.
        outcome: Option<String>,
    },
    /// Give where these review findings stand by now, by [`crate::Msg::FindingPlaces`].
    ReadFindingPlaces { ids: Vec<String> },
    /// Give what this review finding says, beside its file, by [`crate::Msg::Finding`].
    ReadFinding { id: String },
    /// The operator says that a review finding is dealt with. Asked how before.
    ResolveFinding {
        id: String,
        /// How, if they say so.
        how: Option<String>,
    },
    /// Run the operator's own program that asks for the reviews of this branch's pull request, and
    /// record what it says; slow. Asked before.
    ImportReview,
    /// The operator does not count a review finding. Asked for a reason before.
    DismissFinding {
        id: String,
        /// Why; never empty.
        reason: String,
    },
    /// Search the whole record, and give what was found by [`crate::Msg::Found`].
    Search {
        /// Where.
        place: SearchScope,
        /// What was typed; never blank.
        words: String,
        /// What it is narrowed to.
        chips: Chips,
        /// Comes back with the answer. Only the last question needs one.
        number: u64,
        /// Only what comes behind this: [`crate::model::FoundEntries::cursor`].
        after: Option<String>,
    },
    /// Give these rows of the timeline with the next view.
    ShowTimeline(TimelineWish),
    /// Give what the work tree has otherwise than this commit by [`crate::Msg::Diff`].
    ReadDiff {
        /// As [`crate::model::InboxCard::commit`].
        commit: String,
    },
    /// Open this text in the person's editor. Nothing is drawn and no key comes meanwhile. What
    /// stands there then comes by [`crate::Msg::EditorText`], where `is_draft`.
    OpenEditor {
        /// The text; raw.
        text: String,
        /// It is being written, not only read.
        is_draft: bool,
    },
    /// Put this on the clipboard (OSC 52).
    CopyText(String),
    /// Remember this theme; it is in use already.
    SetTheme(String),
    /// Start this agent beside the deck.
    StartAgent(Agent),
    /// Start the daemon again, which has ended.
    Restart,
    /// Draw everything again, the terminal was painted over.
    Redraw,
    /// Give the terminal back and stop this process until the shell continues it.
    Suspend,
}

impl Effect {
    /// The number of the draft that it is made of.
    pub fn draft(&self) -> Option<u64> {
        match self {
            Self::SendMessage { draft, .. }
            | Self::Handoff { draft, .. }
            | Self::AppendNote { draft, .. } => *draft,
            _ => None,
        }
    }
}
