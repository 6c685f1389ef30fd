//! What became of a message whose delivery nobody saw.

use crate::delivery::recovery::{LOOKS_MIN_QUEUED, RecoveryVerdict, Sight, Unconfirmed, judge};

const NOWHERE: Sight = Sight {
    in_queue: false,
    idle: true,
};

#[test]
fn a_message_that_waits_is_left_alone() {
    let mut doubt = Unconfirmed::default();
    let sight = Sight {
        in_queue: true,
        idle: true,
    };
    assert_eq!(judge(&mut doubt, sight), RecoveryVerdict::StillQueued);
    assert!(doubt.was_queued);
}

#[test]
fn one_look_is_not_enough_to_send_again() {
    let mut doubt = Unconfirmed::default();
    assert_eq!(judge(&mut doubt, NOWHERE), RecoveryVerdict::LookAgain);
    assert_eq!(judge(&mut doubt, NOWHERE), RecoveryVerdict::NotTaken);
}

#[test]
fn a_turn_that_runs_in_between_starts_the_count_again() {
    let mut doubt = Unconfirmed::default();
    assert_eq!(judge(&mut doubt, NOWHERE), RecoveryVerdict::LookAgain);
    let busy = Sight {
        in_queue: false,
        idle: false,
    };
    assert_eq!(judge(&mut doubt, busy), RecoveryVerdict::LookAgain);
    assert_eq!(judge(&mut doubt, NOWHERE), RecoveryVerdict::LookAgain);
    assert_eq!(judge(&mut doubt, NOWHERE), RecoveryVerdict::NotTaken);
}

#[test]
fn a_message_that_was_queued_gets_more_time() {
    let mut doubt = Unconfirmed {
        was_queued: true,
        looks: 0,
    };
    for _ in 1..LOOKS_MIN_QUEUED {
        assert_eq!(judge(&mut doubt, NOWHERE), RecoveryVerdict::LookAgain);
    }
    assert_eq!(judge(&mut doubt, NOWHERE), RecoveryVerdict::NotTaken);
}
