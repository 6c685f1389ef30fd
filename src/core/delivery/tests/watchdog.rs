//! A turn that falls silent, and one that only waits for the human.

use crate::delivery::{Watchdog, Watched};

const SILENCE_MS: i64 = 300_000;

#[test]
fn silence_is_shown_in_three_steps_and_a_sign_ends_it() {
    let mut watchdog = Watchdog::new(SILENCE_MS);
    assert_eq!(watchdog.watched(1_000_000), Watched::Fine);
    watchdog.sign(0);
    for (at_ms, watched) in [
        (59_999, Watched::Fine),
        (60_000, Watched::Quiet),
        (300_000, Watched::Suspect),
        (600_000, Watched::Stuck),
    ] {
        assert_eq!(watchdog.watched(at_ms), watched, "{at_ms}");
    }
    assert_eq!(watchdog.next_ms(60_000), Some(300_000));
    watchdog.sign(600_001);
    assert_eq!(watchdog.watched(600_001), Watched::Fine);
    watchdog.over();
    assert_eq!(watchdog.watched(9_000_000), Watched::Fine);
}

#[test]
fn the_human_may_take_their_time() {
    let mut watchdog = Watchdog::new(SILENCE_MS);
    watchdog.sign(0);
    watchdog.waits(true, 50_000);
    assert_eq!(watchdog.watched(5_000_000), Watched::Fine);
    assert_eq!(watchdog.next_ms(50_000), None);
    watchdog.waits(false, 5_000_000);
    // The fifty seconds of before count, the wait does not.
    assert_eq!(watchdog.watched(5_009_999), Watched::Fine);
    assert_eq!(watchdog.watched(5_010_000), Watched::Quiet);
}

#[test]
fn the_operator_lets_it_be_and_is_told_again_later() {
    let mut watchdog = Watchdog::new(SILENCE_MS);
    watchdog.snooze(0);
    assert_eq!(watchdog.snoozed_until(0), None, "there is no turn");
    watchdog.sign(0);
    assert_eq!(watchdog.watched(600_000), Watched::Stuck);
    watchdog.snooze(600_000);
    assert_eq!(watchdog.watched(600_000), Watched::Quiet);
    assert_eq!(watchdog.next_ms(600_000), Some(900_000));
    assert_eq!(watchdog.watched(899_999), Watched::Quiet);
    assert_eq!(watchdog.watched(900_000), Watched::Stuck);
    // A sign ends the silence, and with it what was said about it.
    watchdog.snooze(900_000);
    watchdog.sign(900_001);
    assert_eq!(watchdog.watched(1_500_001), Watched::Stuck);
}

#[test]
fn another_silence_counts_for_the_turn_that_runs() {
    let mut watchdog = Watchdog::new(SILENCE_MS);
    watchdog.sign(0);
    assert_eq!(watchdog.watched(60_000), Watched::Quiet);
    watchdog.set_silence(30_000);
    assert_eq!(watchdog.watched(60_000), Watched::Stuck);
    assert_eq!(watchdog.silent_ms(60_000), Some(60_000));
}

#[test]
fn a_turn_whose_tool_runs_may_be_silent_for_longer_and_not_for_ever() {
    let mut watchdog = Watchdog::new(SILENCE_MS);
    watchdog.sign(0);
    watchdog.runs_tool(true);
    for (at_ms, watched) in [
        (179_999, Watched::Fine),
        (180_000, Watched::Quiet),
        (900_000, Watched::Suspect),
        (1_800_000, Watched::Stuck),
    ] {
        assert_eq!(watchdog.watched(at_ms), watched, "{at_ms}");
    }
    assert_eq!(watchdog.next_ms(180_000), Some(900_000));
    watchdog.runs_tool(false);
    assert_eq!(watchdog.watched(300_000), Watched::Suspect);
    // The next turn has no tool that runs.
    watchdog.runs_tool(true);
    watchdog.over();
    watchdog.sign(2_000_000);
    assert_eq!(watchdog.silence_ms(), SILENCE_MS);
}
