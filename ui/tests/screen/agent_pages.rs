//! The pages of an agent: read when they are opened, read again when the record grows, harmless
//! whatever stands in them.

use ctxrelay_ui::model::{
    Agent, AgentState, DaemonState, DeckView, PacketFate, RunningTool, TurnAct, WorkLog,
};
use ctxrelay_ui::scenes::{NOW_MS, codex_rules, codex_work, keys, pair_at_work};
use ctxrelay_ui::{Deck, Effect, Msg, update};

use crate::kit::{NO_DETAIL, deck_at, shown, shows};

const WORK: Effect = Effect::ReadWork {
    agent: Agent::Codex,
    with_log: false,
};

const WORK_AND_LOG: Effect = Effect::ReadWork {
    agent: Agent::Codex,
    with_log: true,
};

const RULES: Effect = Effect::ReadRules {
    agent: Agent::Codex,
};

fn deck(view: DeckView) -> Deck {
    deck_at(view, NO_DETAIL)
}

#[track_caller]
fn view_of(entries: u64) -> Msg {
    let mut view = pair_at_work();
    view.ledger.entries = entries;
    Msg::View(Box::new(view))
}

#[test]
fn what_an_agent_is_at_opens_on_its_row_and_turns_to_its_packet_its_files_and_its_log() {
    let mut deck = deck(pair_at_work());
    assert_eq!(keys(&mut deck, "1jp"), [WORK]);
    shows(&deck, "reading …");
    update(&mut deck, Msg::Work(Box::new(codex_work())));
    shows(
        &deck,
        "Nobody is logged out by a refresh  [you, pinned]  entry 1 102",
    );
    shows(&deck, "run the refresh tests^[[2J 200 times");
    assert_eq!(keys(&mut deck, "p"), [], "it was read with the rest");
    shows(&deck, "Exactly as it was given");
    shows(&deck, "No new dependency in the auth crate<U+202E>");
    assert_eq!(keys(&mut deck, "p"), [], "it was read with the rest");
    shows(&deck, "its files and results");
    shows(
        &deck,
        "written      1 190  src/auth/refresh.rs  Claude changed it since",
    );
    shows(
        &deck,
        "✓ passed     1 188  cargo test -p auth, 118 passed  test",
    );
    shows(&deck, "src/auth/token^[[2J.rs");
    keys(&mut deck, "p");
    shows(&deck, "13:31  1 149  its context was compacted (auto)");
    shows(&deck, "wrote src/auth/token^[[2J.rs");
    keys(&mut deck, "p");
    shows(&deck, "Open questions");
    assert_eq!(keys(&mut deck, "o"), [RULES]);
    update(&mut deck, Msg::Rules(Box::new(codex_rules())));
    shows(&deck, "not given: AGENTS.md says it too");
    shows(&deck, "Never push to^[]0;main^G the shared branch.");
    keys(&mut deck, "<esc>");
    assert!(
        !shown(&deck).contains("what it is told"),
        "one esc closes it"
    );
}

#[test]
fn from_the_agents_sheet_one_comes_back_to_it() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "1j<enter>");
    shows(&deck, "How messages reach it");
    assert_eq!(keys(&mut deck, "o"), [RULES]);
    assert_eq!(keys(&mut deck, "p"), [WORK]);
    keys(&mut deck, "<esc>");
    shows(&deck, "How messages reach it");
}

#[test]
fn the_page_follows_the_record_and_asks_one_question_at_a_time() {
    let mut deck = deck(pair_at_work());
    update(&mut deck, view_of(1_205));
    assert_eq!(keys(&mut deck, "1jp"), [WORK]);
    assert_eq!(
        update(&mut deck, view_of(1_206)),
        [],
        "an answer is on its way"
    );
    let mut work = codex_work();
    let again = update(&mut deck, Msg::Work(Box::new(work.clone())));
    assert_eq!(again, [WORK], "it is of the record before");
    work.sections[0].values[0].text = "Nobody waits".to_owned();
    assert_eq!(update(&mut deck, Msg::Work(Box::new(work))), []);
    shows(&deck, "Nobody waits");
    assert_eq!(update(&mut deck, view_of(1_206)), []);
    assert_eq!(update(&mut deck, view_of(1_207)), [WORK]);
    keys(&mut deck, "<esc>");
    assert_eq!(update(&mut deck, view_of(1_208)), [], "nobody looks");
}

