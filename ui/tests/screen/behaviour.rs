//! What the keys do: scripts through the real update loop, effects and screens looked at.

use crossterm::event::MouseEventKind;
use ctxrelay_ui::model::{
    Agent, AgentCard, AgentState, AnswerEffect, AskedChoice, DaemonState, DeckView, EntryPlace,
    Field, FirstStep, FoldedRows, HandoffRow, HandoffStage, InboxCard, InboxKind, Level,
    OutcomeState, Party, QueueCounts, RowOutcome, StepAct, TaskColumn, Tasks, ThreadView,
    TimelineRow, UnclearMessage, Verdict,
};
use ctxrelay_ui::scenes::{
    NOW_MS, SCENES, asked, asked_user, empty_first_run, gated, gates_running, handed_over, held_up,
    keys, long_session, pair_at_work, quiet, ruled, terminal, trust_waits,
};
use ctxrelay_ui::{
    AgentAction, Deck, Effect, Keymap, Msg, Pane, QuitChoice, Settings, WhenBusy, update,
};

use crate::kit::{NO_DETAIL, click, deck, deck_at, fresh, mouse, place, shown};

fn open_entry(line: u64) -> Effect {
    Effect::OpenEntry { place: place(line) }
}

#[test]
fn an_answer_is_late_until_it_or_a_view_comes() {
    for come in [Msg::Unanswered(None), Msg::View(Box::new(pair_at_work()))] {
        let mut deck = deck_at(pair_at_work(), (120, 40));
        assert!(shown(&deck).contains("daemon 4502"));
        update(&mut deck, Msg::Unanswered(Some(NOW_MS - 4_000)));
        let late = shown(&deck);
        assert!(late.contains("no answer for 4s"), "{late}");
        update(&mut deck, come);
        assert!(shown(&deck).contains("daemon 4502"));
    }
}

#[test]
fn a_proposal_is_approved_only_on_its_card_and_only_after_enter() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    assert_eq!(
        keys(&mut deck, "3a"),
        [Effect::LookAtTree],
        "on the row it only opens the card"
    );
    assert!(shown(&deck).contains("Is it done?"));
    assert_eq!(keys(&mut deck, "a"), [], "the first press asks");
    assert!(shown(&deck).contains("Record your approval on commit 4c1d2e0?"));
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [Effect::Approve {
            proposal_id: "p-1198".into(),
            stale_tree: None,
            seen: 0,
            session: pair_at_work().session_id,
        }]
    );
    assert!(!shown(&deck).contains("Is it done?"));
}

#[test]
fn enter_does_nothing_else_than_what_was_asked_of_the_gates() {
    let (idle, running) = (gated as fn() -> DeckView, gates_running as fn() -> DeckView);
    for (asked, then, question, said) in [
        (
            running,
            idle,
            "Stop the gates?",
            "the gates have ended meanwhile",
        ),
        (
            idle,
            running,
            "Run tests, lint, e2e",
            "the gates run already",
        ),
    ] {
        let mut deck = deck(asked());
        keys(&mut deck, "3<enter>g");
        assert!(shown(&deck).contains(question), "{}", shown(&deck));
        update(&mut deck, Msg::View(Box::new(then())));
        let screen = shown(&deck);
        assert!(screen.contains(said), "{screen}");
        assert!(!screen.contains(question), "{screen}");
        assert_eq!(keys(&mut deck, "<enter>"), []);
        assert!(shown(&deck).contains("Is it done?"));
    }
}

#[test]
fn what_was_typed_on_a_card_is_there_again_until_it_is_answered() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "3<enter>xrotation is untested<esc>");
    assert!(!shown(&deck).contains("rotation is untested"));
    // Closed as well, and opened again.
    keys(&mut deck, "<esc><enter>x");
    assert!(shown(&deck).contains("rotation is untested"));
    // Beside it.
    click(&mut deck, (0, 0));
    assert!(!shown(&deck).contains("rotation is untested"));
    keys(&mut deck, "x");
    let rejected = keys(&mut deck, " and old<enter>");
    assert!(
        matches!(&rejected[..], [Effect::Reject { reason, .. }] if reason == "rotation is untested and old"),
        "{rejected:?}"
    );
    // It was refused: the card is still there.
    update(&mut deck, Msg::Notice(Level::Error, "refused".into()));
    keys(&mut deck, "<enter>x");
    assert!(shown(&deck).contains("rotation is untested and old"));
    keys(&mut deck, "<esc><esc>");
    let mut answered = pair_at_work();
    answered.inbox.remove(0);
    update(&mut deck, Msg::View(Box::new(answered)));
    update(&mut deck, Msg::View(Box::new(pair_at_work())));
    keys(&mut deck, "3g<enter>x");
    assert!(!shown(&deck).contains("rotation is untested"));
}

#[test]
fn an_answer_in_own_words_is_there_again() {
    let mut deck = deck(asked_user());
    keys(&mut deck, "3<enter>ajj<enter>ask them first<esc>");
    assert!(!shown(&deck).contains("ask them first"));
    // It is no reason for anything else.
    keys(&mut deck, "x");
    assert!(!shown(&deck).contains("ask them first"));
    keys(&mut deck, "<esc><enter>ajj<enter>");
    assert!(shown(&deck).contains("ask them first"), "{}", shown(&deck));
}

#[test]
fn a_gates_name_and_what_it_came_to_stand_however_long_the_rest_is() {
    let mut view = gated();
    let gate = &mut view.inbox[0].gates[0];
    gate.name = "w".into();
    gate.result = "exit 1 after 0.0 s · not required · needed for web/**, *.json, docs/**".into();
    for columns in [60, 80, 120] {
        let mut deck = deck_at(view.clone(), (columns, 40));
        keys(&mut deck, "3<enter>");
        let screen = shown(&deck);
        let at = screen.lines().position(|line| line.contains(" w "));
        let lines: Vec<&str> = screen
            .lines()
            .skip(at.unwrap_or(usize::MAX))
            .take(2)
            .collect();
        assert!(lines.concat().contains("exit 1 after 0.0 s"), "{screen}");
    }
}

#[test]
fn gates_are_run_and_stopped_only_after_enter_and_the_card_stays() {
    let mut without = deck(pair_at_work());
    assert_eq!(keys(&mut without, "3<enter>g<enter>"), [Effect::LookAtTree]);
    keys(&mut without, "g");
    assert!(shown(&without).contains("no gates to run"));

    let mut gated = deck(gated());
    assert_eq!(keys(&mut gated, "3<enter>g"), [Effect::LookAtTree]);
    assert!(shown(&gated).contains("Run tests, lint, e2e in the project's folder?"));
    assert_eq!(keys(&mut gated, "<esc>"), []);
    assert_eq!(keys(&mut gated, "g<enter>"), [Effect::RunGates]);
    assert!(shown(&gated).contains("Is it done?"));

    let mut running = deck(gates_running());
    keys(&mut running, "3<enter>g");
    assert_eq!(keys(&mut running, "<enter>"), [Effect::StopGates]);
}

#[test]
fn enter_on_a_card_that_is_only_read_decides_nothing() {
    let mut deck = deck(pair_at_work());
    assert_eq!(
        keys(&mut deck, "3<enter><enter><enter>"),
        [Effect::LookAtTree]
    );
    assert!(shown(&deck).contains("Is it done?"));
    assert_eq!(keys(&mut deck, "a<esc><enter>"), []);
}

#[test]
fn what_an_agent_asks_is_answered_on_its_card_with_one_of_the_vendors_answers() {
    let answer = |choice: &str, note: Option<&str>| Effect::AnswerApproval {
        id: "a-1205".into(),
        choice: choice.into(),
        note: note.map(str::to_owned),
    };
    let mut waits = deck_at(asked(), NO_DETAIL);
    keys(&mut waits, "3");
    assert!(shown(&waits).contains("cargo add"));
    keys(&mut waits, "<enter>");
    assert!(shown(&waits).contains("It wants to reach index.crates.io"));
    assert_eq!(keys(&mut waits, "a"), [], "the first press asks");
    assert!(shown(&waits).contains("Codex asks to run a command"));
    assert_eq!(keys(&mut waits, "<enter>"), [answer("accept", None)]);
    assert!(!shown(&waits).contains("May it?"));

    let mut denied = deck(asked());
    keys(&mut denied, "3<enter>x");
    let note = "use the lock that is there";
    let with_reason = [answer("decline", Some(note))];
    assert_eq!(keys(&mut denied, &format!("{note}<enter>")), with_reason);
    let mut denied = deck(asked());
    keys(&mut denied, "3<enter>x");
    assert_eq!(keys(&mut denied, "<enter>"), [answer("decline", None)]);
    // A rule for what comes is no plain no, wherever it stands.
    let mut ruled = asked();
    let card = ruled.inbox[0].asked.as_mut().expect("a card that asks");
    let rule = AskedChoice {
        id: "applyNetworkPolicyAmendment/deny".into(),
        label: "from now on deny the host index.crates.io".into(),
        parts: None,
        effect: AnswerEffect::DenyMore,
    };
    card.choices.insert(0, rule);
    let mut ruled = deck(ruled);
    keys(&mut ruled, "3<enter>x");
    assert_eq!(keys(&mut ruled, "<enter>"), [answer("decline", None)]);

    let mut left = deck(asked());
    keys(&mut left, "3<enter>a");
    assert_eq!(keys(&mut left, "<esc><esc>"), []);
    let mut cut_off = asked();
    cut_off.daemon.state = DaemonState::Reconnecting;
    let mut cut_off = deck(cut_off);
    keys(&mut cut_off, "3<enter>a");
    assert_eq!(keys(&mut cut_off, "<enter>"), []);
    assert!(shown(&cut_off).contains("nothing was answered"));

    let mut warned = asked();
    let card = warned.inbox[0].asked.as_mut().expect("a card that asks");
    card.hints = vec!["writes to git: git commit".into()];
    let mut warned = deck(warned);
    keys(&mut warned, "3<enter>");
    assert!(shown(&warned).contains("writes to git: git commit"));

    let mut given = asked();
    let card = given.inbox[0].asked.as_mut().expect("a card that asks");
    card.given = Some("allow once".into());
    let mut given = deck(given);
    keys(&mut given, "3<enter>");
    assert!(shown(&given).contains("allow once; nobody has said yet"));
}

#[test]
fn answers_of_an_agent_are_read_whole_where_one_is_chosen() {
    let mut view = asked_user();
    let asked = view.inbox[0].asked.as_mut().expect("a card that asks");
    let release = "keep the old endpoint for one more release, and tell the mobile team before it \
                   goes";
    asked.choices[0].label = "at 12:30: as before".to_owned();
    asked.choices[1].label = format!("{release} in March");
    let mut april = asked.choices[1].clone();
    april.id = "choice/3".to_owned();
    april.label = format!("{release} in April");
    asked.choices.push(april);
    let mut deck = deck_at(view, (80, 24));
    keys(&mut deck, "3<enter>a");
    let screen = shown(&deck);
    let (_, chosen) = screen
        .split_once("Claude asks you a question")
        .expect("the choice");
    let (chosen, _) = chosen.split_once("choose").expect("its keys");
    for words in ["at 12:30: as before", "in March", "in April", "it waits on"] {
        assert!(chosen.contains(words), "{words} in\n{screen}");
    }
    let answer = Effect::AnswerApproval {
        id: "q-1206".into(),
        choice: "choice/3".into(),
        note: None,
    };
    assert_eq!(keys(&mut deck, "jjj<enter>"), [answer]);
}

