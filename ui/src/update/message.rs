//! [`update`]: the only way to change a deck.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use zeroize::Zeroize as _;

use super::agent_pages::{take_rules, take_work, unread_page};
use super::coming_back::take_back;
use super::following::take_thread;
use super::mouse::mouse;
use super::moving::slide;
use super::outdated::take_back_outdated;
use super::overlay_key::{after_typing, overlay_action, say_close_first};
use super::own_files::take_own_files;
use super::perform::perform;
use super::recovering::take_recovery;
use super::reviewing::{take_finding, take_places, unread_places};
use super::searching::search_now;
use super::taking_text::{take_diff, take_wanted};
use super::tasking::{
    take_alike, take_capsule, take_capsules, take_edited_task, take_export, take_told,
};
use super::too_small::{blind_key, is_too_small};
use super::unlocking::{ask_passphrase, await_key, unlocked};
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::fetched_entries::Fetched;
use crate::key::Key;
use crate::layout::Layout;
use crate::model::{DeckView, EntryPlace, InboxKind, Level};
use crate::msg::Msg;
use crate::notice_bar::hides_front;
use crate::overlays::{Overlay, Subject};
use crate::pane::Pane;
use crate::panes;
use crate::receipt::Receipt;
use crate::task_list::TaskList;
use crate::text::grouped;
use crate::tracked_list::TrackedList;

/// Messages whose words are asked for together: the deck waits for them.
const WORDS_AT_ONCE: usize = 50;

/// Changes the deck by a message; what has to be done outside comes back.
pub fn update(deck: &mut Deck, msg: Msg) -> Vec<Effect> {
    let card = looked_at(deck);
    if matches!(msg, Msg::Key(_) | Msg::Mouse(_) | Msg::Paste(_)) {
        deck.news.touched(deck.view.now_ms);
    }
    let mut effects = take(deck, msg);
    deck.inbox.decided_by(&effects);
    effects.extend(settle(deck));
    effects.extend(unread_words(deck));
    effects.extend(unread_page(deck));
    effects.extend(unread_places(deck));
    effects.extend(notify(deck));
    remember(deck);
    let opened = looked_at(deck);
    if opened.is_some() && opened != card {
        effects.push(Effect::LookAtTree);
    }
    effects
}

/// What a message itself wants to be done.
fn take(deck: &mut Deck, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Key(event) if is_too_small(deck) => return blind_key(deck, event),
        Msg::Key(event) => return key(deck, event),
        Msg::Mouse(_) if is_too_small(deck) => {}
        Msg::Mouse(event) => return mouse(deck, event),
        Msg::Paste(mut text) => {
            let effects = match is_too_small(deck) {
                true => Vec::new(),
                false => paste(deck, &text),
            };
            // It may have been a passphrase.
            text.zeroize();
            return effects;
        }
        Msg::Resize(columns, rows) => deck.size = (columns, rows),
        Msg::Focus(has_focus) => deck.news.focus(has_focus),
        Msg::Tick(now_ms) => {
            deck.follow_clock(now_ms);
            deck.view.now_ms = now_ms;
            deck.show_notice();
        }
        Msg::View(view) => return take_view(deck, *view),
        Msg::EntryText {
            place,
            row,
            text,
            detail,
            refs,
            raw,
        } => {
            deck.detail.came(&place);
            let fetched = Fetched {
                row: *row,
                text,
                detail,
                refs,
                raw,
                is_stale: false,
            };
            deck.fetched.keep(place.clone(), fetched);
            return take_wanted(deck, place);
        }
        Msg::EditorText(text) => return take_edited(deck, text),
        Msg::Thread(thread) => take_thread(deck, *thread),
        Msg::Work(work) => take_work(deck, *work),
        Msg::Rules(rules) => take_rules(deck, *rules),
        Msg::Recovery(read) => take_recovery(deck, read),
        Msg::FindingPlaces(places) => take_places(deck, places),
        Msg::Finding { id, read } => take_finding(deck, &id, read),
        Msg::Capsules(read) => take_capsules(deck, read),
        Msg::Alike { to, found } => return take_alike(deck, &to, found),
        Msg::Exported { id, lines } => take_export(deck, &id, lines),
        Msg::CapsuleText(told) => return take_told(deck, told),
        Msg::Diff { commit, read } => return take_diff(deck, &commit, read),
        Msg::Capsule { id, read } => take_capsule(deck, &id, read),
        Msg::Found(found) => {
            deck.search.take(*found);
            return Vec::from_iter(deck.search.asks_on(deck.view.now_ms));
        }
        Msg::NotSent { why, draft } => {
            let kept = match draft.and_then(|draft| deck.drafts.came_back(draft)) {
                None => "",
                Some(0) => "; it is kept as a draft",
                Some(_) => "; it is kept as a draft, behind the one that you began since",
            };
            deck.say(Level::Error, format!("{why}{kept}"));
        }
        Msg::Refused { why, effect } => take_back(deck, &why, *effect),
        Msg::Sent { to, line, draft } => {
            arrived(deck, draft);
            deck.receipt = Some(Receipt::new(deck, to, line));
        }
        Msg::Written { level, text, draft } => {
            arrived(deck, draft);
            deck.say(level, text);
        }
        Msg::OwnFiles(own) => take_own_files(deck, *own),
        Msg::AskPassphrase { fingerprint, what } => ask_passphrase(deck, fingerprint, what),
        Msg::AwaitKey {
            fingerprint,
            what,
            touch,
        } => await_key(deck, fingerprint, what, touch),
        Msg::Unlocked(result) => unlocked(deck, result),
        Msg::Unanswered(since_ms) => deck.unanswered_since_ms = since_ms,
        Msg::Notice(level, text) => deck.say(level, text),
    }
    Vec::new()
}

