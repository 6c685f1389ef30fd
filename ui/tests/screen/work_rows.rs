//! Tasks and handoffs that go: they stay for a moment, and nothing slides under the cursor.

use std::sync::Arc;

use ctxrelay_ui::model::{DeckView, HandoffRow, HandoffStage, TaskColumn};
use ctxrelay_ui::scenes::{NOW_MS, handed_over, keys};
use ctxrelay_ui::{Deck, Effect, Msg, update};

use crate::kit::{deck_at, shown};

/// The line under the cursor.
fn selected(deck: &Deck) -> String {
    let screen = shown(deck);
    // The header has one of its own.
    let mut lines = screen.lines().skip(1);
    let line = lines.find(|line| line.contains('\u{25b8}'));
    line.unwrap_or_else(|| panic!("no cursor: {screen}"))
        .to_owned()
}

/// The first open task is answered.
fn answered(view: &DeckView) -> (DeckView, Arc<HandoffRow>) {
    let mut view = view.clone();
    let row = Arc::clone(view.tasks.column(TaskColumn::Open).get(0).expect("a task"));
    view.tasks.columns[TaskColumn::Open.index()].remove(row.seq);
    view.handoffs.remove(row.seq);
    let done = HandoffRow {
        column: TaskColumn::Done,
        stage: HandoffStage::Closed,
        ..HandoffRow::clone(&row)
    };
    view.tasks.columns[TaskColumn::Done.index()].insert(Arc::new(done));
    (view, row)
}

fn only_open() -> DeckView {
    let mut view = handed_over();
    for column in [TaskColumn::Active, TaskColumn::Blocked, TaskColumn::Stale] {
        let index = column.index();
        let seqs: Vec<u64> = view.tasks.columns[index]
            .iter()
            .map(|row| row.seq)
            .collect();
        view.tasks.columns[index] = Default::default();
        for seq in seqs {
            view.handoffs.remove(seq);
        }
    }
    view
}

#[test]
fn a_row_that_goes_stays_dimmed_under_the_cursor_for_a_moment() {
    let before = only_open();
    let count = before.tasks.count(TaskColumn::Open);
    for (pane, size) in [
        ("4", (80, 24)),
        ("5", (80, 24)),
        ("4z", (120, 40)),
        ("4", (200, 50)),
    ] {
        let mut deck = deck_at(before.clone(), size);
        keys(&mut deck, pane);
        let (mut view, row) = answered(&before);
        let id = format!("{} ", row.id_short);
        assert!(shown(&deck).contains(&id), "{}", shown(&deck));
        update(&mut deck, Msg::View(Box::new(view.clone())));
        let line = selected(&deck);
        assert!(
            line.contains(&id) && line.contains("done"),
            "{pane} {size:?}: {line}"
        );
        let open = format!("open {}", count - 1);
        let handoffs = format!("{} open", count - 1);
        let screen = shown(&deck);
        assert!(
            // A pane alone on a small screen says no number of its own.
            screen.contains(&open) || screen.contains(&handoffs) || (pane, size) == ("5", (80, 24)),
            "counts are true: {screen}"
        );
        // `enter` opens what stands there, and not what would have slid under the cursor.
        let opened = keys(&mut deck, "<enter>");
        let is_it = |effect: &Effect| matches!(effect, Effect::OpenEntry { place } if place.line == row.seq);
        assert!(
            opened.iter().any(is_it) || size.0 >= 120,
            "{pane} {size:?}: {opened:?}"
        );
        keys(&mut deck, "<esc>");
        let next = deck.next_redraw_ms().expect("a moment");
        assert!(next <= 4_000, "{next}");
        view.now_ms = NOW_MS + 3_000;
        update(&mut deck, Msg::View(Box::new(view)));
        assert!(
            selected(&deck).contains(&id),
            "another view does not end it: {}",
            shown(&deck)
        );
        update(&mut deck, Msg::Tick(NOW_MS + 4_000));
        // On the board it stands beside by then, in the column of what is done.
        let cell = format!("\u{25b8}{id}");
        let gone = if pane == "4z" { &cell } else { &id };
        assert!(
            !selected(&deck).contains(gone),
            "{pane} {size:?}: {}",
            shown(&deck)
        );
    }
}

#[test]
fn a_row_that_goes_says_no_more_where_it_was_stuck() {
    for keys_to in ["5", "4z"] {
        let view = only_open();
        let (next, row) = answered(&view);
        let mut deck = deck_at(view.clone(), (200, 50));
        keys(&mut deck, keys_to);
        let stage = |screen: &str| screen.matches("no proof yet").count();
        let before = stage(&shown(&deck));
        update(&mut deck, Msg::View(Box::new(next)));
        let screen = shown(&deck);
        assert!(screen.contains(&*row.id_short), "{screen}");
        assert!(stage(&screen) < before, "{before}: {screen}");
    }
}

#[test]
fn a_row_above_the_cursor_that_goes_moves_nothing() {
    let before = only_open();
    let mut deck = deck_at(before.clone(), (80, 24));
    keys(&mut deck, "4j");
    let line = |deck: &Deck| {
        let screen = shown(deck);
        let at = screen.lines().position(|line| line.contains('\u{25b8}'));
        (at, selected(deck))
    };
    let stood = line(&deck);
    let (view, _) = answered(&before);
    update(&mut deck, Msg::View(Box::new(view)));
    assert_eq!(line(&deck), stood);
    update(&mut deck, Msg::Tick(NOW_MS + 4_000));
    assert_eq!(
        selected(&deck),
        stood.1,
        "the cursor is on its row after it too"
    );
}