#[test]
fn a_question_to_the_person_is_answered_by_a_choice_or_in_own_words() {
    let answer = |choice: &str, note: Option<&str>| Effect::AnswerApproval {
        id: "q-1206".into(),
        choice: choice.into(),
        note: note.map(str::to_owned),
    };
    let mut chosen = deck_at(asked_user(), NO_DETAIL);
    keys(&mut chosen, "3<enter>");
    let card = shown(&chosen);
    assert!(card.contains("Two clients of the mobile team"), "{card}");
    assert!(card.contains("It waits for your answer until "), "{card}");
    assert!(!card.contains("do not allow"), "{card}");
    assert_eq!(keys(&mut chosen, "<enter>"), [], "reading answers nothing");
    assert!(shown(&chosen).contains("a answers"));
    assert_eq!(keys(&mut chosen, "aj<enter>"), [answer("choice/2", None)]);
    assert!(!shown(&chosen).contains("It asks"));

    let mut typed = deck(asked_user());
    assert_eq!(keys(&mut typed, "3<enter>ajj<enter>"), []);
    assert!(shown(&typed).contains("Your answer"));
    assert_eq!(keys(&mut typed, "<enter>"), []);
    assert!(shown(&typed).contains("an answer needs words"));
    let words = answer("own_words", Some("ask them first"));
    assert_eq!(keys(&mut typed, "ask them first<enter>"), [words]);

    let mut left = deck(asked_user());
    keys(&mut left, "3<enter>ajj<enter>no");
    assert_eq!(keys(&mut left, "<esc><esc>"), []);

    let mut late = asked_user();
    late.now_ms += 60_000;
    let mut late = deck(late);
    keys(&mut late, "3<enter>");
    assert!(shown(&late).contains("It waits no longer"));
}

#[test]
fn what_the_card_shows_of_the_configuration_is_trusted_by_a_typed_word() {
    let digest = "5d1c0ab93f27";
    let mut open = deck_at(trust_waits(), NO_DETAIL);
    assert_eq!(keys(&mut open, "3<enter>"), [Effect::LookAtTree]);
    let card = shown(&open);
    assert!(card.contains("cargo test --lib || true"), "{card}");
    assert!(card.contains("no effect in this version"), "{card}");
    assert_eq!(keys(&mut open, "<enter>"), [], "reading trusts nothing");
    assert!(shown(&open).contains("a trusts it, after a typed word"));
    assert_eq!(keys(&mut open, "x"), [], "there is nothing to reject");
    assert_eq!(keys(&mut open, "a<enter>"), []);
    assert_eq!(keys(&mut open, "yes<enter>"), []);
    keys(&mut open, "<esc>");
    assert!(shown(&open).contains("Shall it count?"), "back to the card");
    let trusted = Effect::Trust {
        digest: digest.into(),
    };
    assert_eq!(keys(&mut open, "atrust<enter>"), [trusted]);
    assert!(!shown(&open).contains("Shall it count?"));

    // The file changed while the card was open: what was read is gone, and so is its key.
    let mut changed = deck_at(trust_waits(), NO_DETAIL);
    keys(&mut changed, "3<enter>");
    let mut view = trust_waits();
    view.inbox[0].id = "trust-0badc0de".into();
    update(&mut changed, Msg::View(Box::new(view)));
    assert!(shown(&changed).contains("This card is gone"));
    assert_eq!(keys(&mut changed, "atrust<enter>"), []);

    let mut signed = trust_waits();
    let card = signed.inbox[0].trust.as_mut().expect("a card of trust");
    card.elsewhere = Some("Decisions are signed here: run ctxrelay trust.".into());
    let mut signed = deck_at(signed, NO_DETAIL);
    keys(&mut signed, "3<enter>");
    assert!(shown(&signed).contains("run ctxrelay trust"));
    assert_eq!(keys(&mut signed, "atrust<enter>"), []);
}

#[test]
fn a_rejection_needs_a_reason() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "3<enter>x<enter>"), [Effect::LookAtTree]);
    assert_eq!(keys(&mut deck, "  <enter>"), []);
    assert_eq!(
        keys(&mut deck, "cover rotation, aqx<enter>"),
        [Effect::Reject {
            proposal_id: "p-1198".into(),
            reason: "cover rotation, aqx".into()
        }]
    );
}

#[test]
fn a_changed_tree_and_open_blockers_are_said_before_the_yes() {
    let mut view = pair_at_work();
    view.inbox[0].tree_still_same = Some(false);
    view.inbox[0].blockers = vec!["h8 is open".into()];
    let mut deck = deck(view);
    keys(&mut deck, "3<enter>a");
    let screen = shown(&deck);
    assert!(screen.contains("the work tree has changed since the proposal"));
    assert!(screen.contains("one blocker is open"));
}

#[test]
fn what_is_not_as_it_was_proposed_is_approved_by_a_typed_word() {
    let mut view = pair_at_work();
    view.inbox[0].tree_still_same = Some(false);
    view.inbox[0].stale_tree = Some("feedface".into());
    let mut deck = deck_at(view, NO_DETAIL);
    assert_eq!(keys(&mut deck, "3<enter>a<enter>"), [Effect::LookAtTree]);
    assert!(shown(&deck).contains("STALE: the work tree has changed since the proposal"));
    assert_eq!(keys(&mut deck, "approve<enter>"), []);
    keys(&mut deck, "<esc>");
    assert!(shown(&deck).contains("Is it done?"), "back to the card");
    assert_eq!(
        keys(&mut deck, "astale<enter>"),
        [Effect::Approve {
            proposal_id: "p-1198".into(),
            stale_tree: Some("feedface".into()),
            seen: 0,
            session: pair_at_work().session_id,
        }]
    );
    assert!(!shown(&deck).contains("Is it done?"));
}

#[test]
fn an_approval_tells_what_was_shown_when_it_was_asked_for() {
    let view = |seen| {
        let view = DeckView {
            seen,
            ..pair_at_work()
        };
        Msg::View(Box::new(view))
    };
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    update(&mut deck, view(41));
    keys(&mut deck, "3<enter>a");
    update(&mut deck, view(42));
    let approved = Effect::Approve {
        proposal_id: "p-1198".into(),
        stale_tree: None,
        seen: 41,
        session: pair_at_work().session_id,
    };
    assert_eq!(keys(&mut deck, "<enter>"), [approved]);
}

#[test]
fn a_tree_that_changes_while_its_card_is_open_is_approved_by_a_typed_word_too() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    assert!(!deck.tells_of_tree());
    keys(&mut deck, "3<enter>a");
    assert!(deck.tells_of_tree());
    let mut changed = pair_at_work();
    changed.inbox[0].tree_still_same = Some(false);
    changed.inbox[0].stale_tree = Some("feedface".into());
    update(&mut deck, Msg::View(Box::new(changed)));
    assert!(shown(&deck).contains("STALE: the work tree has changed since the proposal"));
    assert_eq!(keys(&mut deck, "<enter>"), []);
    assert!(shown(&deck).contains("Approve what was not proposed?"));
    let approved = Effect::Approve {
        proposal_id: "p-1198".into(),
        stale_tree: Some("feedface".into()),
        seen: 0,
        session: pair_at_work().session_id,
    };
    assert_eq!(keys(&mut deck, "stale<enter>"), [approved]);
    assert!(!deck.tells_of_tree());

    let mut other = deck_at(asked(), NO_DETAIL);
    keys(&mut other, "3<enter>");
    assert!(!other.tells_of_tree(), "no other card tells of the tree");
}

#[test]
fn that_the_record_does_not_keep_what_a_turn_did_is_a_sentence() {
    for (is_running, heading) in [(true, "Its turn so far"), (false, "Its last turn")] {
        let mut view = pair_at_work();
        for card in &mut view.agents {
            card.turn.is_running = is_running;
        }
        let mut deck = deck_at(view, NO_DETAIL);
        keys(&mut deck, "1j<enter>");
        let told = format!("{heading}  the record does not keep its steps");
        assert!(shown(&deck).contains(&told), "{}", shown(&deck));
    }
}

#[test]
fn a_decision_that_starts_codex_says_so_before_it_is_made() {
    const STARTS: &str = "Codex is told what you decide; it is not there now, and this starts it.";
    let with_codex = |change: fn(&mut AgentCard)| {
        let mut view = pair_at_work();
        let codex = view.agents.iter_mut();
        let codex = codex.filter(|card| card.agent == Agent::Codex);
        codex.for_each(change);
        let mut deck = deck_at(view, NO_DETAIL);
        keys(&mut deck, "3<enter>");
        deck
    };
    let mut away = with_codex(|card| *card = AgentCard::offline(Agent::Codex));
    assert!(shown(&away).contains(STARTS), "{}", shown(&away));
    keys(&mut away, "a");
    assert_eq!(shown(&away).matches("Codex is told").count(), 2);
    let not_installed = with_codex(|card| {
        *card = AgentCard::offline(Agent::Codex);
        card.installed = false;
    });
    for nobody in [not_installed, with_codex(|_| {})] {
        assert!(!shown(&nobody).contains("Codex is told"));
    }
}

#[test]
fn a_card_answered_elsewhere_cannot_be_answered_again() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "3<enter>a");
    let mut view = pair_at_work();
    view.inbox.remove(0);
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("This card is gone"));
    assert_eq!(keys(&mut deck, "<enter>"), []);
    assert!(
        shown(&deck).contains("over │"),
        "the row stays dimmed for a moment"
    );
    update(&mut deck, Msg::Tick(NOW_MS + 10_000));
    assert!(!shown(&deck).contains("over │"));
    // What was answered here is said to be.
    let mut view = asked();
    if let Some(asked) = &mut view.inbox[0].asked {
        asked.given = Some("yes".to_owned());
    }
    update(&mut deck, Msg::View(Box::new(view.clone())));
    view.inbox.remove(0);
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("answered │"), "{}", shown(&deck));
}

#[test]
fn what_was_typed_on_a_card_that_goes_meanwhile_is_not_lost_in_silence() {
    for (world, typing) in [
        (pair_at_work as fn() -> DeckView, "3<enter>x"),
        (asked_user, "3<enter>ajj<enter>"),
    ] {
        for size in [(80, 24), (120, 40)] {
            let mut deck = deck_at(world(), size);
            keys(&mut deck, typing);
            keys(&mut deck, "rotation is untested");
            let mut without = world();
            without.inbox.clear();
            let says_so = |deck: &Deck| {
                let screen = shown(deck);
                for words in [
                    "card is gone",
                    "rotation is untested",
                    "nothing was recorded",
                ] {
                    assert!(screen.contains(words), "{words}: {screen}");
                }
            };
            update(&mut deck, Msg::View(Box::new(without.clone())));
            says_so(&deck);
            // The key was on its way.
            assert_eq!(keys(&mut deck, "<enter>"), []);
            update(&mut deck, Msg::View(Box::new(without.clone())));
            says_so(&deck);
            keys(&mut deck, "<esc>");
            assert!(!shown(&deck).contains("rotation is untested"));
        }
    }
}

#[test]
fn a_limit_that_ends_on_another_day_names_that_day() {
    let mut view = held_up();
    if let Some(limit) = &mut view.agents[0].limit {
        limit.resets_ms = Some(NOW_MS + 3 * 86_400_000);
        limit.try_ms = limit.resets_ms;
    }
    let screen = shown(&deck(view));
    assert!(
        screen.contains("limit ends in 3d (25 Nov 14:02)"),
        "{screen}"
    );
    let tries = "try 2/6 at 25 Nov 14:02 · resends 1";
    assert!(screen.contains(tries), "{screen}");
}

