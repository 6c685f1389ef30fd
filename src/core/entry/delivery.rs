//! [`DeliveryRecord`]: what the ledger keeps of a message's way to its receiver; and its words,
//! [`OnBusy`], [`DeliveryWay`] and [`Outcome`].

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::id::{AttemptId, EntryId, TurnId};
use crate::word::words;

words! {
    /// What the sender wants when the receiver is working.
    #[derive(Default)]
    pub closed enum OnBusy {
        /// Wait for the receiver's next turn.
        #[default]
        Queue = "queue",
        /// Join the turn that runs.
        Steer = "steer",
        /// Do not send.
        Reject = "reject",
    }
}

words! {
    /// A way by which a message reaches an agent, as records and status name it: the rungs to
    /// Claude, and the two ways into Codex.
    pub enum DeliveryWay {
        /// A channel notification through Claude's bridge.
        Channel = "channel",
        /// The plugin's monitor, whose turn has the bodies handed over by a hook.
        Doorbell = "doorbell",
        /// A hook of Claude's handed it over.
        Hook = "hook",
        /// The agent fetched it.
        Pull = "pull",
        /// The queue of Codex's thread.
        Queue = "queue",
        /// Into Codex's running turn.
        Steer = "steer",
        /// None just now.
        None = "none",
    }
}

words! {
    /// What a sender is told about its message.
    pub closed enum Outcome {
        /// It is in the turn that runs.
        JoinedActiveWork = "joined_active_work",
        /// A turn began with it.
        StartedNewTurn = "started_new_turn",
        /// The receiver fetched it before the sender was answered.
        DeliveredLive = "delivered_live",
        /// It is recorded and will be delivered.
        QueuedForNextTurn = "queued_for_next_turn",
        /// It was refused and will not be delivered.
        Rejected = "rejected",
        /// It may or may not have arrived.
        Ambiguous = "ambiguous",
    }
}

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
        /// The operator took it back, or its sender closed it.
        Cancelled = "cancelled",
        /// The operator asked for another try, or wanted one for when a usage limit is over.
        Requeued = "requeued",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_the_text_that_it_was_and_comes_back_from_it() {
        let texts: Vec<String> = DeliveryWay::ALL.iter().map(ToString::to_string).collect();
        let before = [
            "channel", "doorbell", "hook", "pull", "queue", "steer", "none",
        ];
        assert_eq!(texts, before);
        for (way, text) in DeliveryWay::ALL.iter().zip(before) {
            assert_eq!(DeliveryWay::from(text), *way);
        }
        assert_eq!(DeliveryWay::default().to_string(), "");
    }
}
