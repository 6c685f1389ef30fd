//! [`perform`]: what an action does while no overlay is open.

use super::agent_action::open_agent;
use super::agent_pages::open_page;
use super::coordinating::ask_coordinator;
use super::following::open_thread;
use super::moving::{go_back, half_page, landmark, newest, oldest, show_again, step, to_end};
use super::opening::{
    ask_clear, ask_quit, ask_start, ask_steps, ask_theme, compose, open_search, open_selected,
    quit_now,
};
use super::recovering::open_recovery;
use super::refuse::refuse;
use super::reviewing::open_findings;
use super::searching::{go_to_hit, show_narrowed};
use super::taking_text::take_text;
use super::tasking::{begin_task, open_capsules};
use crate::action::Action;
use crate::applies::applies;
use crate::deck::Deck;
use crate::drafts::Writing;
use crate::effect::Effect;
use crate::model::{Chips, Level};
use crate::overlays::{ChipSheet, HelpSheet, Overlay, Palette, PlaceLine, Subject};
use crate::pane::Pane;
use crate::selected::selected_agent;
use crate::why_not::aim;

/// Commands that the palette remembers.
const RECENT_MAX: usize = 8;

/// Does it.
pub(super) fn perform(deck: &mut Deck, action: Action) -> Vec<Effect> {
    if action == Action::Restart && !applies(deck, action) {
        // The same key: what one wants behind a break.
        return perform(deck, Action::Recover);
    }
    if !applies(deck, action) {
        refuse(deck, action);
        return Vec::new();
    }
    let pane = deck.focus;
    match action {
        Action::FocusNext => focus(deck, pane.step(1)),
        Action::FocusPrev => focus(deck, pane.step(-1)),
        Action::Focus(pane) => focus(deck, pane),
        Action::MoveDown => return step(deck, pane, 1),
        Action::MoveUp => return step(deck, pane, -1),
        Action::HalfDown => return step(deck, pane, half_page(deck, pane)),
        Action::HalfUp => return step(deck, pane, -half_page(deck, pane)),
        Action::MoveFirst => return to_end(deck, pane, false),
        Action::MoveLast => return to_end(deck, pane, true),
        Action::Newest => return newest(deck),
        Action::Oldest => return oldest(deck),
        Action::LandmarkOlder => return landmark(deck, false),
        Action::LandmarkNewer => return landmark(deck, true),
        Action::Return => return go_back(deck),
        Action::GoTo => deck.overlays.push(Overlay::Place(PlaceLine::new())),
        Action::ClearChips => {
            deck.timeline.chips = Chips::default();
            return show_narrowed(deck);
        }
        Action::Follow => {
            if deck.timeline.follow {
                deck.timeline.pause(&deck.view.timeline);
            } else {
                return newest(deck);
            }
        }
        Action::Open if selected_run(deck).is_some() => return unfold(deck),
        Action::Open => open_selected(deck),
        Action::Back => return back(deck),
        Action::Search => return open_search(deck),
        Action::SearchNext => return search_step(deck, true),
        Action::SearchPrev => return search_step(deck, false),
        Action::Filter => deck.overlays.push(Overlay::Chips(ChipSheet::default())),
        Action::Palette => {
            let here = deck.pane_context();
            deck.overlays.push(Overlay::Palette(Palette::new(here)));
        }
        Action::Help => deck.overlays.push(Overlay::Help(HelpSheet::default())),
        Action::Theme => ask_theme(deck),
        Action::Message => compose(deck, None, Writing::Message),
        Action::Handoff => compose(deck, None, Writing::Handoff),
        Action::Note => compose(deck, None, Writing::Note),
        Action::Coordinator => ask_coordinator(deck),
        Action::Clear => ask_clear(deck),
        Action::Steps => ask_steps(deck),
        Action::Start => {
            if let Some(agent) = selected_agent(deck) {
                ask_start(deck, agent);
            }
        }
        Action::Interrupt
        | Action::SendAgain
        | Action::Snooze
        | Action::TryNow
        | Action::CancelRetries
        | Action::Compact => {
            if let Some(agent) = selected_agent(deck) {
                open_agent(deck, agent);
            }
        }
        Action::WorkState | Action::Instructions => {
            if let Some(agent) = selected_agent(deck) {
                open_page(deck, agent, action);
            }
        }
        Action::Approve | Action::Reject | Action::Retry | Action::Acknowledge => {
            open_selected(deck);
        }
        Action::NextEntry => return step(deck, pane, 1),
        Action::PrevEntry => return step(deck, pane, -1),
        Action::Zoom => deck.is_zoomed = !deck.is_zoomed,
        Action::NextColumn | Action::PrevColumn => {
            let forward = action == Action::NextColumn;
            deck.tasks.step_column(&deck.work.tasks, forward);
        }
        Action::Copy | Action::CopyId | Action::Edit => {
            let subject = Subject::selected(deck);
            return take_text(deck, subject, action);
        }
        Action::Thread => {
            let subject = Subject::selected(deck);
            return open_thread(deck, subject);
        }
        Action::Restart => {
            deck.say(Level::Info, "starting the daemon");
            return vec![Effect::Restart];
        }
        Action::Recover => return open_recovery(deck),
        Action::Findings => open_findings(deck),
        Action::Capsules => return open_capsules(deck),
        Action::NewTask => return begin_task(deck),
        Action::LockKey => return vec![Effect::LockKey],
        Action::Redraw => return vec![Effect::Redraw],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Quit => return ask_quit(deck).map_or_else(Vec::new, |()| quit_now(deck)),
        Action::Gates
        | Action::Diff
        | Action::Resolve
        | Action::Dismiss
        | Action::Import
        | Action::Export
        | Action::CloseTask
        | Action::GiveUp
        | Action::Mark
        | Action::MarkRange
        | Action::Raw
        | Action::Send
        | Action::Newline
        | Action::NextField
        | Action::OtherAgent
        | Action::ToggleChip
        | Action::OtherPlace
        | Action::WhenBusy => {}
    }
    Vec::new()
}