#[test]
fn a_limit_at_which_nothing_waits_promises_no_try() {
    let mut view = held_up();
    let claude = &mut view.agents[0];
    claude.queue = QueueCounts::default();
    claude.cut_off = 1;
    if let Some(limit) = &mut claude.limit {
        limit.again = 0;
    }
    let mut other_day = view.clone();
    if let Some(limit) = &mut other_day.agents[0].limit {
        limit.try_ms = Some(NOW_MS + 3 * 86_400_000);
    }
    let mut unsaid = view.clone();
    unsaid.agents[0].cut_off = 0;
    if let Some(limit) = &mut unsaid.agents[0].limit {
        limit.resets_ms = None;
    }
    for (view, said) in [
        (view, "over at 16:12 · r sends 1 again"),
        (other_day, "over 25 Nov 14:02 · r sends 1 again"),
        (unsaid, "may be over at 16:12"),
    ] {
        let screen = shown(&deck(view));
        assert!(screen.contains(said), "{said}: {screen}");
        assert!(!screen.contains("try 2"), "{said}: {screen}");
    }
}

#[test]
fn a_question_cannot_be_approved() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "3ja<enter>a<enter>"), []);
}

#[test]
fn an_alarm_is_tried_again_after_it_was_said_what_may_happen() {
    let mut view = quiet();
    view.inbox = vec![InboxCard::new(
        InboxKind::Alarm,
        "m-7",
        Party::System,
        NOW_MS,
        "may have arrived",
    )];
    let mut deck = deck(view);
    assert_eq!(keys(&mut deck, "3r"), []);
    keys(&mut deck, "r");
    assert!(shown(&deck).contains("may arrive twice"));
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [Effect::Retry {
            ids: vec!["m-7".into()]
        }]
    );
}

#[test]
fn what_only_waits_behind_a_stopped_turn_is_released_without_a_false_warning() {
    let mut view = quiet();
    let card = InboxCard::new(InboxKind::Alarm, "m-7", Agent::Codex, NOW_MS, "it waits");
    view.inbox = vec![InboxCard { held: 1, ..card }];
    let mut deck = deck(view);
    keys(&mut deck, "3<enter>");
    assert!(shown(&deck).contains("r release"), "{}", shown(&deck));
    assert_eq!(keys(&mut deck, "r"), []);
    let screen = shown(&deck);
    assert!(
        screen.contains("Release 1 message to Codex now?"),
        "{screen}"
    );
    assert!(!screen.contains("twice"), "{screen}");
    let released = Effect::Retry {
        ids: vec!["m-7".into()],
    };
    assert_eq!(keys(&mut deck, "<enter>"), [released]);
}

#[test]
fn what_claude_asks_may_be_answered_in_its_own_terminal_already() {
    let says = "in Claude's own terminal";
    assert!(
        !shown_card(asked()).contains(says),
        "Codex tells of its own"
    );
    let mut view = asked();
    view.inbox[0].by = Party::Agent(Agent::Claude);
    let screen = shown_card(view);
    assert!(screen.contains(says), "{screen}");
    // A question of `ask_user` has no dialog there.
    assert!(!shown_card(asked_user()).contains(says));
}

/// The card of the first row.
fn shown_card(view: DeckView) -> String {
    let mut deck = deck(view);
    keys(&mut deck, "3<enter>");
    shown(&deck)
}

#[test]
fn messages_whose_turn_was_cut_off_are_not_called_well() {
    let mut view = quiet();
    let header = |view| shown(&deck_at(view, (80, 24)));
    assert!(header(view.clone()).contains("all well"));
    view.agents[1].cut_off = 2;
    let screen = header(view);
    assert!(
        screen.contains("2 cut off") && !screen.contains("all well"),
        "{screen}"
    );
}

/// Messages of Claude's that Codex has, and whose turn ended early.
fn cut_off(count: u64) -> DeckView {
    let mut view = unclear(count, "the words of\u{1b}[2J");
    view.agents[1].cut_off = u32::try_from(count).expect("few");
    view.inbox[0].kind = InboxKind::CutOff;
    view.inbox[0].by = Party::Agent(Agent::Codex);
    view
}

#[test]
fn what_was_cut_off_hides_no_other_warning() {
    let mut view = cut_off(1);
    view.agents[0].hint = Some("look for its trust question".to_owned());
    let screen = shown(&deck_at(view, (80, 24)));
    assert!(screen.contains("look at Claude"), "{screen}");
}

#[test]
fn what_was_cut_off_is_listed_and_sent_again_or_given_up_one_by_one() {
    let mut deck = deck(cut_off(3));
    keys(&mut deck, "3r");
    assert!(shown(&deck).contains("Codex has them, and its turn ended early"));
    assert_eq!(keys(&mut deck, "jr"), []);
    assert!(shown(&deck).contains("marked as a repetition"));
    let ids = vec!["m-2".to_owned()];
    assert_eq!(keys(&mut deck, "<enter>"), [Effect::Retry { ids }]);
    keys(&mut deck, "x");
    let ids = vec!["m-2".to_owned()];
    assert_eq!(keys(&mut deck, "<enter>"), [Effect::GiveUp { ids }]);
}

#[test]
fn what_would_all_be_sent_again_is_named_before() {
    let mut deck = deck(cut_off(7));
    keys(&mut deck, "1jrr");
    let screen = shown(&deck);
    for words in [
        "the words of",
        "101",
        "105",
        "and 2 more",
        "All of them come a second time",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    assert!(!screen.contains("106"), "{screen}");
}

#[test]
fn a_handoff_that_only_waits_says_what_for() {
    let mut view = handed_over();
    view.handoffs = view.handoffs.map(|row| {
        row.to = Party::Agent(Agent::Codex);
        row.stage = HandoffStage::Unproven;
    });
    view.agents[1].state = AgentState::Busy;
    view.agents[1].waits_for = Some("waits for its turn to end".to_owned());
    view.agents[0].queue = QueueCounts::default();
    // One lies in Codex's own queue already.
    view.agents[1].queue = QueueCounts {
        pending: 1,
        in_flight: 1,
        ambiguous: 0,
    };
    let mut deck = deck(view);
    keys(&mut deck, "5");
    let screen = shown(&deck);
    assert!(screen.contains("waits for its turn to end"), "{screen}");
    assert!(screen.contains("2 queued"), "{screen}");
    assert!(!screen.contains("unconfirmed"), "{screen}");
}

#[test]
fn an_alarm_about_the_record_is_acknowledged_and_never_tried_again() {
    let mut view = quiet();
    view.inbox = vec![InboxCard::new(
        InboxKind::Tampering,
        "e-7",
        Party::System,
        NOW_MS,
        "2 lines stood behind the end of the record",
    )];
    let mut deck = deck(view);
    assert_eq!(keys(&mut deck, "3r"), []);
    assert_eq!(keys(&mut deck, "ur<enter>"), []);
    keys(&mut deck, "u");
    assert!(shown(&deck).contains("what was set aside"));
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [Effect::Acknowledge { id: "e-7".into() }]
    );
}

fn agent_action(agent: Agent, act: AgentAction) -> Effect {
    Effect::AgentAction { agent, act }
}

#[test]
fn a_silent_turn_is_let_be_or_stopped_on_its_own_sheet_and_stopped_only_after_a_yes() {
    let mut deck = deck(held_up());
    assert_eq!(keys(&mut deck, "1jw"), [], "on the row it only opens");
    assert!(shown(&deck).contains("Its turn is silent"));
    assert_eq!(
        keys(&mut deck, "w"),
        [agent_action(Agent::Codex, AgentAction::Snooze)],
        "nothing is lost by waiting"
    );
    assert_eq!(keys(&mut deck, "i"), []);
    assert!(shown(&deck).contains("Stop Codex's turn?"));
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [],
        "leaving it is the first answer"
    );
    let turn_id = "turn-7".to_owned();
    assert_eq!(
        keys(&mut deck, "ij<enter>"),
        [agent_action(
            Agent::Codex,
            AgentAction::Interrupt { turn_id }
        )]
    );
    assert_eq!(
        keys(&mut deck, "rj<enter>"),
        [agent_action(Agent::Codex, AgentAction::SendAgain)]
    );
}

#[test]
fn a_stuck_agent_waits_in_the_inbox_and_opens_with_its_keys() {
    let mut deck = deck(held_up());
    keys(&mut deck, "3G<enter>");
    assert!(shown(&deck).contains("Its turn is silent"));
    assert_eq!(
        keys(&mut deck, "w"),
        [agent_action(Agent::Codex, AgentAction::Snooze)]
    );
}

#[test]
fn a_limit_is_tried_only_after_a_yes_and_its_tries_are_cancelled_at_once() {
    let mut deck = deck(held_up());
    assert_eq!(keys(&mut deck, "1<enter>l<enter>"), []);
    assert_eq!(
        keys(&mut deck, "lj<enter>"),
        [agent_action(Agent::Claude, AgentAction::TryNow)]
    );
    assert_eq!(
        keys(&mut deck, "x"),
        [agent_action(Agent::Claude, AgentAction::CancelRetries)]
    );
}

#[test]
fn where_claude_can_be_stopped_is_said() {
    let mut view = held_up();
    view.agents[0].state = AgentState::Busy;
    let mut deck = deck(view);
    assert_eq!(keys(&mut deck, "1<enter>i"), []);
    assert!(shown(&deck).contains("press Esc there"));
}

#[test]
fn nothing_is_offered_for_an_agent_that_works_or_without_a_daemon() {
    let mut deck = deck(quiet());
    assert_eq!(keys(&mut deck, "1<enter>wirlx"), []);
    assert!(!shown(&deck).contains("let be"));
    let mut view = held_up();
    view.daemon.state = DaemonState::Reconnecting;
    let mut deck = deck_at(view, (120, 40));
    assert_eq!(keys(&mut deck, "1j<enter>wirlx"), []);
}

#[test]
fn the_last_minute_of_a_limit_is_counted_and_no_other() {
    let mut view = held_up();
    view.agents[1].silence = None;
    view.agents[1].state = AgentState::Idle;
    view.agents[0].since_ms = Some(NOW_MS - 3_600_000);
    for agent in &mut view.agents {
        (agent.tool, agent.silence) = (None, None);
    }
    for rows in &mut view.tasks.columns {
        *rows = rows.map(|row| row.since_ms = NOW_MS - 3_600_000);
    }
    for row in &mut view.timeline {
        row.outcome = None;
    }
    let mut deck = deck(view.clone());
    assert!(deck.next_redraw_ms().is_some_and(|ms| ms > 1_000));
    if let Some(limit) = &mut view.agents[0].limit {
        limit.resets_ms = Some(NOW_MS + 41_500);
    }
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("limit ends in 42s"));
    assert_eq!(deck.next_redraw_ms(), Some(1_000), "on the common beat");
}

fn clear(discard: bool) -> Effect {
    Effect::ClearSession {
        session: pair_at_work().session_id,
        discard,
    }
}

#[test]
fn a_session_that_was_not_named_is_not_cleared() {
    for asked in ["Cj", "Cj<enter>", "Cj<enter>31c2"] {
        let mut view = pair_at_work();
        let mut deck = deck(view.clone());
        assert_eq!(keys(&mut deck, asked), []);
        // Another deck, or the command line, has begun the next one.
        view.session_id = "94417".to_owned();
        update(&mut deck, Msg::View(Box::new(view)));
        let screen = shown(&deck);
        assert!(screen.contains("another session has begun: nothing was cleared"));
        assert!(!screen.contains("Clear the session"), "{screen}");
        assert!(!screen.contains("cannot be undone"), "{screen}");
        let cleared = keys(&mut deck, "<enter>");
        let is_clear = |effect: &Effect| matches!(effect, Effect::ClearSession { .. });
        assert!(!cleared.iter().any(is_clear), "{cleared:?}");
    }
}

