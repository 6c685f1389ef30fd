//! [`perform`]: what an action does while no overlay is open.

use super::applies::{applies, selected_agent};
use super::attend::open_agent;
use super::moving::{half_page, has_more, older, step, to_end};
use super::opening::{
    ask_clear, ask_filter, ask_quit, ask_start, ask_steps, ask_theme, compose, open_search,
    open_selected, quit_now, search_record,
};
use super::why_not::{aim, reason};
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::Writing;
use crate::effect::Effect;
use crate::model::Level;
use crate::overlays::{HelpSheet, Overlay, Palette, Subject};
use crate::pane::Pane;
use crate::widgets::TextField;

/// Commands that the palette remembers.
const RECENT_MAX: usize = 8;

/// Does it.
pub(super) fn perform(deck: &mut Deck, action: Action) -> Vec<Effect> {
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
        Action::HalfDown => return step(deck, pane, half_page(deck)),
        Action::HalfUp => return step(deck, pane, -half_page(deck)),
        Action::MoveFirst => return to_end(deck, pane, false),
        Action::MoveLast => return to_end(deck, pane, true),
        Action::Newest => deck.timeline.resume(),
        Action::Oldest => {
            deck.timeline.select_oldest(&deck.view.timeline);
            return older(deck);
        }
        Action::Follow => {
            if deck.timeline.follow {
                deck.timeline.pause(&deck.view.timeline);
            } else {
                deck.timeline.resume();
            }
        }
        Action::Open => open_selected(deck),
        Action::Back => back(deck),
        Action::Search => open_search(deck),
        Action::SearchNext => return search_step(deck, true),
        Action::SearchPrev => return search_step(deck, false),
        Action::Filter => ask_filter(deck),
        Action::Palette => {
            let here = deck.pane_context();
            deck.overlays.push(Overlay::Palette(Palette::new(here)));
        }
        Action::Help => deck.overlays.push(Overlay::Help(HelpSheet::default())),
        Action::Theme => ask_theme(deck),
        Action::Message => compose(deck, None, Writing::Message),
        Action::Handoff => compose(deck, None, Writing::Handoff),
        Action::Note => compose(deck, None, Writing::Note),
        Action::Clear => ask_clear(deck),
        Action::Steps => ask_steps(deck),
        Action::Start => {
            if let Some(agent) = selected_agent(deck) {
                ask_start(deck, agent);
            }
        }
        Action::Interrupt
        | Action::SendAgain
        | Action::LetBe
        | Action::TryNow
        | Action::NoTries => {
            if let Some(agent) = selected_agent(deck) {
                open_agent(deck, agent);
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
            deck.tasks.step_column(&deck.view.tasks, forward);
        }
        Action::Copy | Action::CopyId => {
            let subject = Subject::selected(deck);
            return copy_of(deck, subject, action);
        }
        Action::Restart => {
            deck.say(Level::Info, "starting the daemon");
            return vec![Effect::Restart];
        }
        Action::Redraw => return vec![Effect::Redraw],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Quit => return ask_quit(deck).map_or_else(Vec::new, |()| quit_now(deck)),
        Action::Gates
        | Action::Raw
        | Action::Send
        | Action::Newline
        | Action::NextField
        | Action::OtherAgent
        | Action::WhenBusy => {}
    }
    Vec::new()
}

/// The reason a key does nothing is said, never left to be guessed.
pub(super) fn refuse(deck: &mut Deck, action: Action) {
    if let Some(text) = reason(deck, action) {
        deck.say(Level::Info, text);
    }
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

/// Drops what is said of the last message, the zoom, the search, the filter, a pause.
fn back(deck: &mut Deck) {
    let rows = &deck.view.timeline;
    if deck.receipt.take().is_some() {
        // It has been read.
    } else if deck.is_zoomed {
        deck.is_zoomed = false;
    } else if !deck.timeline.search.is_empty() {
        deck.timeline.set_search(rows, "");
    } else if deck.timeline.filter != crate::timeline_state::Filter::All {
        deck.timeline
            .set_filter(rows, crate::timeline_state::Filter::All);
    } else if !deck.timeline.follow && deck.focus == Pane::Timeline {
        deck.timeline.resume();
    }
}

/// To the next match. Past the oldest one that is loaded the search goes on in the record.
fn search_step(deck: &mut Deck, forward: bool) -> Vec<Effect> {
    deck.focus = Pane::Timeline;
    let before = deck.timeline.list;
    let found = deck.timeline.find(&deck.view.timeline, forward, false);
    if has_more(deck) && deck.timeline.goes_older(forward) {
        let now = deck.timeline.list.selected;
        let went_round = if forward {
            now <= before.selected
        } else {
            now >= before.selected
        };
        if !found || went_round {
            deck.timeline.list = before;
            let words = deck.timeline.search.clone();
            return search_record(deck, &words);
        }
    } else if !found {
        deck.say(Level::Info, "nothing found among what is loaded");
    }
    Vec::new()
}

/// Copies what stands there, or its id.
pub(super) fn copy_of(deck: &mut Deck, subject: Option<Subject>, action: Action) -> Vec<Effect> {
    let text = subject.and_then(|subject| match action {
        Action::CopyId => subject.id(deck),
        _ => subject.plain(deck),
    });
    text.filter(|text| !text.is_empty())
        .map_or_else(Vec::new, |text| copy(deck, text))
}

/// Copies and says so.
fn copy(deck: &mut Deck, text: String) -> Vec<Effect> {
    deck.say(Level::Info, "copied");
    vec![Effect::CopyText(text)]
}

/// An empty reason, to be typed.
pub(super) fn reason_field() -> TextField {
    TextField::line("what has to change before it is done")
}
