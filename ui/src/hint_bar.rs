//! The last line: which keys count now, from the resolved map; and the lines above it, in which a
//! notice stands for a while.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::action::Action;
use crate::deck::Deck;
use crate::glyph::Glyphs;
use crate::model::Level;
use crate::overlays::{approve_key, retry_key};
use crate::pane::Pane;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::update::{applies, selected_card};
use crate::widgets::{blank, fit_line, width_of};

/// Columns between two hints.
const GAP: u16 = 3;
/// Most lines of a notice. They cover the ends of the panes until the next key.
const NOTICE_LINES_MAX: usize = 3;
/// On fewer rows than these it has one line less.
const ROWS_FOR_MORE: u16 = 24;

/// A key as the bar shows it.
pub(crate) fn key_text(deck: &Deck, key: &str) -> String {
    match key {
        "enter" if deck.glyphs == Glyphs::Unicode => deck.glyphs.enter().to_owned(),
        other => other.to_owned(),
    }
}

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
        let key = key_text(deck, &key);
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

/// Draws the notice, or what became of the last message, if there is one of them.
pub(crate) fn draw_notice(deck: &Deck, area: Rect, buf: &mut Buffer) {
    if deck.notice.is_none()
        && let Some(receipt) = &deck.receipt
    {
        return receipt.draw(deck, area, buf);
    }
    let Some(notice) = deck.notice.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    ratatui::widgets::Widget::render(ratatui::widgets::Clear, area, buf);
    let style = deck.theme.level(notice.level);
    buf.set_style(area, deck.theme.style(ThemeRole::Screen));
    buf.set_style(area, style);
    let room = usize::from(area.width).saturating_sub(2);
    let lines = notice_lines(deck, area.width, usize::from(area.height));
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        buf.set_stringn(area.x + 1, y, line, room, style);
    }
}

/// How many lines the notice needs on this screen. What to do stands at its end, so it is wrapped
/// rather than cut.
pub(crate) fn notice_rows(deck: &Deck, screen: Rect) -> u16 {
    let most = match screen.height {
        0..ROWS_FOR_MORE => 2,
        _ => NOTICE_LINES_MAX,
    };
    let lines = notice_lines(deck, screen.width, most).len();
    // What became of a message has one line.
    u16::try_from(lines.max(1)).unwrap_or(1)
}

fn notice_lines(deck: &Deck, columns: u16, most: usize) -> Vec<String> {
    let Some(notice) = &deck.notice else {
        return Vec::new();
    };
    let glyph = match notice.level {
        Level::Info => deck.glyphs.dot(),
        Level::Warn | Level::Error => deck.glyphs.wrong(),
    };
    let indent = text::width(glyph) + 1;
    let room = usize::from(columns).saturating_sub(2 + indent);
    let words = sanitize::line(&notice.text);
    let lines = text::wrap_to(&words, room, most).into_iter();
    let lines = lines.enumerate().map(|(row, line)| match row {
        0 => format!("{glyph} {line}"),
        _ => format!("{}{line}", " ".repeat(indent)),
    });
    lines.collect()
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
