//! A usage limit, from the turn that hit it to the one that works again.

use crate::delivery::{Checked, Limit, LimitInput, LimitMode, LimitPolicy, LimitStep};
use crate::id::EntryId;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;

fn limit(mode: LimitMode) -> Limit {
    Limit::new(LimitPolicy {
        mode,
        ..LimitPolicy::default()
    })
}

fn hit(until_ms: Option<i64>, died: &[&str]) -> LimitInput {
    LimitInput::Hit {
        until_ms,
        died: died.iter().map(|id| EntryId::new(*id)).collect(),
    }
}

fn over(again: &[&str]) -> Vec<LimitStep> {
    let again = again.iter().map(|id| EntryId::new(*id)).collect();
    vec![LimitStep::Over { again }]
}

fn not_again(ids: &[&str]) -> Vec<LimitStep> {
    let ids = ids.iter().map(|id| EntryId::new(*id)).collect();
    vec![LimitStep::NotAgain { ids }]
}

/// Ticks at the next deadline, and gives what follows.
fn wait(limit: &mut Limit, now_ms: &mut i64) -> Vec<LimitStep> {
    *now_ms = limit.next_ms().expect("something to wait for");
    limit.apply(LimitInput::Tick, *now_ms)
}

#[test]
fn it_is_over_when_a_turn_works() {
    for mode in [LimitMode::Off, LimitMode::Notify, LimitMode::Resume] {
        let mut limit = limit(mode);
        assert_eq!(limit.apply(LimitInput::Worked, 0), []);
        assert_eq!(limit.apply(hit(None, &[]), 1), [LimitStep::Begins]);
        assert!(limit.is_active());
        assert_eq!(limit.apply(LimitInput::Worked, 2), over(&[]));
        assert!(!limit.is_active());
        assert_eq!(limit.next_ms(), None);
    }
}

#[test]
fn the_vendor_is_asked_once_its_time_has_come_and_not_before() {
    let mut limit = limit(LimitMode::Notify);
    limit.apply(hit(Some(10 * MINUTE), &[]), 0);
    assert_eq!(limit.apply(LimitInput::Tick, 10 * MINUTE), []);
    let mut now_ms = 0;
    assert_eq!(wait(&mut limit, &mut now_ms), [LimitStep::Ask]);
    assert_eq!(now_ms, 10 * MINUTE + 2 * SECOND);
    // Asked is asked.
    assert_eq!(limit.apply(LimitInput::Tick, now_ms + 1), []);
    let until_ms = Some(20 * MINUTE);
    let holds = LimitInput::Checked(Checked::Holds { until_ms });
    assert_eq!(limit.apply(holds, now_ms + 2), []);
    let spoken = limit.spoken(now_ms + 2).expect("it holds");
    assert_eq!((spoken.until_ms, spoken.tries), (until_ms, 0));
    assert_eq!(wait(&mut limit, &mut now_ms), [LimitStep::Ask]);
    // It holds, and nobody says for how long: asking again costs nothing.
    let holds = LimitInput::Checked(Checked::Holds { until_ms: None });
    assert_eq!(limit.apply(holds, now_ms), []);
    let before_ms = now_ms;
    assert_eq!(wait(&mut limit, &mut now_ms), [LimitStep::Ask]);
    assert_eq!(now_ms - before_ms, 30 * MINUTE);
    let steps = limit.apply(LimitInput::Checked(Checked::Over), now_ms);
    assert_eq!(steps, over(&[]));
}

