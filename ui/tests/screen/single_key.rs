//! No single key decides, sends, spends or destroys anything: each action is tried wherever it can
//! be done, and what comes of one press is looked at.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ctxrelay_ui::key::Key;
use ctxrelay_ui::keymap::KeyContext;
use ctxrelay_ui::model::{CapsuleLine, CapsuleView, DeckView};
use ctxrelay_ui::scenes::{
    SCENES, asked_user, empty_first_run, failed, gated, gates_running, held_up, keys,
    opened_finding, pair_at_work, quiet, reviewed, screen, stale, terminal, trouble,
};
use ctxrelay_ui::{AgentAction, Deck, Effect, Keymap, Msg, Settings, update};

use crate::kit::deck;

type World = fn() -> DeckView;

const SIZE: (u16, u16) = (120, 40);

const WORLDS: [(&str, World); 10] = [
    ("pair_at_work", pair_at_work),
    ("gated", gated),
    ("gates_running", gates_running),
    ("stale", stale),
    ("held_up", held_up),
    ("trouble", trouble),
    ("quiet", quiet),
    ("failed", failed),
    ("empty_first_run", empty_first_run),
    ("reviewed", reviewed),
];

/// How one gets to where keys count: each pane, and what can be opened from it.
const PLACES: [&str; 20] = [
    "1",
    "1j",
    "2",
    "3",
    "3j",
    "4",
    "5",
    "1<enter>",
    "1j<enter>",
    "2<enter>",
    "3<enter>",
    "3j<enter>",
    // What reviews say, and two of it.
    "F",
    "Fjj",
    "F<enter>",
    "Fj<enter>",
    // The tasks that can travel: one of ours, and one from elsewhere.
    "T",
    "Tj",
    "T<enter>",
    "Tj<enter>",
];

/// Whether one press may lead to this. A `match` without a rest, so that a new wish is thought of.
fn is_harmless(effect: &Effect, world: &DeckView) -> bool {
    match effect {
        Effect::OpenEntry { .. }
        | Effect::OpenThread { .. }
        | Effect::ReadWork { .. }
        | Effect::ReadRules { .. }
        | Effect::ReadRecovery
        | Effect::ReadFinding { .. }
        | Effect::ReadFindingPlaces { .. }
        | Effect::ReadDiff { .. }
        | Effect::ReadCapsules
        | Effect::FindAlike(_)
        | Effect::TellCapsule { .. }
        | Effect::ReadCapsule { .. }
        // A copy, to read; or what stays as it is until the person has written something else.
        | Effect::OpenEditor { .. }
        | Effect::Search { .. }
        | Effect::ShowTimeline(_)
        | Effect::CopyText(_)
        | Effect::LookAtTree
        | Effect::SetTheme(_)
        | Effect::Redraw
        | Effect::ReadWords { .. }
        // As the user has set it.
        | Effect::Notify { .. }
        | Effect::Suspend
        // It only takes away.
        | Effect::LeaveUnlock
        | Effect::LockKey
        // Only after it has ended.
        | Effect::Restart => true,
        // Nothing is stopped by itself, nothing is sent, nothing costs.
        Effect::AgentAction { act: AgentAction::Snooze | AgentAction::CancelRetries, .. } => true,
        // With agents there it asks.
        Effect::Quit(_) => !world.agents.iter().any(|card| card.state.is_attached()),
        Effect::Approve { .. }
        | Effect::Trust { .. }
        | Effect::RunGates
        | Effect::StopGates
        | Effect::Reject { .. }
        | Effect::Unlock { .. }
        | Effect::AnswerApproval { .. }
        | Effect::Retry { .. }
        | Effect::GiveUp { .. }
        | Effect::ResolveFinding { .. }
        | Effect::ImportReview
        | Effect::DismissFinding { .. }
        | Effect::ExportCapsule { .. }
        | Effect::HandCapsule { .. }
        | Effect::BeginTask { .. }
        | Effect::CloseCapsule { .. }
        | Effect::EditCapsule { .. }
        | Effect::Acknowledge { .. }
        | Effect::ClearSession { .. }
        | Effect::SetCoordinator { .. }
        | Effect::SendMessage { .. }
        | Effect::Handoff { .. }
        | Effect::AppendNote { .. }
        | Effect::AgentAction { .. }
        | Effect::StartAgent(_) => false,
    }
}

fn tasks() -> Vec<CapsuleLine> {
    let ours = CapsuleLine {
        id: "cap_1".to_owned(),
        title: "first".to_owned(),
        is_open: true,
        ..CapsuleLine::default()
    };
    let foreign = CapsuleLine {
        id: "cap_2".to_owned(),
        is_foreign: true,
        ..ours.clone()
    };
    vec![ours, foreign]
}