#[test]
fn clearing_needs_the_typed_word() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "C<enter><enter>"), []);
    assert_eq!(keys(&mut deck, "clea<enter>"), []);
    assert_eq!(keys(&mut deck, "r<enter>"), [clear(false)]);
    assert_eq!(keys(&mut deck, "C<enter>yes<enter><esc>"), []);
    assert!(!shown(&deck).contains("Clear the session"));
    // Nothing is the last answer.
    assert_eq!(keys(&mut deck, "CG<enter>"), []);
    assert!(!shown(&deck).contains("Clear the session"));
}

#[test]
fn deleting_for_good_needs_the_end_of_the_sessions_id() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "Cj<enter>"), []);
    assert!(shown(&deck).contains("cannot be undone"));
    assert_eq!(keys(&mut deck, "clear<enter>"), [], "no habit does it");
    assert_eq!(keys(&mut deck, "<esc>Cj<enter>31c<enter>"), []);
    assert_eq!(keys(&mut deck, "2<enter>"), [clear(true)]);
    let mut unknown = pair_at_work();
    unknown.session_id = String::new();
    let mut deck = self::deck(unknown);
    assert_eq!(
        keys(&mut deck, "Cj<enter><enter>"),
        [],
        "nothing is no word"
    );
}

#[test]
fn leaving_asks_when_agents_are_attached() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "q"), []);
    let screen = shown(&deck);
    assert!(screen.contains("Claude and Codex are attached."));
    assert!(screen.contains("Codex is in the middle of a turn."));
    assert_eq!(
        keys(&mut deck, "<esc>q<enter>"),
        [Effect::Quit(QuitChoice::Stay)]
    );
    assert_eq!(
        keys(&mut deck, "qj<enter>"),
        [Effect::Quit(QuitChoice::KeepStopped)],
        "an attached agent does not start it again"
    );
    assert_eq!(keys(&mut deck, "qjj<enter>"), []);
    assert_eq!(
        keys(&mut deck, "<ctrl-c><ctrl-c>"),
        [Effect::Quit(QuitChoice::Stay)],
        "twice takes the safe answer"
    );
}

#[test]
fn leaving_asks_nothing_when_nobody_would_notice() {
    let mut view = empty_first_run();
    assert_eq!(
        keys(&mut deck(view.clone()), "q"),
        [Effect::Quit(QuitChoice::Stop)]
    );
    view.daemon.state = DaemonState::Attached;
    assert_eq!(keys(&mut deck(view), "q"), [Effect::Quit(QuitChoice::Stay)]);
    let mut fresh = Deck::new(Settings::new().expect("keymap")).expect("theme");
    assert_eq!(keys(&mut fresh, "q"), [Effect::Quit(QuitChoice::Stop)]);
}

#[test]
fn what_is_said_of_a_deck_that_cannot_be_suspended_is_what_the_key_then_does() {
    let (mut asked, mut stopped) = (0, 0);
    for scene in SCENES {
        for is_alone in [false, true] {
            let settings = Settings::new().expect("keymap");
            let mut deck = scene.deck_with(settings, (200, 50));
            let mut view = deck.view().clone();
            if view.daemon.state != DaemonState::Hosting {
                continue;
            }
            if is_alone {
                view.attached.clear();
                view.agents.clear();
                view.running_gate = None;
            }
            update(&mut deck, Msg::View(Box::new(view)));
            keys(&mut deck, "<ctrl-z>");
            let screen = shown(&deck);
            let Some((_, helps)) = screen.split_once("would stop with it: ") else {
                continue;
            };
            if screen.contains("Leave the deck") || helps.starts_with("close what is open") {
                // It is asked already, or no key leaves from here.
                continue;
            }
            let name = scene.name;
            if let Some((key, _)) = helps.split_once(" asks whether it goes on") {
                let key = if key == "q" { "q" } else { "<ctrl-c>" };
                assert_eq!(keys(&mut deck, key), [], "{name}");
                assert!(
                    shown(&deck).contains("Leave the deck"),
                    "{name}, {key}:\n{}",
                    shown(&deck)
                );
                asked += 1;
            } else {
                let (key, _) = helps
                    .strip_prefix("after ")
                    .unwrap()
                    .split_once(',')
                    .unwrap();
                let key = if key == "q" { "q" } else { "<ctrl-c>" };
                assert!(
                    helps.contains("`ctxrelay daemon --detach`"),
                    "{name}: {helps}"
                );
                let left = [Effect::Quit(QuitChoice::Stop)];
                assert_eq!(keys(&mut deck, key), left, "{name}");
                stopped += 1;
            }
        }
    }
    assert!(asked > 5 && stopped > 5, "{asked}, {stopped}");
}

#[test]
fn escape_that_arrives_together_with_the_next_key_is_taken_for_both() {
    let mut apart = deck(pair_at_work());
    keys(&mut apart, "?<esc>3j");
    let mut together = deck(pair_at_work());
    keys(&mut together, "?<alt-3>j");
    assert!(!shown(&together).contains("On the panes"));
    assert_eq!(shown(&together), shown(&apart));
    // Where something is written, alt is a key of its own.
    keys(&mut together, "mone two<alt-b>");
    assert_eq!(
        keys(&mut together, "and <enter>"),
        [Effect::SendMessage {
            to: Agent::Claude,
            text: "one and two".into(),
            when_busy: WhenBusy::Wait,
            draft: Some(1),
        }]
    );
}

#[test]
fn a_message_is_written_and_sent() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "m<enter>"), [], "nothing is written yet");
    assert_eq!(
        keys(&mut deck, "please q?<alt-enter>look at j<enter>"),
        [Effect::SendMessage {
            to: Agent::Claude,
            text: "please q?\nlook at j".into(),
            when_busy: WhenBusy::Wait,
            draft: Some(1),
        }]
    );
}

#[test]
fn a_message_goes_to_the_agent_under_the_cursor_or_to_the_other() {
    let mut deck = deck(pair_at_work());
    assert_eq!(
        keys(&mut deck, "1jmhi<enter>"),
        [Effect::SendMessage {
            to: Agent::Codex,
            text: "hi".into(),
            when_busy: WhenBusy::Wait,
            draft: Some(1),
        }]
    );
    assert_eq!(
        keys(&mut deck, "m<ctrl-t>hi<enter>"),
        [Effect::SendMessage {
            to: Agent::Claude,
            text: "hi".into(),
            when_busy: WhenBusy::Wait,
            draft: Some(2),
        }]
    );
}

#[test]
fn a_handoff_has_an_ask_and_a_reason() {
    let mut deck = deck(pair_at_work());
    assert_eq!(
        keys(&mut deck, "hreview it<tab>fresh eyes<enter>"),
        [Effect::Handoff {
            to: Agent::Claude,
            ask: "review it".into(),
            reason: "fresh eyes".into(),
            when_busy: WhenBusy::Wait,
            draft: Some(1),
        }]
    );
}

#[test]
fn a_draft_survives_closing() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "mhalf a thought<esc>");
    assert!(!shown(&deck).contains("half a thought"));
    assert_eq!(
        keys(&mut deck, "m<enter>"),
        [Effect::SendMessage {
            to: Agent::Claude,
            text: "half a thought".into(),
            when_busy: WhenBusy::Wait,
            draft: Some(1),
        }]
    );
    keys(&mut deck, "m");
    assert!(
        !shown(&deck).contains("half a thought"),
        "what was sent is no draft"
    );
}

#[test]
fn a_paste_goes_to_the_composer_without_what_cannot_be_seen() {
    let mut deck = deck(pair_at_work());
    update(&mut deck, Msg::Paste("lost?".into()));
    assert!(shown(&deck).contains("nothing to paste into"));
    keys(&mut deck, "m");
    update(&mut deck, Msg::Paste("two\r\nlines\u{202e}\x1b[2J".into()));
    assert!(shown(&deck).contains("2 characters that cannot be seen"));
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [Effect::SendMessage {
            to: Agent::Claude,
            text: "two\nlines[2J".into(),
            when_busy: WhenBusy::Wait,
            draft: Some(1),
        }]
    );
}

#[test]
fn nothing_is_sent_or_decided_without_a_daemon() {
    let mut view = pair_at_work();
    let mut deck = deck(view.clone());
    keys(&mut deck, "mtext");
    view.daemon.state = DaemonState::Reconnecting;
    update(&mut deck, Msg::View(Box::new(view)));
    assert_eq!(keys(&mut deck, "<enter>"), []);
    assert!(shown(&deck).contains("nothing was sent"));
    keys(&mut deck, "<esc>3<enter>a");
    assert_eq!(keys(&mut deck, "<enter>"), []);
    assert!(shown(&deck).contains("nothing was decided"));
    keys(&mut deck, "<esc><esc>m");
    assert!(shown(&deck).contains("not connected"));
}

#[test]
fn an_opened_entry_is_asked_for_once_and_shown_exactly() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "2j<enter>"), [open_entry(1_201)]);
    update(
        &mut deck,
        Msg::EntryText {
            place: place(1_201),
            row: Box::new(handoff_row(1_201)),
            text: "the whole\r text".into(),
            detail: vec![Field {
                name: "What Codex received".into(),
                text: "[ctxrelay]".into(),
            }],
            refs: Vec::new(),
            raw: "{\"seq\": 1201}".into(),
        },
    );
    assert!(shown(&deck).contains("What Codex received"));
    assert!(shown(&deck).contains("the whole^M text"));
    assert_eq!(
        keys(&mut deck, "y"),
        [Effect::CopyText("the whole\n text".into())],
        "a copy is all of the text, as a field takes it"
    );
    keys(&mut deck, "r");
    assert!(shown(&deck).contains("{\"seq\": 1201}"), "as JSON");
    assert_eq!(keys(&mut deck, "<esc><enter>"), []);
}

fn handoff_row(line: u64) -> TimelineRow {
    let to = Some(Party::Agent(Agent::Codex));
    let id = format!("id-of-{line}");
    let row = TimelineRow::new(
        line,
        NOW_MS - 7_200_000,
        Agent::Claude,
        to,
        "handoff",
        "cut",
    );
    TimelineRow { id, ..row }
}

/// The full text of an entry, as the daemon gives it.
fn entry_text(line: u64, text: &str) -> Msg {
    Msg::EntryText {
        place: place(line),
        row: Box::new(handoff_row(line)),
        text: text.into(),
        detail: vec![],
        refs: Vec::new(),
        raw: String::new(),
    }
}

