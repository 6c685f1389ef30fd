//! [`painted_outside`]: whether each part of the screen draws only in its own place.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;

use crate::banner::draw_banner;
use crate::deck::Deck;
use crate::hint_bar::draw_hints;
use crate::layout::Layout;
use crate::notice_bar::draw_notice;
use crate::overlays::Overlay;
use crate::pane::Pane;
use crate::panes::{draw_board, draw_detail, draw_header, draw_pane, is_board};
use crate::view::draw_tabs;

/// Draws each part of the screen alone, and names the first one that painted a cell outside of its
/// region. Parts that lie over the panes must also fill theirs: nothing shines through.
pub fn painted_outside(deck: &Deck, (columns, rows): (u16, u16)) -> Option<String> {
    let screen = Rect::new(0, 0, columns, rows);
    let layout = Layout::of(deck, screen);
    let alone = |name: &str, region: Rect, is_over: bool, draw: &dyn Fn(&mut Buffer)| {
        let mut buf = Buffer::filled(screen, untouched());
        draw(&mut buf);
        let fault = fault(&buf, region.intersection(screen), is_over)?;
        Some(format!("{name} in {region} at {columns}x{rows}: {fault}"))
    };
    let overlays = || {
        deck.overlays.iter().find_map(|overlay| {
            let region = region(deck, overlay, screen);
            let draw = |buf: &mut Buffer| overlay.draw(deck, screen, buf);
            alone("overlay", region, true, &draw)
        })
    };
    if layout.too_small {
        return overlays();
    }
    let board = layout.pane(Pane::Tasks).filter(|_| is_board(deck, &layout));
    let panes = || {
        layout.panes.iter().find_map(|(pane, area)| {
            let draw = |buf: &mut Buffer| match board {
                Some(area) => draw_board(deck, area, buf),
                None => draw_pane(deck, *pane, &layout, *area, buf),
            };
            alone(pane.title(), *area, false, &draw)
        })
    };
    let Layout {
        header,
        banner,
        tabs,
        hints,
        notice,
        detail,
        ..
    } = layout;
    alone("header", header, false, &|buf| {
        draw_header(deck, header, buf)
    })
    .or_else(|| {
        alone("banner", banner, false, &|buf| {
            draw_banner(deck, banner, buf)
        })
    })
    .or_else(|| {
        alone("tabs", tabs, false, &|buf| {
            draw_tabs(deck, &layout, buf);
        })
    })
    .or_else(panes)
    .or_else(|| {
        alone("detail", detail, false, &|buf| {
            draw_detail(deck, detail, buf)
        })
    })
    .or_else(|| alone("hints", hints, false, &|buf| draw_hints(deck, hints, buf)))
    .or_else(|| {
        alone("notice", notice, !notice.is_empty(), &|buf| {
            draw_notice(deck, notice, buf)
        })
    })
    .or_else(overlays)
}

/// A cell that no part draws.
fn untouched() -> Cell {
    Cell::new("\u{f8ff}")
}

/// Where an overlay may paint; a place that is typed has the line above it for its fault.
fn region(deck: &Deck, overlay: &Overlay, screen: Rect) -> Rect {
    let lines = screen.height.min(2);
    let last_lines = Rect {
        y: screen.height - lines,
        height: lines,
        ..screen
    };
    let area = overlay.area(deck, screen);
    area.filter(|_| overlay.is_modal()).unwrap_or(last_lines)
}

fn fault(buf: &Buffer, region: Rect, is_over: bool) -> Option<String> {
    let untouched = untouched();
    for (at, cell) in buf.content.iter().enumerate() {
        let (x, y) = buf.pos_of(at);
        let is_inside = region.contains((x, y).into());
        let is_painted = *cell != untouched;
        if is_painted && !is_inside {
            return Some(format!("{:?} at {x},{y} is outside", cell.symbol()));
        }
        // The line above a place that is typed has a fault or nothing.
        let shines = is_over && is_inside && !is_painted && region.width < buf.area.width;
        if shines {
            return Some(format!("nothing covers {x},{y}"));
        }
    }
    None
}
