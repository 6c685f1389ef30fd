//! Moving the selection of a pane.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::pane::Pane;

/// Moves by rows; the timeline stops following, and asks for more at its old end.
pub(super) fn step(deck: &mut Deck, pane: Pane, rows: isize) -> Vec<Effect> {
    match pane {
        Pane::Agents => deck.agents.step(rows, deck.view.agents.len()),
        Pane::Inbox => deck.inbox.list.step(rows, deck.inbox.rows.len()),
        Pane::Tasks => deck.tasks.list.step(rows, deck.tasks.len()),
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

/// Asks for older entries when the selection stands on the last one that is loaded.
pub(super) fn older(deck: &mut Deck) -> Vec<Effect> {
    let loaded = deck.view.timeline.len();
    if has_more(deck) && deck.timeline.at_oldest() && deck.asked_older_at != Some(loaded) {
        deck.asked_older_at = Some(loaded);
        return vec![Effect::LoadOlder];
    }
    Vec::new()
}

/// Whether the record has entries that are not loaded.
pub(super) fn has_more(deck: &Deck) -> bool {
    deck.view.timeline_total > deck.view.timeline.len() as u64
}

/// Half of what the pane shows, in rows.
pub(super) fn half_page(deck: &Deck) -> isize {
    (deck.size.1 as isize / 4).max(1)
}
