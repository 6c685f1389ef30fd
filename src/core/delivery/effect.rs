//! [`DeliveryEffect`]: what a machine wants done; [`Moment`]: the time and fresh ids that it is
//! given besides facts.

use super::{DeliveryWay, OnBusy, Outcome};
use crate::agent::Agent;
use crate::entry::DeliveryResult;
use crate::id::{AttemptId, EntryId, TurnId};

/// When something comes in, and the id that an attempt takes if one begins now. A machine begins
/// at most one attempt at a time, so that one fresh id is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// A clock that never jumps back, ms.
    pub now_ms: i64,
    /// Not used before.
    pub attempt: AttemptId,
}

/// What has to be done, in the order of the list. A byte may leave only after the row that says so
/// is durable: when a row cannot be written, nothing that follows it leaves ([`DeliveryEffect::leaves`]),
/// and the machine is told of each message that did not. What is not about leaving is done all the
/// same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryEffect {
    /// Write the message's row to disk.
    Store(EntryId),
    /// Remove its row: the ledger has settled it.
    Forget(EntryId),
    /// Append what became of a message. The machine is told when that is durable, or failed.
    Append {
        /// The message.
        id: EntryId,
        /// The receiver.
        to: Agent,
        /// What became of it.
        result: DeliveryResult,
        /// By which way, for proof.
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
        /// How a running turn is met.
        on_busy: OnBusy,
        /// It may have been shown before.
        repeat: bool,
    },
    /// Ask the Codex adapter what became of these.
    Recover(Vec<EntryId>),
    /// Have the app-server run: only it can tell what became of what is on its way.
    Wake,
    /// Ask the Codex adapter to take this one out of the app-server's queue again: the turn that runs
    /// waits for it, or nobody is to get it any more.
    TakeBack(EntryId),
    /// Have the app-server's own queue go on: the operator says so.
    ReleaseQueue,
    /// Push one message through the bridge as a channel notification.
    Push {
        bridge: u64,
        /// The message.
        id: EntryId,
        /// It may have been shown before.
        repeat: bool,
    },
    /// Print one line that says which messages wait.
    Ring {
        /// The doorbell.
        bell: u64,
        /// The messages, oldest first.
        ids: Vec<EntryId>,
        /// No hook will carry them: Claude has to ask.
        asks: bool,
    },
    /// A waiter for the outcome of the message may be answered.
    Receipt {
        /// The message.
        id: EntryId,
        /// What became of it.
        outcome: Outcome,
    },
    /// The turn that has the message ended before it was done. The message is in the
    /// conversation and is not sent again; the operator should see it.
    CutOff {
        /// The message.
        id: EntryId,
        turn: TurnId,
    },
    /// The lane rests because of a usage limit, or goes on.
    Limit(bool),
    /// The lane is paused because the human stopped a turn, or goes on.
    Paused(bool),
    /// A fact of an app-server, a bridge or an attempt that is gone was refused.
    Stale {
        /// What came.
        what: &'static str,
        /// Of which life.
        of: u64,
        /// Which one counts.
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
