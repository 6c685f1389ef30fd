//! The search, the chips, and a typed place.

use super::moving::{jump, show_again};
use super::tasking::open_task;
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::{Chip, Chips, EntryPlace, Level, SearchScope, TimelineGo};
use crate::overlays::{Overlay, PlaceLine, SearchSheet, Subject, chip_step, thread_chip};
use crate::place_words::place_of;

/// Searches for what stands in the field.
pub(super) fn search_now(deck: &mut Deck) -> Vec<Effect> {
    let Some(Overlay::Search(search)) = deck.overlays.last() else {
        return Vec::new();
    };
    if search.field.is_blank() {
        deck.search.clear();
        return Vec::new();
    }
    let words = search.field.text();
    vec![ask(deck, words)]
}

/// The question for these words, where and as narrowed as it is searched now.
fn ask(deck: &mut Deck, words: String) -> Effect {
    let chips = deck.timeline.chips.clone();
    Effect::Search {
        place: deck.search.place(),
        words,
        number: deck.search.ask(&chips),
        chips,
        after: None,
    }
}

/// Searches again for what is marked where it stands.
fn search_again(deck: &mut Deck) -> Vec<Effect> {
    let words = deck.timeline.search.clone();
    match words.is_empty() {
        true => Vec::new(),
        false => vec![ask(deck, words)],
    }
}

/// Closes the search: what was marked before is marked again, and its hits are those again.
pub(super) fn leave_search(deck: &mut Deck) -> Vec<Effect> {
    if deck.timeline.search.is_empty() {
        deck.search.clear();
    } else if !deck.search.leave(&deck.timeline.chips) {
        return search_again(deck);
    }
    Vec::new()
}

/// `enter` on a hit.
pub(super) fn take_hit(deck: &mut Deck, search: SearchSheet) -> Vec<Effect> {
    if search.field.is_blank() {
        deck.timeline.search.clear();
        deck.search.clear();
        return Vec::new();
    }
    // Hits of the words before stand until there are others.
    let found = deck.search.found();
    let is_of_words = found.is_some_and(|found| found.words == search.field.text());
    if deck.search.hit().is_none() || !is_of_words {
        let is_over = found.is_some_and(|found| found.cursor.is_none());
        let text = match is_of_words && is_over {
            true => "nothing was found",
            false => "it is being searched",
        };
        deck.say(Level::Info, text);
        deck.overlays.push(Overlay::Search(search));
        return Vec::new();
    }
    let words = search.field.text();
    deck.search.remember(&words);
    deck.timeline.search = words;
    go_to_hit(deck)
}

/// Puts the timeline on the hit; opens a task, and an entry of another session, which is only read.
pub(super) fn go_to_hit(deck: &mut Deck) -> Vec<Effect> {
    let Some(hit) = deck.search.hit() else {
        return Vec::new();
    };
    let line = hit.seq;
    match (&hit.task, hit.session.clone()) {
        (Some(task), _) => {
            let id = task.id.clone();
            open_task(deck, id)
        }
        (None, Some(session)) => {
            let place = EntryPlace { session, line };
            deck.overlays.push(Subject::Entry(place).open());
            Vec::new()
        }
        // Chips count in a search of the record alone: they may hide what was found, and stay until
        // they are taken away. So it is read over the panes.
        (None, None)
            if deck.search.place() != SearchScope::Record && !deck.timeline.chips.is_empty() =>
        {
            let place = deck.place(line);
            deck.overlays.push(Subject::Entry(place).open());
            deck.say(
                Level::Info,
                "only read here: the chips, which stay, may hide it in the timeline",
            );
            Vec::new()
        }
        (None, None) => jump(deck, TimelineGo::Entry(line)),
    }
}

/// What a key does in the search, or on the chips.
pub(super) fn on_search(deck: &mut Deck, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::MoveDown | Action::MoveUp => Some(move_in_search(deck, action == Action::MoveDown)),
        Action::ToggleChip | Action::ClearChips => Some(change_chips(deck, action)),
        Action::NextField => Some(choose_chips(deck)),
        Action::OtherPlace => Some(search_in(deck, None)),
        _ => None,
    }
}

/// Up and down among hits and earlier searches, or along the chips.
fn move_in_search(deck: &mut Deck, down: bool) -> Vec<Effect> {
    let step = if down { 1 } else { -1 };
    let chip = chosen_chip(deck).map(|at| chip_step(deck, at, step));
    match (deck.overlays.last_mut(), chip) {
        (Some(Overlay::Chips(sheet)), Some(chip)) => sheet.at = chip,
        (Some(Overlay::Search(sheet)), Some(chip)) => sheet.chip = Some(chip),
        (Some(Overlay::Search(_)), None) => {
            let is_history = matches!(
                deck.overlays.last(),
                Some(Overlay::Search(SearchSheet {
                    earlier: Some(_),
                    ..
                }))
            );
            if (is_history && down) || !deck.search.step(step) && !down {
                return earlier(deck, down);
            }
            return more_hits(deck);
        }
        _ => {}
    }
    Vec::new()
}

