//! [`view`]: the deck, drawn.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::banner::draw_banner;
use crate::deck::Deck;
use crate::glyph::Glyphs;
use crate::hint_bar::draw_hints;
use crate::layout::Layout;
use crate::notice_bar::{draw_notice, notice_rows};
use crate::pane::Pane;
use crate::panes::{
    draw_board, draw_detail, draw_header, draw_pane, draw_too_small, is_board, pane_counts,
    pane_title, timeline_mark, timeline_mark_needed,
};
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{spans_of, width_of};

/// Draws the whole screen. Any size will do, also one the deck was not told of.
pub fn view(deck: &Deck, frame: &mut Frame<'_>) {
    let area = frame.area();
    draw(deck, area, frame.buffer_mut());
}

pub(crate) fn draw(deck: &Deck, area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    if area.is_empty() {
        return;
    }
    let theme = &deck.theme;
    buf.set_style(area, theme.style(ThemeRole::Screen));
    let layout = Layout::of(deck, area);
    if layout.too_small {
        draw_too_small(deck, area, buf);
    } else {
        draw_header(deck, layout.header, buf);
        draw_banner(deck, layout.banner, buf);
        draw_tabs(deck, &layout, buf);
        draw_rule(deck, layout.rule, buf);
        let board = layout.pane(Pane::Tasks).filter(|_| is_board(deck, &layout));
        match board {
            Some(area) => draw_board(deck, area, buf),
            None => {
                for (pane, area) in &layout.panes {
                    draw_pane(deck, *pane, &layout, *area, buf);
                }
            }
        }
        draw_detail(deck, layout.detail, buf);
        // An overlay says at its own foot which keys count.
        if deck.overlays.is_empty() {
            draw_hints(deck, layout.hints, buf);
            draw_notice(deck, layout.notice, buf);
        }
        draw_overlays(deck, &layout, buf);
    }
    match deck.glyphs {
        Glyphs::Ascii => to_ascii(deck, area, buf),
        Glyphs::Unicode => forget_hidden(area, buf),
    }
}

/// Takes away what stands behind the second half of a wide cell. It is not sent to the terminal, so
/// that a cell that comes to light there must differ from it in order to be sent.
fn forget_hidden(area: Rect, buf: &mut Buffer) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right().saturating_sub(1) {
            let symbol = buf[(x, y)].symbol();
            if !symbol.is_ascii() && text::width(symbol) > 1 {
                buf[(x + 1, y)].reset();
            }
        }
    }
}

fn draw_overlays(deck: &Deck, layout: &Layout, buf: &mut Buffer) {
    let area = layout.screen;
    if deck.overlays.iter().any(|overlay| overlay.is_modal()) {
        // What is behind steps back; it keeps its place and its words. The header's answers count as
        // ever.
        let header = layout.header.height;
        let behind = Rect {
            y: area.y + header,
            height: area.height - header,
            ..area
        };
        buf.set_style(behind, deck.theme.style(ThemeRole::Covered));
    }
    for overlay in &deck.overlays {
        overlay.draw(deck, area, buf);
    }
    if deck.overlays.is_empty() {
        return;
    }
    // A notice that comes while an overlay is open must be seen too.
    if (deck.notice.is_some() || deck.receipt.is_some()) && deck.is_covered() {
        draw_notice(deck, last_lines(deck, area), buf);
    }
}

fn last_lines(deck: &Deck, screen: Rect) -> Rect {
    let rows = notice_rows(deck, screen).min(screen.height);
    Rect {
        y: screen.bottom() - rows,
        height: rows,
        ..screen
    }
}

/// Where a notice is read.
pub(crate) fn notice_area(deck: &Deck, layout: &Layout) -> Rect {
    match deck.is_covered() {
        true => last_lines(deck, layout.screen),
        false => layout.notice,
    }
}

/// The tabs of a line of so many columns. What waits is said on it; what is open where it has room.
/// Names give way to what is new in the timeline and to the hits of a search.
pub(crate) fn tabs(deck: &Deck, columns: u16) -> Vec<(Pane, Line<'static>)> {
    let mark = match deck.focus {
        Pane::Timeline => width_of(&timeline_mark_needed(deck)),
        _ => 0,
    };
    let has_room = |tabs: &Vec<(Pane, Line<'static>)>| {
        let used = tabs.iter().map(|(_, line)| width_of(line) + TAB_GAP);
        // One column is free before them.
        let used = 1 + used.sum::<usize>();
        let used = match mark {
            0 => used - TAB_GAP,
            mark => used + mark + MARK_MARGIN,
        };
        used <= usize::from(columns)
    };
    let all = tabs_with(deck, &Pane::ALL, &[Pane::Inbox, Pane::Handoffs]);
    if has_room(&all) {
        return all;
    }
    let named = tabs_with(deck, &Pane::ALL, &[Pane::Inbox]);
    if mark == 0 || has_room(&named) {
        return named;
    }
    tabs_with(deck, &[Pane::Timeline, Pane::Inbox], &[Pane::Inbox])
}

