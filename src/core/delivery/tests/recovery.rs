//! What became of a message whose delivery nobody saw.

use crate::delivery::recovery::{
    LOOKS_BLIND, LOOKS_MIN_QUEUED, RecoveryVerdict, Sight, Unconfirmed, judge,
};

const NOWHERE: Sight = Sight {
    in_queue: false,
    idle: true,
    whole: true,
};

/// Codex refuses to show its queue or its history.
const BLIND: Sight = Sight {
    whole: false,
    ..NOWHERE
};

#[test]
fn a_message_that_waits_is_left_alone() {
    let mut unconfirmed = Unconfirmed::default();
    let sight = Sight {
        in_queue: true,
        ..NOWHERE
    };
    assert_eq!(judge(&mut unconfirmed, sight), RecoveryVerdict::StillQueued);
    assert!(unconfirmed.was_queued);
}

#[test]
fn one_look_is_not_enough_to_send_again() {
    let mut unconfirmed = Unconfirmed::default();
    assert_eq!(judge(&mut unconfirmed, NOWHERE), RecoveryVerdict::LookAgain);
    assert_eq!(judge(&mut unconfirmed, NOWHERE), RecoveryVerdict::NotTaken);
}

#[test]
fn a_turn_that_runs_in_between_starts_the_count_again() {
    let mut unconfirmed = Unconfirmed::default();
    assert_eq!(judge(&mut unconfirmed, NOWHERE), RecoveryVerdict::LookAgain);
    let busy = Sight {
        idle: false,
        ..NOWHERE
    };
    assert_eq!(judge(&mut unconfirmed, busy), RecoveryVerdict::LookAgain);
    assert_eq!(judge(&mut unconfirmed, NOWHERE), RecoveryVerdict::LookAgain);
    assert_eq!(judge(&mut unconfirmed, NOWHERE), RecoveryVerdict::NotTaken);
}

#[test]
fn a_message_that_was_queued_gets_more_time() {
    let mut unconfirmed = Unconfirmed {
        was_queued: true,
        ..Unconfirmed::default()
    };
    for _ in 1..LOOKS_MIN_QUEUED {
        assert_eq!(judge(&mut unconfirmed, NOWHERE), RecoveryVerdict::LookAgain);
    }
    assert_eq!(judge(&mut unconfirmed, NOWHERE), RecoveryVerdict::NotTaken);
}

#[test]
fn what_codex_does_not_show_is_not_taken_for_absent() {
    let mut unconfirmed = Unconfirmed::default();
    for _ in 1..LOOKS_BLIND {
        assert_eq!(judge(&mut unconfirmed, BLIND), RecoveryVerdict::LookAgain);
        assert!(!unconfirmed.is_given_up());
    }
    assert_eq!(judge(&mut unconfirmed, BLIND), RecoveryVerdict::Unknown);
    assert!(unconfirmed.is_given_up());
    // In what it does show it can be seen.
    let queued = Sight {
        in_queue: true,
        ..BLIND
    };
    assert_eq!(
        judge(&mut unconfirmed.clone(), queued),
        RecoveryVerdict::StillQueued
    );
    // What was seen before it refused counts no more.
    let mut unconfirmed = Unconfirmed::default();
    for sight in [NOWHERE, BLIND, NOWHERE] {
        assert_eq!(judge(&mut unconfirmed, sight), RecoveryVerdict::LookAgain);
    }
    assert_eq!(judge(&mut unconfirmed, NOWHERE), RecoveryVerdict::NotTaken);
}
