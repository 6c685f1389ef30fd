//! What was asked here and happened elsewhere meanwhile: it is taken back, with a word.

use ctxrelay_ui::model::{AgentState, DeckView};
use ctxrelay_ui::scenes::{asked, asked_user, empty_first_run, keys, pair_at_work, stale};
use ctxrelay_ui::{Deck, Effect};

use crate::kit::{deck, sees, shown};

#[test]
fn an_answer_that_was_given_elsewhere_takes_the_choice_of_answers_back() {
    for world in [asked, asked_user] {
        let mut deck = deck(world());
        keys(&mut deck, "3<enter>a");
        assert!(shown(&deck).contains("not now"), "{}", shown(&deck));
        // What else has changed leaves it.
        let mut view = world();
        view.agents[0].state = AgentState::Idle;
        sees(&mut deck, view);
        assert!(shown(&deck).contains("not now"));
        sees(&mut deck, pair_at_work());
        let screen = shown(&deck);
        assert!(!screen.contains("not now"), "{screen}");
        assert!(screen.contains("this card is gone meanwhile"), "{screen}");
        assert_eq!(keys(&mut deck, "<enter>"), []);
    }
}

#[test]
fn an_answer_that_waits_for_its_effect_takes_the_choice_of_answers_back() {
    let mut deck = deck(asked());
    keys(&mut deck, "3<enter>a");
    let mut view = asked();
    let card = view.inbox.iter_mut().find(|card| card.asked.is_some());
    let asked = card.and_then(|card| card.asked.as_mut()).expect("a card");
    asked.given = Some("allow once".to_owned());
    sees(&mut deck, view);
    let screen = shown(&deck);
    assert!(!screen.contains("not now"), "{screen}");
    assert!(screen.contains("it was answered meanwhile"), "{screen}");
    // It reached nobody.
    sees(&mut deck, self::asked());
    keys(&mut deck, "a");
    let screen = shown(&deck);
    assert!(screen.contains("not now"), "{screen}");
}

#[test]
fn an_agent_that_comes_up_meanwhile_takes_the_offer_to_start_it_back() {
    for (typed, offers) in [("1S", "Start Claude?"), ("s", "What is missing")] {
        let mut view = empty_first_run();
        let mut deck = deck(view.clone());
        keys(&mut deck, typed);
        assert!(shown(&deck).contains(offers), "{}", shown(&deck));
        view.agents[0].state = AgentState::Idle;
        view.attached = vec![view.agents[0].agent];
        sees(&mut deck, view);
        let screen = shown(&deck);
        assert!(!screen.contains(offers), "{screen}");
        assert!(screen.contains("Claude is there meanwhile"), "{screen}");
        let effects = keys(&mut deck, "<enter>");
        let starts = |effect: &Effect| matches!(effect, Effect::StartAgent(_));
        assert!(!effects.iter().any(starts), "{effects:?}");
    }
}

/// Goes on with every letter, the signs that open something, and `enter`: what is in front stays, and
/// nothing is done.
fn types_on(deck: &mut Deck, in_front: &str) {
    let letters = ('a'..='z').chain('A'..='Z').chain(" ?/:#%[]".chars());
    let typed = letters.map(|letter| letter.to_string());
    for key in typed.chain(["<enter>".to_owned()]) {
        assert_eq!(keys(deck, &key), [], "{key}");
        let screen = shown(deck);
        assert!(screen.contains(in_front), "{key}: {screen}");
        assert!(screen.contains("╭ Over ─"), "{key}: {screen}");
    }
}

#[test]
fn the_rest_of_an_answer_whose_card_went_is_no_command_and_what_stood_there_is_told() {
    for (world, typing) in [
        (pair_at_work as fn() -> DeckView, "3<enter>x"),
        (asked, "3<enter>x"),
        (asked_user, "3<enter>ajj<enter>"),
    ] {
        let mut deck = deck(world());
        keys(&mut deck, typing);
        keys(&mut deck, "Yes, if it can be ");
        // Its answer may be known before it goes.
        let mut view = world();
        for asked in view.inbox.iter_mut().flat_map(|card| &mut card.asked) {
            asked.given = Some("by somebody else".to_owned());
        }
        sees(&mut deck, view.clone());
        view.inbox.clear();
        sees(&mut deck, view.clone());
        types_on(&mut deck, "Yes, if it can be");
        sees(&mut deck, view);
        let told = deck.unsent();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].text, "Yes, if it can be ");
        keys(&mut deck, "<esc>");
        let screen = shown(&deck);
        assert!(!screen.contains("╭ Over ─"), "{screen}");
    }
}

#[test]
fn the_rest_of_a_word_that_nothing_is_asked_for_any_more_is_no_command() {
    let gone = || {
        let mut view = stale();
        view.inbox.clear();
        view
    };
    let another_session = || {
        let mut view = pair_at_work();
        view.session_id = "another".to_owned();
        view
    };
    let worlds: [(DeckView, &str, DeckView, &str); 2] = [
        (stale(), "3<enter>asta", gone(), "this card is gone"),
        (
            pair_at_work(),
            "C<enter>cl",
            another_session(),
            "another session has begun",
        ),
    ];
    for (before, typing, after, why) in worlds {
        let mut deck = deck(before);
        keys(&mut deck, typing);
        sees(&mut deck, after);
        types_on(&mut deck, why);
        let screen = shown(&deck);
        assert!(!screen.contains("to do it:"), "{screen}");
        keys(&mut deck, "<esc><esc>");
        let screen = shown(&deck);
        assert!(!screen.contains("╭ Over ─"), "{screen}");
    }
}