/// Along the hits alone: the wheel never changes what is typed.
pub(super) fn scroll_hits(deck: &mut Deck, rows: isize) -> Vec<Effect> {
    deck.search.step(rows);
    more_hits(deck)
}

fn more_hits(deck: &mut Deck) -> Vec<Effect> {
    let more = deck.search.asks_more(deck.view.now_ms);
    more.into_iter().collect()
}

/// Puts an earlier search into the field, or a later one; after the latest what was typed before.
fn earlier(deck: &mut Deck, later: bool) -> Vec<Effect> {
    let Some(Overlay::Search(sheet)) = deck.overlays.last_mut() else {
        return Vec::new();
    };
    let typed = sheet.field.text();
    let to = match (sheet.earlier, later) {
        (None, _) => {
            // What stands there already would be no step.
            let same = deck.search.earlier(0) == Some(typed.trim());
            Some(usize::from(same))
        }
        (Some(at), false) => Some(at + 1),
        (Some(at), true) => at.checked_sub(1),
    };
    let typed = match sheet.earlier {
        None => typed,
        Some(_) => std::mem::take(&mut sheet.typed),
    };
    let words = match to {
        Some(back) => deck.search.earlier(back).map(str::to_owned),
        None => Some(typed.clone()),
    };
    let Some(words) = words else {
        sheet.typed = typed;
        return Vec::new();
    };
    *sheet = SearchSheet::new(&words);
    sheet.earlier = to;
    sheet.typed = typed;
    search_now(deck)
}

/// In another place from now on: this one, or else the next one.
pub(super) fn search_in(deck: &mut Deck, place: Option<SearchScope>) -> Vec<Effect> {
    let place = place.unwrap_or_else(|| deck.search.place().next());
    deck.search.turn_to(place);
    search_now(deck)
}

/// From the words to the chips, where these count.
fn choose_chips(deck: &mut Deck) -> Vec<Effect> {
    if let Some(Overlay::Search(search)) = deck.overlays.last_mut() {
        if deck.search.place() == SearchScope::Record {
            search.chip = Some(0);
        } else {
            let text = "chips count in the record only: everything else is searched as a whole";
            deck.say(Level::Info, text);
        }
    }
    Vec::new()
}

/// One on or off, or all off; what is shown and what is found follow.
fn change_chips(deck: &mut Deck, action: Action) -> Vec<Effect> {
    let Some(at) = chosen_chip(deck) else {
        return Vec::new();
    };
    match (action, Chip::ALL.get(at)) {
        (Action::ToggleChip, Some(chip)) => deck.timeline.chips.toggle(*chip),
        (Action::ToggleChip, None) => {
            let is_on = deck.timeline.chips.thread.is_some();
            deck.timeline.chips.thread = thread_chip(deck).filter(|_| !is_on);
        }
        _ => deck.timeline.chips = Chips::default(),
    }
    show_narrowed(deck)
}

/// The chips are others: what is shown follows, and so do the hits, also those that are walked while
/// the search is closed.
pub(super) fn show_narrowed(deck: &mut Deck) -> Vec<Effect> {
    let mut effects = show_again(deck);
    effects.extend(match deck.overlays.last() {
        Some(Overlay::Search(_)) => search_now(deck),
        // Nowhere else do chips count.
        _ if deck.search.place() == SearchScope::Record => search_again(deck),
        _ => Vec::new(),
    });
    effects
}

/// `enter` behind a place.
pub(super) fn go_to_typed(deck: &mut Deck, mut place: PlaceLine) -> Vec<Effect> {
    let view = &deck.view;
    let typed = place.field.text();
    match place_of(&typed, view.now_ms, &view.local, view.window.head) {
        Ok(to) => jump(deck, to),
        Err(fault) => {
            place.fault = Some(fault);
            deck.overlays.push(Overlay::Place(place));
            Vec::new()
        }
    }
}

/// The chip under the cursor.
fn chosen_chip(deck: &Deck) -> Option<usize> {
    match deck.overlays.last() {
        Some(Overlay::Chips(sheet)) => Some(sheet.at),
        Some(Overlay::Search(sheet)) => sheet.chip,
        _ => None,
    }
}
