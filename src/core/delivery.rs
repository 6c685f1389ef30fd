//! [`Delivery`]: the life of one message on its way to one receiver, as a pure state machine.
//!
//! ```text
//! queued ─► attempted ─► offered ─► confirmed
//!    ▲          │            │
//!    └──────────┴────────────┘  the receiver is known not to have it
//!                └─► ambiguous   nobody can know; only the operator sends it again
//! ```
//!
//! Knows no clock, no disk and no agent. Facts may arrive late, twice or out of order: each state
//! takes what still makes sense and ignores the rest.

use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::id::{AttemptId, EntryId, RuntimeSession, Seq};

/// What the sender wants when the receiver is working.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum OnBusy {
    /// Wait for the receiver's next turn.
    #[default]
    Queue,
    /// Join the turn that runs.
    Steer,
    /// Do not send.
    Reject,
}

impl OnBusy {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::Reject => "reject",
        }
    }
}

/// What a sender is told about its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is in the turn that runs.
    JoinedActiveWork,
    /// A turn began with it.
    StartedNewTurn,
    /// The receiver fetched it before the sender was answered.
    DeliveredLive,
    /// It is recorded and will be delivered.
    QueuedForNextTurn,
    /// It was refused and will not be delivered.
    Rejected,
    /// It may or may not have arrived.
    Ambiguous,
}

impl Outcome {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JoinedActiveWork => "joined_active_work",
            Self::StartedNewTurn => "started_new_turn",
            Self::DeliveredLive => "delivered_live",
            Self::QueuedForNextTurn => "queued_for_next_turn",
            Self::Rejected => "rejected",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Waits for its receiver.
    Queued,
    /// An attempt began; whether it reached the receiver is not known yet.
    Attempted,
    /// The receiver's side took it, without proof that the model has it.
    Offered,
    /// Proven.
    Confirmed,
    /// Refused.
    Rejected,
    /// Waited too long.
    Expired,
    /// Unknown for good.
    Ambiguous,
    /// Taken back by the operator.
    Cancelled,
}

impl DeliveryState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Attempted => "attempted",
            Self::Offered => "offered",
            Self::Confirmed => "confirmed",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Ambiguous => "ambiguous",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with this word.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Queued,
            Self::Attempted,
            Self::Offered,
            Self::Confirmed,
            Self::Rejected,
            Self::Expired,
            Self::Ambiguous,
            Self::Cancelled,
        ]
        .into_iter()
        .find(|state| state.as_str() == word)
    }

    /// Whether nothing more happens by itself.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Confirmed | Self::Rejected | Self::Expired | Self::Cancelled
        )
    }
}

/// One message on its way to one receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The message.
    pub id: EntryId,
    /// Its place in the ledger, which is its place in the receiver's lane.
    pub seq: Seq,
    /// The receiver.
    pub to: Agent,
    /// The pair that it belongs to.
    pub runtime_session: RuntimeSession,
    /// What to do when the receiver works.
    pub on_busy: OnBusy,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: u32,
    /// The attempt that runs or ran last.
    pub attempt: Option<AttemptId>,
    /// When the state last changed, ms since the epoch.
    pub changed_ms: i64,
}

/// What can happen to a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryFact {
    /// We are about to hand it to the receiver's side. Written before the first byte leaves.
    AttemptBegan(AttemptId),
    /// The receiver's side took it.
    Offered,
    /// The receiver's side certainly does not have it (refused, or recovery did not find it).
    NotTaken,
    /// There is proof that the receiver has it.
    Confirmed,
    /// It was refused for good.
    Rejected,
    /// Whether it arrived cannot be found out.
    Unknowable,
    /// The operator wants another try.
    Requeued,
    /// The operator takes it back.
    Cancelled,
    /// It waited too long.
    Expired,
}