#[test]
fn what_is_selected_is_read_beside_the_panes() {
    for size in [(120, 40), (100, 34), (160, 24), (200, 50)] {
        let mut deck = deck_at(pair_at_work(), size);
        update(&mut deck, entry_text(1_204, "the newest one in full"));
        assert!(shown(&deck).contains("the newest one in full"), "{size:?}");
        assert_eq!(keys(&mut deck, "2j"), [open_entry(1_201)], "asked for once");
        assert_eq!(keys(&mut deck, "j"), [], "one at a time");
        let asked = update(&mut deck, entry_text(1_201, "it was passed"));
        assert_eq!(asked, [open_entry(1_200)], "where the cursor stopped");
        assert!(!shown(&deck).contains("it was passed"));
        update(&mut deck, entry_text(1_200, "read beside"));
        assert!(shown(&deck).contains("read beside"));
        assert!(shown(&deck).contains("2 Timeline"), "nothing lies over it");
        keys(&mut deck, "3");
        assert!(shown(&deck).contains("Is it done?"));
        keys(&mut deck, "1");
        assert!(shown(&deck).contains("How messages reach it"));
    }
    for size in [(99, 40), (120, 33), (159, 33)] {
        let mut deck = deck_at(pair_at_work(), size);
        assert_eq!(
            keys(&mut deck, "2j"),
            [],
            "nothing is read that has no room"
        );
        assert_eq!(keys(&mut deck, "<enter>"), [open_entry(1_201)], "{size:?}");
    }
}

#[test]
fn what_happens_to_an_entry_that_is_read_is_read_too() {
    let mut view = pair_at_work();
    let mut deck = deck(view.clone());
    update(&mut deck, entry_text(1_204, "the newest one in full"));
    assert_eq!(update(&mut deck, Msg::View(Box::new(view.clone()))), []);
    let newest = view.timeline.last_mut().expect("a row");
    newest.outcome = Some(RowOutcome::new(OutcomeState::Done, "acknowledged"));
    let asked = update(&mut deck, Msg::View(Box::new(view)));
    assert_eq!(asked, [open_entry(1_204)]);
    assert!(shown(&deck).contains("the newest one in full"), "meanwhile");
}

#[test]
fn an_opened_entry_leads_to_the_next_one_and_back() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    keys(&mut deck, "2j<enter>");
    assert!(shown(&deck).contains("Entry 1 201"));
    assert_eq!(keys(&mut deck, "J"), [open_entry(1_200)]);
    assert!(shown(&deck).contains("Entry 1 200"));
    keys(&mut deck, "KK");
    assert!(shown(&deck).contains("Entry 1 204"));
    keys(&mut deck, "K");
    assert!(shown(&deck).contains("Entry 1 204"), "there is none before");
    keys(&mut deck, "<esc>");
    assert!(!shown(&deck).contains("Entry 1 204"));
    assert_eq!(keys(&mut deck, "Y").len(), 1, "its id");
}

#[test]
fn a_zoomed_pane_has_the_screen_until_it_gives_it_back() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "4z");
    let screen = shown(&deck);
    assert!(screen.contains("╭ ○ open 1") && !screen.contains("2 Timeline"));
    keys(&mut deck, "<tab>");
    assert!(shown(&deck).contains("5 Handoffs") && !shown(&deck).contains("4 Tasks"));
    keys(&mut deck, "<esc>");
    assert!(shown(&deck).contains("4 Tasks") && shown(&deck).contains("2 Timeline"));
    keys(&mut deck, "zz");
    assert!(shown(&deck).contains("2 Timeline"));
}

#[test]
fn an_opened_entry_scrolls_to_its_end_and_no_further() {
    let mut view = pair_at_work();
    view.window.has_older = false;
    view.timeline[0].text = (0..200).map(|n| format!("line {n}\n")).collect();
    let mut deck = deck(view);
    keys(&mut deck, "2G<enter>G");
    assert!(shown(&deck).contains("line 199"));
    keys(&mut deck, "k");
    let up = shown(&deck);
    keys(&mut deck, "jjjjk");
    assert_eq!(
        shown(&deck),
        up,
        "pressing down at the end is not remembered"
    );
}

#[test]
fn the_timeline_pauses_under_the_cursor_and_follows_again() {
    let mut view = pair_at_work();
    let mut deck = deck_at(view.clone(), NO_DETAIL);
    keys(&mut deck, "2jj");
    assert!(shown(&deck).contains("paused"));
    view.timeline.push(TimelineRow::new(
        1_300,
        NOW_MS,
        Agent::Claude,
        None,
        "note",
        "something new",
    ));
    update(&mut deck, Msg::View(Box::new(view)));
    let screen = shown(&deck);
    assert!(screen.contains("something new"), "there is room for it");
    assert!(!screen.contains("1 new"), "it is on the screen: {screen}");
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [open_entry(1_200)],
        "the cursor stayed on its entry"
    );
    keys(&mut deck, "<esc>g");
    assert!(shown(&deck).contains("following"));
    assert_eq!(keys(&mut deck, "<enter>"), [open_entry(1_300)]);
}

#[test]
fn nothing_is_claimed_before_it_was_read() {
    let opening = DeckView {
        opening: Some("opening the record … 61 %".to_owned()),
        ..DeckView::default()
    };
    for size in [(120, 40), (80, 24)] {
        let mut deck = deck_at(opening.clone(), size);
        for key in ["1", "2", "3", "4", "5"] {
            keys(&mut deck, key);
            let screen = terminal(&deck, size).backend().to_string();
            for claim in [
                "Nothing waits",
                "nothing waits",
                "all well",
                "Nobody owes",
                "No work",
                "No agent",
                "Nothing has happened",
                "unchecked",
                "queue",
                "no daemon",
                "reconnecting",
            ] {
                assert!(!screen.contains(claim), "{claim:?} in\n{screen}");
            }
        }
        keys(&mut deck, "2");
        let screen = terminal(&deck, size).backend().to_string();
        assert!(screen.contains("opening the record … 61 %"), "{screen}");
        update(&mut deck, Msg::View(Box::new(quiet())));
        let screen = terminal(&deck, size).backend().to_string();
        assert!(!screen.contains("opening the record"), "{screen}");
    }
}

#[test]
fn leaving_asks_when_work_would_end_of_which_no_attached_agent_tells() {
    type Change<'a> = &'a dyn Fn(&mut DeckView);
    let alone = |change: Change<'_>| {
        let mut view = pair_at_work();
        view.attached.clear();
        view.daemon.state = DaemonState::Hosting;
        for card in &mut view.agents {
            card.state = AgentState::Offline;
            card.queue = QueueCounts::default();
        }
        change(&mut view);
        deck(view)
    };
    assert_eq!(
        keys(&mut alone(&|_| ()), "q"),
        [Effect::Quit(QuitChoice::Stop)]
    );
    // It waits for somebody to sign in.
    let signed_out: Change<'_> = &|view| {
        view.agents[1].state = AgentState::Waiting;
        view.agents[1].turn_id = None;
    };
    assert_eq!(
        keys(&mut alone(signed_out), "q"),
        [Effect::Quit(QuitChoice::Stop)]
    );
    let turn = "Codex is in the middle of a turn, which ends with the daemon.";
    let cases: [(Change<'_>, &str); 5] = [
        (&|view| view.agents[1].state = AgentState::Busy, turn),
        (
            &|view| {
                view.agents[1].state = AgentState::Waiting;
                view.agents[1].turn_id = Some("turn-1".into());
            },
            turn,
        ),
        (
            &|view| {
                view.agents[1].state = AgentState::Idle;
                view.agents[1].queue.in_flight = 1;
            },
            "A message is on its way to Codex.",
        ),
        (
            &|view| view.running_gate = Some("tests".to_owned()),
            "The gate tests runs, and stops when you leave.",
        ),
        (
            &|view| view.has_other_deck = true,
            "Another deck is open on this daemon.",
        ),
    ];
    for (change, said) in cases {
        let mut deck = alone(change);
        assert_eq!(keys(&mut deck, "q"), [], "{said}");
        let screen = shown(&deck);
        assert!(screen.contains(said), "{screen}");
        assert!(!screen.contains("is attached."), "{screen}");
        assert_eq!(keys(&mut deck, "<enter>"), [Effect::Quit(QuitChoice::Stay)]);
        assert_eq!(
            keys(&mut alone(change), "qj<enter>"),
            [Effect::Quit(QuitChoice::Stop)]
        );
    }
    // The daemon is not its own to take along.
    let guest: Change<'_> = &|view| {
        view.daemon.state = DaemonState::Attached;
        view.has_other_deck = true;
    };
    assert_eq!(
        keys(&mut alone(guest), "q"),
        [Effect::Quit(QuitChoice::Stay)]
    );
}

#[test]
fn a_theme_is_seen_before_it_is_taken() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "tj");
    assert_eq!(deck.theme_name(), "default-light");
    keys(&mut deck, "<esc>");
    assert_eq!(deck.theme_name(), "default-dark");
    assert_eq!(
        keys(&mut deck, "tjjj<enter>"),
        [Effect::SetTheme("mono".into())]
    );
    assert_eq!(deck.theme_name(), "mono");
}

#[test]
fn the_palette_runs_what_it_finds() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, ":work agent");
    assert!(shown(&deck).contains("hand work to an agent"));
    keys(&mut deck, "<enter>");
    assert!(shown(&deck).contains("Hand off"));
    keys(&mut deck, "<esc>:leave<enter>");
    assert!(shown(&deck).contains("Leave the deck"));
    keys(&mut deck, "<esc>:xyzzy<enter>");
    assert!(shown(&deck).contains("no command has these letters"));
}

#[test]
fn the_first_run_says_what_is_missing_and_does_it() {
    let mut deck = deck(empty_first_run());
    assert!(shown(&deck).contains("To make the pair complete"));
    assert_eq!(
        keys(&mut deck, "s<enter>"),
        [Effect::StartAgent(Agent::Claude)]
    );
    assert_eq!(
        keys(&mut deck, "sj<enter>"),
        [Effect::CopyText("npm install -g @openai/codex".into())]
    );
    assert_eq!(
        keys(&mut deck, "1S<enter>"),
        [Effect::StartAgent(Agent::Claude)]
    );
    keys(&mut deck, "jS");
    assert!(shown(&deck).contains("is not installed"));
}

#[test]
fn what_the_daemon_says_is_no_step_of_the_pair() {
    let mut view = empty_first_run();
    view.missing.push(FirstStep {
        text: "the record lies on a read-only disk".into(),
        command: "ctxrelay doctor".into(),
        act: StepAct::Beside,
        done: false,
    });
    let mut open = deck(view.clone());
    let screen = shown(&open);
    assert!(screen.contains("To make the pair complete"), "{screen}");
    assert!(!screen.contains("read-only disk"), "{screen}");
    assert_eq!(keys(&mut open, "s"), []);
    assert!(shown(&open).contains("read-only disk"));
    view.missing.retain(|step| step.act == StepAct::Beside);
    let screen = shown(&deck(view));
    assert!(!screen.contains("To make the pair complete"), "{screen}");
}

#[test]
fn what_is_missing_is_listed_also_after_the_first_message() {
    let mut view = pair_at_work();
    assert!(!view.first_run);
    view.missing = vec![
        FirstStep {
            text: "Start Claude Code beside this deck".into(),
            command: "ctxrelay claude".into(),
            act: StepAct::Start(Agent::Claude),
            done: true,
        },
        FirstStep {
            text: "config.json: gates waits for your trust: `ctxrelay trust`".into(),
            command: "ctxrelay trust".into(),
            act: StepAct::Copy,
            done: false,
        },
        FirstStep {
            text: "the disk is full".into(),
            command: String::new(),
            act: StepAct::Copy,
            done: false,
        },
    ];
    let mut open = deck(view.clone());
    assert!(
        !shown(&open).contains("To make the pair complete"),
        "the timeline belongs to the messages"
    );
    assert_eq!(keys(&mut open, "s"), []);
    let screen = shown(&open);
    assert!(screen.contains("waits for your trust"), "{screen}");
    assert!(screen.contains("the disk is full"), "{screen}");
    assert!(!screen.contains("nothing is missing"), "{screen}");
    assert_eq!(
        keys(&mut open, "<enter>"),
        [Effect::CopyText("ctxrelay trust".into())]
    );
    view.missing.truncate(1);
    let mut whole = deck(view);
    assert_eq!(keys(&mut whole, "s"), []);
    assert!(shown(&whole).contains("nothing is missing"));
}

