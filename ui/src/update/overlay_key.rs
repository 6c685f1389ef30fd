//! What an action does on the overlay in front.

use super::agent_action::agent_action;
use super::agent_pages::turn_page;
use super::agreeing::{agree, on_card, on_messages};
use super::following::{follow_back, open_thread};
use super::opening::{ask_quit, ask_start, compose, open_next, quit_now};
use super::recovering::on_recovery;
use super::refuse::refuse;
use super::reviewing::on_findings;
use super::searching::{leave_search, on_search, search_now};
use super::taking_text::{read_diff, take_text};
use super::tasking::on_capsules;
use super::unlocking::leave_unlock;
use crate::action::Action;
use crate::applies::applies;
use crate::deck::Deck;
use crate::drafts::Writing;
use crate::effect::Effect;
use crate::key::Key;
use crate::keymap::KeyContext;
use crate::model::{Agent, Level};
use crate::overlays::{CardStage, Choice, MessagesStage, Overlay, Pick};

/// Does it: as what is in front does it, or else as everything that can be in front.
pub(super) fn overlay_action(deck: &mut Deck, action: Action) -> Vec<Effect> {
    let done = match deck.overlays.last() {
        Some(Overlay::Unlock(_)) if action == Action::Back => Some(leave_unlock(deck)),
        Some(Overlay::Search(_) | Overlay::Chips(_)) => on_search(deck, action),
        Some(Overlay::Card(_)) => on_card(deck, action),
        Some(Overlay::Messages(_)) => on_messages(deck, action),
        Some(Overlay::Recovery(_)) => on_recovery(deck, action),
        Some(Overlay::Findings(_) | Overlay::Finding(_)) => on_findings(deck, action),
        Some(Overlay::Capsules(_) | Overlay::Capsule(_)) => on_capsules(deck, action),
        Some(Overlay::Agent(sheet)) => on_agent(deck, sheet.agent, action),
        Some(Overlay::Composer(_)) => on_composer(deck, action),
        _ => on_page(deck, action),
    };
    done.unwrap_or_else(|| on_any(deck, action))
}

/// What a key does whatever is in front.
fn on_any(deck: &mut Deck, action: Action) -> Vec<Effect> {
    match action {
        Action::Back => return close(deck),
        Action::Quit => return leave(deck),
        Action::Redraw => return vec![Effect::Redraw],
        Action::Suspend if applies(deck, action) => return vec![Effect::Suspend],
        Action::Suspend => refuse(deck, action),
        Action::MoveDown => scroll(deck, 1),
        Action::MoveUp => scroll(deck, -1),
        Action::HalfDown => scroll(deck, half_page(deck)),
        Action::HalfUp => scroll(deck, -half_page(deck)),
        Action::MoveFirst => scroll(deck, -isize::MAX),
        Action::MoveLast => scroll(deck, isize::MAX),
        Action::Open => return agree(deck),
        Action::Diff => return read_diff(deck),
        Action::Copy | Action::CopyId | Action::Edit => {
            let subject = deck.overlays.last().and_then(Overlay::subject);
            return take_text(deck, subject, action);
        }
        Action::Thread => {
            let subject = deck.overlays.last().and_then(Overlay::subject);
            return open_thread(deck, subject);
        }
        Action::Return if !follow_back(deck) => {
            deck.say(Level::Info, "no reference was followed before");
        }
        Action::NextEntry => return open_next(deck, 1),
        Action::PrevEntry => return open_next(deck, -1),
        Action::WorkState | Action::Instructions if applies(deck, action) => {
            turn_page(deck, action);
        }
        Action::WorkState | Action::Instructions => refuse(deck, action),
        _ => {}
    }
    Vec::new()
}