/// Goes to a place: what a screen there asks for is answered before the next key.
fn go(deck: &mut Deck, place: &str) {
    for key in Key::script(place).expect("script") {
        for effect in update(deck, Msg::Key(key.to_event())) {
            answer(deck, effect);
        }
    }
}

fn answer(deck: &mut Deck, asked: Effect) {
    match asked {
        Effect::ReadCapsules => {
            update(deck, Msg::Capsules(Ok(tasks().into())));
        }
        Effect::ReadCapsule { id } => {
            let row = tasks().into_iter().find(|row| row.id == id);
            let view = CapsuleView {
                row: row.unwrap_or_default(),
                draft: "title: first\n".to_owned(),
                ..CapsuleView::default()
            };
            let read = Ok(Box::new(view));
            update(deck, Msg::Capsule { id, read });
        }
        Effect::ReadFinding { id } => {
            let mut view = opened_finding();
            view.id.clone_from(&id);
            let read = Ok(Box::new(view));
            update(deck, Msg::Finding { id, read });
        }
        _ => {}
    }
}

/// Every key that is bound anywhere.
fn all_keys() -> Vec<Key> {
    let keymap = Keymap::builtin().expect("keymap");
    let mut keys: Vec<Key> = Vec::new();
    for context in KeyContext::ALL {
        for binding in keymap.bindings(context) {
            keys.extend(&binding.keys);
        }
    }
    keys
}

#[test]
fn one_press_decides_sends_and_destroys_nothing() {
    let all_keys = all_keys();
    let mut pressed = 0;
    for (name, world) in WORLDS {
        for place in PLACES {
            let mut there = deck(world());
            go(&mut there, place);
            for key in &all_keys {
                let mut deck = there.clone();
                for effect in update(&mut deck, Msg::Key(key.to_event())) {
                    let is_harmless = is_harmless(&effect, &world());
                    assert!(is_harmless, "{name}, {place}, {key}: {effect:?}");
                }
                pressed += 1;
            }
        }
    }
    assert!(pressed > 5_000, "{pressed}");
}

#[test]
fn a_command_of_the_palette_is_no_more_than_its_key() {
    for (name, world) in WORLDS {
        // Each row of the list, from top to bottom.
        let mut palette = deck(world());
        keys(&mut palette, ":");
        for row in 0..60 {
            let mut deck = palette.clone();
            keys(&mut palette, "<down>");
            for effect in keys(&mut deck, "<enter>") {
                let is_harmless = is_harmless(&effect, &world());
                assert!(is_harmless, "{name}, command {row}: {effect:?}");
            }
        }
    }
}

fn mouse(deck: &mut Deck, kind: MouseEventKind, (column, row): (u16, u16)) -> Vec<Effect> {
    let modifiers = KeyModifiers::NONE;
    let event = MouseEvent {
        kind,
        column,
        row,
        modifiers,
    };
    update(deck, Msg::Mouse(event))
}

fn click(deck: &mut Deck, at: (u16, u16)) -> Vec<Effect> {
    let mut effects = mouse(deck, MouseEventKind::Down(MouseButton::Left), at);
    effects.extend(mouse(deck, MouseEventKind::Up(MouseButton::Left), at));
    effects
}

/// Where keys stand.
fn key_cells(deck: &Deck) -> Vec<(u16, u16)> {
    let size = deck.size();
    let hints = screen(&self::deck(quiet()), SIZE);
    let hints = (0..SIZE.0).map(|x| &hints[(x, SIZE.1 - 1)]);
    let key = hints
        .filter(|cell| cell.symbol() != " ")
        .map(|cell| cell.fg);
    let key = key.into_iter().next().expect("a hint");
    let drawn = screen(deck, size);
    let mut cells = Vec::new();
    for y in 0..size.1 {
        // Where the key begins that is read, and how many blanks stand before this cell.
        let (mut from, mut blanks) = (None, 0);
        for x in 0..size.0 {
            let cell = &drawn[(x, y)];
            let is_frame = ["│", "╭", "╰"].contains(&cell.symbol());
            blanks = if cell.symbol() == " " { blanks + 1 } else { 0 };
            if is_frame || blanks > 1 {
                from = None;
            } else if blanks == 0 && cell.fg == key {
                from = from.or(Some(x));
            }
            if from == Some(x) {
                cells.push((x, y));
            }
        }
    }
    cells
}

