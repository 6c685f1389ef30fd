//! [`update`]: the only way in which a deck changes.

use crossterm::event::{KeyEvent, KeyEventKind};
use ratatui::layout::Rect;

use super::mouse::mouse;
use super::opening::show_found;
use super::overlay_key::{after_typing, overlay_action};
use super::perform::perform;
use crate::action::Action;
use crate::deck::{Deck, Fetched};
use crate::effect::Effect;
use crate::key::Key;
use crate::layout::Layout;
use crate::model::{DeckView, Level};
use crate::msg::Msg;
use crate::panes;

/// Changes the deck by a message; what has to be done outside comes back.
pub fn update(deck: &mut Deck, msg: Msg) -> Vec<Effect> {
    let effects = match msg {
        Msg::Key(event) => key(deck, event),
        Msg::Mouse(event) => mouse(deck, event),
        Msg::Paste(text) => {
            paste(deck, &text);
            Vec::new()
        }
        Msg::Resize(columns, rows) => {
            deck.size = (columns, rows);
            Vec::new()
        }
        Msg::Tick(now_ms) => {
            deck.view.now_ms = now_ms;
            Vec::new()
        }
        Msg::View(view) => {
            take_view(deck, *view);
            Vec::new()
        }
        Msg::EntryText { seq, text, detail } => {
            deck.keep_fetched(seq, Fetched { text, detail });
            Vec::new()
        }
        Msg::Found(found) => {
            show_found(deck, &found);
            Vec::new()
        }
        Msg::Notice(level, text) => {
            deck.say(level, text);
            Vec::new()
        }
    };
    settle(deck);
    effects
}

fn key(deck: &mut Deck, event: KeyEvent) -> Vec<Effect> {
    if event.kind == KeyEventKind::Release {
        return Vec::new();
    }
    // What was said has been read, or is in the way.
    deck.notice = None;
    let contexts = deck.contexts();
    let action = deck.keymap.action(&contexts, Key::from_event(&event));
    let Some(overlay) = deck.overlays.last_mut() else {
        return action.map_or_else(Vec::new, |action| perform(deck, action));
    };
    match (action, overlay.field_mut()) {
        (Some(action), _) => overlay_action(deck, action),
        (None, Some(field)) => {
            field.key(event);
            after_typing(deck);
            Vec::new()
        }
        (None, None) => Vec::new(),
    }
}

fn paste(deck: &mut Deck, text: &str) {
    let Some(field) = deck
        .overlays
        .last_mut()
        .and_then(|overlay| overlay.field_mut())
    else {
        deck.say(
            Level::Info,
            format!(
                "nothing to paste into: {} writes to an agent",
                deck.key(Action::Message)
            ),
        );
        return;
    };
    let removed = field.paste(text);
    after_typing(deck);
    match removed {
        0 => {}
        1 => deck.say(
            Level::Warn,
            "1 character that cannot be seen or sent was left out of the paste",
        ),
        n => deck.say(
            Level::Warn,
            format!("{n} characters that cannot be seen or sent were left out of the paste"),
        ),
    }
}

fn take_view(deck: &mut Deck, view: DeckView) {
    let old = std::mem::replace(&mut deck.view, view);
    deck.seen = true;
    let moved = old.session_id != deck.view.session_id;
    if moved {
        // Another record: numbers mean other entries now.
        deck.fetched.clear();
        deck.timeline.resume();
        deck.asked_older_at = None;
    }
    if deck
        .asked_older_at
        .is_some_and(|rows| rows != deck.view.timeline.len())
    {
        deck.asked_older_at = None;
    }
    let rows = if moved { &[][..] } else { &old.timeline };
    deck.timeline.update(rows, &deck.view.timeline);
    deck.inbox.update(&deck.view.inbox, deck.view.now_ms);
    follow_task(deck, &old);
    follow_handoff(deck, &old);
}

/// The selection stays on its task.
fn follow_task(deck: &mut Deck, old: &DeckView) {
    let mut before: Vec<_> = old.tasks.rows.iter().collect();
    before.sort_by_key(|row| {
        crate::model::TaskColumn::ALL
            .iter()
            .position(|lane| *lane == row.lane)
    });
    if let Some(id) = before.get(deck.tasks.selected).map(|row| &row.id_short)
        && let Some(index) = panes::in_lanes(deck)
            .iter()
            .position(|row| row.id_short == *id)
    {
        deck.tasks.selected = index;
    }
}

/// The selection stays on its handoff.
fn follow_handoff(deck: &mut Deck, old: &DeckView) {
    if let Some(id) = old
        .handoffs
        .get(deck.handoffs.selected)
        .map(|row| &row.id_short)
        && let Some(index) = deck
            .view
            .handoffs
            .iter()
            .position(|row| row.id_short == *id)
    {
        deck.handoffs.selected = index;
    }
}

/// Everything that depends on the size or the time, after every message.
fn settle(deck: &mut Deck) {
    let now = deck.view.now_ms;
    if deck
        .notice
        .as_ref()
        .is_some_and(|notice| notice.until_ms <= now)
    {
        deck.notice = None;
    }
    deck.inbox.expire(now);
    let screen = Rect::new(0, 0, deck.size.0, deck.size.1);
    let layout = Layout::of(deck, screen);
    let shown: Vec<_> = layout.panes.iter().map(|(pane, _)| *pane).collect();
    for pane in shown {
        panes::settle(deck, pane, &layout);
    }
    if let Some(mut overlay) = deck.overlays.pop() {
        let max = overlay.scroll_max(deck, screen);
        if let Some(scroll) = overlay.scroll_mut() {
            *scroll = (*scroll).min(max);
        }
        deck.overlays.push(overlay);
    }
}
