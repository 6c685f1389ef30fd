//! What is to be done, where the deck cannot do it, or will not: said in full, and nothing offered that
//! would be refused.

use ctxrelay_ui::model::{
    AlikeTo, DeckView, GateState, InboxKind, Level, OutcomeState, RowOutcome,
};
use ctxrelay_ui::scenes::{asked, empty_first_run, gates_running, keys, pair_at_work, quiet};
use ctxrelay_ui::{Effect, Msg, Settings, update};

use crate::kit::{deck_at, deck_with, shown};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 50)];

#[test]
fn a_notice_is_read_to_its_end_where_the_advice_stands() {
    let told = "the daemon refused it: nobody has written to this record for a long time, and what \
                is asked for needs a session of its own; begin one with `ctxrelay ledger clear`";
    for size in SIZES {
        // Over the panes, and over what covers them.
        for before in ["", "3<enter>"] {
            let mut deck = deck_at(pair_at_work(), size);
            keys(&mut deck, before);
            update(&mut deck, Msg::Notice(Level::Warn, told.to_owned()));
            let screen = shown(&deck);
            assert!(screen.contains("ledger clear`"), "{size:?}:\n{screen}");
            keys(&mut deck, "j");
            assert!(!shown(&deck).contains("ledger clear`"), "the next key");
        }
    }
    let long = format!(
        "{}{told}",
        "it was refused, and this is one of the reasons; ".repeat(8)
    );
    for size in [(60, 15), (80, 24), (120, 40)] {
        for before in ["", "3<enter>"] {
            let mut deck = deck_at(pair_at_work(), size);
            keys(&mut deck, before);
            let header = shown(&deck).lines().next().map(str::to_owned);
            update(&mut deck, Msg::Notice(Level::Warn, long.clone()));
            let screen = shown(&deck);
            assert!(screen.contains("ledger clear`"), "{size:?}:\n{screen}");
            assert_eq!(screen.lines().next().map(str::to_owned), header);
        }
    }
    let mut short = deck_at(pair_at_work(), (80, 24));
    update(&mut short, Msg::Notice(Level::Info, "done".to_owned()));
    let screen = shown(&short);
    assert!(
        screen
            .lines()
            .nth_back(1)
            .unwrap_or_default()
            .contains("done"),
        "{screen}"
    );
}

#[test]
fn a_key_takes_away_the_notice_that_hides_a_card_and_answers_nothing() {
    let long = "it was refused, and this is one of the reasons; ".repeat(8);
    let asking = |text: &str, before: &str| {
        let mut deck = deck_at(asked(), (60, 15));
        keys(&mut deck, &format!("3<enter>{before}"));
        update(&mut deck, Msg::Notice(Level::Error, text.to_owned()));
        deck
    };
    let answers = |effects: Vec<Effect>| {
        let is_answer = |effect: &Effect| matches!(effect, Effect::AnswerApproval { .. });
        effects.iter().any(is_answer)
    };
    let mut hidden = asking(&long, "a");
    assert_eq!(keys(&mut hidden, "<enter>"), []);
    let screen = shown(&hidden);
    assert!(!screen.contains("it was refused"), "{screen}");
    assert!(answers(keys(&mut hidden, "<enter>")), "it is seen now");
    // Beside a short one the card is seen.
    assert!(answers(keys(&mut asking("it was refused", "a"), "<enter>")));
    // What is typed is not lost, and is not sent unseen.
    let mut typed = asking(&long, "xwhy");
    assert_eq!(keys(&mut typed, "<enter>"), []);
    update(&mut typed, Msg::Notice(Level::Error, long.clone()));
    keys(&mut typed, "so");
    let screen = shown(&typed);
    assert!(screen.contains("whyso"), "{screen}");
}

#[test]
fn the_gates_of_a_stale_card_are_told_of_what_an_approval_would_be_of() {
    let mut view = gates_running();
    let on = |view: DeckView, wanted: &str| {
        let mut deck = deck_at(view, (120, 40));
        keys(&mut deck, "3<enter>");
        assert!(shown(&deck).contains(wanted), "{}", shown(&deck));
    };
    on(view.clone(), "Gates  run by the daemon on that tree");
    view.inbox[0].stale_tree = Some("feedface".into());
    on(view, "Gates  run by the daemon on what lies there now");
}