impl Delivery {
    /// Takes a fact in. Returns whether the state changed.
    pub fn apply(&mut self, fact: DeliveryFact, now_ms: i64) -> bool {
        use DeliveryState as S;
        let next = match (self.state, fact) {
            (S::Queued, DeliveryFact::AttemptBegan(attempt)) => {
                self.attempts += 1;
                self.attempt = Some(attempt);
                S::Attempted
            }
            (S::Attempted, DeliveryFact::Offered) => S::Offered,
            (S::Attempted | S::Offered, DeliveryFact::NotTaken) => S::Queued,
            // Proof counts whenever it comes, be it after we gave up knowing.
            (
                S::Queued | S::Attempted | S::Offered | S::Ambiguous | S::Expired,
                DeliveryFact::Confirmed,
            ) => S::Confirmed,
            (S::Queued | S::Attempted, DeliveryFact::Rejected) => S::Rejected,
            (S::Queued | S::Attempted | S::Offered, DeliveryFact::Unknowable) => S::Ambiguous,
            (S::Ambiguous | S::Rejected | S::Expired | S::Cancelled, DeliveryFact::Requeued) => {
                S::Queued
            }
            (S::Queued | S::Ambiguous | S::Offered, DeliveryFact::Cancelled) => S::Cancelled,
            (S::Queued, DeliveryFact::Expired) => S::Expired,
            _ => return false,
        };
        self.state = next;
        self.changed_ms = now_ms;
        true
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    fn delivery() -> Delivery {
        Delivery {
            id: EntryId::new("m"),
            seq: Seq(1),
            to: Agent::Codex,
            runtime_session: RuntimeSession::default(),
            on_busy: OnBusy::Queue,
            state: DeliveryState::Queued,
            attempts: 0,
            attempt: None,
            changed_ms: 0,
        }
    }

    fn fact() -> impl Strategy<Value = DeliveryFact> {
        prop_oneof![
            Just(DeliveryFact::AttemptBegan(AttemptId::new("a"))),
            Just(DeliveryFact::Offered),
            Just(DeliveryFact::NotTaken),
            Just(DeliveryFact::Confirmed),
            Just(DeliveryFact::Rejected),
            Just(DeliveryFact::Unknowable),
            Just(DeliveryFact::Requeued),
            Just(DeliveryFact::Cancelled),
            Just(DeliveryFact::Expired),
        ]
    }

    proptest! {
        #[test]
        fn a_confirmed_message_is_never_offered_again(facts in prop::collection::vec(fact(), 0..40)) {
            let mut delivery = delivery();
            let mut confirmed_at = None;
            for fact in facts {
                delivery.apply(fact, 1);
                if delivery.state == DeliveryState::Confirmed {
                    confirmed_at.get_or_insert(delivery.attempts);
                }
            }
            if let Some(attempts) = confirmed_at {
                prop_assert_eq!(delivery.state, DeliveryState::Confirmed);
                prop_assert_eq!(delivery.attempts, attempts);
            }
        }

        #[test]
        fn an_ambiguous_message_is_attempted_again_only_after_the_operator_asked(
            facts in prop::collection::vec(fact(), 0..40)
        ) {
            let mut delivery = delivery();
            delivery.apply(DeliveryFact::AttemptBegan(AttemptId::new("a")), 1);
            delivery.apply(DeliveryFact::Unknowable, 1);
            for fact in facts {
                if fact == DeliveryFact::Requeued { break; }
                delivery.apply(fact, 2);
                prop_assert_eq!(delivery.attempts, 1);
            }
        }
    }

    #[test]
    fn late_proof_settles_an_ambiguous_message() {
        let mut delivery = delivery();
        assert!(delivery.apply(DeliveryFact::AttemptBegan(AttemptId::new("a")), 1));
        assert!(delivery.apply(DeliveryFact::Unknowable, 2));
        assert!(delivery.apply(DeliveryFact::Confirmed, 3));
        assert!(delivery.state.is_final());
    }
}