#[test]
fn the_header_names_who_writes_to_git_and_a_key_asks_who_it_is_to_be() {
    let mut free = deck(pair_at_work());
    assert!(!shown(&free).contains("git \u{25c7}"));
    assert_eq!(keys(&mut free, "c"), []);
    assert!(shown(&free).contains("No rule is in force"));
    assert_eq!(keys(&mut free, "<esc>"), []);

    let mut ruled = deck(ruled());
    assert!(shown(&ruled).contains("git \u{25c7}"), "{}", shown(&ruled));
    assert_eq!(keys(&mut ruled, "c"), []);
    let screen = shown(&ruled);
    assert!(screen.contains("Who alone writes to git?"), "{screen}");
    assert!(screen.contains("ENFORCED"), "{screen}");
    // Codex it is: the cursor stands there.
    let to = Some(Party::Human);
    assert_eq!(
        keys(&mut ruled, "j<enter>"),
        [Effect::SetCoordinator { to }]
    );
}

#[test]
fn an_agent_opens_with_its_rung_and_the_reason() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "1<enter>");
    let screen = shown(&deck);
    assert!(screen.contains("by doorbell, proved in this session"));
    assert!(screen.contains("hands the bodies into the turn"));
    keys(&mut deck, "h");
    assert!(shown(&deck).contains("Hand off → ◆ Claude"));
}

#[test]
fn panes_are_reached_by_tab_number_and_mouse() {
    let mut deck = deck(pair_at_work());
    assert_eq!(deck.focus(), Pane::Timeline);
    keys(&mut deck, "<tab>");
    assert_eq!(deck.focus(), Pane::Inbox);
    keys(&mut deck, "<shift-tab><shift-tab>");
    assert_eq!(deck.focus(), Pane::Agents);
    click(&mut deck, (60, 5));
    assert_eq!(deck.focus(), Pane::Timeline);
    assert_eq!(
        click(&mut deck, (60, 5)),
        [open_entry(1_201)],
        "a second click opens"
    );
    keys(&mut deck, "<esc>");
    let mut small = deck_at(pair_at_work(), (80, 24));
    click(&mut small, (26, 1));
    assert_eq!(small.focus(), Pane::Inbox);
}

#[test]
fn the_wheel_moves_what_is_under_it() {
    let mut deck = deck(long_session());
    let wheel = mouse(MouseEventKind::ScrollDown, 60, 10);
    keys(&mut deck, "1");
    update(&mut deck, wheel);
    assert_eq!(deck.focus(), Pane::Agents, "the focus stays");
    assert!(shown(&deck).contains("paused"));
}

#[test]
fn an_idle_deck_is_drawn_once_a_minute() {
    let mut deck = deck(quiet());
    assert_eq!(
        deck.next_redraw_ms(),
        Some(28_000),
        "at the next minute of the clock"
    );
    let before = shown(&deck);
    update(&mut deck, Msg::Tick(NOW_MS + 27_000));
    assert_eq!(shown(&deck), before, "nothing changes before that");
    update(&mut deck, Msg::Tick(NOW_MS + 28_000));
    assert_ne!(shown(&deck), before);
    assert_eq!(deck.next_redraw_ms(), Some(60_000));
}

#[test]
fn seconds_are_counted_only_while_something_runs() {
    let mut view = pair_at_work();
    let busy = deck(view.clone());
    assert_eq!(busy.next_redraw_ms(), Some(1_000));
    view.agents[1].since_ms = Some(NOW_MS - 180_000);
    for row in &mut view.timeline {
        row.outcome = None;
    }
    view.tasks = Tasks::default();
    assert_eq!(
        deck(view.clone()).next_redraw_ms(),
        Some(1_000),
        "its command has just begun"
    );
    view.agents[1].tool = None;
    assert_eq!(
        deck(view.clone()).next_redraw_ms(),
        Some(28_000),
        "minutes are enough after the first one"
    );
    view.agents[1].state = AgentState::Idle;
    let mut noticed = deck(view);
    update(&mut noticed, Msg::Notice(Level::Info, "done".into()));
    assert_eq!(
        noticed.next_redraw_ms(),
        Some(8_000),
        "a notice goes by itself"
    );
    assert_eq!(
        Deck::new(Settings::new().expect("keymap"))
            .expect("theme")
            .next_redraw_ms(),
        None
    );
}

#[test]
fn what_is_said_long_after_the_last_frame_stands_as_long_as_any_other() {
    let mut deck = deck(pair_at_work());
    update(&mut deck, Msg::Tick(NOW_MS));
    // Nothing was drawn for a while, and a view comes behind it.
    update(&mut deck, Msg::Notice(Level::Info, "done at last".into()));
    let mut view = pair_at_work();
    view.now_ms = NOW_MS + 55_000;
    update(&mut deck, Msg::View(Box::new(view)));
    update(&mut deck, Msg::Tick(NOW_MS + 55_010));
    assert!(shown(&deck).contains("done at last"), "{}", shown(&deck));
    update(&mut deck, Msg::Tick(NOW_MS + 62_000));
    assert!(shown(&deck).contains("done at last"));
    update(&mut deck, Msg::Tick(NOW_MS + 63_010));
    assert!(!shown(&deck).contains("done at last"));
}

#[test]
fn whatever_counts_seconds_ticks_together() {
    let mut view = pair_at_work();
    for (row, n) in view.timeline.iter_mut().zip(0..) {
        let mut outcome = RowOutcome::new(OutcomeState::Unconfirmed, "offered");
        outcome.since_ms = Some(NOW_MS - 137 * n);
        row.outcome = Some(outcome);
    }
    for (n, card) in view.agents.iter_mut().enumerate() {
        card.state = AgentState::Busy;
        card.since_ms = Some(NOW_MS - 333 * (n as i64 + 1));
    }
    let mut deck = deck(view);
    let mut now = NOW_MS + 250;
    update(&mut deck, Msg::Tick(now));
    update(&mut deck, Msg::Notice(Level::Info, "done".into()));
    let mut redraws = 0;
    while let Some(wait) = deck.next_redraw_ms().filter(|_| now < NOW_MS + 20_250) {
        now += i64::try_from(wait).expect("a short wait");
        update(&mut deck, Msg::Tick(now));
        redraws += 1;
    }
    assert_eq!(redraws, 21, "20 s and the step to the beat");
}

#[test]
fn ids_are_never_cut_and_each_verdict_has_its_own_sign() {
    let mut view = pair_at_work();
    let active = &mut view.tasks.columns[TaskColumn::Active.index()];
    *active = active.map(|row| row.id_short = "h98706".into());
    view.handoffs = view.handoffs.map(|row| row.id_short = "h98742".into());
    view.agents[0].queue.pending = 12_345;
    for (row, verdict) in view.timeline.iter_mut().zip(Verdict::ALL) {
        row.verdict = Some(verdict);
    }
    let deck = deck_at(view, (200, 50));
    let screen = terminal(&deck, (200, 50)).backend().to_string();
    for whole in ["h98706", "h98742", "12 346→◆"] {
        assert!(screen.contains(whole), "{whole} in\n{screen}");
    }
    for sign in [
        "✓ passed",
        "✗ failed",
        "‖ blocked",
        "? unknown",
        "– skipped",
        "◷ timed out",
    ] {
        assert!(screen.contains(sign), "{sign} in\n{screen}");
    }
    let mut ages = Vec::new();
    for pane in ["4", "5"] {
        let mut deck = deck_at(pair_at_work(), (80, 24));
        keys(&mut deck, pane);
        let screen = terminal(&deck, (80, 24)).backend().to_string();
        let line = screen.lines().find(|line| line.contains("h1201 "));
        ages.push(line.is_some_and(|line| line.contains("41s")));
    }
    assert_eq!(ages, [true, true], "one age for one handoff");
}

#[test]
fn a_text_goes_to_the_editor_whole_and_a_draft_comes_back() {
    let mut view = pair_at_work();
    for row in &mut view.timeline {
        row.text_cut = true;
    }
    let mut deck = deck_at(view, NO_DETAIL);
    let place = EntryPlace {
        session: deck.view().session_id.clone(),
        line: 1_201,
    };
    let read = Effect::OpenEntry {
        place: place.clone(),
    };
    assert_eq!(keys(&mut deck, "2je"), [read], "read whole before");
    let told = Msg::EntryText {
        row: Box::new(handoff_row(place.line)),
        place,
        text: "all of it".to_owned(),
        detail: Vec::new(),
        refs: Vec::new(),
        raw: String::new(),
    };
    let open = Effect::OpenEditor {
        text: "all of it".to_owned(),
        is_draft: false,
    };
    assert_eq!(update(&mut deck, told.clone()), std::slice::from_ref(&open));
    assert_eq!(update(&mut deck, told), [], "once");
    assert_eq!(keys(&mut deck, "e"), std::slice::from_ref(&open));
    assert!(
        keys(&mut deck, "<enter>e").contains(&open),
        "on the opened one too"
    );
    assert_eq!(keys(&mut deck, "<esc>1e"), []);
    keys(&mut deck, "hone");
    update(&mut deck, Msg::EditorText("two\nlines\x1b\n".to_owned()));
    assert!(shown(&deck).contains("two"), "{}", shown(&deck));
    let sent = keys(&mut deck, "<enter>");
    let ask = "two\nlines".to_owned();
    assert!(
        matches!(&sent[..], [Effect::Handoff { ask: sent, .. }] if *sent == ask),
        "{sent:?}"
    );
}

#[test]
fn a_thread_is_followed_row_by_row_and_left_by_the_way_one_came() {
    let mut deck = deck_at(pair_at_work(), (80, 24));
    let session = deck.view().session_id.clone();
    let place = |line| EntryPlace {
        session: session.clone(),
        line,
    };
    // From the card of a proposal.
    let asks = Effect::OpenThread {
        place: place(1_198),
    };
    assert_eq!(keys(&mut deck, "3o"), [asks]);
    assert!(shown(&deck).contains("reading the thread"));
    let row = |seq, kind: &str| {
        TimelineRow::new(seq, NOW_MS, Agent::Codex, None, kind, format!("text {seq}"))
    };
    let thread = ThreadView {
        asked: place(1_198),
        name: "h7".to_owned(),
        rows: (1_180..1_240).map(|seq| row(seq, "message")).collect(),
        is_cut: true,
        fault: None,
    };
    update(&mut deck, Msg::Thread(Box::new(thread.clone())));
    assert!(shown(&deck).contains("Thread  h7"), "{}", shown(&deck));
    assert!(
        shown(&deck).contains("▸ 1 198"),
        "the cursor stands on what was asked for"
    );
    // Down to the end and back: the row under the cursor is in sight.
    keys(&mut deck, "G");
    assert!(shown(&deck).contains("▸ 1 239"), "{}", shown(&deck));
    keys(&mut deck, "gJJ");
    assert!(shown(&deck).contains("▸ 1 182"), "{}", shown(&deck));
    keys(&mut deck, "<enter>");
    assert!(shown(&deck).contains("Entry 1 182"));
    // The thread of that entry, and back by the way one came.
    let asks = Effect::OpenThread {
        place: place(1_182),
    };
    assert!(keys(&mut deck, "o").contains(&asks));
    update(&mut deck, Msg::Thread(Box::new(thread)));
    assert!(
        shown(&deck).contains("reading the thread"),
        "another one was asked for"
    );
    keys(&mut deck, "<ctrl-o>");
    assert!(shown(&deck).contains("Entry 1 182"));
    keys(&mut deck, "<ctrl-o>");
    assert!(shown(&deck).contains("▸ 1 182"));
    keys(&mut deck, "<ctrl-o>");
    assert!(shown(&deck).contains("? help"), "the panes");
    keys(&mut deck, "<ctrl-o>");
    assert!(shown(&deck).contains("no reference was followed before"));
    // An agent has none.
    let agent = Agent::Claude;
    assert_eq!(keys(&mut deck, "1o"), [Effect::ReadRules { agent }]);
}