/// `named`, `counted`: whose names, and whose counts, stand there.
fn tabs_with(deck: &Deck, named: &[Pane], counted: &[Pane]) -> Vec<(Pane, Line<'static>)> {
    Pane::ALL
        .into_iter()
        .map(|pane| {
            let theme = &deck.theme;
            let focus = deck.focus == pane;
            let faint = theme.style(ThemeRole::TextFaint);
            let number = pane.number();
            if !named.contains(&pane) {
                return (pane, Line::styled(number.to_string(), faint));
            }
            let mut spans = vec![
                Span::styled(format!("{number} "), faint),
                Span::styled(
                    pane.title(),
                    theme.style(if focus {
                        ThemeRole::TitleFocus
                    } else {
                        ThemeRole::Title
                    }),
                ),
            ];
            let counts = match counted.contains(&pane) {
                true => pane_counts(deck, pane, ""),
                false => Line::default(),
            };
            if !counts.spans.is_empty() {
                spans.push(Span::raw(" "));
                spans.extend(spans_of(counts));
            }
            (pane, Line::from(spans))
        })
        .collect()
}

/// Columns between two tabs.
pub(crate) const TAB_GAP: usize = 2;
/// Free columns at both sides of what the tab of the timeline says at the right.
const MARK_MARGIN: usize = 2;

pub(crate) fn draw_tabs(deck: &Deck, layout: &Layout, buf: &mut Buffer) {
    let area = layout.tabs;
    if area.is_empty() {
        return;
    }
    let mut x = area.x + 1;
    for (pane, line) in tabs(deck, area.width) {
        let width = width_of(&line) as u16;
        if x + width > area.right() {
            break;
        }
        buf.set_line(x, area.y, &line, width);
        if deck.focus == pane {
            let chip = Rect {
                x: x - 1,
                y: area.y,
                width: width + 2,
                height: 1,
            }
            .intersection(area);
            buf.set_style(chip, deck.theme.style(ThemeRole::SelectionFocus));
        }
        x += width + TAB_GAP as u16;
    }
    if deck.focus == Pane::Timeline {
        let room = area.right().saturating_sub(x + MARK_MARGIN as u16);
        let mark = timeline_mark(deck, usize::from(room));
        let width = width_of(&mark) as u16;
        buf.set_line(area.right() - width - 1, area.y, &mark, width);
    }
}

/// `── 3 Inbox  2 wait for you ─────`: where the Inbox begins on the tab that it shares.
fn draw_rule(deck: &Deck, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let line = |columns: u16| {
        let line = deck.glyphs.border().horizontal_top;
        Span::styled(
            line.repeat(usize::from(columns)),
            deck.theme.style(ThemeRole::Border),
        )
    };
    let room = usize::from(area.width.saturating_sub(8));
    let title = pane_title(deck, Pane::Inbox, deck.focus == Pane::Inbox, room);
    let mut spans = vec![Span::raw(" "), line(2), Span::raw(" ")];
    spans.extend(title.spans);
    spans.push(Span::raw(" "));
    let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
    let left = usize::from(area.width).saturating_sub(used + 1);
    spans.push(line(left as u16));
    buf.set_line(area.x, area.y, &Line::from(spans), area.width);
}

/// Replaces what a terminal without UTF-8 cannot show; wide cells become `??`.
fn to_ascii(deck: &Deck, area: Rect, buf: &mut Buffer) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            let cell = &mut buf[(x, y)];
            if cell.symbol().is_ascii() {
                continue;
            }
            let wide = text::width(cell.symbol()) > 1;
            let twin = deck.glyphs.text(cell.symbol().to_owned());
            let first = twin.chars().next().unwrap_or('?');
            cell.set_char(first);
            if wide && x + 1 < area.right() {
                buf[(x + 1, y)].set_char('?');
            }
        }
    }
}

#[cfg(test)]
mod cost_tests;