/// On an entry, a thread, or what is ticked.
fn on_page(deck: &mut Deck, action: Action) -> Option<Vec<Effect>> {
    match (deck.overlays.last_mut()?, action) {
        (Overlay::Entry(_), Action::NextField) => next_ref(deck),
        (Overlay::Entry(sheet), Action::Raw) => {
            sheet.is_raw = !sheet.is_raw;
            sheet.at = None;
        }
        (Overlay::Thread(sheet), Action::NextEntry) => sheet.step(1),
        (Overlay::Thread(sheet), Action::PrevEntry) => sheet.step(-1),
        (Overlay::Ticks(sheet), Action::Mark) => sheet.tick(),
        _ => return None,
    }
    Some(Vec::new())
}

/// The cursor goes to the next entry that the one in front names.
fn next_ref(deck: &mut Deck) {
    let Some(Overlay::Entry(mut sheet)) = deck.overlays.pop() else {
        return;
    };
    sheet.next_ref(deck);
    if sheet.refs_are_none(deck) {
        deck.say(Level::Info, "it names no other entry of this record");
    }
    deck.overlays.push(Overlay::Entry(sheet));
}

/// Closes the overlay in front, or takes a card one step back.
fn close(deck: &mut Deck) -> Vec<Effect> {
    match deck.overlays.pop() {
        Some(Overlay::Card(mut card))
            if !matches!(card.stage, CardStage::Reading | CardStage::Gone) =>
        {
            card.keep(&mut deck.drafts);
            card.stage = CardStage::Reading;
            deck.overlays.push(Overlay::Card(card));
        }
        Some(Overlay::Messages(mut sheet)) if sheet.stage != MessagesStage::Reading => {
            sheet.stage = MessagesStage::Reading;
            deck.overlays.push(Overlay::Messages(sheet));
        }
        Some(Overlay::Finding(mut sheet)) if sheet.ruling.is_some() => {
            sheet.keep(&mut deck.drafts);
            sheet.ruling = None;
            deck.overlays.push(Overlay::Finding(sheet));
        }
        Some(Overlay::Capsule(mut sheet)) if sheet.asks.is_some() => {
            sheet.keep(&mut deck.drafts);
            sheet.asks = None;
            deck.overlays.push(Overlay::Capsule(sheet));
        }
        Some(Overlay::Begin(line)) => line.keep(&mut deck.drafts),
        Some(Overlay::Composer(composer)) => composer.keep(&mut deck.drafts),
        Some(Overlay::Search(mut search)) if search.chip.is_some() => {
            search.chip = None;
            deck.overlays.push(Overlay::Search(search));
        }
        Some(Overlay::Search(_)) => return leave_search(deck),
        Some(Overlay::Choice(Choice {
            theme_before: Some(name),
            ..
        })) => {
            if let Ok(theme) = deck.load_theme(&name) {
                deck.theme = theme;
            }
        }
        _ => {}
    }
    Vec::new()
}

/// The keys that leave work on overlays too; a second time they take the safe answer.
fn leave(deck: &mut Deck) -> Vec<Effect> {
    if let Some(Overlay::Choice(choice)) = deck.overlays.last()
        && let Some(first) = choice.options.first()
        && let Pick::Effect(effect @ Effect::Quit(_)) = &first.pick
    {
        return vec![effect.clone()];
    }
    ask_quit(deck).map_or_else(Vec::new, |()| quit_now(deck))
}

/// A key that does nothing on what is in front does something on the panes below.
pub(super) fn say_close_first(deck: &mut Deck, key: Key) -> Vec<Effect> {
    let on_panes = [deck.pane_context(), KeyContext::Global];
    if deck.keymap.action(&on_panes, key).is_some() {
        let back = deck.key_in(&deck.contexts(), Action::Back);
        deck.say(Level::Info, format!("close this first: {back}"));
    }
    Vec::new()
}

/// Half of the lines of the smallest sheet that stands on this screen.
fn half_page(deck: &Deck) -> isize {
    (deck.size.1 as isize / 4).max(1)
}