#[test]
fn the_way_back_is_bounded() {
    let mut deck = deck_at(pair_at_work(), (80, 24));
    let line = 1_190;
    for _ in 0..100 {
        keys(&mut deck, "o<esc>");
        // Where one only was on the panes there is nothing to go back to.
    }
    keys(&mut deck, "2<enter>");
    for _ in 0..100 {
        let effects = keys(&mut deck, "o");
        let asked = effects.into_iter().find_map(|effect| match effect {
            Effect::OpenThread { place } => Some(place),
            _ => None,
        });
        let asked = asked.expect("a thread is asked for");
        let row = TimelineRow::new(line, NOW_MS, Agent::Codex, None, "message", "text");
        let thread = ThreadView {
            asked,
            name: "h7".to_owned(),
            rows: vec![row],
            is_cut: false,
            fault: None,
        };
        update(&mut deck, Msg::Thread(Box::new(thread)));
        keys(&mut deck, "<enter>");
    }
    let mut steps = 0;
    while !shown(&deck).contains("no reference was followed before") {
        keys(&mut deck, "<ctrl-o>");
        steps += 1;
    }
    assert_eq!(steps, 65, "64 places, and the one that is none");
}

#[test]
fn stale_and_done_tasks_are_one_line_until_enter_shows_them() {
    let mut deck = deck_at(handed_over(), (80, 24));
    keys(&mut deck, "4G");
    assert!(shown(&deck).contains("▸ ✓ done 4  ⏎ shows them"));
    assert!(!shown(&deck).contains("add the tests for rotation"));
    assert_eq!(keys(&mut deck, "<enter>G"), []);
    assert!(shown(&deck).contains("✓ done 4  the latest 2, ⏎ folds them"));
    assert!(shown(&deck).contains("▸   h1100 ◇→◆ explain the session table"));
    keys(&mut deck, "<left><enter><left>");
    assert!(
        shown(&deck).contains("▸ ◌ stale 40  ⏎ shows them"),
        "{}",
        shown(&deck)
    );
    assert!(shown(&deck).contains("✓ done 4  ⏎ shows them"));
    let opened = keys(&mut deck, "<enter>j<enter>");
    let place = EntryPlace {
        session: deck.view().session_id.clone(),
        line: 980,
    };
    assert_eq!(opened, [Effect::OpenEntry { place }]);
}

#[test]
fn the_board_goes_from_open_to_done_and_its_keys_go_as_it_stands() {
    let mut deck = deck_at(handed_over(), (200, 50));
    keys(&mut deck, "4z");
    let screen = shown(&deck);
    let line = screen
        .lines()
        .find(|line| line.contains("open"))
        .expect("a heading");
    let at = |word: &str| line.find(word).unwrap_or_else(|| panic!("{word}: {line}"));
    let places = ["open", "active", "‖ blocked", "stale", "done"].map(at);
    assert!(places.is_sorted(), "{line}");
    // Its keys go through the columns as they stand.
    let cursor = |deck: &Deck| {
        let screen = shown(deck);
        let lines = screen.lines().skip(2);
        let columns = lines.filter_map(|line| {
            let bytes = line.find('\u{25b8}')?;
            Some(line[..bytes].chars().count())
        });
        columns
            .min()
            .unwrap_or_else(|| panic!("no cursor: {screen}"))
    };
    keys(&mut deck, "<left><left><left><left><left>");
    let mut seen = vec![cursor(&deck)];
    for _ in 0..4 {
        keys(&mut deck, "<right>");
        seen.push(cursor(&deck));
    }
    assert!(seen.is_sorted() && seen[0] < seen[4], "{seen:?}");
}

#[test]
fn the_board_keeps_the_task_of_the_list_and_both_panes_lead_to_the_same_entry() {
    let mut deck = deck_at(handed_over(), (120, 40));
    keys(&mut deck, "4jjj");
    assert!(shown(&deck).contains("▸   h1085"));
    keys(&mut deck, "z");
    assert!(shown(&deck).contains("▸h1085"), "{}", shown(&deck));
    keys(&mut deck, "<right><right>jj");
    assert!(shown(&deck).contains("▸h966"), "{}", shown(&deck));
    let from_board = keys(&mut deck, "<enter>");
    assert!(matches!(&from_board[..], [Effect::OpenEntry { place }] if place.line == 966));
    keys(&mut deck, "<esc>z");
    assert!(
        shown(&deck).contains("▸   h966"),
        "the fold is open: {}",
        shown(&deck)
    );
    keys(&mut deck, "5");
    let is_there = |deck: &Deck| {
        let screen = shown(deck);
        screen
            .lines()
            .any(|line| line.contains("▸ ") && line.contains("h966"))
    };
    while !is_there(&deck) {
        keys(&mut deck, "j");
    }
    keys(&mut deck, "<enter>");
    assert!(shown(&deck).contains("╭ Entry 966"), "{}", shown(&deck));
}

#[test]
fn a_handoff_says_where_it_is_stuck() {
    let mut view = handed_over();
    let claude = view.agents[0].agent;
    view.agents[0] = AgentCard::offline(claude);
    let row = HandoffRow::clone(view.handoffs.get(0).expect("a handoff"));
    let closed = format!("✓ closed by {}", row.from.title());
    let told = [
        (
            HandoffStage::Unproven,
            Agent::Claude,
            "◌ waits until Claude is here",
        ),
        (
            HandoffStage::Unproven,
            Agent::Codex,
            "◌ no proof yet that Codex has it",
        ),
        (
            HandoffStage::Ambiguous,
            Agent::Codex,
            "▲ nobody can know whether Codex has it",
        ),
        (
            HandoffStage::Undelivered,
            Agent::Codex,
            "✗ never reached Codex",
        ),
        (
            HandoffStage::InTurn,
            Agent::Codex,
            "✓ in Codex's turn · no answer yet",
        ),
        (
            HandoffStage::Delivered,
            Agent::Claude,
            "✓ Claude has it · no answer yet",
        ),
        (
            HandoffStage::CutOff,
            Agent::Codex,
            "▲ Codex's turn cut off · no answer",
        ),
        (
            HandoffStage::Answered,
            Agent::Claude,
            "✓ Claude wrote back · not closed yet",
        ),
        (
            HandoffStage::Blocked,
            Agent::Claude,
            "▲ a blocker note names it",
        ),
        (HandoffStage::ClosedBySender, Agent::Claude, &closed),
    ];
    for (stage, to, words) in told {
        let row = HandoffRow {
            stage,
            to: to.into(),
            ..row.clone()
        };
        view.handoffs = [row].into_iter().collect();
        let mut deck = deck_at(view.clone(), (80, 24));
        keys(&mut deck, "5");
        assert!(shown(&deck).contains(words), "{words} in\n{}", shown(&deck));
    }
}

#[test]
fn paused_counts_what_is_beyond_the_screen() {
    let mut view = long_session();
    let mut deck = deck(view.clone());
    keys(&mut deck, "2jjjj");
    let newest = view.timeline.last().map_or(0, |row| row.seq);
    for seq in newest + 1..=newest + 5 {
        let row = TimelineRow::new(seq, NOW_MS, Agent::Claude, None, "note", "new");
        view.timeline.push(row);
    }
    update(&mut deck, Msg::View(Box::new(view)));
    assert!(shown(&deck).contains("paused · 5 new"));
    // Back to the second of them: one is above, the others are read.
    keys(&mut deck, "kkkkkkkk");
    assert!(shown(&deck).contains("paused · 1 new"), "{}", shown(&deck));
}

#[test]
fn a_users_keymap_changes_key_help_and_hint_alike() {
    let keymap = Keymap::builtin().and_then(|map| {
        map.layered(
            "global = [{ on = [\"w\"], run = \"message\" }, { on = [\"m\"], run = \"none\" }]",
        )
    });
    let mut deck = Deck::new(Settings {
        keymap: keymap.expect("a map"),
        ..Settings::new().expect("keymap")
    })
    .expect("theme");
    update(&mut deck, Msg::Resize(120, 60));
    update(&mut deck, Msg::View(Box::new(pair_at_work())));
    assert!(shown(&deck).contains("w message"));
    keys(&mut deck, "m");
    assert!(!shown(&deck).contains("Message →"));
    keys(&mut deck, "w");
    assert!(shown(&deck).contains("Message →"));
    keys(&mut deck, "<esc>?");
    assert!(shown(&deck).contains("w             write to an agent"));
}

#[test]
fn an_overlay_stack_closes_one_by_one() {
    let mut deck = deck_at(pair_at_work(), NO_DETAIL);
    keys(&mut deck, "3<enter>xreason");
    assert!(shown(&deck).contains("Reject: why?"));
    keys(&mut deck, "<esc>");
    assert!(shown(&deck).contains("Is it done?"));
    assert!(!shown(&deck).contains("Reject: why?"));
    keys(&mut deck, "<esc>");
    assert!(!shown(&deck).contains("Is it done?"));
}

#[test]
fn an_agent_at_rest_says_since_when_and_one_just_come_to_rest_does_not() {
    let mut view = pair_at_work();
    let shown_after = |view: &DeckView| shown(&deck(view.clone()));
    view.agents[0].since_ms = Some(NOW_MS - 59_999);
    assert!(shown_after(&view).contains("Claude  ○ idle  "));
    view.agents[0].since_ms = Some(NOW_MS - 120_000);
    assert!(shown_after(&view).contains("Claude  ○ idle 2m  "));
    view.agents[0].since_ms = None;
    assert!(shown_after(&view).contains("Claude  ○ idle  "));
}

/// An inbox with so many messages to Claude that may have arrived or not.
fn unclear(count: u64, words: &str) -> DeckView {
    let mut view = quiet();
    let message = |n: u64| UnclearMessage {
        id: format!("m-{n}"),
        line: 100 + n,
        at_ms: NOW_MS - 60_000,
        from: Party::Agent(Agent::Codex),
        words: (!words.is_empty()).then(|| format!("{words} {n}")),
    };
    view.inbox = vec![InboxCard {
        unclear: (1..=count).map(message).collect(),
        ..InboxCard::new(
            InboxKind::Alarm,
            "ambiguous-claude",
            Agent::Claude,
            NOW_MS,
            format!("{count} ambiguous to Claude"),
        )
    }];
    view
}

