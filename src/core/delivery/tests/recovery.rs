//! What became of a message whose delivery nobody saw.

use crate::core::delivery::recovery::{Doubt, LOOKS_MIN_QUEUED, Sight, Verdict, judge};

const NOWHERE: Sight = Sight {
    in_queue: false,
    idle: true,
};

#[test]
fn a_message_that_waits_is_left_alone() {
    let mut doubt = Doubt::default();
    let sight = Sight {
        in_queue: true,
        idle: true,
    };
    assert_eq!(judge(&mut doubt, sight), Verdict::StillQueued);
    assert!(doubt.was_queued);
}

#[test]
fn one_look_is_not_enough_to_send_again() {
    let mut doubt = Doubt::default();
    assert_eq!(judge(&mut doubt, NOWHERE), Verdict::LookAgain);
    assert_eq!(judge(&mut doubt, NOWHERE), Verdict::NotTaken);
}

#[test]
fn a_turn_that_runs_in_between_starts_the_count_again() {
    let mut doubt = Doubt::default();
    assert_eq!(judge(&mut doubt, NOWHERE), Verdict::LookAgain);
    let busy = Sight {
        in_queue: false,
        idle: false,
    };
    assert_eq!(judge(&mut doubt, busy), Verdict::LookAgain);
    assert_eq!(judge(&mut doubt, NOWHERE), Verdict::LookAgain);
    assert_eq!(judge(&mut doubt, NOWHERE), Verdict::NotTaken);
}

#[test]
fn a_message_that_was_queued_gets_more_time() {
    let mut doubt = Doubt {
        was_queued: true,
        looks: 0,
    };
    for _ in 1..LOOKS_MIN_QUEUED {
        assert_eq!(judge(&mut doubt, NOWHERE), Verdict::LookAgain);
    }
    assert_eq!(judge(&mut doubt, NOWHERE), Verdict::NotTaken);
}
