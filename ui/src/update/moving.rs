//! Moving the selection of a pane.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::pane::Pane;

/// Moves by rows; the timeline stops following, and asks for more at its old end.
pub(super) fn step(deck: &mut Deck, pane: Pane, rows: isize) -> Vec<Effect> {
    match pane {
        Pane::Agents => deck.agents.step(rows, deck.view.agents.len()),
        Pane::Inbox => deck.inbox.list.step(rows, deck.inbox.rows.len()),
        Pane::Tasks => deck.tasks.step(&deck.view.tasks, rows),
        Pane::Handoffs => deck.handoffs.list.step(rows, deck.view.handoffs.len()),
        Pane::Timeline => {
            let before = deck.timeline.list.selected;
            let len = deck.timeline.order.len();
            deck.timeline.list.step(rows, len);
            if deck.timeline.list.selected != before {
                deck.timeline.pause(&deck.view.timeline);
            }
            return older(deck);
        }
    }
    Vec::new()
}

/// To the first or last row on the screen's order.
pub(super) fn to_end(deck: &mut Deck, pane: Pane, last: bool) -> Vec<Effect> {
    let far = isize::MAX;
    step(deck, pane, if last { far } else { -far })
}

/// What failed to be loaded may be asked for again after this long, ms.
const ASK_AGAIN_MS: i64 = 2_000;

/// Asks for older entries when the selection stands on the last one that is loaded.
pub(super) fn older(deck: &mut Deck) -> Vec<Effect> {
    if !deck.timeline.at_oldest() {
        return Vec::new();
    }
    let now = deck.view.now_ms;
    if deck
        .asked_older
        .is_some_and(|(_, at_ms)| now.saturating_sub(at_ms) >= ASK_AGAIN_MS)
    {
        deck.asked_older = None;
    }
    ask_older(deck)
}

/// Asks for older entries while those that are loaded leave a part of the screen empty.
pub(super) fn fill(deck: &mut Deck) -> Vec<Effect> {
    if deck.view.timeline.len() < usize::from(deck.size.1) {
        ask_older(deck)
    } else {
        Vec::new()
    }
}

/// Once for each time that some were loaded.
fn ask_older(deck: &mut Deck) -> Vec<Effect> {
    let asked = deck.asked_older.map(|(loaded, _)| loaded);
    match deck.view.older {
        Some(loaded) if asked != Some(loaded) => {
            deck.asked_older = Some((loaded, deck.view.now_ms));
            vec![Effect::LoadOlder]
        }
        _ => Vec::new(),
    }
}

/// Whether the record has entries that are not loaded.
pub(super) fn has_more(deck: &Deck) -> bool {
    deck.view.older.is_some()
}

/// Half of what the pane shows, in rows.
pub(super) fn half_page(deck: &Deck) -> isize {
    (deck.size.1 as isize / 4).max(1)
}