#[test]
fn the_log_is_read_when_it_is_looked_at_and_once_for_a_record() {
    let mut deck = deck(pair_at_work());
    let without = || {
        let mut work = codex_work();
        work.log = WorkLog::NotRead;
        Msg::Work(Box::new(work))
    };
    assert_eq!(keys(&mut deck, "1jp"), [WORK]);
    assert_eq!(keys(&mut deck, "ppp"), [], "an answer is on its way");
    assert_eq!(update(&mut deck, without()), [WORK_AND_LOG]);
    shows(&deck, "reading …");
    update(&mut deck, Msg::Work(Box::new(codex_work())));
    shows(&deck, "9 lines of the record");
    assert_eq!(keys(&mut deck, "pppp"), [], "it is of this record");
    shows(&deck, "9 lines of the record");
    assert_eq!(update(&mut deck, view_of(2_000)), [WORK_AND_LOG]);
    let mut work = codex_work();
    work.log = WorkLog::Unreadable;
    assert_eq!(update(&mut deck, Msg::Work(Box::new(work))), []);
    shows(&deck, "The record cannot be read now.");
}

#[test]
fn nothing_is_read_without_a_daemon_and_the_next_one_is_asked_again() {
    let mut away = pair_at_work();
    away.daemon.state = DaemonState::Reconnecting;
    let mut closed = deck(away.clone());
    assert_eq!(keys(&mut closed, "1jp"), []);
    shows(&closed, "not connected to the daemon");
    let mut opened = deck(pair_at_work());
    for (key, asks) in [("1jp", WORK), ("o", RULES)] {
        assert_eq!(keys(&mut opened, key), std::slice::from_ref(&asks));
        assert_eq!(update(&mut opened, Msg::View(Box::new(away.clone()))), []);
        let back = update(&mut opened, Msg::View(Box::new(pair_at_work())));
        assert_eq!(back, [asks]);
    }
}

#[test]
fn how_far_a_packet_came_is_said_in_words() {
    for (fate, words) in [
        (PacketFate::Offered, "not yet seen to have come"),
        (PacketFate::Given, "given"),
        (PacketFate::NotGiven, "not given"),
        (PacketFate::Unknown, "nobody knows whether it came"),
    ] {
        let mut deck = deck(pair_at_work());
        keys(&mut deck, "1jpp");
        let mut work = codex_work();
        if let Some(packet) = &mut work.packet {
            packet.fate = fate;
            packet.why = "the thread was closed".to_owned();
            packet.text = None;
        }
        update(&mut deck, Msg::Work(Box::new(work.clone())));
        shows(&deck, words);
        shows(&deck, "the thread was closed");
        shows(&deck, "Its text cannot be read now.");
        work.packet = None;
        update(&mut deck, view_of(2_000));
        update(&mut deck, Msg::Work(Box::new(work)));
        shows(&deck, "It was given none yet.");
    }
}

#[test]
fn what_is_read_of_the_other_agent_is_not_taken_for_this_ones() {
    let mut deck = deck(pair_at_work());
    keys(&mut deck, "1p");
    update(&mut deck, Msg::Work(Box::new(codex_work())));
    shows(&deck, "reading …");
}

#[test]
fn what_an_agent_does_is_said_on_its_card_and_its_sheet_and_what_waits_for_a_yes_has_no_age() {
    for (act, words) in [
        (TurnAct::Ran, "$ fetch it"),
        (TurnAct::Changed, "fetch it"),
        (TurnAct::Called, "calls fetch it"),
    ] {
        let mut view = pair_at_work();
        let claude = &mut view.agents[0];
        claude.state = AgentState::Busy;
        claude.detail = vec!["turn: make it fast".to_owned()];
        claude.tool = Some(RunningTool {
            act,
            text: "fetch it".to_owned(),
            since_ms: NOW_MS - 37_000,
        });
        let mut deck = deck(view.clone());
        for words in [words, "turn: make it fast", "37s"] {
            shows(&deck, words);
        }
        keys(&mut deck, "1<enter>");
        for words in [words, "Right now", "for 37s"] {
            shows(&deck, words);
        }
        view.agents[0].state = AgentState::Waiting;
        update(&mut deck, Msg::View(Box::new(view)));
        shows(&deck, words);
        keys(&mut deck, "<esc>");
        shows(&deck, words);
        let screen = shown(&deck);
        assert!(!screen.contains("37s"), "{screen}");
    }
}
