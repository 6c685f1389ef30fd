//! No single key decides, sends, spends or destroys anything: each action is tried wherever it can
//! be done, and what comes of one press is looked at.

use ctxrelay_ui::key::Key;
use ctxrelay_ui::keymap::KeyContext;
use ctxrelay_ui::model::DeckView;
use ctxrelay_ui::scenes::{
    empty_first_run, failed, gated, gates_running, held_up, keys, pair_at_work, quiet, stale,
    trouble,
};
use ctxrelay_ui::{Attend, Deck, Effect, Keymap, Msg, Settings, update};

type World = fn() -> DeckView;

const WORLDS: [(&str, World); 9] = [
    ("pair_at_work", pair_at_work),
    ("gated", gated),
    ("gates_running", gates_running),
    ("stale", stale),
    ("held_up", held_up),
    ("trouble", trouble),
    ("quiet", quiet),
    ("failed", failed),
    ("empty_first_run", empty_first_run),
];

/// How one gets to where keys count: each pane, and what can be opened from it.
const PLACES: [&str; 12] = [
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
        | Effect::ReadCapsules
        | Effect::FindAlike { .. }
        | Effect::ReadCapsule { .. }
        // A copy, to read.
        | Effect::OpenEditor { is_draft: false, .. }
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
        Effect::Attend { act: Attend::LetBe | Attend::NoTries, .. } => true,
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
        | Effect::CloseCapsule { .. }
        | Effect::EditCapsule { .. }
        | Effect::Acknowledge { .. }
        | Effect::ClearSession { .. }
        | Effect::SetCoordinator { .. }
        | Effect::SendMessage { .. }
        | Effect::Handoff { .. }
        | Effect::AppendNote { .. }
        | Effect::Attend { .. }
        | Effect::OpenEditor { .. }
        | Effect::RunHint(_)
        | Effect::StartAgent(_) => false,
    }
}

fn deck(world: World) -> Deck {
    let mut deck = Deck::new(Settings::new().expect("keymap")).expect("theme");
    update(&mut deck, Msg::Resize(120, 40));
    update(&mut deck, Msg::View(Box::new(world())));
    deck
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
            let mut there = deck(world);
            keys(&mut there, place);
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
        let mut palette = deck(world);
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
