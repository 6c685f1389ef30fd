//! What a test of the screen begins with: a deck that shows a world, and what it shows.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ctxrelay_ui::model::{DeckView, EntryPlace};
use ctxrelay_ui::scenes::{pair_at_work, terminal};
use ctxrelay_ui::{Deck, Effect, Msg, Settings, update};

/// A size at which nothing is read beside the panes.
pub const NO_DETAIL: (u16, u16) = (120, 33);

/// A deck that has seen no world yet.
pub fn fresh(size: (u16, u16)) -> Deck {
    fresh_with(Settings::new().expect("keymap"), size)
}

/// As [`fresh`], with settings of the test's own.
pub fn fresh_with(settings: Settings, size: (u16, u16)) -> Deck {
    let mut deck = Deck::new(settings).expect("theme");
    update(&mut deck, Msg::Resize(size.0, size.1));
    deck
}

/// A deck that shows this world.
pub fn deck_with(settings: Settings, view: DeckView, size: (u16, u16)) -> Deck {
    let mut deck = fresh_with(settings, size);
    sees(&mut deck, view);
    deck
}

pub fn deck_at(view: DeckView, size: (u16, u16)) -> Deck {
    deck_with(Settings::new().expect("keymap"), view, size)
}

pub fn deck(view: DeckView) -> Deck {
    deck_at(view, (120, 40))
}

/// The world is another one.
pub fn sees(deck: &mut Deck, view: DeckView) -> Vec<Effect> {
    update(deck, Msg::View(Box::new(view)))
}

/// The screen as text.
pub fn shown(deck: &Deck) -> String {
    terminal(deck, deck.size()).backend().to_string()
}

pub fn shows(deck: &Deck, words: &str) {
    let screen = shown(deck);
    assert!(screen.contains(words), "{words} is not in\n{screen}");
}

/// The selected row, as the screen says it.
pub fn selected(deck: &Deck) -> String {
    let screen = shown(deck);
    // The header has a cursor of its own.
    let row = screen.lines().skip(1).find(|line| line.contains('▸'));
    row.unwrap_or_default().to_owned()
}

pub fn mouse(kind: MouseEventKind, column: u16, row: u16) -> Msg {
    Msg::Mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    })
}

pub fn click(deck: &mut Deck, (column, row): (u16, u16)) -> Vec<Effect> {
    let kind = MouseEventKind::Down(MouseButton::Left);
    update(deck, mouse(kind, column, row))
}

/// A place of the record that [`pair_at_work`] shows.
pub fn place(line: u64) -> EntryPlace {
    EntryPlace {
        session: pair_at_work().session_id,
        line,
    }
}