#[test]
fn what_a_gate_forbids_is_said_at_once_and_the_card_stays() {
    for size in SIZES {
        let mut view = gates_running();
        let mut running = deck_at(view.clone(), size);
        keys(&mut running, "3<enter>");
        let card = shown(&running);
        assert!(card.contains("Cannot be approved"), "{card}");
        assert!(!card.contains("a approve"), "{card}");
        let effects = keys(&mut running, "a<enter>");
        let decides = |effect: &Effect| matches!(effect, Effect::Approve { .. });
        assert!(!effects.iter().any(decides), "{effects:?}");
        assert!(shown(&running).contains("x reject"), "{}", shown(&running));
        view.inbox[0].gates[0].state = GateState::Missing;
        let mut waits = deck_at(view, size);
        let effects = keys(&mut waits, "3<enter>a");
        assert!(!effects.iter().any(decides), "{effects:?}");
        let said = shown(&waits);
        assert!(said.contains("cannot be approved: required gate"), "{said}");
        assert!(said.contains("g runs the"), "{said}");
        // As what decides it is no key either.
        keys(&mut waits, "<enter>");
        let said = shown(&waits);
        assert!(said.contains("cannot be approved: required gate"), "{said}");
    }
}

#[test]
fn a_command_that_is_not_allowed_is_no_work_that_is_rejected() {
    let mut view = asked();
    view.inbox
        .retain(|card| card.kind == InboxKind::Approval && card.asked.is_some());
    let mut deck = deck_at(view, (120, 40));
    keys(&mut deck, "3<enter>x");
    let screen = shown(&deck);
    assert!(screen.contains("Do not allow: why?"), "{screen}");
    assert!(screen.contains("what it should do instead"), "{screen}");
    let effects = keys(&mut deck, "<enter>");
    assert!(
        matches!(
            &effects[..],
            [Effect::AnswerApproval { note: None, .. }, ..]
        ),
        "{effects:?}"
    );
}

#[test]
fn outside_tmux_the_command_is_copied_and_no_start_is_offered() {
    for (opens_panes, offered) in [(true, true), (false, false)] {
        let settings = Settings {
            opens_panes,
            ..Settings::new().expect("keymap")
        };
        let mut view = quiet();
        for card in &mut view.agents {
            card.state = ctxrelay_ui::model::AgentState::Offline;
            card.installed = true;
            card.start_command = format!("ctxrelay {}", card.agent.as_str());
        }
        let mut deck = deck_with(settings, view, (120, 40));
        keys(&mut deck, "1S");
        let screen = shown(&deck);
        assert_eq!(screen.contains("▸ start it"), offered, "{screen}");
        assert!(screen.contains("copy the command"), "{screen}");
        let effects = keys(&mut deck, "<enter>");
        let copies = matches!(&effects[..], [Effect::CopyText(_)]);
        assert_eq!(copies, !offered, "{effects:?}");
    }
}

#[test]
fn what_the_key_for_what_is_missing_does_is_said_as_it_is_in_and_outside_of_tmux() {
    for (opens_panes, said) in [
        (true, "press s to do it from here"),
        (false, "press s to copy the commands"),
    ] {
        let settings = Settings {
            opens_panes,
            ..Settings::new().expect("keymap")
        };
        let screen = shown(&deck_with(settings, empty_first_run(), (120, 40)));
        assert!(screen.contains(said), "{screen}");
    }
}

#[test]
fn what_is_on_its_way_and_what_is_open_say_how_they_are_taken_back() {
    let mut view = pair_at_work();
    let newer = view.timeline.iter().rev();
    let below = newer.take_while(|row| row.kind != "handoff").count();
    let at = view.timeline.len() - 1 - below;
    let state = OutcomeState::Unconfirmed;
    let outcome = RowOutcome::new(state, "no proof yet that Codex has it");
    view.timeline[at].outcome = Some(outcome);
    for size in SIZES {
        let mut deck = deck_at(view.clone(), size);
        keys(&mut deck, &format!("2{}<enter>", "j".repeat(below)));
        let screen = shown(&deck);
        assert!(screen.contains("ctxrelay queue remove h"), "{screen}");
        assert!(screen.contains("ctxrelay handoff close h"), "{screen}");
    }
}

#[test]
fn a_task_like_which_nothing_was_said_before_begins_without_a_list() {
    let mut deck = deck_at(pair_at_work(), (120, 40));
    keys(&mut deck, "Tn");
    keys(&mut deck, "Rotate tokens<enter><enter>");
    let to = AlikeTo::Words("Rotate tokens".to_owned());
    let found = Ok(Vec::new());
    let begun = update(
        &mut deck,
        Msg::Alike {
            to: to.clone(),
            found,
        },
    );
    let task = Effect::BeginTask {
        title: "Rotate tokens".to_owned(),
        found: Vec::new(),
    };
    assert!(begun.contains(&task), "{begun:?}");
    // A second answer begins no second one.
    let found = Ok(Vec::new());
    assert_eq!(update(&mut deck, Msg::Alike { to, found }), []);
}
