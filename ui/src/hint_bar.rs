//! The last line: the keys that apply now, from the resolved map.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::action::Action;
use crate::applies::applies;
use crate::deck::Deck;
use crate::overlays::{approve_key, retry_key};
use crate::pane::Pane;
use crate::selected::selected_card;
use crate::theme::ThemeRole;
use crate::widgets::{blank, fit_line, width_of};

/// Columns between two hints.
const GAP: u16 = 3;

/// One key with its word.
struct Hint {
    action: Action,
    line: Line<'static>,
    x: u16,
    width: u16,
}

/// The hints that have room, with their places.
fn hints(deck: &Deck, area: Rect) -> Vec<Hint> {
    let theme = &deck.theme;
    let contexts = deck.contexts();
    // The pane's own keys stand first: they are what changes from pane to pane. Help and quit
    // stand at the right, always in the same place.
    let mut left: Vec<Hint> = Vec::new();
    let mut right: Vec<Hint> = Vec::new();
    for binding in deck.keymap.reachable(&contexts) {
        let action = binding.action;
        let Some(hint) = binding.hint.as_ref().filter(|_| applies(deck, action)) else {
            continue;
        };
        let Some(key) = deck.keymap.key_of(&contexts, action) else {
            continue;
        };
        let key = deck.glyphs.key(&key);
        let line = Line::from(vec![
            Span::styled(key, theme.style(ThemeRole::Key)),
            blank(1),
            Span::styled(word(deck, action, hint), theme.style(ThemeRole::KeyHint)),
        ]);
        let hint = Hint {
            action,
            width: u16::try_from(width_of(&line)).unwrap_or(u16::MAX),
            line,
            x: 0,
        };
        if matches!(action, Action::Help | Action::Quit) {
            right.push(hint);
        } else {
            left.push(hint);
        }
    }
    let width = |hints: &[Hint]| -> u16 {
        let columns = hints.iter().map(|hint| hint.width.saturating_add(GAP));
        columns.fold(0, u16::saturating_add)
    };
    let room = area.width.saturating_sub(2);
    // The commands lead to all that has no room: they go last.
    while !left.is_empty() && width(&left).saturating_add(width(&right)) > room + GAP {
        let other = left.iter().rposition(|hint| hint.action != Action::Palette);
        left.remove(other.unwrap_or(0));
    }
    // Where not even these have room, they begin at the left and are cut at the right.
    let from_right = (area.right() + GAP).saturating_sub(width(&right) + 1);
    for (hints, begin) in [
        (&mut left, area.x + 1),
        (&mut right, from_right.max(area.x + 1)),
    ] {
        let mut x = begin;
        for hint in hints {
            hint.x = x;
            x = x.saturating_add(hint.width).saturating_add(GAP);
        }
    }
    left.into_iter().chain(right).collect()
}

/// Draws the bar.
pub(crate) fn draw_hints(deck: &Deck, area: Rect, buf: &mut Buffer) {
    for hint in hints(deck, area) {
        let room = area.right().saturating_sub(hint.x);
        if room > 0 {
            buf.set_line(
                hint.x,
                area.y,
                &fit_line(hint.line, usize::from(room)),
                room,
            );
        }
    }
}

/// What a click on this cell of the bar means.
pub(crate) fn hint_at(deck: &Deck, area: Rect, at: Position) -> Option<Action> {
    let hints = hints(deck, area);
    let hit = |hint: &&Hint| (hint.x..hint.x.saturating_add(hint.width)).contains(&at.x);
    hints.iter().find(hit).map(|hint| hint.action)
}

/// The keymap's word for an action, except where the action does one of two things: then the word
/// says which. An action on the selected card of the Inbox has the word that the card has for it.
fn word(deck: &Deck, action: Action, hint: &str) -> String {
    let card = selected_card(deck);
    let own = match (action, card) {
        (Action::Follow, _) if deck.timeline.follow => Some("pause"),
        (Action::Zoom, _) if deck.is_zoomed => Some("all panes"),
        (Action::Approve, Some(card)) if deck.focus == Pane::Inbox => approve_key(card),
        (Action::Retry, Some(card)) if deck.focus == Pane::Inbox => Some(retry_key(card)),
        _ => None,
    };
    own.unwrap_or(hint).to_owned()
}
