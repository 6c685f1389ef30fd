//! [`Layout`]: the place of everything at a given size. Pure: the same for drawing and the mouse.

use ratatui::layout::Rect;

use crate::banner::banner_lines;
use crate::deck::Deck;
use crate::notice_bar::notice_rows;
use crate::pane::Pane;
use crate::panes;

/// Below this the deck only answers its three questions.
pub(crate) const COLUMNS_MIN: u16 = 60;
/// Rows for the same.
pub(crate) const ROWS_MIN: u16 = 15;
/// The smallest screen on which the deck shows all that it has, in columns and rows.
pub const SMALLEST_SCREEN: (u16, u16) = (COLUMNS_MIN, ROWS_MIN);
/// From this width on the panes stand side by side.
const COLUMNS_WIDE: u16 = 100;
/// And from this height.
const ROWS_WIDE: u16 = 20;
/// From this height on, Tasks and Handoffs are both shown.
const ROWS_BOTH: u16 = 34;
/// From this height on, what is selected is read below the timeline.
const ROWS_DETAIL: u16 = 34;
/// From this width on, it is read at its right.
const COLUMNS_DETAIL: u16 = 160;
/// Fewest rows of the Inbox below Agents, its title among them, where the panes have tabs.
const SHARED_MIN: u16 = 5;
/// Fewest rows of a pane with its frame.
const PANE_MIN: u16 = 4;

/// The screen, divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) screen: Rect,
    pub(crate) header: Rect,
    /// Empty when there is no banner.
    pub(crate) banner: Rect,
    /// The line of tabs; empty when the panes stand side by side.
    pub(crate) tabs: Rect,
    pub(crate) hints: Rect,
    /// The lines above the hints while there is a notice. The last of them is the frames' own last
    /// one, which has no words, or one that is taken from the pane; the others cover what is there,
    /// so that nothing moves for a notice that is gone with the next key.
    pub(crate) notice: Rect,
    /// The line with the Inbox's title where it shares the first tab; empty elsewhere.
    pub(crate) rule: Rect,
    /// The panes that are shown.
    pub(crate) panes: Vec<(Pane, Rect)>,
    /// What is selected, in full; empty where there is no room or nothing to read.
    pub(crate) detail: Rect,
    /// The panes have frames.
    pub(crate) framed: bool,
    /// The pane in focus shares the room with others, or would if it were not zoomed.
    pub(crate) can_zoom: bool,
    /// There is no room for panes.
    pub(crate) too_small: bool,
}

impl Layout {
    /// Divides the screen for what the deck shows now.
    pub(crate) fn of(deck: &Deck, screen: Rect) -> Self {
        let empty = Rect {
            width: 0,
            height: 0,
            ..screen
        };
        let mut layout = Self {
            screen,
            header: empty,
            banner: empty,
            tabs: empty,
            rule: empty,
            hints: empty,
            notice: empty,
            panes: Vec::new(),
            detail: empty,
            framed: false,
            can_zoom: false,
            too_small: Self::is_too_small((screen.width, screen.height)),
        };
        if layout.too_small {
            return layout;
        }
        let row = |y: u16| Rect {
            y,
            height: 1,
            ..screen
        };
        layout.header = row(screen.y);
        layout.hints = row(screen.bottom() - 1);
        let mut body = Rect {
            y: screen.y + 1,
            height: screen.height - 2,
            ..screen
        };
        let is_wide = Self::is_wide((screen.width, screen.height));
        if deck.notice.is_some() || deck.receipt.is_some() {
            let rows = notice_rows(deck, screen);
            layout.notice = Rect {
                height: rows,
                ..row(screen.bottom() - 1 - rows)
            };
            body.height -= u16::from(!is_wide);
        }
        if deck.view.banner.is_some() {
            let rows = banner_lines(deck, screen.width).len() as u16;
            layout.banner = Rect {
                height: rows,
                ..row(body.y)
            };
            body = below(body, rows);
        }
        if is_wide {
            layout.framed = true;
            layout.can_zoom = true;
            if deck.is_zoomed {
                layout.panes = vec![(deck.focus, body)];
            } else {
                layout.panes = side_by_side(deck, body);
                layout.make_room_for_detail(deck);
            }
        } else {
            layout.tabs = row(body.y);
            layout.on_a_tab(deck, below(body, 1));
        }
        layout
    }

    /// The pane in focus alone; but Inbox below Agents, where these leave room and neither is zoomed.
    fn on_a_tab(&mut self, deck: &Deck, body: Rect) {
        let agents = panes::rows_wanted(deck, Pane::Agents, usize::from(body.width), 1);
        let agents = u16::try_from(agents).unwrap_or(u16::MAX);
        let is_first = matches!(deck.focus, Pane::Agents | Pane::Inbox);
        self.can_zoom = is_first && agents.saturating_add(SHARED_MIN) <= body.height;
        if !self.can_zoom || deck.is_zoomed {
            self.panes = vec![(deck.focus, body)];
            return;
        }
        let top = Rect {
            height: agents,
            ..body
        };
        let rest = below(body, agents);
        self.rule = Rect { height: 1, ..rest };
        self.panes = vec![(Pane::Agents, top), (Pane::Inbox, below(rest, 1))];
    }

