//! A clock that is put back: nothing stands for longer, and nothing is waited for in vain.

use ctxrelay_ui::model::{Level, TimelineGo};
use ctxrelay_ui::scenes::{NOW_MS, keys, long_session, pair_at_work, terminal};
use ctxrelay_ui::{Deck, Effect, Msg, Settings, update};

const HOUR_MS: i64 = 3_600_000;

fn deck() -> Deck {
    let mut deck = Deck::new(Settings::new().expect("keymap")).expect("theme");
    update(&mut deck, Msg::Resize(120, 33));
    update(&mut deck, Msg::View(Box::new(pair_at_work())));
    deck
}

fn shown(deck: &Deck) -> String {
    terminal(deck, deck.size()).backend().to_string()
}

#[test]
fn what_goes_by_itself_goes_after_as_many_seconds() {
    let mut deck = deck();
    let told = Msg::Notice(Level::Info, "it is said".to_owned());
    update(&mut deck, told);
    let mut view = pair_at_work();
    let answered = view.inbox.remove(0);
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("it is said") && shown(&deck).contains("answered"));
    let back = NOW_MS - HOUR_MS;
    update(&mut deck, Msg::Tick(back));
    assert!(shown(&deck).contains("it is said"), "not at once either");
    let next = deck.next_redraw_ms().expect("a moment");
    assert!(next <= 8_000, "{next}");
    update(&mut deck, Msg::Tick(back + 5_000));
    assert!(!shown(&deck).contains(&answered.id) && !shown(&deck).contains("answered"));
    update(&mut deck, Msg::Tick(back + 9_000));
    assert!(!shown(&deck).contains("it is said"), "{}", shown(&deck));
}

#[test]
fn rows_that_never_came_are_asked_for_again() {
    let mut deck = Deck::new(Settings::new().expect("keymap")).expect("theme");
    update(&mut deck, Msg::Resize(120, 33));
    update(&mut deck, Msg::View(Box::new(long_session())));
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
