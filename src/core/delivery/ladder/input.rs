//! [`LadderInput`]: what can come in about one Claude.

use super::rung_message::RungMessage;
use crate::entry::{DeliveryResult, DeliveryWay};
use crate::id::{EntryId, Seq};
use crate::word::words;

words! {
    /// What the operator chose for this Claude by `CONTEXTRELAY_MODE`.
    #[derive(Default)]
    pub closed enum DeliveryMode {
        /// Begin with the channel: every message also goes out as a notification at once.
        Push = "push",
        /// Nothing is announced; Claude asks by itself.
        Pull = "pull",
        /// The best way that there is.
        #[default]
        Auto = "auto",
    }
}

/// Where in a turn a hook can put something into the model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookPoint {
    /// `UserPromptSubmit`: a turn begins.
    Prompt,
    /// `PostToolUse`: in the middle of a turn.
    Tool,
    /// `Stop`, when it is not the stop of a turn that a stop has prolonged.
    Stop,
}

/// What can come in. Bridges and doorbells are named by their connection: what one says that is
/// no longer the receiver's does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LadderInput {
    /// A message was recorded, or may be offered again.
    News,
    /// Time has passed.
    Tick,
    /// This bridge gets the deliveries from now on.
    Attached {
        /// Its connection.
        bridge: u64,
        /// The Claude that it belongs to.
        process: Option<u32>,
        /// What the operator chose.
        mode: DeliveryMode,
    },
    /// A daemon starts: with the one before it this Claude worked, or none.
    Recalled {
        process: Option<u32>,
    },
    /// The doorbell of that Claude was rung for these by the daemon before.
    WasRung {
        /// The messages.
        rung: Vec<RungMessage>,
    },
    /// A bridge is gone.
    Left {
        /// Its connection.
        bridge: u64,
    },
    /// The process of a Claude has ended.
    Ended {
        process: u32,
    },
    /// The doorbell of the same Claude is there.
    BellHung {
        /// Its connection.
        bell: u64,
    },
    /// A doorbell is gone.
    BellGone {
        /// Its connection.
        bell: u64,
    },
    /// The model's context is a new one: started, cleared, compacted, resumed, forked.
    NewContext,
    /// The model's context begins to be compacted: Claude hears nothing until [`Self::Compacted`] or
    /// [`Self::CompactionOver`].
    Compacts,
    /// Nobody counts any more on the end of a compaction.
    CompactionOver,
    /// As [`Self::NewContext`], and what hooks handed into it is in it still: compacted.
    Compacted,
    TurnBegan,
    /// As [`Self::TurnBegan`], of a turn whose beginning was told to nobody: what was rung for may
    /// have come into it, and then Claude hears that ring behind it.
    TurnRuns,
    /// A turn is about to come to its end by itself: what its stop carries prolongs it.
    TurnStops,
    /// A turn came to its end by itself: what hooks handed into it was read.
    TurnWorked {
        /// What died of the limit that is over with this is sent again first: a lane that rests does
        /// so until [`Self::LimitOver`].
        rests: bool,
        /// No transcript has to be read first, which may say that another hook blocked what our hooks
        /// added: else [`Backlog::were_read`](super::super::Backlog::were_read) follows that.
        is_read: bool,
    },
    /// A turn ended in any other way.
    TurnEnded {
        /// It failed because of a usage limit.
        limited: bool,
    },
    /// The human stopped a turn: that says nothing about a limit that holds, and the next turn reads
    /// what hooks handed into this one.
    TurnStopped,
    /// Claude is gone, or is another one: nobody tells what becomes of the turn.
    TurnLost,
    /// A usage limit that an earlier process saw holds still.
    LimitHolds,
    /// The usage limit is over, from another source than a turn.
    LimitOver,
    /// Texts are about to leave, by a page or by a hook. They leave only after the rows that say
    /// so are stored.
    HandedOut {
        /// To their last character.
        whole: Vec<EntryId>,
        /// Not to its last character.
        head: Option<EntryId>,
    },
    /// A hook had no room for all: the next ones of this turn go on with what waits up to here.
    LeftOver {
        /// The last that waits.
        upto: Seq,
        /// No hook will ever have room for this, the first of them: Claude has to fetch it.
        to_fetch: Option<EntryId>,
    },
    /// A hook has handed them into a turn, or the call that fetched them has returned.
    Proven {
        /// The messages.
        ids: Vec<EntryId>,
        rung: DeliveryWay,
    },
    /// Claude acknowledged them.
    Acknowledged {
        /// The messages.
        ids: Vec<EntryId>,
    },
    /// A client takes nothing more for now; the message was not pushed or rung.
    OutletFull {
        /// The message.
        id: EntryId,
    },
    /// The row could not be written: nothing has left.
    NotStored {
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
}