/// Whether a click has selected what stands in this line, and changed nothing else there.
fn is_selected(before: &Deck, now: &Deck, line: u16) -> bool {
    let words = |deck: &Deck| {
        let drawn = screen(deck, deck.size());
        let line = (0..deck.size().0).map(|x| drawn[(x, line)].symbol().to_owned());
        line.collect::<String>()
    };
    let (before, now) = (words(before), words(now));
    now.contains('▸') && before.replace('▸', " ") == now.replace('▸', " ")
}

#[test]
fn two_clicks_on_a_key_decide_send_and_destroy_nothing() {
    let mut clicked = 0;
    for scene in SCENES {
        for size in [(80, 24), (120, 40)] {
            let there = scene.deck_with(Settings::new().expect("keymap"), size);
            let world = there.view().clone();
            for at in key_cells(&there) {
                let mut deck = there.clone();
                let first = click(&mut deck, at);
                if !first.iter().all(|effect| is_harmless(effect, &world)) {
                    // It was asked for before.
                    continue;
                }
                for effect in first {
                    answer(&mut deck, effect);
                }
                let asked = deck.clone();
                for effect in click(&mut deck, at) {
                    // A list asks: the second click is on the words of the first.
                    let is_meant =
                        is_harmless(&effect, &world) || is_selected(&there, &asked, at.1);
                    let name = scene.name;
                    assert!(is_meant, "{name}, {size:?}, {at:?}: {effect:?}");
                }
                clicked += 1;
            }
        }
    }
    assert!(clicked > 500, "{clicked}");
}

#[test]
fn what_a_click_asks_is_decided_by_a_click_elsewhere_or_once_the_mouse_was_elsewhere() {
    let cells = |deck: &Deck, words: &str| {
        let screen = terminal(deck, deck.size()).backend().to_string();
        let lines = screen.lines().enumerate();
        let found = lines.filter_map(|(y, line)| {
            let from = line.find(words)?;
            // The backend puts a quotation mark before each line.
            let x = line[..from].chars().count() - 1;
            Some((x as u16, y as u16))
        });
        found.last().expect("the words")
    };
    for (world, asks, decides) in [
        (pair_at_work as World, "a approve as", "approve   esc"),
        (asked_user, "a answer", "choose   esc"),
    ] {
        let mut deck = deck(world());
        keys(&mut deck, "3<enter>");
        let asking = cells(&deck, asks);
        assert_eq!(click(&mut deck, asking), []);
        let deciding = cells(&deck, decides);
        let is_told = |deck: &Deck| {
            let screen = terminal(deck, SIZE).backend().to_string();
            screen.contains("a second click in one place does nothing")
        };
        // The same place, and the next one.
        for at in [asking, (asking.0 + 1, asking.1)] {
            assert_eq!(click(&mut deck, at), []);
            assert!(is_told(&deck));
        }
        let mut moved = deck.clone();
        let elsewhere = (deciding.0 + 5, deciding.1);
        assert_eq!(click(&mut deck, elsewhere).len(), 1);
        mouse(&mut moved, MouseEventKind::Moved, (0, 0));
        mouse(&mut moved, MouseEventKind::Moved, deciding);
        assert_eq!(click(&mut moved, deciding).len(), 1);
    }
}

/// What `c` and `h` ask on the panes.
const WHO_WRITES: &str = "Who alone writes to git?";
const WHAT_IS_TO_BE_DONE: &str = "what is to be done";

/// The screen after a key at a place.
fn pressed(place: &str, key: &str) -> String {
    let mut deck = deck(reviewed());
    go(&mut deck, place);
    go(&mut deck, key);
    terminal(&deck, SIZE).backend().to_string()
}

#[test]
fn a_coordinator_and_a_handoff_are_none_of_the_screens_with_such_keys_of_their_own() {
    assert!(pressed("1", "c").contains(WHO_WRITES));
    assert!(pressed("1", "h").contains(WHAT_IS_TO_BE_DONE));
    for place in ["F", "F<enter>", "T", "T<enter>", "Tj", "Tj<enter>"] {
        for key in ["c", "h"] {
            let screen = pressed(place, key);
            for words in [WHO_WRITES, WHAT_IS_TO_BE_DONE] {
                assert!(!screen.contains(words), "{place}, {key}: {screen}");
            }
        }
    }
    // What they do there instead.
    for place in ["T", "T<enter>"] {
        let screen = pressed(place, "c");
        assert!(screen.contains("what came of it"), "{place}: {screen}");
    }
    for place in ["F", "F<enter>"] {
        let mut deck = deck(reviewed());
        go(&mut deck, place);
        go(&mut deck, "h");
        let sent = keys(&mut deck, "<enter>");
        let [Effect::Handoff { ask, .. }] = &sent[..] else {
            panic!("{place}: {sent:?}");
        };
        assert!(ask.starts_with("Review finding gh:rc:"), "{place}: {ask}");
    }
}