/// Asks for the beginnings of messages that are listed, and of the first behind each row. What was
/// asked of a daemon that is gone is asked again of the next.
fn unread_words(deck: &mut Deck) -> Option<Effect> {
    if !deck.view.daemon.state.can_act() {
        deck.asked_words.clear();
        return None;
    }
    let subject = deck.overlays.last().and_then(Overlay::subject);
    let subject = subject.or_else(|| Subject::selected(deck));
    let mut lines = Vec::new();
    for card in &deck.view.inbox {
        let is_read = matches!(&subject, Some(Subject::Messages(id)) if *id == card.id);
        let listed = if is_read { card.unclear.len() } else { 1 };
        let unread = card.unclear.iter().take(listed);
        let unread = unread.filter(|message| message.words.is_none());
        lines.extend(unread.map(|message| message.line));
    }
    lines.retain(|line| !deck.asked_words.contains(line));
    lines.truncate(WORDS_AT_ONCE);
    deck.asked_words.extend(&lines);
    (!lines.is_empty()).then_some(Effect::ReadWords { lines })
}

/// Tells of what began to wait while nobody looked.
fn notify(deck: &mut Deck) -> Option<Effect> {
    let by = &deck.notification;
    let now = deck.view.now_ms;
    let is_quiet = by
        .quiet
        .is_some_and(|quiet| quiet.hold(now, deck.view.utc_offset_s(now)));
    if by.is_off() || is_quiet {
        deck.news.forget();
        return None;
    }
    let text = deck.news.tell(&deck.view.project, now)?;
    let by = by.clone();
    Some(Effect::Notify { text, by })
}

/// The card in front about what lies on the disk, which may have changed: a proposal's, or one of
/// trust.
fn looked_at(deck: &Deck) -> Option<String> {
    let Some(Overlay::Card(sheet)) = deck.overlays.last() else {
        return None;
    };
    let card = deck.card(&sheet.id)?;
    let is_looked_at = matches!(card.kind, InboxKind::Finality | InboxKind::Trust);
    is_looked_at.then(|| card.id.clone())
}

