//! One message.

use proptest::prelude::*;

use crate::agent::Agent;
use crate::delivery::{Delivery, DeliveryFact, DeliveryState, Shown};
use crate::entry::OnBusy;
use crate::id::{AttemptId, EntryId, RuntimeSession, Seq};

fn delivery() -> Delivery {
    Delivery::recorded(
        EntryId::new("m"),
        Seq(1),
        Agent::Codex,
        RuntimeSession::default(),
        OnBusy::Queue,
        0,
    )
}

fn fact() -> impl Strategy<Value = DeliveryFact> {
    prop_oneof![
        Just(DeliveryFact::AttemptBegan(AttemptId::new("a"))),
        Just(DeliveryFact::HandedOut(AttemptId::new("h"), Shown::Whole)),
        Just(DeliveryFact::Offered),
        Just(DeliveryFact::NotTaken),
        Just(DeliveryFact::Confirmed),
        Just(DeliveryFact::Unknowable),
        Just(DeliveryFact::Requeued),
    ]
}

#[test]
fn what_the_receiver_had_in_a_turn_that_ended_early_comes_again_and_says_so() {
    let mut delivery = delivery();
    assert!(!delivery.apply(DeliveryFact::CutOff, 1), "nobody has it");
    assert!(delivery.apply(DeliveryFact::Confirmed, 2));
    assert!(delivery.apply(DeliveryFact::CutOff, 3));
    assert_eq!(delivery.state, DeliveryState::Queued);
    assert!(delivery.is_repeat());
    assert!(!delivery.apply(DeliveryFact::CutOff, 4), "told of twice");
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
    assert_eq!(delivery.state, DeliveryState::Confirmed);
}
