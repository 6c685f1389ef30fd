//! [`take_text`]: copies the text or the id of what is read, or opens the text in the person's
//! editor. A text that is not loaded completely is read first.

use super::refuse::refuse;
use crate::action::Action;
use crate::applies::applies;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::{EntryPlace, Level};
use crate::overlays::{EntrySheet, Overlay, Subject};
use crate::sanitize;
use crate::text::grouped;
use crate::wanted_text::WantedText;
use crate::why_not::why_none;

/// What was wanted of an entry and has not come after this long is not wanted any more, ms: nobody
/// expects an editor to open over what they do by then.
const WANTED_MS: i64 = 10_000;

/// Does it with what is read, or says why there is nothing to do it with.
pub(super) fn take_text(deck: &mut Deck, subject: Option<Subject>, action: Action) -> Vec<Effect> {
    let text = match &subject {
        // What cannot be read has no text of its own to wait for.
        Some(Subject::Entry(place)) if action == Action::Copy && is_bad(deck, place) => {
            let row = EntrySheet::new(place.clone()).row(deck);
            row.map_or_else(String::new, |row| row.text.clone())
        }
        Some(Subject::Entry(place)) if !deck.is_no_entry(place) => {
            let sheet = EntrySheet::new(place.clone());
            let text = match action {
                Action::CopyId => sheet.id(deck),
                _ => sheet.whole(deck).map(str::to_owned),
            };
            match text {
                Some(text) => text,
                None => return read(deck, place.clone(), action),
            }
        }
        Some(Subject::Card(id)) => deck.card(id).map_or_else(String::new, |card| match action {
            Action::CopyId => card.command.clone().unwrap_or_else(|| id.clone()),
            _ => card.plain(),
        }),
        other => {
            deck.say(Level::Info, why_none(deck, other.as_ref()));
            return Vec::new();
        }
    };
    match action {
        _ if text.is_empty() => {
            deck.say(Level::Info, "there is no text in it");
            Vec::new()
        }
        Action::Edit => to_be_read(&text),
        _ => copy(deck, &text),
    }
}

fn is_bad(deck: &Deck, place: &EntryPlace) -> bool {
    let sheet = EntrySheet::new(place.clone());
    sheet.row(deck).is_some_and(|row| row.bad_lines.is_some())
}

fn read(deck: &mut Deck, place: EntryPlace, action: Action) -> Vec<Effect> {
    deck.wanted = Some(WantedText {
        place: place.clone(),
        action,
        since_ms: deck.view.now_ms,
    });
    deck.say(Level::Info, "its text is being read …");
    if deck.detail.waits_for(&place, deck.view.now_ms) {
        return Vec::new();
    }
    vec![Effect::OpenEntry { place }]
}

/// An entry was read: does what it was wanted for.
pub(super) fn take_wanted(deck: &mut Deck, place: EntryPlace) -> Vec<Effect> {
    let now_ms = deck.view.now_ms;
    let Some(wanted) = deck.wanted.take_if(|wanted| wanted.place == place) else {
        return Vec::new();
    };
    if !(0..WANTED_MS).contains(&now_ms.saturating_sub(wanted.since_ms)) {
        return Vec::new();
    }
    deck.notice = None;
    take_text(deck, Some(Subject::Entry(place)), wanted.action)
}

/// Has what the work tree has otherwise than the commit of the proposal in front read.
pub(super) fn read_diff(deck: &mut Deck) -> Vec<Effect> {
    let commit = commit_in_front(deck).map(str::to_owned);
    match commit.filter(|_| applies(deck, Action::Diff)) {
        Some(commit) => {
            deck.say(Level::Info, "what differs is being read …");
            vec![Effect::ReadDiff { commit }]
        }
        None => {
            refuse(deck, Action::Diff);
            Vec::new()
        }
    }
}

/// The commit that the card in front names.
fn commit_in_front(deck: &Deck) -> Option<&str> {
    match deck.overlays.last() {
        Some(Overlay::Card(sheet)) => deck.card(&sheet.id)?.commit.as_deref(),
        _ => None,
    }
}

/// It was read: it opens in the person's editor, unless they have gone on since. On the card of a
/// proposal with another commit nothing is told of it.
pub(super) fn take_diff(
    deck: &mut Deck,
    commit: &str,
    read: Result<String, String>,
) -> Vec<Effect> {
    if commit_in_front(deck).is_some_and(|in_front| in_front != commit) {
        return Vec::new();
    }
    let text = match read {
        Ok(text) => text,
        Err(why) => {
            deck.say(Level::Warn, why);
            return Vec::new();
        }
    };
    if !applies(deck, Action::Diff) {
        return Vec::new();
    }
    if text.is_empty() {
        deck.say(Level::Info, "nothing differs from its commit");
        return Vec::new();
    }
    deck.notice = None;
    to_be_read(&text)
}

/// Opens a text that is nobody's draft in the person's editor. A pager obeys what a terminal does.
fn to_be_read(text: &str) -> Vec<Effect> {
    let text = sanitize::lines(text).join("\n");
    let is_draft = false;
    vec![Effect::OpenEditor { text, is_draft }]
}

/// Copies, and says so with what was taken out. A terminal obeys what is pasted into it: tmux pastes an
/// escape sequence as it is, and some terminals do.
pub(super) fn copy(deck: &mut Deck, text: &str) -> Vec<Effect> {
    let (text, removed) = sanitize::for_clipboard(text);
    let said = match removed {
        0 => "copied".to_owned(),
        1 => "copied without 1 character that cannot be seen".to_owned(),
        n => format!(
            "copied without {} characters that cannot be seen",
            grouped(n as u64)
        ),
    };
    deck.say(Level::Info, said);
    vec![Effect::CopyText(text)]
}