/// Escape and a key that arrive together, over a slow line or on a busy machine, cannot be told from
/// alt and that key: unless alt means something they are taken for two.
fn key(deck: &mut Deck, event: KeyEvent) -> Vec<Effect> {
    if event.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let is_hidden = hides_front(deck);
    // A key press means that the notice has been read, or is in the way.
    deck.notice = None;
    deck.clicked = None;
    deck.wanted = None;
    let contexts = deck.contexts();
    let action = deck.keymap.action(&contexts, Key::from_event(&event));
    let is_typing = deck.overlays.last_mut().is_some_and(Overlay::is_typed_into);
    if is_hidden && (action.is_some() || !is_typing) {
        // Nobody saw what it would act on. What is typed goes on.
        return Vec::new();
    }
    if action.is_none() && event.modifiers.contains(KeyModifiers::ALT) && !is_typing {
        let mut effects = key(deck, KeyCode::Esc.into());
        let modifiers = event.modifiers - KeyModifiers::ALT;
        effects.extend(key(deck, KeyEvent { modifiers, ..event }));
        return effects;
    }
    let Some(overlay) = deck.overlays.last_mut() else {
        return action.map_or_else(Vec::new, |action| perform(deck, action));
    };
    if let (None, Overlay::Unlock(sheet)) = (action, &mut *overlay) {
        sheet.key(event);
        return Vec::new();
    }
    match (action, overlay.field_mut()) {
        (Some(action), _) => overlay_action(deck, action),
        (None, Some(field)) => {
            field.key(event);
            after_typing(deck)
        }
        (None, None) => say_close_first(deck, Key::from_event(&event)),
    }
}

fn paste(deck: &mut Deck, text: &str) -> Vec<Effect> {
    if let Some(Overlay::Unlock(sheet)) = deck.overlays.last_mut() {
        sheet.paste(text);
        return Vec::new();
    }
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
        return Vec::new();
    };
    let removed = field.paste(text);
    let effects = after_typing(deck);
    say_left_out(deck, removed, "the paste");
    effects
}

/// Says what of a text did not come into a field.
fn say_left_out(deck: &mut Deck, count: usize, of: &str) {
    let what = match count {
        0 => return,
        1 => "1 character that cannot be seen or sent was".to_owned(),
        n => format!(
            "{} characters that cannot be seen or sent, or are too many, were",
            grouped(n as u64)
        ),
    };
    deck.say(Level::Warn, format!("{what} left out of {of}"));
}

/// What the person's editor left. Something else may have been asked since: what is written stands
/// below that.
fn take_edited(deck: &mut Deck, text: String) -> Vec<Effect> {
    if let Some((id, before)) = deck.drafts.end_edit() {
        return take_edited_task(deck, id, before, text);
    }
    let is_edited = |overlay: &&mut Overlay| matches!(overlay, Overlay::Composer(_));
    match deck.overlays.iter_mut().rev().find(is_edited) {
        Some(Overlay::Composer(composer)) => {
            let text = text.trim_end_matches('\n');
            let left_out = composer.field_mut().replace(text);
            say_left_out(deck, left_out, "what was edited");
            Vec::new()
        }
        _ => {
            let why = "nothing is being written: what was edited is not kept";
            deck.say(Level::Warn, why);
            Vec::new()
        }
    }
}

fn arrived(deck: &mut Deck, draft: Option<u64>) {
    if let Some(draft) = draft {
        deck.drafts.arrived(draft);
    }
}

fn take_view(deck: &mut Deck, view: DeckView) -> Vec<Effect> {
    let is_another_record = deck.view.session_id != view.session_id;
    let could_act = deck.view.daemon.state.can_act();
    // Views wait behind an answer. That it has come may not have been told: a terminal that
    // does not read lets messages of the loop be lost.
    deck.unanswered_since_ms = None;
    show(deck, view);
    let mut effects = slide(deck);
    let is_back = deck.view.daemon.state.can_act() && !could_act;
    if is_another_record || is_back {
        // What stands in an open search is meant for the record that is there now: also when
        // it was typed before there was any, or while no daemon answered.
        effects.extend(search_now(deck));
    }
    effects
}

