//! [`ClaudeInput`]: what tells of the Claude of one pair; [`ClaudeSetting`]: what stands around it.

use super::{CarriedClaude, ClaudeChange};
use crate::agent::AgentState;
use crate::id::EntryId;

/// What tells of Claude.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaudeInput {
    /// Its bridge or its doorbell is there.
    Attached {
        /// Its process.
        pid: Option<u32>,
    },
    /// Neither is there any more.
    Gone,
    /// The process before this one knew so much of it, and it is waited for.
    Recalled {
        /// What it knew.
        claude: Box<CarriedClaude>,
    },
    /// It is waited for no longer.
    StaysAway,
    /// A turn began. One that is told of in its middle begins once.
    TurnBegan,
    /// A tool of it has run. Its turn's beginning may have been told to nobody.
    ToolUsed,
    /// A tool of it begins, whose end may be far off.
    ToolBegins,
    /// It, or a helper of it, called us or did something else that answers no dialog.
    GivesSign,
    /// What its stop carries prolongs its turn.
    Prolonged,
    /// It has the operator's answer, and its dialog is closed.
    Answered,
    /// It shows a dialog.
    Asks,
    /// A dialog is open, of it or of a helper.
    DialogIsOpen,
    /// A helper of it shows a dialog, one after the other.
    HelperAsks {
        helper: String,
        /// The use of a tool that it asks about.
        tool_use: Option<String>,
    },
    /// A helper of it goes on.
    HelperGoesOn {
        helper: String,
        /// The use of a tool that has run; none where the helper is over.
        tool_use: Option<String>,
    },
    /// Its context begins to be compacted.
    Compacts {
        /// When, ms.
        at_ms: i64,
    },
    /// Its context was compacted, and it goes on.
    Compacted,
    /// Its context is compacted no more: it does something else, or has taken too long.
    CompactionOver,
    /// Its conversation ends: another one begins, or it goes.
    ConversationEnds,
    /// Another conversation begins, without its helpers.
    NewConversation,
    /// It waits for a prompt, whatever became of its last turn.
    Idle,
    /// A turn came to its end.
    Worked,
    /// A turn failed.
    Failed {
        /// At the usage limit.
        limited: bool,
        /// By Claude's own word for it.
        why: String,
    },
    /// Its turn has given no sign for too long.
    Silent {
        /// A reason for people.
        why: String,
    },
    /// The usage limit is over.
    LimitOver,
    /// It was given these messages.
    Given {
        /// The messages.
        ids: Vec<EntryId>,
    },
    /// It is done with a message, or nobody gets that any more.
    Settled {
        /// The message.
        id: EntryId,
    },
    /// A message is sent to it again.
    SentAgain {
        /// The message.
        id: EntryId,
    },
    /// A change could not be recorded.
    NotRecorded {
        /// What was to be recorded.
        change: ClaudeChange,
        /// What the record says.
        known: (AgentState, Option<u32>),
    },
    /// The record takes entries again.
    Recordable,
}

/// What stands around Claude, and is known elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct ClaudeSetting {
    /// A bridge or a doorbell of this pair's is connected.
    pub is_here: bool,
    /// The usage limit holds, which is the account's.
    pub is_limited: bool,
}
