//! Moves the selection of a pane.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::{Level, TimelineGo};
use crate::pane::Pane;
use crate::visited_places::VisitedPlace;
use crate::widgets::ListState;

/// Moves by rows; the timeline stops following, and asks for more at its old end.
pub(super) fn step(deck: &mut Deck, pane: Pane, rows: isize) -> Vec<Effect> {
    match pane {
        Pane::Agents => deck.agents.step(rows, deck.view.agents.len()),
        Pane::Inbox => deck.inbox.list.step(rows, deck.inbox.rows.len()),
        Pane::Tasks => deck.tasks.step(&deck.work.tasks, rows),
        Pane::Handoffs => deck.handoffs.list.step(rows, deck.work.handoffs.len()),
        Pane::Timeline => {
            let before = deck.timeline.list.selected;
            let len = deck.timeline.order.len();
            deck.timeline.list.step(rows, len);
            if deck.timeline.list.selected != before {
                deck.timeline.pause(&deck.view.timeline);
            }
            return slide(deck);
        }
    }
    Vec::new()
}

/// To the first or last row on the screen's order.
pub(super) fn to_end(deck: &mut Deck, pane: Pane, last: bool) -> Vec<Effect> {
    let far = isize::MAX;
    step(deck, pane, if last { far } else { -far })
}

/// Whether other rows can be asked for; says so where they cannot.
pub(super) fn can_go(deck: &mut Deck) -> bool {
    let can_act = deck.view.daemon.state.can_act();
    if !can_act {
        let text = "not connected to the daemon: only the rows that are loaded can be read now";
        deck.say(Level::Info, text);
    }
    can_act
}

/// Asks for what was put off, or for more rows near the end of those that are loaded.
pub(super) fn slide(deck: &mut Deck) -> Vec<Effect> {
    if !deck.view.daemon.state.can_act() {
        return Vec::new();
    }
    let now = deck.view.now_ms;
    let next = deck.timeline.take_next(now);
    let wish = next.or_else(|| {
        let (rows, window) = (&deck.view.timeline, &deck.view.window);
        deck.timeline.slide(rows, window, now)
    });
    wish.map(Effect::ShowTimeline).into_iter().collect()
}

/// Goes to a place of the record; a jump whose answer is still to come is given up for it.
pub(super) fn go(deck: &mut Deck, go: TimelineGo) -> Vec<Effect> {
    if !can_go(deck) {
        return Vec::new();
    }
    deck.focus = Pane::Timeline;
    let wish = deck.timeline.ask(go, deck.view.now_ms);
    vec![Effect::ShowTimeline(wish)]
}

/// As [`go`], and remembers where one was.
pub(super) fn jump(deck: &mut Deck, to: TimelineGo) -> Vec<Effect> {
    if !can_go(deck) {
        return Vec::new();
    }
    let place = VisitedPlace::Row {
        focus: deck.focus,
        line: (!deck.timeline.follow)
            .then(|| deck.timeline.selected(&deck.view.timeline))
            .flatten()
            .map(|row| row.seq),
    };
    deck.visited.leave(place);
    go(deck, to)
}

/// From the panes to where one was before the last jump or reference.
pub(super) fn go_back(deck: &mut Deck) -> Vec<Effect> {
    match deck.visited.back_from_panes() {
        Some(place @ VisitedPlace::Row { .. }) if !can_go(deck) => {
            deck.visited.leave(place);
            Vec::new()
        }
        Some(VisitedPlace::Row { focus, line }) => {
            let to = line.map_or(TimelineGo::Newest, TimelineGo::Line);
            let effects = go(deck, to);
            deck.focus = focus;
            effects
        }
        Some(VisitedPlace::Overlay(before)) => {
            deck.overlays.push(*before);
            Vec::new()
        }
        Some(VisitedPlace::Panes) | None => Vec::new(),
    }
}

/// Shows other rows, around the one that is selected.
pub(super) fn show_again(deck: &mut Deck) -> Vec<Effect> {
    let selected = deck.timeline.selected(&deck.view.timeline);
    let line = selected
        .map(|row| row.seq)
        .filter(|_| !deck.timeline.follow);
    let to = line.map_or(TimelineGo::Newest, TimelineGo::Line);
    let wish = deck.timeline.ask(to, deck.view.now_ms);
    vec![Effect::ShowTimeline(wish)]
}

/// To the newest entry, and follows.
pub(super) fn newest(deck: &mut Deck) -> Vec<Effect> {
    // The answer to a jump that is on its way would lead there.
    if deck.view.window.has_newer || deck.timeline.is_jumping() {
        return go(deck, TimelineGo::Newest);
    }
    deck.timeline.resume();
    Vec::new()
}

/// To the oldest entry.
pub(super) fn oldest(deck: &mut Deck) -> Vec<Effect> {
    if deck.view.window.has_older || deck.timeline.is_jumping() {
        return go(deck, TimelineGo::Oldest);
    }
    deck.timeline.select_oldest(&deck.view.timeline);
    slide(deck)
}

/// To the decision, failure or message of the operator's next to the selected row.
pub(super) fn landmark(deck: &mut Deck, newer: bool) -> Vec<Effect> {
    let Some(row) = deck.timeline.selected(&deck.view.timeline) else {
        return Vec::new();
    };
    let to = if newer {
        TimelineGo::LandmarkNewer(row.last())
    } else {
        TimelineGo::LandmarkOlder(row.seq)
    };
    go(deck, to)
}

/// Half of the rows that the pane shows: none is passed that was not seen.
pub(super) fn half_page(deck: &Deck, pane: Pane) -> isize {
    list_of(deck, pane).half_page()
}

/// Where the pane is.
pub(super) fn list_of(deck: &Deck, pane: Pane) -> ListState {
    match pane {
        Pane::Agents => deck.agents,
        Pane::Inbox => deck.inbox.list,
        Pane::Tasks => deck.tasks.list_in_use(),
        Pane::Handoffs => deck.handoffs.list,
        Pane::Timeline => deck.timeline.list,
    }
}
