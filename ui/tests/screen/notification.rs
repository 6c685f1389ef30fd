//! Who looks elsewhere is told that something waits: once, together, and not in quiet hours.

use ctxrelay_ui::model::{Agent, DaemonState, DeckView, InboxCard, InboxKind, LocalTime};
use ctxrelay_ui::scenes::{keys, pair_at_work};
use ctxrelay_ui::{
    Deck, Effect, Msg, NotificationSettings, NotificationWay, QuietHours, Settings, update,
};

const DAEMON_ENDED: &str = "acme: its daemon has ended";

fn bell() -> NotificationSettings {
    NotificationSettings {
        ways: vec![NotificationWay::Bell],
        ..NotificationSettings::default()
    }
}

/// Noon of a day, with these things waiting.
fn view(cards: &[(&str, InboxKind)], after_ms: i64) -> DeckView {
    let card = |(id, kind): &(&str, InboxKind)| {
        InboxCard::new(*kind, *id, Agent::Codex, 0, "hostile \x1b]0;x\x07 words")
    };
    let mut view = pair_at_work();
    view.now_ms = 12 * 3_600_000 + after_ms;
    view.local = LocalTime::default();
    view.project = "acme".to_owned();
    view.inbox = cards.iter().map(card).collect();
    view
}

fn give(deck: &mut Deck, view: DeckView) -> Vec<String> {
    told(update(deck, Msg::View(Box::new(view))))
}

fn told(effects: Vec<Effect>) -> Vec<String> {
    let text = |effect| match effect {
        Effect::Notify { text, .. } => Some(text),
        _ => None,
    };
    effects.into_iter().filter_map(text).collect()
}

/// A deck that has seen a quiet world.
fn deck(notification: NotificationSettings, has_focus: Option<bool>) -> Deck {
    let mut settings = Settings::new().expect("keymap");
    settings.notification = notification;
    let mut deck = Deck::new(settings).expect("theme");
    update(&mut deck, Msg::Resize(120, 40));
    if let Some(has_focus) = has_focus {
        update(&mut deck, Msg::Focus(has_focus));
    }
    assert_eq!(give(&mut deck, view(&[], 0)), [""; 0]);
    deck
}

const ASKED: (&str, InboxKind) = ("a", InboxKind::Approval);
const DONE: (&str, InboxKind) = ("b", InboxKind::Finality);
const ODD: (&str, InboxKind) = ("c", InboxKind::Alarm);

#[test]
fn it_is_told_once_and_without_the_agents_words() {
    let mut deck = deck(bell(), Some(false));
    let first = give(&mut deck, view(&[ASKED], 1));
    assert_eq!(first, ["acme: Codex asks to be allowed something"]);
    assert_eq!(give(&mut deck, view(&[ASKED], 20_000)), [""; 0]);
    // Gone and asked again is another time.
    assert_eq!(give(&mut deck, view(&[], 40_000)), [""; 0]);
    assert_eq!(give(&mut deck, view(&[ASKED], 60_000)).len(), 1);
}

#[test]
fn what_comes_close_together_is_told_together_and_nothing_waits_for_a_view() {
    let mut deck = deck(bell(), Some(false));
    assert_eq!(give(&mut deck, view(&[ASKED], 0)).len(), 1);
    assert_eq!(give(&mut deck, view(&[ASKED, DONE], 100)), [""; 0]);
    assert_eq!(give(&mut deck, view(&[ASKED, DONE, ODD], 200)), [""; 0]);
    let next = i64::try_from(deck.next_redraw_ms().expect("a redraw")).expect("ms");
    assert!(next <= 10_000, "{next}");
    let noon = 12 * 3_600_000;
    let later = told(update(&mut deck, Msg::Tick(noon + 10_000)));
    assert_eq!(later, ["acme: 2 things wait for you"]);
}

#[test]
fn what_waits_for_nobody_is_not_counted_among_what_waits() {
    const LIMITED: (&str, InboxKind) = ("d", InboxKind::Limited);
    const FULL: (&str, InboxKind) = ("e", InboxKind::Full);
    let together = |cards: &[(&str, InboxKind)]| {
        let mut deck = deck(bell(), Some(false));
        give(&mut deck, view(cards, 0)).remove(0)
    };
    assert_eq!(together(&[LIMITED]), "acme: Codex is at its usage limit");
    let none = "acme: 2 things are new, none of them waits for you";
    assert_eq!(together(&[LIMITED, FULL]), none);
    let one = "acme: 1 thing waits for you, 2 more are new";
    assert_eq!(together(&[LIMITED, ASKED, FULL]), one);
    let two = "acme: 2 things wait for you, 1 more is new";
    assert_eq!(together(&[ASKED, DONE, FULL]), two);
}

#[test]
fn who_looks_is_told_nothing_and_who_comes_back_has_seen_it() {
    let mut deck = deck(bell(), Some(true));
    assert_eq!(give(&mut deck, view(&[ASKED], 0)), [""; 0]);
    update(&mut deck, Msg::Focus(false));
    assert_eq!(give(&mut deck, view(&[ASKED], 20_000)), [""; 0]);
    assert_eq!(give(&mut deck, view(&[ASKED, DONE], 20_001)).len(), 1);
    assert_eq!(give(&mut deck, view(&[ASKED, DONE, ODD], 20_002)), [""; 0]);
    update(&mut deck, Msg::Focus(true));
    update(&mut deck, Msg::Focus(false));
    let tick = Msg::Tick(12 * 3_600_000 + 60_000);
    assert_eq!(told(update(&mut deck, tick)), [""; 0]);
}

#[test]
fn a_terminal_that_does_not_tell_its_focus_counts_as_left_a_minute_after_the_last_key() {
    let mut deck = deck(bell(), None);
    assert_eq!(give(&mut deck, view(&[ASKED], 59_000)), [""; 0]);
    keys(&mut deck, "j");
    assert_eq!(give(&mut deck, view(&[ASKED, DONE], 118_000)), [""; 0]);
    let left = give(&mut deck, view(&[ASKED, DONE, ODD], 119_000));
    assert_eq!(left, ["acme: a delivery needs you"]);
}

#[test]
fn quiet_hours_and_off_tell_nothing_and_nothing_is_made_up_for() {
    let quiet = NotificationSettings {
        quiet: QuietHours::parse("11:00-12:01"),
        ..bell()
    };
    for settings in [quiet, NotificationSettings::default()] {
        let mut deck = deck(settings, Some(false));
        assert_eq!(give(&mut deck, view(&[ASKED], 1)), [""; 0]);
        assert_eq!(give(&mut deck, view(&[ASKED], 120_000)), [""; 0]);
    }
}

#[test]
fn a_daemon_that_is_away_changes_nothing_and_one_that_ended_is_told() {
    let mut deck = deck(bell(), Some(false));
    let away = |state, cards: &[(&str, InboxKind)], after_ms| {
        let mut view = view(cards, after_ms);
        view.daemon.state = state;
        view
    };
    assert_eq!(give(&mut deck, view(&[ASKED], 0)).len(), 1);
    let lost = away(DaemonState::Reconnecting, &[], 20_000);
    assert_eq!(give(&mut deck, lost), [""; 0]);
    assert_eq!(give(&mut deck, view(&[ASKED], 40_000)), [""; 0]);
    let ended = away(DaemonState::Ended, &[ASKED], 60_000);
    assert_eq!(give(&mut deck, ended), [DAEMON_ENDED]);
}
