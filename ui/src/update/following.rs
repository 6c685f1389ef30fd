//! Follows references: to a thread, to its entries, and back to the starting point.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::{EntryPlace, Level, ThreadView};
use crate::overlays::{EntrySheet, Overlay, Subject, ThreadSheet};
use crate::visited_places::VisitedPlace;

/// Another overlay in the place of what is in front, which is remembered.
fn go_to(deck: &mut Deck, overlay: Overlay) {
    let left = deck.overlays.pop();
    let place = left.map_or(VisitedPlace::Panes, |left| {
        VisitedPlace::Overlay(Box::new(left))
    });
    deck.visited.leave(place);
    deck.overlays.push(overlay);
}

/// Opens the thread that a subject belongs to.
pub(super) fn open_thread(deck: &mut Deck, subject: Option<Subject>) -> Vec<Effect> {
    let Some(place) = subject.and_then(|subject| subject.thread_place(deck)) else {
        deck.say(Level::Info, Subject::NO_THREAD);
        return Vec::new();
    };
    if !deck.view.daemon.state.can_act() {
        deck.say(
            Level::Info,
            "not connected to the daemon: the thread cannot be read now",
        );
        return Vec::new();
    }
    go_to(deck, Overlay::Thread(ThreadSheet::new(place.clone())));
    vec![Effect::OpenThread { place }]
}

/// Opens an entry of the thread in front.
pub(super) fn follow(deck: &mut Deck, place: EntryPlace) {
    go_to(deck, Overlay::Entry(EntrySheet::named(place)));
}

/// A thread was read. Not for one that was left meanwhile.
pub(super) fn take_thread(deck: &mut Deck, thread: ThreadView) {
    let waits = |overlay: &&mut Overlay| match overlay {
        Overlay::Thread(sheet) => sheet.place == thread.asked && sheet.thread.is_none(),
        _ => false,
    };
    if let Some(Overlay::Thread(sheet)) = deck.overlays.last_mut().filter(waits) {
        sheet.take(thread);
    }
}

/// From the overlay in front to where one was before the reference to it was followed, if one was.
/// What lies below both stays, as a list from which the one before was opened.
pub(super) fn follow_back(deck: &mut Deck) -> bool {
    let Some(place) = deck.visited.back_from_overlay() else {
        return false;
    };
    deck.overlays.pop();
    if let VisitedPlace::Overlay(before) = place {
        deck.overlays.push(*before);
    }
    true
}