/// Does it from the palette: on the row on which it does something, if that is another one.
pub(super) fn perform_anywhere(deck: &mut Deck, action: Action) -> Vec<Effect> {
    if !applies(deck, action)
        && let Some((pane, row)) = aim(deck, action)
    {
        focus(deck, pane);
        match pane {
            Pane::Agents => deck.agents.selected = row,
            Pane::Inbox => deck.inbox.list.selected = row,
            Pane::Timeline | Pane::Tasks | Pane::Handoffs => {}
        }
    }
    deck.recent.retain(|recent| *recent != action);
    deck.recent.insert(0, action);
    deck.recent.truncate(RECENT_MAX);
    perform(deck, action)
}

pub(super) fn focus(deck: &mut Deck, pane: Pane) {
    deck.focus = pane;
    if matches!(pane, Pane::Tasks | Pane::Handoffs) {
        deck.lower = pane;
    }
}

/// Drops what is said of the last message, the zoom, then the search, what is unfolded, a pause. The
/// chips stay until they are taken away.
fn back(deck: &mut Deck) -> Vec<Effect> {
    if deck.receipt.take().is_some() {
        // It has been read.
    } else if deck.is_zoomed {
        deck.is_zoomed = false;
    } else if !deck.timeline.search.is_empty() {
        deck.timeline.search.clear();
        deck.search.clear();
    } else if deck.focus == Pane::Timeline && deck.timeline.fold() {
        return show_again(deck);
    } else if !deck.timeline.follow && deck.focus == Pane::Timeline {
        return newest(deck);
    }
    Vec::new()
}

/// The folded row under the cursor, by its first line.
fn selected_run(deck: &Deck) -> Option<u64> {
    let row = deck.timeline.selected(&deck.view.timeline)?;
    let is_folded = row.folded.is_some() && deck.focus == Pane::Timeline;
    is_folded.then_some(row.seq)
}

/// Shows what is folded under the cursor one by one.
pub(super) fn unfold(deck: &mut Deck) -> Vec<Effect> {
    let Some(line) = selected_run(deck) else {
        return Vec::new();
    };
    deck.timeline.pause(&deck.view.timeline);
    deck.timeline.unfold(line);
    show_again(deck)
}

/// To the next hit of the search, wherever in the record it stands. The newest is the first one.
fn search_step(deck: &mut Deck, forward: bool) -> Vec<Effect> {
    if !deck.search.step(if forward { 1 } else { -1 }) {
        let text = match (deck.search.hit(), forward) {
            (None, _) => "nothing was found",
            (_, true) if deck.search.waits_for_more(deck.view.now_ms) => {
                "further hits are being read …"
            }
            (_, true) => "this is the last hit of those that are listed",
            (_, false) => "this is the first hit",
        };
        deck.say(Level::Info, text);
        return Vec::new();
    }
    let more = deck.search.asks_more(deck.view.now_ms);
    let mut effects = go_to_hit(deck);
    effects.extend(more);
    effects
}
