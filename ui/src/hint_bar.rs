//! The last line: which keys count now, from the resolved map; or a notice for a while.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::action::Action;
use crate::deck::Deck;
use crate::glyph::Glyphs;
use crate::model::Level;
use crate::sanitize;
use crate::theme::ThemeRole;
use crate::update::applies;
use crate::widgets::{blank, fit_line, width_of};

/// A key as the bar shows it.
pub(crate) fn key_text(deck: &Deck, key: &str) -> String {
    match key {
        "enter" if deck.glyphs == Glyphs::Unicode => deck.glyphs.enter().to_owned(),
        other => other.to_owned(),
    }
}

/// Draws the bar.
pub(crate) fn draw_hints(deck: &Deck, area: Rect, buf: &mut Buffer) {
    let theme = &deck.theme;
    let room = usize::from(area.width).saturating_sub(2);
    if let Some(notice) = &deck.notice {
        let style = theme.level(notice.level);
        buf.set_style(area, style);
        let glyph = match notice.level {
            Level::Info => deck.glyphs.dot(),
            Level::Warn | Level::Error => deck.glyphs.wrong(),
        };
        let line = Line::from(Span::styled(
            format!("{glyph} {}", sanitize::line(&notice.text)),
            style,
        ));
        buf.set_line(
            area.x + 1,
            area.y,
            &fit_line(line, room),
            area.width.saturating_sub(1),
        );
        return;
    }
    let contexts = deck.contexts();
    // The pane's own keys stand first: they are what changes from pane to pane. Help and quit
    // stand at the right, always in the same place.
    let mut left: Vec<Line<'static>> = Vec::new();
    let mut right: Vec<Line<'static>> = Vec::new();
    for binding in deck.keymap.reachable(&contexts) {
        let (Some(hint), Some(key)) = (&binding.hint, binding.keys.first()) else {
            continue;
        };
        if !applies(deck, binding.action) {
            continue;
        }
        let line = Line::from(vec![
            Span::styled(
                key_text(deck, &key.to_string()),
                theme.style(ThemeRole::Key),
            ),
            blank(1),
            Span::styled(
                word(deck, binding.action, hint),
                theme.style(ThemeRole::KeyHint),
            ),
        ]);
        if matches!(binding.action, Action::Help | Action::Quit) {
            right.push(line)
        } else {
            left.push(line)
        }
    }
    let gap = 3;
    let width =
        |lines: &[Line<'static>]| lines.iter().map(|line| width_of(line) + gap).sum::<usize>();
    while !left.is_empty() && width(&left) + width(&right) > room + gap {
        left.pop();
    }
    let line = crate::widgets::spread(
        crate::widgets::join(left, gap),
        crate::widgets::join(right, gap),
        room,
    );
    buf.set_line(area.x + 1, area.y, &line, area.width.saturating_sub(1));
}

/// The word of the map, except where the same key says two things.
fn word(deck: &Deck, action: Action, hint: &str) -> String {
    match action {
        Action::Follow if deck.timeline.follow => "pause".to_owned(),
        _ => hint.to_owned(),
    }
}