#[test]
fn a_vendor_that_does_not_answer_is_taken_at_its_word() {
    let mut limit = limit(LimitMode::Notify);
    limit.apply(hit(Some(MINUTE), &["m"]), 0);
    let mut now_ms = 0;
    assert_eq!(wait(&mut limit, &mut now_ms), [LimitStep::Ask]);
    assert_eq!(wait(&mut limit, &mut now_ms), over(&[]));
    assert_eq!(now_ms, MINUTE + 17 * SECOND);
    // The try failed, and nobody says for how long: the operator has to.
    assert_eq!(
        limit.apply(hit(Some(MINUTE), &[]), now_ms),
        [LimitStep::Begins]
    );
    assert_eq!(limit.next_ms(), None);
    assert_eq!(limit.spoken(now_ms).expect("it holds").tries, 1);
    assert_eq!(limit.apply(LimitInput::TryNow, now_ms), over(&[]));
}

#[test]
fn an_answer_to_no_question_changes_nothing() {
    let mut limit = limit(LimitMode::Notify);
    limit.apply(hit(Some(MINUTE), &[]), 0);
    for checked in [Checked::Over, Checked::Unknown] {
        assert_eq!(limit.apply(LimitInput::Checked(checked), 1), []);
        assert!(limit.is_active());
    }
}

#[test]
fn resume_tries_a_bounded_number_of_times_ever_more_rarely() {
    let mut limit = limit(LimitMode::Resume);
    let mut now_ms = 0;
    let mut waits = Vec::new();
    while limit.apply(hit(None, &[]), now_ms) == [LimitStep::Begins] {
        let Some(next) = limit.next_ms() else { break };
        waits.push((next - now_ms) / MINUTE);
        assert_eq!(wait(&mut limit, &mut now_ms), [LimitStep::Ask]);
        let unknown = LimitInput::Checked(Checked::Unknown);
        assert_eq!(limit.apply(unknown, now_ms), over(&[]));
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 30]);
    assert!(limit.is_active());
    // A turn that works makes all good.
    limit.apply(LimitInput::Worked, now_ms);
    limit.apply(hit(None, &[]), now_ms);
    assert_eq!(limit.next_ms(), Some(now_ms + MINUTE));
}

#[test]
fn what_died_is_sent_again_once_and_only_where_that_is_wanted() {
    for mode in [LimitMode::Off, LimitMode::Notify] {
        let mut limit = limit(mode);
        limit.apply(hit(Some(MINUTE), &["m"]), 0);
        assert_eq!(limit.spoken(0).expect("it holds").again, 0);
        assert_eq!(limit.apply(LimitInput::Worked, MINUTE), over(&[]));
    }
    let mut limit = limit(LimitMode::Resume);
    limit.apply(hit(Some(MINUTE), &["m", "n"]), 0);
    // Told of twice.
    limit.apply(hit(Some(MINUTE), &["n"]), 1);
    assert_eq!(limit.spoken(1).expect("it holds").again, 2);
    let mut now_ms = 1;
    assert_eq!(wait(&mut limit, &mut now_ms), [LimitStep::Ask]);
    let steps = limit.apply(LimitInput::Checked(Checked::Over), now_ms);
    assert_eq!(steps, over(&["m", "n"]));
    // They died again, and another with them.
    limit.apply(hit(None, &["m", "o"]), now_ms);
    assert_eq!(limit.apply(LimitInput::Worked, now_ms + 1), over(&["o"]));
}

#[test]
fn what_dies_of_a_try_into_the_blue_is_sent_again_with_the_next_one() {
    let mut limit = limit(LimitMode::Resume);
    let mut now_ms = 0;
    let mut tries = 0;
    while limit.apply(hit(None, &["m"]), now_ms) == [LimitStep::Begins] {
        if limit.next_ms().is_none() {
            break;
        }
        assert_eq!(wait(&mut limit, &mut now_ms), [LimitStep::Ask]);
        let asked = LimitInput::Checked(Checked::NotAsked);
        assert_eq!(limit.apply(asked, now_ms), over(&["m"]));
        tries += 1;
    }
    assert_eq!(tries, 6);
    // The operator's own try may come too early as well.
    assert_eq!(limit.apply(LimitInput::TryNow, now_ms), over(&["m"]));
    limit.apply(hit(None, &["m"]), now_ms);
    // A turn works: from here on once is enough.
    assert_eq!(limit.apply(LimitInput::Worked, now_ms), over(&["m"]));
    limit.apply(hit(None, &["m"]), now_ms);
    assert_eq!(limit.apply(LimitInput::Worked, now_ms), over(&[]));
}

