//! [`DeliveryEffect`]: what a machine wants done; [`Moment`]: the time and fresh ids that it is
//! given besides facts.

use super::{DeliveryWay, OnBusy, Outcome};
use crate::agent::Agent;
use crate::entry::DeliveryResult;
use crate::id::{AttemptId, EntryId, TurnId};

/// The time of an input, and the id for an attempt that begins now. A machine begins at most one
/// attempt at a time, so one fresh id is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// A clock that never jumps back, ms.
    pub now_ms: i64,
    /// A fresh id.
    pub attempt: AttemptId,
}

/// What a machine wants done, in the order of the list. A byte may leave only after the row that
/// says so is durable: if a row cannot be written, nothing after it leaves
/// ([`DeliveryEffect::leaves`]), and the machine is told of each message that did not. All other
/// effects are carried out anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryEffect {
    /// Write the message's row to disk.
    Store(EntryId),
    /// Remove its row: the ledger has settled it.
    Forget(EntryId),
    /// Append the outcome of a message. The machine is told when that is durable, or has failed.
    Append {
        /// The message.
        id: EntryId,
        /// The receiver.
        to: Agent,
        /// Its outcome.
        result: DeliveryResult,
        /// The way that is proven.
        rung: Option<DeliveryWay>,
        /// The turn in which it arrived.
        turn: Option<TurnId>,
    },
    /// Give one message to the Codex adapter.
    DeliverToAdapter {
        /// The message.
        id: EntryId,
        /// This attempt; answers name it.
        attempt: AttemptId,
        /// What to do if a turn runs.
        on_busy: OnBusy,
        /// It may have been shown before.
        repeat: bool,
    },
    /// Ask the Codex adapter to find out about these messages.
    Recover(Vec<EntryId>),
    /// Start the app-server: only it can tell what became of messages on their way.
    Wake,
    /// Ask the Codex adapter to take this message out of the app-server's queue: the running turn
    /// waits for it, or nobody is to get it any more.
    TakeBack(EntryId),
    /// Release the app-server's own queue, as the operator wants.
    ReleaseQueue,
    /// Push one message through the bridge as a channel notification.
    Push {
        bridge: u64,
        /// The message.
        id: EntryId,
        /// It may have been shown before.
        repeat: bool,
    },
    /// Print one line that names the waiting messages.
    Ring {
        /// The doorbell.
        bell: u64,
        /// The messages, oldest first.
        ids: Vec<EntryId>,
        /// No hook will carry them: Claude has to ask.
        asks: bool,
    },
    /// Answer the call that waits for the outcome of the message.
    Receipt {
        /// The message.
        id: EntryId,
        /// Its outcome.
        outcome: Outcome,
    },
    /// The turn that has the message ended early. The message is in the conversation and is not
    /// sent again; the operator should see it.
    CutOff {
        /// The message.
        id: EntryId,
        turn: TurnId,
    },
    /// The lane rests because of a usage limit, or goes on.
    Limit(bool),
    /// The lane is paused because the human stopped a turn, or goes on.
    Paused(bool),
    /// An input from an app-server, a bridge or an attempt that is gone was refused.
    Stale {
        /// What came.
        what: &'static str,
        /// Its life.
        of: u64,
        /// The current life.
        current: u64,
    },
}

impl DeliveryEffect {
    /// The message whose body leaves by this.
    pub fn leaves(&self) -> Option<&EntryId> {
        match self {
            Self::DeliverToAdapter { id, .. } | Self::Push { id, .. } => Some(id),
            _ => None,
        }
    }
}