fn scroll(deck: &mut Deck, rows: isize) {
    let Some(mut overlay) = deck.overlays.pop() else {
        return;
    };
    match &mut overlay {
        Overlay::Choice(choice) => {
            choice.list.step(rows, choice.options.len());
            preview(deck, choice);
        }
        Overlay::Thread(sheet) => sheet.step(rows),
        Overlay::Messages(sheet) => sheet.step(deck.card(&sheet.id), rows),
        Overlay::Findings(sheet) => sheet.step(&deck.view.findings, rows),
        Overlay::Capsules(sheet) => sheet.step(rows),
        Overlay::Ticks(sheet) => sheet.step(rows),
        Overlay::Palette(palette) => {
            let len = palette.found(deck).len();
            palette.list.step(rows, len);
        }
        other => {
            // Kept within its end by the settling after every message.
            if let Some(scroll) = other.scroll_mut() {
                *scroll = scroll.saturating_add_signed(rows);
            }
        }
    }
    deck.overlays.push(overlay);
}

/// A theme is seen before it is taken; one that cannot be read leaves the one in use.
pub(super) fn preview(deck: &mut Deck, choice: &Choice) {
    if let (Some(before), Some(Pick::Theme(name))) = (&choice.theme_before, choice.picked())
        && let Ok(theme) = deck.load_theme(name).or_else(|_| deck.load_theme(before))
    {
        deck.theme = theme;
    }
}

fn on_agent(deck: &mut Deck, agent: Agent, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::Start | Action::Message | Action::Handoff => {
            if applies(deck, action) {
                deck.overlays.pop();
                match action {
                    Action::Start => ask_start(deck, agent),
                    Action::Message => compose(deck, Some(agent), Writing::Message),
                    _ => compose(deck, Some(agent), Writing::Handoff),
                }
            }
            Some(Vec::new())
        }
        _ if action.is_of_agent() => Some(agent_action(deck, agent, action)),
        _ => None,
    }
}

fn on_composer(deck: &mut Deck, action: Action) -> Option<Vec<Effect>> {
    let Some(Overlay::Composer(composer)) = deck.overlays.last_mut() else {
        return None;
    };
    match action {
        Action::Send => return Some(send(deck)),
        Action::Newline => composer.field_mut().newline(),
        Action::NextField => composer.next_field(),
        Action::WhenBusy => composer.next_when_busy(),
        Action::OtherAgent => composer.other_agent(&mut deck.drafts),
        Action::Edit => {
            // In the person's editor. It stays here as it is until the editor ends well.
            let text = composer.field_mut().text();
            // It may have failed on a task before.
            deck.drafts.end_edit();
            let is_draft = true;
            return Some(vec![Effect::OpenEditor { text, is_draft }]);
        }
        _ => return None,
    }
    Some(Vec::new())
}

fn send(deck: &mut Deck) -> Vec<Effect> {
    let Some(Overlay::Composer(composer)) = deck.overlays.last() else {
        return Vec::new();
    };
    if composer.is_blank() {
        deck.say(Level::Info, "nothing is written yet");
        return Vec::new();
    }
    if !deck.view.daemon.state.can_act() {
        deck.say(
            Level::Warn,
            "not connected to the daemon: the draft is kept, nothing was sent",
        );
        return Vec::new();
    }
    let Some(Overlay::Composer(composer)) = deck.overlays.pop() else {
        return Vec::new();
    };
    let draft = composer.give(&mut deck.drafts);
    vec![composer.send(draft)]
}

/// What follows from typing: a search starts again, a palette starts at its first row again.
pub(super) fn after_typing(deck: &mut Deck) -> Vec<Effect> {
    match deck.overlays.last_mut() {
        Some(Overlay::Palette(palette)) => palette.list = Default::default(),
        Some(Overlay::Place(place)) => place.fault = None,
        Some(Overlay::Search(search)) => {
            search.earlier = None;
            return search_now(deck);
        }
        _ => {}
    }
    Vec::new()
}
