//! The mouse: a click focuses and selects, a click on what is selected opens it, the wheel moves.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::agreeing::agree;
use super::moving::{can_go, go, step};
use super::opening::open_selected;
use super::overlay_key::{overlay_action, preview};
use super::perform::{focus, perform, unfold};
use super::searching::{scroll_hits, search_in};
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::hint_bar::hint_at;
use crate::keymap::KeyContext;
use crate::layout::Layout;
use crate::model::{Level, TimelineGo};
use crate::overlays::{Overlay, SearchSheet};
use crate::pane::Pane;
use crate::panes::{board_at, is_board, place_on_bar, row_at, scroll_bar};
use crate::view::{TAB_GAP, notice_area, tabs};
use crate::widgets::width_of;

/// Rows of one notch of the wheel.
const WHEEL: isize = 3;

/// Columns and rows that a hand moves the mouse by while it clicks twice.
const TREMBLE: u16 = 1;

/// What is said of a click that may be the second half of the one before.
const TWICE: &str = "a second click in one place does nothing: click beside it, or press the key";

pub(super) fn mouse(deck: &mut Deck, event: MouseEvent) -> Vec<Effect> {
    let screen = Rect::new(0, 0, deck.size.0, deck.size.1);
    let at = Position::new(event.column, event.row);
    let is_near =
        |from: &Position| from.x.abs_diff(at.x) <= TREMBLE && from.y.abs_diff(at.y) <= TREMBLE;
    deck.clicked = deck.clicked.filter(is_near);
    match event.kind {
        MouseEventKind::ScrollDown => wheel(deck, screen, at, 1),
        MouseEventKind::ScrollUp => wheel(deck, screen, at, -1),
        MouseEventKind::Down(MouseButton::Left) => match on_scroll_bar(deck, screen, at, false) {
            Some(to) => {
                let asked = go(deck, to);
                deck.timeline.is_dragged = !asked.is_empty();
                if deck.timeline.is_dragged {
                    deck.timeline.pause(&deck.view.timeline);
                }
                asked
            }
            None => {
                let before = in_front(deck);
                let effects = click(deck, screen, at);
                if in_front(deck) != before {
                    deck.clicked = Some(at);
                }
                effects
            }
        },
        MouseEventKind::Drag(MouseButton::Left) if deck.timeline.is_dragged => {
            let to = on_scroll_bar(deck, screen, at, true);
            to.map_or_else(Vec::new, |to| drag(deck, to))
        }
        MouseEventKind::Up(_) => {
            deck.timeline.is_dragged = false;
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// How much lies over the panes, and which keys count there.
fn in_front(deck: &Deck) -> (usize, &'static [KeyContext]) {
    let front = deck.overlays.last();
    (deck.overlays.len(), front.map_or(&[], Overlay::contexts))
}

/// The place of the record that stands at this height of the timeline's scroll bar; `is_held`: the
/// mouse may have left it sideways, or beyond its ends.
fn on_scroll_bar(deck: &Deck, screen: Rect, at: Position, is_held: bool) -> Option<TimelineGo> {
    if !deck.overlays.is_empty() {
        return None;
    }
    let bar = scroll_bar(deck, &Layout::of(deck, screen))?;
    (is_held || bar.contains(at)).then(|| place_on_bar(deck, bar, at.y))
}

/// Of many places only the last one is gone to.
fn drag(deck: &mut Deck, to: TimelineGo) -> Vec<Effect> {
    if !can_go(deck) {
        return Vec::new();
    }
    deck.focus = Pane::Timeline;
    deck.timeline.pause(&deck.view.timeline);
    let wish = deck.timeline.ask_next(to, deck.view.now_ms);
    wish.map(Effect::ShowTimeline).into_iter().collect()
}

fn wheel(deck: &mut Deck, screen: Rect, at: Position, direction: isize) -> Vec<Effect> {
    if let Some(Overlay::Search(SearchSheet { chip: None, .. })) = deck.overlays.last() {
        return scroll_hits(deck, WHEEL * direction);
    }
    if !deck.overlays.is_empty() {
        let action = if direction > 0 {
            Action::MoveDown
        } else {
            Action::MoveUp
        };
        let notches = if matches!(
            deck.overlays.last(),
            Some(Overlay::Choice(_) | Overlay::Palette(_))
        ) {
            1
        } else {
            WHEEL
        };
        return (0..notches)
            .flat_map(|_| overlay_action(deck, action))
            .collect();
    }
    let layout = Layout::of(deck, screen);
    if layout.detail.contains(at) {
        // Kept within its end by the settling after every message.
        deck.detail.scroll = deck.detail.scroll.saturating_add_signed(WHEEL * direction);
        return Vec::new();
    }
    match layout.panes.iter().find(|(_, area)| area.contains(at)) {
        Some((pane, area)) => {
            if *pane == Pane::Tasks
                && is_board(deck, &layout)
                && let Some((column, _)) = board_at(deck, *area, at)
            {
                deck.tasks.focus_column(column);
            }
            step(deck, *pane, WHEEL * direction)
        }
        None => Vec::new(),
    }
}

fn click(deck: &mut Deck, screen: Rect, at: Position) -> Vec<Effect> {
    // As it is seen: a notice may have taken a row from the panes.
    let layout = Layout::of(deck, screen);
    let notice = notice_area(deck, &layout);
    if deck.notice.take().is_some() && notice.contains(at) {
        return Vec::new();
    }
    if deck.clicked.is_some() && (!deck.overlays.is_empty() || layout.hints.contains(at)) {
        // The key that decides may stand where the one that asks stood a moment ago.
        deck.say(Level::Info, TWICE);
        return Vec::new();
    }
    if !deck.overlays.is_empty() {
        return click_overlay(deck, screen, at);
    }
    if layout.hints.contains(at) {
        let action = hint_at(deck, layout.hints, at);
        return action.map_or_else(Vec::new, |action| perform(deck, action));
    }
    if layout.tabs.contains(at) {
        if let Some(pane) = tab_at(deck, &layout, at.x) {
            focus(deck, pane);
        }
        return Vec::new();
    }
    let Some(pane) = layout
        .panes
        .iter()
        .find(|(_, area)| area.contains(at))
        .map(|(pane, _)| *pane)
    else {
        return Vec::new();
    };
    if is_board(deck, &layout) && pane == Pane::Tasks {
        return click_board(deck, &layout, at);
    }
    let row = row_at(deck, pane, &layout, at.y);
    let had_focus = deck.focus == pane;
    focus(deck, pane);
    let Some(row) = row else { return Vec::new() };
    let list = match pane {
        Pane::Agents => &mut deck.agents,
        Pane::Timeline => &mut deck.timeline.list,
        Pane::Inbox => &mut deck.inbox.list,
        Pane::Tasks => deck.tasks.list_mut(),
        Pane::Handoffs => &mut deck.handoffs.list,
    };
    let was_selected = list.selected == row;
    list.selected = row;
    if had_focus && was_selected {
        let unfolded = unfold(deck);
        if unfolded.is_empty() {
            open_selected(deck);
        }
        return unfolded;
    }
    if pane == Pane::Timeline && !was_selected {
        deck.timeline.pause(&deck.view.timeline);
    }
    Vec::new()
}

/// On the board a click goes to a column and its task; a second one opens it.
fn click_board(deck: &mut Deck, layout: &Layout, at: Position) -> Vec<Effect> {
    let area = layout.pane(Pane::Tasks).unwrap_or_default();
    let Some((column, row)) = board_at(deck, area, at) else {
        return Vec::new();
    };
    let had_focus = deck.tasks.board_column() == column;
    deck.tasks.focus_column(column);
    let Some(row) = row else { return Vec::new() };
    let list = deck.tasks.board_list_mut(column);
    let was_selected = list.selected == row;
    list.selected = row;
    if had_focus && was_selected {
        open_selected(deck);
    }
    Vec::new()
}

/// Outside of it, it closes; on a key at its foot, that is done; on an answer or command, that one
/// is taken.
fn click_overlay(deck: &mut Deck, screen: Rect, at: Position) -> Vec<Effect> {
    let front = deck
        .overlays
        .last()
        .and_then(|front| front.area(deck, screen));
    if front.is_some_and(|area| !area.contains(at)) {
        return overlay_action(deck, Action::Back);
    }
    let front = deck.overlays.last();
    if let Some(action) = front.and_then(|front| front.key_at(deck, screen, at)) {
        return overlay_action(deck, action);
    }
    if let Some(Overlay::Search(_)) = front
        && let Some(place) = SearchSheet::place_at(deck, screen, at)
    {
        return search_in(deck, Some(place));
    }
    match deck.overlays.pop() {
        Some(Overlay::Choice(mut choice)) => {
            let hit = choice.option_at(screen, at.x, at.y);
            let again = hit == Some(choice.list.selected);
            if let Some(index) = hit {
                choice.list.selected = index;
                preview(deck, &choice);
            }
            deck.overlays.push(Overlay::Choice(choice));
            if again { agree(deck) } else { Vec::new() }
        }
        Some(Overlay::Palette(mut palette)) => {
            let hit = palette.row_at(deck, screen, at.x, at.y);
            palette.list.selected = hit.unwrap_or(palette.list.selected);
            deck.overlays.push(Overlay::Palette(palette));
            if hit.is_some() {
                agree(deck)
            } else {
                Vec::new()
            }
        }
        front => {
            deck.overlays.extend(front);
            Vec::new()
        }
    }
}

fn tab_at(deck: &Deck, layout: &Layout, x: u16) -> Option<Pane> {
    let mut left = layout.tabs.x;
    for (pane, line) in tabs(deck, layout.tabs.width) {
        let right = left + width_of(&line) as u16 + TAB_GAP as u16;
        if (left..right).contains(&x) {
            return Some(pane);
        }
        left = right;
    }
    None
}
