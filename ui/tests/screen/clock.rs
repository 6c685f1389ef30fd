//! A clock that is put back: nothing stands for longer, and nothing is waited for in vain.

use ctxrelay_ui::model::{Level, LocalTime, TimelineGo};
use ctxrelay_ui::scenes::{NOW_MS, keys, long_session, pair_at_work};
use ctxrelay_ui::{Effect, Msg, update};

use crate::kit::{NO_DETAIL, deck_at, shown};

const HOUR_MS: i64 = 3_600_000;

#[test]
fn what_goes_by_itself_goes_after_as_many_seconds() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    let told = Msg::Notice(Level::Info, "it is said".to_owned());
    update(&mut deck, told);
    let mut view = pair_at_work();
    let over = view.inbox.remove(0);
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("it is said") && shown(&deck).contains("over │"));
    let back = NOW_MS - HOUR_MS;
    update(&mut deck, Msg::Tick(back));
    assert!(shown(&deck).contains("it is said"), "not at once either");
    let next = deck.next_redraw_ms().expect("a moment");
    assert!(next <= 8_000, "{next}");
    update(&mut deck, Msg::Tick(back + 5_000));
    assert!(!shown(&deck).contains(&over.id) && !shown(&deck).contains("over │"));
    update(&mut deck, Msg::Tick(back + 9_000));
    assert!(!shown(&deck).contains("it is said"), "{}", shown(&deck));
}

#[test]
fn rows_that_never_came_are_asked_for_again() {
    let mut deck = deck_at(long_session(), NO_DETAIL);
    let asked = |effects: &[Effect]| {
        let oldest = |effect: &Effect| matches!(effect, Effect::ShowTimeline(wish) if wish.go == TimelineGo::Oldest);
        effects.iter().any(oldest)
    };
    assert!(asked(&keys(&mut deck, "2G")));
    update(&mut deck, Msg::Tick(NOW_MS - HOUR_MS));
    assert!(
        asked(&keys(&mut deck, "G")),
        "the answer was lost with the clock"
    );
}

#[test]
fn the_clock_changes_with_the_season_and_old_times_keep_theirs() {
    let mut view = pair_at_work();
    // Put back an hour in half a minute.
    view.local = LocalTime::new(7_200, vec![(NOW_MS + 28_000, 3_600)]);
    let old = view.timeline.last().expect("a row").at_ms;
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("16:02 "), "{}", shown(&deck));
    update(&mut deck, Msg::Tick(NOW_MS + 28_000));
    let screen = shown(&deck);
    assert!(screen.contains("15:03 "), "no view has come: {screen}");
    let minute = (old + 7_200_000) / 60_000;
    let then = format!("{:02}:{:02}:", minute / 60 % 24, minute % 60);
    assert!(screen.contains(&then), "{then}: {screen}");
    let at = NOW_MS + 28_000;
    let mut goes_to = |script: &str| {
        let asked = keys(&mut deck, script);
        asked.iter().find_map(|effect| match effect {
            Effect::ShowTimeline(wish) => Some(wish.go),
            _ => None,
        })
    };
    let of_now = Some(TimelineGo::Time(at));
    assert_eq!(goes_to("#15:03<enter>"), of_now, "the second 15:03 is now");
    let first = Some(TimelineGo::Time(at - 3_600_000 + 60_000));
    assert_eq!(
        goes_to("#15:04<enter>"),
        first,
        "the second 15:04 is to come"
    );
}
