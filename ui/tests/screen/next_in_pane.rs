//! From what is opened to the next one of its pane: nothing else opens, closes or unfolds by that.

use ctxrelay_ui::Deck;
use ctxrelay_ui::scenes::{handed_over, keys};

use crate::kit::{deck_at, shown};

fn tasks() -> Deck {
    let mut deck = deck_at(handed_over(), (80, 24));
    keys(&mut deck, "4");
    deck
}

/// The title of what is opened.
fn title(deck: &Deck) -> String {
    let screen = shown(deck);
    let line = screen.lines().find(|line| line.contains("╭ Entry"));
    line.unwrap_or_default().to_owned()
}

#[test]
fn the_last_task_before_a_folded_column_stays_opened_and_no_column_unfolds() {
    let mut deck = tasks();
    // To the first fold, and to the task before it.
    while !shown(&deck).contains("▸ ◌ stale") {
        keys(&mut deck, "<right>");
    }
    keys(&mut deck, "k");
    let before = shown(&deck);
    keys(&mut deck, "<enter>");
    let opened = title(&deck);
    assert!(opened.contains("Entry"), "{}", shown(&deck));
    keys(&mut deck, "J");
    assert_eq!(title(&deck), opened);
    assert!(shown(&deck).contains("nothing is next here"));
    keys(&mut deck, "<esc>j");
    keys(&mut deck, "k");
    assert_eq!(shown(&deck), before);
}

#[test]
fn the_line_of_an_unfolded_column_is_stepped_over() {
    let mut deck = tasks();
    while !shown(&deck).contains("▸ ◌ stale") {
        keys(&mut deck, "<right>");
    }
    keys(&mut deck, "<enter>k<enter>");
    let opened = title(&deck);
    keys(&mut deck, "J");
    let next = title(&deck);
    assert!(next.contains("Entry") && next != opened, "{opened} {next}");
    keys(&mut deck, "K");
    assert_eq!(title(&deck), opened);
}
