//! Whatever is drawn with its seconds goes on in time: between two redraws none of them stands still
//! that should not.

use ctxrelay_ui::model::{
    AgentState, DeckView, OutcomeState, RowOutcome, RunningTool, Tasks, TurnAct,
};
use ctxrelay_ui::scenes::{NOW_MS, SCENES, keys, long_session, pair_at_work, quiet};
use ctxrelay_ui::{Deck, Msg, Settings, update};

use crate::kit::{deck, shown};

const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (120, 40), (200, 50)];

/// The ages in seconds on the screen: `41s`.
fn seconds(deck: &Deck) -> Vec<String> {
    let screen = shown(deck);
    let words = screen.split(|c: char| !c.is_ascii_alphanumeric());
    let is_age = |word: &&str| {
        let digits = word.strip_suffix('s').unwrap_or_default();
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    };
    words.filter(is_age).map(str::to_owned).collect()
}

/// Nothing counts seconds while the deck says that it need not be drawn.
fn stands_still_only_where_it_may(mut deck: Deck, now_ms: i64, what: &str) {
    let Some(next) = deck.next_redraw_ms().filter(|next| *next > 1_000) else {
        return;
    };
    let before = seconds(&deck);
    let later = now_ms + i64::try_from(next - 1).expect("a short wait");
    update(&mut deck, Msg::Tick(later));
    assert_eq!(seconds(&deck), before, "{what}: {}", shown(&deck));
}

#[test]
fn no_scene_counts_seconds_that_stand_still() {
    for scene in SCENES {
        for size in SIZES {
            for after_ms in [0, 30_000, 70_000] {
                let mut deck = scene.deck_with(Settings::new().expect("keymap"), size);
                let now_ms = deck.view().now_ms + after_ms;
                update(&mut deck, Msg::Tick(now_ms));
                let what = format!("{} {size:?} after {after_ms} ms", scene.name);
                stands_still_only_where_it_may(deck, now_ms, &what);
            }
        }
    }
}

/// A world in which nothing counts seconds.
fn calm() -> DeckView {
    let mut view = pair_at_work();
    for card in &mut view.agents {
        card.since_ms = Some(NOW_MS - 600_000);
        card.tool = None;
        card.silence = None;
    }
    for row in &mut view.timeline {
        row.outcome = None;
    }
    view.tasks = Tasks::default();
    view
}

#[test]
fn each_place_that_counts_seconds_is_drawn_each_second() {
    assert_eq!(deck(calm()).next_redraw_ms(), Some(28_000), "nothing does");
    let mut command = calm();
    command.agents[1].tool = Some(RunningTool {
        act: TurnAct::Ran,
        text: "cargo test".to_owned(),
        since_ms: NOW_MS - 12_000,
    });
    let deck_of = deck(command);
    assert!(shown(&deck_of).contains("12s"), "{}", shown(&deck_of));
    assert_eq!(deck_of.next_redraw_ms(), Some(1_000), "a command");
    for state in [AgentState::Limited, AgentState::Stale] {
        let mut view = calm();
        view.agents[0].state = state;
        view.agents[0].since_ms = Some(NOW_MS - 12_000);
        assert_eq!(deck(view).next_redraw_ms(), Some(1_000), "{state:?}");
    }
}

#[test]
fn a_message_off_the_screen_that_is_followed_counts_on() {
    let mut view = long_session();
    let mut outcome = RowOutcome::new(OutcomeState::Unconfirmed, "no proof yet");
    outcome.since_ms = Some(NOW_MS - 5_000);
    let mut deck = deck(quiet());
    for card in &mut view.agents {
        card.since_ms = None;
        card.tool = None;
    }
    view.tasks = Tasks::default();
    for row in &mut view.timeline {
        row.outcome = None;
    }
    let first = view.timeline.first_mut().expect("a row");
    first.outcome = Some(outcome);
    let line = first.seq;
    update(&mut deck, Msg::View(Box::new(view)));
    assert_eq!(deck.next_redraw_ms(), Some(28_000));
    let to = ctxrelay_ui::model::Agent::Codex;
    let draft = None;
    update(&mut deck, Msg::Sent { to, line, draft });
    assert!(shown(&deck).contains("5s"), "{}", shown(&deck));
    assert_eq!(deck.next_redraw_ms(), Some(1_000));
}

#[test]
fn the_sheet_of_an_agent_at_rest_counts_no_seconds() {
    let mut view = calm();
    view.agents[0].state = AgentState::Idle;
    view.agents[0].since_ms = Some(NOW_MS - 12_000);
    let mut deck = deck(view);
    keys(&mut deck, "1<enter>");
    assert!(!shown(&deck).contains("for 12s"), "{}", shown(&deck));
    update(&mut deck, Msg::Tick(NOW_MS + 120_000));
    assert!(shown(&deck).contains("for 2m"), "{}", shown(&deck));
}
