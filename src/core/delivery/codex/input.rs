//! [`CodexInput`]: what can come in on the lane to Codex.

use crate::entry::{DeliveryResult, ErrorCode, TurnStatus};
use crate::id::{AttemptId, EntryId, ThreadId, TurnId};

/// What the thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Loaded, and no turn runs; also after a failed turn.
    Idle,
    /// A turn runs.
    Busy {
        /// It waits for an approval or an answer.
        waiting: bool,
    },
    /// Unloaded.
    NotLoaded,
}

/// The adapter's report about an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterAnswer {
    /// The app-server accepted it into its queue, or into the running turn. Proves nothing.
    Queued,
    /// It waits in the app-server's queue.
    StillQueued,
    /// The app-server certainly does not have it.
    NotTaken,
    /// The answer never came; recovery will find out.
    Unanswered,
    /// It was taken out of the queue for a turn that waits for it.
    TakenBack,
}

/// The inputs of [`CodexFlow`](super::CodexFlow). `life` counts the app-servers that were started;
/// an input from an earlier one is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodexInput {
    /// The daemon started, and the backlog holds the messages that are not settled.
    Began,
    /// A message was recorded, or may go out again.
    News,
    /// Time has passed.
    Tick,
    /// An app-server answers.
    ServerStarted {
        /// The new life.
        life: u64,
    },
    /// It is gone.
    ServerLost {
        life: u64,
        /// It is not started again by itself.
        gave_up: bool,
    },
    /// None can be started.
    Unavailable {
        /// The kind of reason.
        code: ErrorCode,
    },
    /// We follow this thread.
    Adopted {
        /// The app-server's life.
        life: u64,
        thread: ThreadId,
    },
    /// The thread's status.
    Activity {
        /// The app-server's life.
        life: u64,
        activity: Activity,
    },
    /// A turn began.
    TurnStarted {
        /// The app-server's life.
        life: u64,
        turn: TurnId,
    },
    /// It can do nothing until somebody signs in, or it can again.
    SignIn {
        /// The app-server's life.
        life: u64,
        /// Somebody has to sign in.
        needed: bool,
    },
    /// The context is being compacted, or is about to be.
    CompactionBegan {
        /// The app-server's life.
        life: u64,
        /// The operator asked for it here.
        is_asked: bool,
    },
    /// The context is compacted, and a packet for it is being made.
    Compacted {
        /// The app-server's life.
        life: u64,
    },
    /// The packet was sent into the thread, or there is none.
    CompactionOver {
        /// The app-server's life.
        life: u64,
    },
    /// The human's words are in the conversation.
    HumanMessage {
        /// The app-server's life.
        life: u64,
        turn: TurnId,
    },
    /// A message of ours is in the conversation, durably. It counts from any source: what is in the
    /// conversation stays there.
    Proof {
        /// The message.
        id: EntryId,
        turn: TurnId,
        /// It joined a running turn.
        steered: bool,
    },
    TurnEnded {
        /// The app-server's life.
        life: u64,
        turn: TurnId,
        status: TurnStatus,
        /// Our messages in it, in order.
        ids: Vec<EntryId>,
        /// It failed because of a usage limit.
        limited: bool,
        /// The end of its app-server interrupted it, not the human.
        died: bool,
    },
    /// The sender of a message was told that it will arrive without another call.
    Promised {
        /// The message.
        id: EntryId,
    },
    /// The running turn waits for this message.
    Awaited {
        /// The message.
        id: EntryId,
    },
    /// The operator takes this message out of the app-server's queue.
    Withdrawn {
        /// The message.
        id: EntryId,
    },
    /// An earlier process saw the human stop a turn, and nothing has run since.
    Stopped {
        /// The thread, if known.
        thread: Option<ThreadId>,
    },
    /// A usage limit that an earlier process recorded still holds. It is not recorded again.
    LimitHolds,
    /// The outcome of a request.
    Answer {
        /// The app-server's life.
        life: u64,
        /// The message.
        id: EntryId,
        /// The attempt that it is about; `None` if the adapter knows only the message.
        attempt: Option<AttemptId>,
        answer: AdapterAnswer,
    },
    /// Somebody wants Codex now: no rest.
    Wanted,
    /// The terminal came or left.
    Terminal {
        /// It came.
        attached: bool,
    },
    /// The row could not be written, or the adapter takes no requests: nothing has left.
    NotSent {
        /// The message.
        id: EntryId,
    },
    /// It was no longer to leave when its row was written: nothing has left, and nothing is wrong.
    NotWanted {
        /// The message.
        id: EntryId,
    },
    /// A recorded result is durable.
    Durable {
        /// The message.
        id: EntryId,
        /// What was recorded.
        result: DeliveryResult,
    },
    /// A result could not be recorded.
    NotDurable {
        /// The message.
        id: EntryId,
        /// What was to be recorded.
        result: DeliveryResult,
    },
    /// A turn asked and was given a page with the message, and nobody reported that it arrived.
    ClaimEnded {
        /// The message.
        id: EntryId,
    },
    /// The usage limit is over, from another source than a turn.
    LimitOver,
    /// The operator lets a paused lane go on.
    Released,
}

impl CodexInput {
    /// The life that it belongs to, and its name, for what counts in one life only.
    pub(super) fn of_life(&self) -> Option<(u64, &'static str)> {
        match self {
            Self::ServerStarted { life } => Some((*life, "server_started")),
            Self::ServerLost { life, .. } => Some((*life, "server_lost")),
            Self::Adopted { life, .. } => Some((*life, "adopted")),
            Self::Activity { life, .. } => Some((*life, "activity")),
            Self::TurnStarted { life, .. } => Some((*life, "turn_started")),
            Self::SignIn { life, .. } => Some((*life, "sign_in")),
            Self::CompactionBegan { life, .. } => Some((*life, "compaction_began")),
            Self::Compacted { life } => Some((*life, "compacted")),
            Self::CompactionOver { life } => Some((*life, "compaction_over")),
            Self::HumanMessage { life, .. } => Some((*life, "human_message")),
            Self::TurnEnded { life, .. } => Some((*life, "turn_ended")),
            Self::Answer { life, .. } => Some((*life, "answer")),
            _ => None,
        }
    }

    /// Whether a message that was on its way waits again, while the lane rests or is tried once more.
    pub fn comes_back(&self) -> bool {
        match self {
            Self::Answer { answer, .. } => {
                matches!(answer, AdapterAnswer::NotTaken | AdapterAnswer::TakenBack)
            }
            Self::NotSent { .. } => true,
            _ => false,
        }
    }
}
