//! Half a page passes no row that was not seen, in panes of any size.

use std::collections::BTreeSet;

use ctxrelay_ui::model::{
    Agent, DeckView, InboxCard, InboxKind, OutcomeState, RowOutcome, TimelineRow, TimelineWindow,
};
use ctxrelay_ui::scenes::{NOW_MS, keys, pair_at_work, terminal};

use crate::kit::deck_at;

const SIZES: [(u16, u16); 4] = [(60, 15), (80, 24), (120, 40), (200, 50)];
const ROWS: usize = 50;

fn name(number: usize) -> String {
    format!("plum{number:02}")
}

/// A text of some lines that begins with it.
fn text(number: usize) -> String {
    format!("{} {}", name(number), "and what is said of it ".repeat(20))
}

/// Rows in the timeline and cards in the Inbox, each with a name of its own.
fn view() -> DeckView {
    let mut view = pair_at_work();
    let row = |number: usize| {
        let seq = number as u64 + 1;
        let mut row = TimelineRow::new(seq, NOW_MS, Agent::Codex, None, "note", text(number));
        row.outcome = Some(RowOutcome::new(OutcomeState::Done, "fetched"));
        row
    };
    view.timeline = (0..ROWS).map(row).collect();
    view.window = TimelineWindow {
        head: ROWS as u64,
        ..TimelineWindow::default()
    };
    let card = |number: usize| {
        let id = format!("card-{number}");
        InboxCard::new(InboxKind::Alarm, id, Agent::Codex, NOW_MS, text(number))
    };
    view.inbox = (0..ROWS).map(card).collect();
    view
}

#[test]
fn half_a_page_passes_no_row_that_was_not_seen() {
    for size in SIZES {
        for pane in ["2", "3"] {
            for (there, back) in [("<ctrl-d>", "<ctrl-u>"), ("<pagedown>", "<pageup>")] {
                let mut deck = deck_at(view(), size);
                keys(&mut deck, pane);
                for key in [there, back] {
                    let mut seen = BTreeSet::new();
                    for _ in 0..ROWS {
                        let screen = terminal(&deck, size).backend().to_string();
                        seen.extend((0..ROWS).map(name).filter(|name| screen.contains(name)));
                        keys(&mut deck, key);
                    }
                    assert_eq!(seen.len(), ROWS, "{key} in {pane} at {size:?}");
                }
            }
        }
    }
}
