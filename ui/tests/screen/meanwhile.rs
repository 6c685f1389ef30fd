//! What was asked here and happened elsewhere meanwhile: it is taken back, with a word.

use ctxrelay_ui::Effect;
use ctxrelay_ui::model::AgentState;
use ctxrelay_ui::scenes::{asked, asked_user, empty_first_run, keys, pair_at_work};

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