#[test]
fn what_died_days_ago_is_not_sent_again() {
    let mut limit = limit(LimitMode::Resume);
    limit.apply(hit(None, &["m"]), 0);
    let late = 49 * 60 * MINUTE;
    limit.apply(hit(None, &["n"]), late);
    let steps = limit.apply(LimitInput::Worked, late);
    assert_eq!(steps, [over(&["n"]), not_again(&["m"])].concat());
}

#[test]
fn the_operator_takes_the_tries_over() {
    let mut limit = limit(LimitMode::Resume);
    limit.apply(hit(Some(MINUTE), &["m"]), 0);
    assert_eq!(limit.apply(LimitInput::Cancel, 1), not_again(&["m"]));
    assert_eq!(limit.apply(LimitInput::Cancel, 1), []);
    assert_eq!(limit.next_ms(), None);
    // Another turn ends at it, with another time.
    limit.apply(hit(Some(2 * MINUTE), &[]), 2);
    assert_eq!(limit.next_ms(), None);
    let spoken = limit.spoken(2).expect("it holds");
    assert!(spoken.is_cancelled);
    assert_eq!(spoken.again, 0);
    assert_eq!(limit.apply(LimitInput::TryNow, 3), over(&[]));
}

#[test]
fn another_mode_counts_for_the_limit_that_holds() {
    let mut limit = limit(LimitMode::Notify);
    limit.apply(hit(None, &["m"]), 0);
    assert_eq!(limit.next_ms(), None);
    assert_eq!(limit.apply(LimitInput::Mode(LimitMode::Resume), 5), []);
    assert_eq!(limit.next_ms(), Some(5 + MINUTE));
    assert_eq!(limit.spoken(5).expect("it holds").again, 1);
    assert_eq!(limit.apply(LimitInput::Mode(LimitMode::Resume), 6), []);
    let steps = limit.apply(LimitInput::Mode(LimitMode::Off), 6);
    assert_eq!(steps, not_again(&["m"]));
    assert_eq!(limit.next_ms(), None);
    assert_eq!(limit.apply(LimitInput::Mode(LimitMode::Notify), 7), []);
}

#[test]
fn a_clock_that_is_set_back_moves_a_wait_and_no_time_that_the_vendor_named() {
    let day = 24 * 60 * MINUTE;
    let mut limit = limit(LimitMode::Resume);
    limit.apply(hit(None, &[]), 2 * day);
    assert_eq!(limit.apply(LimitInput::SetBack, day), []);
    assert_eq!(limit.next_ms(), Some(day + MINUTE));
    limit.apply(hit(Some(2 * day), &[]), day);
    assert_eq!(limit.apply(LimitInput::SetBack, 0), []);
    assert_eq!(limit.next_ms(), Some(2 * day + 2 * SECOND));
}

#[test]
fn a_lane_rests_behind_a_turn_that_worked_until_what_died_is_sent_again() {
    for (mode, died, rests) in [
        (LimitMode::Resume, &["m1"][..], true),
        (LimitMode::Resume, &[], false),
        (LimitMode::Notify, &["m1"], false),
    ] {
        let mut limit = limit(mode);
        limit.apply(hit(None, died), 0);
        assert_eq!(limit.rests_after_work(1), rests, "{mode:?}, {died:?}");
        limit.apply(LimitInput::Worked, 1);
        assert!(limit.rests_after_work(1), "it is being recorded");
    }
    let mut limit = limit(LimitMode::Resume);
    limit.apply(hit(None, &["m1"]), 0);
    limit.apply(LimitInput::Cancel, 1);
    assert!(!limit.rests_after_work(2), "the operator has said no");
}
