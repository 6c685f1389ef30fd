//! What a frame costs with many handoffs: the number of rows examined, not time.

use std::sync::Arc;

use crate::deck::{Deck, Settings};
use crate::model::{DeckView, HandoffRow, HandoffRows, LOOKED_AT, TaskColumn, Tasks};
use crate::msg::Msg;
use crate::scenes::{keys, pair_at_work, screen};
use crate::update::update;

/// Rows of a screen that is larger than most, for each pane that shows them, and what the beat is
/// reckoned from.
const AT_MOST: usize = 400;

/// A pair with so many handoffs in each column.
fn world(count: u64) -> DeckView {
    let mut view = pair_at_work();
    let one = HandoffRow::clone(view.handoffs.get(0).expect("a handoff"));
    let mut tasks = Tasks {
        done: count,
        ..Tasks::default()
    };
    let mut open = HandoffRows::default();
    for column in TaskColumn::ALL {
        for n in 0..count {
            let seq = 1 + n * 5 + column.index() as u64;
            let row = Arc::new(HandoffRow {
                seq,
                column,
                ..one.clone()
            });
            tasks.columns[column.index()].insert(Arc::clone(&row));
            if column != TaskColumn::Done {
                open.insert(row);
            }
        }
    }
    (view.tasks, view.handoffs) = (tasks, open);
    view
}

fn deck(view: DeckView, size: (u16, u16), typed: &str) -> Deck {
    let mut deck = Deck::new(Settings::new().expect("keymap")).expect("theme");
    update(&mut deck, Msg::Resize(size.0, size.1));
    update(&mut deck, Msg::View(Box::new(view)));
    keys(&mut deck, typed);
    deck
}

/// What may differ all the same: which rows stand on the screen.
const SAME: usize = 4;

/// How many rows a frame looks at, with the moment of the next one.
fn looks(deck: &Deck, size: (u16, u16)) -> usize {
    LOOKED_AT.set(0);
    screen(deck, size);
    deck.next_redraw_ms();
    LOOKED_AT.get()
}

#[test]
fn a_frame_looks_at_the_rows_on_the_screen_among_fifty_thousand_as_among_five_hundred() {
    let worlds = [100, 10_000].map(world);
    for size in [(80, 24), (120, 40), (200, 50)] {
        for typed in [
            "",
            "4",
            "4G",
            "4z",
            "4z<right>G",
            "5",
            "5G",
            "5z",
            "5zG",
            "3",
            "3<enter>",
        ] {
            let [few, many] = worlds.each_ref().map(|world| {
                let deck = deck(world.clone(), size, typed);
                looks(&deck, size)
            });
            assert!(
                many <= few + SAME && few <= AT_MOST,
                "{typed:?} at {size:?}: {few} rows of five hundred, {many} of fifty thousand"
            );
        }
    }
}