#[test]
fn ambiguous_messages_are_one_row_and_as_many_as_marked_are_settled_after_one_question() {
    let mut deck = deck(unclear(40, "the words of"));
    assert!(shown(&deck).contains("40 ambiguous to"));
    keys(&mut deck, "3<enter>");
    assert!(shown(&deck).contains("the words of 1 "), "{}", shown(&deck));
    // Two by hand, then from the last mark to the tenth.
    assert_eq!(keys(&mut deck, "vjvjjjjjjjV"), []);
    assert!(shown(&deck).contains("10 marked"), "{}", shown(&deck));
    assert_eq!(keys(&mut deck, "x"), [], "it asks");
    assert!(shown(&deck).contains("Give up these 10 messages?"));
    assert_eq!(keys(&mut deck, "<esc>j"), []);
    assert!(
        shown(&deck).contains("10 marked"),
        "marks outlive the question"
    );
    keys(&mut deck, "r");
    assert!(shown(&deck).contains("Send these 10 messages again?"));
    let ids: Vec<String> = std::iter::once(1)
        .chain(3..=11)
        .map(|n| format!("m-{n}"))
        .collect();
    assert_eq!(keys(&mut deck, "<enter>"), [Effect::Retry { ids }]);
    assert_eq!(
        keys(&mut deck, "<enter>").len(),
        1,
        "now it opens the entry"
    );
    assert!(shown(&deck).contains("Entry 112"), "{}", shown(&deck));
}

#[test]
fn a_range_goes_to_the_cursor_from_the_last_mark_or_from_the_first_row() {
    let mut unmarked = deck(unclear(8, "words"));
    keys(&mut unmarked, "3<enter>jjV");
    assert!(
        shown(&unmarked).contains("3 marked"),
        "{}",
        shown(&unmarked)
    );
    let ids = (1..=3).map(|n| format!("m-{n}")).collect();
    assert_eq!(keys(&mut unmarked, "x<enter>"), [Effect::GiveUp { ids }]);

    // The message of the mark is settled elsewhere meanwhile: the range goes from its place.
    let mut settled = deck(unclear(8, "words"));
    keys(&mut settled, "3<enter>jjvjj");
    let mut view = unclear(8, "words");
    let left = view.inbox[0].unclear.iter();
    let left = left.filter(|message| message.id != "m-3");
    view.inbox[0].unclear = left.cloned().collect();
    update(&mut settled, Msg::View(Box::new(view)));
    keys(&mut settled, "V");
    assert!(shown(&settled).contains("3 marked"), "{}", shown(&settled));
    let ids = (4..=6).map(|n| format!("m-{n}")).collect();
    assert_eq!(keys(&mut settled, "x<enter>"), [Effect::GiveUp { ids }]);
}

#[test]
fn what_is_asked_about_a_message_is_never_about_another_one() {
    let mut deck = deck(unclear(5, "words"));
    let gone = |deck: &mut Deck, gone: &[u64]| {
        let mut view = unclear(5, "words");
        let left = view.inbox[0].unclear.iter();
        let left = left.filter(|message| !gone.contains(&(message.line - 100)));
        view.inbox[0].unclear = left.cloned().collect();
        update(deck, Msg::View(Box::new(view)));
    };
    // One before it is settled elsewhere: the cursor stays on its message.
    keys(&mut deck, "3<enter>jjx");
    assert!(shown(&deck).contains("Give up this message?"));
    gone(&mut deck, &[1]);
    let ids = vec!["m-3".to_owned()];
    assert_eq!(keys(&mut deck, "<enter>"), [Effect::GiveUp { ids }]);
    // It is settled itself: nothing is asked any more.
    keys(&mut deck, "x");
    gone(&mut deck, &[1, 3]);
    assert!(!shown(&deck).contains("Give up this"), "{}", shown(&deck));
    // So are all that were marked.
    keys(&mut deck, "vr");
    assert!(shown(&deck).contains("Send this message again?"));
    gone(&mut deck, &[1, 3, 4]);
    assert!(!shown(&deck).contains("Send this"), "{}", shown(&deck));
}

#[test]
fn a_single_entry_of_the_machine_is_one_entry() {
    let mut view = pair_at_work();
    let rows = FoldedRows {
        last: 1_300,
        count: 1,
    };
    view.timeline.push(TimelineRow::of_folded(
        1_300,
        NOW_MS,
        rows,
        "daemon started",
    ));
    let deck = deck_at(view, (120, 40));
    let screen = shown(&deck);
    assert!(screen.contains("One entry, 1 300."), "{screen}");
}

#[test]
fn without_a_mark_it_is_about_the_message_under_the_cursor_and_what_is_gone_is_not_marked() {
    let mut deck = deck(unclear(3, "words"));
    keys(&mut deck, "3<enter>jv");
    update(&mut deck, Msg::View(Box::new(unclear(1, "words"))));
    assert!(!shown(&deck).contains("marked"), "{}", shown(&deck));
    keys(&mut deck, "x");
    assert!(shown(&deck).contains("Give up this message?"));
    let ids = vec!["m-1".to_owned()];
    assert_eq!(keys(&mut deck, "<enter>"), [Effect::GiveUp { ids }]);
    update(&mut deck, Msg::View(Box::new(quiet())));
    assert!(shown(&deck).contains("None of them is left"));
    assert_eq!(keys(&mut deck, "vVrx<enter>"), []);
}

#[test]
fn their_words_are_asked_for_once_and_in_parts() {
    let mut deck = fresh(NO_DETAIL);
    let view = unclear(120, "");
    let asked = |effects: Vec<Effect>| -> Vec<u64> {
        let lines = |effect| match effect {
            Effect::ReadWords { lines } => lines,
            _ => Vec::new(),
        };
        effects.into_iter().flat_map(lines).collect()
    };
    let first = asked(update(&mut deck, Msg::View(Box::new(view.clone()))));
    assert_eq!(first, [101], "the row shows the first one's");
    let mut all = asked(keys(&mut deck, "3<enter>"));
    for _ in 0..5 {
        all.extend(asked(update(&mut deck, Msg::View(Box::new(view.clone())))));
    }
    assert_eq!(all, (102..=220).collect::<Vec<u64>>());
}

#[test]
fn words_are_asked_for_while_a_daemon_is_there_and_again_of_the_next_one() {
    let mut deck = fresh(NO_DETAIL);
    let there = unclear(1, "");
    let mut away = there.clone();
    away.daemon.state = DaemonState::Reconnecting;
    let wanted = [Effect::ReadWords { lines: vec![101] }];
    assert_eq!(update(&mut deck, Msg::View(Box::new(away.clone()))), []);
    for _ in 0..2 {
        assert_eq!(
            update(&mut deck, Msg::View(Box::new(there.clone()))),
            wanted
        );
        assert_eq!(update(&mut deck, Msg::View(Box::new(there.clone()))), []);
        assert_eq!(update(&mut deck, Msg::View(Box::new(away.clone()))), []);
    }
}

#[test]
fn an_agent_that_compacts_is_shown_as_at_work_and_not_as_idle() {
    let mut view = quiet();
    let card = view
        .agents
        .iter_mut()
        .find(|card| card.agent == Agent::Claude);
    card.expect("its card").compacting = true;
    let mut deck = deck(view);
    // Its card, its sheet, and where it is written to.
    for opened in ["", "1<enter>", "<esc>m"] {
        keys(&mut deck, opened);
        let seen = shown(&deck);
        assert!(seen.contains("compacting"), "{opened}: {seen}");
        assert!(!seen.contains("idle 10m"), "{opened}: {seen}");
    }
}

#[test]
fn codexs_context_is_compacted_only_after_a_yes_and_of_claudes_a_line_is_copied() {
    let mut deck = deck(quiet());
    assert_eq!(keys(&mut deck, "1j%"), [], "on the row it only opens");
    assert_eq!(keys(&mut deck, "%"), []);
    assert!(shown(&deck).contains("Compact Codex's context?"));
    assert_eq!(
        keys(&mut deck, "<enter>"),
        [],
        "leaving it is the first answer"
    );
    assert_eq!(
        keys(&mut deck, "%jj<enter>"),
        [agent_action(Agent::Codex, AgentAction::Compact)]
    );
    let asked = keys(&mut deck, "%j<enter>");
    assert!(
        matches!(
            asked.as_slice(),
            [Effect::SendMessage { to: Agent::Codex, text, .. }] if text.contains("append_note")
        ),
        "{asked:?}"
    );
    keys(&mut deck, "<esc>k%");
    assert_eq!(keys(&mut deck, "%"), []);
    assert!(shown(&deck).contains("its own terminal only"));
    let copied = keys(&mut deck, "jj<enter>");
    assert!(
        matches!(copied.as_slice(), [Effect::CopyText(line)] if line.starts_with("/compact ")),
        "{copied:?}"
    );

    // Never both at once.
    for (at_it, keys_to_other, other) in [
        (Agent::Claude, "1j<enter>%", "Codex"),
        (Agent::Codex, "1<enter>%", "Claude"),
    ] {
        let mut view = quiet();
        let card = view.agents.iter_mut().find(|card| card.agent == at_it);
        card.expect("its card").compacting = true;
        let mut deck = self::deck(view);
        assert_eq!(keys(&mut deck, keys_to_other), []);
        let name = at_it.title();
        let seen = shown(&deck);
        assert!(
            seen.contains(&format!("{name}'s context is being compacted now")),
            "{seen}"
        );
        assert!(seen.contains(&format!("on {other} again")), "{seen}");
        assert!(!seen.contains("/compact"), "{seen}");
        assert_eq!(
            keys(&mut deck, "<enter>"),
            [],
            "there is nothing but to wait"
        );
    }

    // A turn would be cut off: what it is at can be written down all the same.
    let mut deck = self::deck(held_up());
    assert_eq!(keys(&mut deck, "1j<enter>%"), []);
    assert!(!shown(&deck).contains("Compact Codex's context?"));
    assert!(
        shown(&deck).contains("Codex is at work"),
        "{}",
        shown(&deck)
    );
    assert_eq!(
        keys(&mut deck, "jj<enter>").len(),
        1,
        "there is no third answer"
    );
}

#[test]
fn a_key_of_the_panes_on_what_lies_over_them_says_what_is_to_be_closed_first() {
    for open in ["?", "2<enter>", "3<enter>", "1<enter>", "T", "F", "f"] {
        let mut deck = deck(pair_at_work());
        keys(&mut deck, open);
        assert_eq!(keys(&mut deck, "#"), [], "{open}");
        let screen = shown(&deck);
        assert!(screen.contains("close this first: esc"), "{open}: {screen}");
        keys(&mut deck, "~");
        assert!(!shown(&deck).contains("close this first"), "{open}");
    }
    let keymap = Keymap::builtin()
        .and_then(|map| map.layered("overlay = [{ on = [\"b\"], run = \"back\" }]"));
    let mut deck = Deck::new(Settings {
        keymap: keymap.expect("a map"),
        ..Settings::new().expect("keymap")
    })
    .expect("theme");
    update(&mut deck, Msg::Resize(120, 40));
    update(&mut deck, Msg::View(Box::new(pair_at_work())));
    keys(&mut deck, "?#");
    assert!(shown(&deck).contains("close this first: b"));
}

#[test]
fn what_is_said_of_a_full_context_names_the_persons_own_key() {
    let keymap = Keymap::builtin().and_then(|map| {
        map.layered(
            "agent = [{ on = [\"v\"], run = \"compact\" }, { on = [\"%\"], run = \"none\" }]",
        )
    });
    let mut deck = Deck::new(Settings {
        keymap: keymap.expect("a map"),
        ..Settings::new().expect("keymap")
    })
    .expect("theme");
    update(&mut deck, Msg::Resize(120, 60));
    update(&mut deck, Msg::View(Box::new(held_up())));
    keys(&mut deck, "1j<enter>");
    let screen = shown(&deck);
    assert!(screen.contains("With v you"), "{screen}");
}
