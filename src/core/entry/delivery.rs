//! [`DeliveryRecord`]: what the ledger keeps of a message's way to its receiver.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::delivery::{DeliveryWay, Outcome};
use crate::id::{AttemptId, EntryId, TurnId};
use crate::word::words;

/// What became of one message. Attempts are not recorded here: they live in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRecord {
    /// The message or handoff.
    pub message_id: EntryId,
    /// The attempt that led here, if any was made.
    pub attempt_id: Option<AttemptId>,
    /// The receiver.
    pub to: Agent,
    /// Where the message stands now.
    pub result: DeliveryResult,
    /// What the sender was told.
    pub outcome: Option<Outcome>,
    /// By which way. An older record may say it in a word of its own, which is kept.
    pub rung: Option<DeliveryWay>,
    /// The turn in which it arrived.
    pub turn_id: Option<TurnId>,
    /// The first line of what the receiver was given: with the message's own words after it, and
    /// its end, that was all.
    pub given: Option<String>,
}

impl DeliveryRecord {
    /// Whether it was taken back when its receiver had been given it, perhaps. `before`: where it
    /// stood until then.
    pub fn may_have_arrived(&self, before: Option<DeliveryResult>) -> bool {
        self.result == DeliveryResult::Cancelled
            && (self.attempt_id.is_some() || before == Some(DeliveryResult::Ambiguous))
    }

    /// Whether nobody said that it was read, but a hook handed it into a turn and that turn came to
    /// its end.
    pub fn is_settled_by_turn(&self) -> bool {
        self.result == DeliveryResult::Acknowledged && self.rung.is_some()
    }
}

words! {
    /// The states of a message that the ledger knows.
    pub closed enum DeliveryResult {
        /// There is proof that the receiver has it.
        Confirmed = "confirmed",
        /// The receiver acknowledged it (Claude's `ack`), or the turn that had it came to its end
        /// ([`DeliveryRecord::is_settled_by_turn`]); implies confirmed.
        Acknowledged = "acknowledged",
        /// It was refused and will not be tried again.
        Rejected = "rejected",
        /// It waited too long.
        Expired = "expired",
        /// It may or may not have arrived; only the operator may send it again.
        Ambiguous = "ambiguous",
        /// The operator took it back.
        Cancelled = "cancelled",
        /// The operator asked for another try, or wanted one for when a usage limit is over.
        Requeued = "requeued",
    }
}