    /// Whether a screen of so many columns and rows has no room for panes.
    pub(crate) fn is_too_small((columns, rows): (u16, u16)) -> bool {
        columns < COLUMNS_MIN || rows < ROWS_MIN
    }

    /// Whether the panes stand side by side on a screen of so many columns and rows.
    pub(crate) fn is_wide((columns, rows): (u16, u16)) -> bool {
        columns >= COLUMNS_WIDE && rows >= ROWS_WIDE
    }

    /// Takes the detail's room from the timeline's. Whether it has some does not depend on what is
    /// selected: nothing may jump under the cursor.
    fn make_room_for_detail(&mut self, deck: &Deck) {
        let Some((Pane::Timeline, timeline)) = self.panes.last_mut() else {
            return;
        };
        if deck.timeline.order.is_empty() {
            return;
        }
        let all = *timeline;
        if self.screen.width >= COLUMNS_DETAIL {
            timeline.width = all.width / 2;
            self.detail = Rect {
                x: timeline.right(),
                width: all.width - timeline.width,
                ..all
            };
        } else if self.screen.height >= ROWS_DETAIL {
            timeline.height = all.height - all.height * 9 / 20;
            self.detail = Rect {
                y: timeline.bottom(),
                height: all.height - timeline.height,
                ..all
            };
        }
    }

    /// Where a pane stands, if it is shown.
    pub(crate) fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes
            .iter()
            .find(|(shown, _)| *shown == pane)
            .map(|(_, area)| *area)
    }

    /// The room for text in a pane's area.
    pub(crate) fn inner(&self, area: Rect) -> Rect {
        if self.framed {
            Rect {
                x: area.x + 1.min(area.width),
                y: area.y + 1.min(area.height),
                width: area.width.saturating_sub(2),
                height: area.height.saturating_sub(2),
            }
        } else {
            area
        }
    }
}

fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect {
        y: area.y + rows,
        height: area.height - rows,
        ..area
    }
}

/// Agents over Inbox over Tasks at the left, each as high as what is in it; the timeline takes
/// the rest.
fn side_by_side(deck: &Deck, body: Rect) -> Vec<(Pane, Rect)> {
    let left_width = (body.width * 35 / 100).clamp(40, 58);
    let left = Rect {
        width: left_width,
        ..body
    };
    let right = Rect {
        x: body.x + left_width,
        width: body.width - left_width,
        ..body
    };
    let inside = usize::from(left_width - 2);
    let both = body.height >= ROWS_BOTH;
    let lower: &[Pane] = if both {
        &[Pane::Tasks, Pane::Handoffs]
    } else {
        std::slice::from_ref(if deck.lower == Pane::Handoffs {
            &Pane::Handoffs
        } else {
            &Pane::Tasks
        })
    };
    let wanted_with = |pane: Pane, lines: usize| {
        u16::try_from(panes::rows_wanted(deck, pane, inside, lines))
            .unwrap_or(u16::MAX)
            .saturating_add(2)
    };
    let wanted = |pane: Pane| wanted_with(pane, 1);
    let reserve = PANE_MIN + 1;
    let lower_min = reserve * lower.len() as u16;
    // Agents first, then the inbox, as far as the panes below keep their fewest rows.
    let agents = wanted(Pane::Agents).clamp(PANE_MIN, body.height - lower_min - reserve);
    // What waits is read to its end where nothing below needs the room, whichever of the two is there.
    let (tasks, handoffs) = (wanted(Pane::Tasks), wanted(Pane::Handoffs));
    let below = match both {
        true => tasks.saturating_add(handoffs),
        false => tasks.max(handoffs),
    };
    let inbox = wanted_with(Pane::Inbox, panes::WRAPPED);
    let has_room = agents.saturating_add(inbox).saturating_add(below) <= body.height;
    let inbox = match has_room {
        true => inbox,
        false => wanted(Pane::Inbox),
    };
    let inbox = inbox.clamp(reserve, (body.height - lower_min - agents).max(reserve));
    let mut y = body.y;
    let mut out = Vec::new();
    let mut place = |pane, height: u16| {
        out.push((pane, Rect { y, height, ..left }));
        y += height;
    };
    place(Pane::Agents, agents);
    place(Pane::Inbox, inbox);
    let rest = body.height - agents - inbox;
    if both {
        let tasks = tasks.clamp(reserve, (rest / 2).max(reserve));
        place(Pane::Tasks, tasks);
        place(Pane::Handoffs, rest - tasks);
    } else {
        place(lower[0], rest);
    }
    out.push((Pane::Timeline, right));
    out
}