fn show(deck: &mut Deck, view: DeckView) {
    deck.follow_clock(view.now_ms);
    let old = std::mem::replace(&mut deck.view, view);
    deck.seen = true;
    deck.mark_stale(&old);
    if old.session_id != deck.view.session_id {
        // Another record: numbers mean other entries now.
        deck.timeline.begin_again();
        deck.visited.clear();
        deck.search.begin_again();
        deck.asked_words.clear();
        deck.work.clear();
        deck.tasks = TaskList::default();
        deck.handoffs = TrackedList::default();
    }
    take_back_outdated(deck, old.session_id != deck.view.session_id);
    let view = &deck.view;
    deck.timeline.update(&view.timeline);
    let missing = {
        let (rows, window) = (&view.timeline, &view.window);
        deck.timeline.answered(rows, window, view.now_ms)
    };
    let is_looked_at = deck.focus == Pane::Inbox;
    deck.inbox.update(&view.inbox, view.now_ms, is_looked_at);
    deck.news.update(view);
    deck.work.take(view, &deck.tasks, deck.handoffs.list);
    arrange_work(deck);
    if let Some(missing) = missing {
        deck.say(Level::Info, missing);
    }
}

/// Rows have come, gone or moved: the cursors stay on theirs.
fn arrange_work(deck: &mut Deck) {
    let is_looked_at = deck.focus == Pane::Tasks;
    deck.tasks.arrange(&deck.work.tasks, is_looked_at);
    let handoffs = &deck.work.handoffs;
    let is_looked_at = deck.focus == Pane::Handoffs;
    deck.handoffs
        .arrange(|seq| handoffs.place_of(seq), is_looked_at);
}

/// What stands under the cursor and on top, for the next view.
fn remember(deck: &mut Deck) {
    deck.timeline.remember(&deck.view.timeline);
    deck.tasks.remember(&deck.work.tasks);
    let handoff = deck.work.handoffs.get(deck.handoffs.list.selected);
    deck.handoffs.remember(handoff.map(|row| row.seq));
}

/// Everything that depends on the size or the time, after every message.
fn settle(deck: &mut Deck) -> Option<Effect> {
    let now = deck.view.now_ms;
    if deck
        .notice
        .as_ref()
        .is_some_and(|notice| notice.is_shown && notice.until_ms <= now)
    {
        deck.notice = None;
    }
    deck.receipt = deck
        .receipt
        .take()
        .and_then(|receipt| receipt.followed(deck));
    deck.inbox.expire(now);
    if deck.work.expire(now) {
        arrange_work(deck);
    }
    let screen = Rect::new(0, 0, deck.size.0, deck.size.1);
    let layout = Layout::of(deck, screen);
    let shown: Vec<_> = layout.panes.iter().map(|(pane, _)| *pane).collect();
    let board = layout
        .pane(Pane::Tasks)
        .filter(|_| panes::is_board(deck, &layout));
    deck.tasks.show_as(&deck.work.tasks, board.is_some());
    if let Some(area) = board {
        panes::settle_board(deck, area);
    } else {
        for pane in shown {
            panes::settle(deck, pane, &layout);
        }
    }
    if let Some(mut overlay) = deck.overlays.pop() {
        // The rows that its keys take depend on what is in front.
        let stands_in = match &overlay {
            Overlay::Card(card) => Some(Overlay::Card(card.clone())),
            _ => None,
        };
        let has_stand_in = stands_in.is_some();
        deck.overlays.extend(stands_in);
        overlay.settle(deck, screen);
        let max = overlay.scroll_max(deck, screen);
        if let Some(scroll) = overlay.scroll_mut() {
            *scroll = (*scroll).min(max);
        }
        if has_stand_in {
            deck.overlays.pop();
        }
        deck.overlays.push(overlay);
    }
    let opened = deck.overlays.last().and_then(Overlay::subject);
    let is_opened = opened.is_some();
    let beside = || {
        let has_room = !layout.detail.is_empty();
        has_room.then(|| Subject::selected(deck)).flatten()
    };
    let subject = opened.or_else(beside);
    deck.detail.show(subject);
    panes::settle_detail(deck, &layout);
    let (fetched, view) = (&deck.fetched, &deck.view);
    let can_act = view.daemon.state.can_act();
    let needs_none = |place: &EntryPlace| {
        let fetched = fetched.get(place);
        // Nobody is there who would read it; one of another session is read from the disk.
        let is_out_of_reach = || !can_act || view.is_no_entry(place.line);
        fetched.is_some_and(|fetched| !fetched.is_stale)
            || (place.session == view.session_id && is_out_of_reach())
    };
    let place = deck.detail.asks(needs_none, is_opened, now)?;
    Some(Effect::OpenEntry { place })
}
