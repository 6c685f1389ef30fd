//! `enter` on the overlay in front, and what leads there: the question before a decision.

use super::following::follow;
use super::opening::{confirm_stale, pick};
use super::outdated::GONE;
use super::perform::perform_anywhere;
use super::refuse::refuse;
use super::reviewing::{open_finding, rule};
use super::searching::{go_to_typed, take_hit};
use super::tasking::{NOT_BEGUN, agree_on_beginning, agree_on_task, open_capsule};
use super::unlocking::unlock;
use crate::action::Action;
use crate::applies::applies;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::{InboxCard, InboxKind, Level};
use crate::overlays::{
    CardSheet, CardStage, Confirm, MessagesSheet, MessagesStage, Overlay, Palette, Pick, TickSheet,
    answers, confirm_trust,
};
use crate::widgets::TextField;

/// `enter`.
pub(super) fn agree(deck: &mut Deck) -> Vec<Effect> {
    let Some(overlay) = deck.overlays.pop() else {
        return Vec::new();
    };
    match overlay {
        Overlay::Choice(choice) => match choice.picked().cloned() {
            Some(Pick::Effect(answer @ Effect::AnswerApproval { .. })) => answer_card(deck, answer),
            Some(picked) => pick(deck, picked),
            None => Vec::new(),
        },
        Overlay::Palette(palette) => run_picked(deck, palette),
        Overlay::Confirm(confirm) => agree_on_question(deck, confirm),
        Overlay::Search(search) => take_hit(deck, search),
        Overlay::Place(place) => go_to_typed(deck, place),
        Overlay::Unlock(sheet) => unlock(deck, sheet),
        Overlay::Begin(line) => agree_on_beginning(deck, line),
        Overlay::Ticks(sheet) => agree_on_ticks(deck, sheet),
        chips @ Overlay::Chips(_) => {
            deck.overlays.push(chips);
            Vec::new()
        }
        Overlay::Card(card)
            if matches!(card.stage, CardStage::Reading) && card.selected_entry(deck).is_some() =>
        {
            let selected = card.selected_entry(deck);
            deck.overlays.push(Overlay::Card(card));
            if let Some(place) = selected {
                follow(deck, place);
            }
            Vec::new()
        }
        Overlay::Card(mut card) if is_stale_meanwhile(deck, &card) => {
            card.stage = CardStage::Reading;
            deck.overlays.push(Overlay::Card(card));
            approve(deck);
            Vec::new()
        }
        Overlay::Card(card) => agree_on_card(deck, card),
        Overlay::Messages(sheet) => agree_on_messages(deck, sheet),
        Overlay::Findings(sheet) => {
            deck.overlays.push(Overlay::Findings(sheet));
            open_finding(deck)
        }
        Overlay::Finding(sheet)
            if sheet.ruling.is_none() && sheet.selected_entry(deck).is_some() =>
        {
            let selected = sheet.selected_entry(deck);
            deck.overlays.push(Overlay::Finding(sheet));
            if let Some(place) = selected {
                follow(deck, place);
            }
            Vec::new()
        }
        Overlay::Finding(sheet) => rule(deck, sheet),
        Overlay::Capsules(sheet) => {
            deck.overlays.push(Overlay::Capsules(sheet));
            open_capsule(deck)
        }
        Overlay::Capsule(sheet) => agree_on_task(deck, sheet),
        Overlay::Thread(sheet) => {
            let selected = sheet.selected();
            deck.overlays.push(Overlay::Thread(sheet));
            if let Some(place) = selected {
                follow(deck, place);
            }
            Vec::new()
        }
        Overlay::Entry(sheet) if sheet.selected_ref(deck).is_some() => {
            let selected = sheet.selected_ref(deck);
            deck.overlays.push(Overlay::Entry(sheet));
            if let Some(place) = selected {
                follow(deck, place);
            }
            Vec::new()
        }
        // A sheet to read: enter closes it, as it opened it.
        Overlay::Help(_) | Overlay::Entry(_) | Overlay::Agent(_) | Overlay::Recovery(_) => {
            Vec::new()
        }
        composer @ Overlay::Composer(_) => {
            deck.overlays.push(composer);
            Vec::new()
        }
    }
}

/// A question whose word stands there, or not yet.
fn agree_on_question(deck: &mut Deck, confirm: Confirm) -> Vec<Effect> {
    let effect = match confirm.effect.clone() {
        Some(effect) if confirm.is_typed() => effect,
        asked => {
            if asked.is_some() {
                deck.say(Level::Info, format!("type {} first", confirm.word));
            }
            deck.overlays.push(Overlay::Confirm(confirm));
            return Vec::new();
        }
    };
    if matches!(effect, Effect::Approve { .. } | Effect::Trust { .. }) {
        // The card that it was asked from is answered.
        deck.overlays.pop();
    }
    vec![effect]
}

/// What is done with what was ticked.
fn agree_on_ticks(deck: &mut Deck, sheet: TickSheet) -> Vec<Effect> {
    match sheet.done() {
        Some(done) if deck.view.daemon.state.can_act() => {
            if matches!(done, Effect::BeginTask { .. }) {
                deck.drafts.forget_task();
            }
            return vec![done];
        }
        Some(Effect::BeginTask { .. }) => deck.say(Level::Warn, NOT_BEGUN),
        Some(_) => deck.say(
            Level::Warn,
            "not connected to the daemon: nothing was handed over",
        ),
        None => {}
    }
    deck.overlays.push(Overlay::Ticks(sheet));
    Vec::new()
}

/// What a card's stage decides, or by which keys it is decided.
fn agree_on_card(deck: &mut Deck, mut card: CardSheet) -> Vec<Effect> {
    let was_typing = matches!(card.stage, CardStage::Gone);
    let Some(shown) = deck.card(&card.id).filter(|_| !was_typing) else {
        // The key may have been on its way when the card went.
        if was_typing || deck.drafts.left_on(&card.id).next().is_some() {
            deck.say(Level::Warn, GONE);
            deck.overlays.push(Overlay::Card(card));
        }
        return Vec::new();
    };
    let (kind, decided) = (shown.kind, card.decide(shown));
    let can_act = deck.view.daemon.state.can_act();
    match decided {
        // The card stays: what they come to is read on it.
        Some(effect @ (Effect::RunGates | Effect::StopGates)) if can_act => {
            card.stage = CardStage::Reading;
            deck.overlays.push(Overlay::Card(card));
            vec![effect]
        }
        Some(effect) if can_act => {
            // It may be refused.
            card.keep(&mut deck.drafts);
            vec![effect]
        }
        Some(_) => {
            deck.say(
                Level::Warn,
                "not connected to the daemon: nothing was decided",
            );
            deck.overlays.push(Overlay::Card(card));
            Vec::new()
        }
        None => {
            let rejecting = matches!(card.stage, CardStage::Rejecting(_));
            let answering = matches!(card.stage, CardStage::Answering { .. });
            deck.overlays.push(Overlay::Card(card));
            let told = match kind {
                _ if answering => Some("an answer needs words: the agent reads them".to_owned()),
                InboxKind::Trust => {
                    by_key(deck, |key| format!("{key} trusts it, after a typed word"))
                }
                _ if rejecting => Some("a rejection needs a reason: the agent reads it".to_owned()),
                InboxKind::Question => by_key(deck, |key| format!("{key} answers")),
                InboxKind::Finality if forbidden(deck).is_some() => forbidden(deck),
                _ => {
                    let reject = deck.key_in(&deck.contexts(), Action::Reject);
                    by_key(deck, |key| {
                        format!("{key} approves, {reject} rejects; both ask once more")
                    })
                }
            };
            if let Some(told) = told {
                deck.say(Level::Info, told);
            }
            Vec::new()
        }
    }
}

/// What the key does that approves, where it acts.
fn by_key(deck: &Deck, told: impl FnOnce(String) -> String) -> Option<String> {
    let acts = applies(deck, Action::Approve);
    acts.then(|| told(deck.key_in(&deck.contexts(), Action::Approve)))
}

/// What a key does on a list of messages: marks, or asks about what is marked.
pub(super) fn on_messages(deck: &mut Deck, action: Action) -> Option<Vec<Effect>> {
    let does: fn(&mut MessagesSheet, &InboxCard) = match action {
        Action::Mark => MessagesSheet::mark,
        Action::MarkRange => MessagesSheet::mark_range,
        Action::Retry => |sheet, _| sheet.stage = MessagesStage::Retrying,
        Action::GiveUp => |sheet, _| sheet.stage = MessagesStage::GivingUp,
        _ => return None,
    };
    if applies(deck, action)
        && let Some(Overlay::Messages(mut sheet)) = deck.overlays.pop()
    {
        if let Some(card) = deck.card(&sheet.id) {
            does(&mut sheet, card);
        }
        deck.overlays.push(Overlay::Messages(sheet));
    }
    Some(Vec::new())
}

/// `enter` on a list of messages: settles what was asked about, else opens the one under the cursor.
fn agree_on_messages(deck: &mut Deck, mut sheet: MessagesSheet) -> Vec<Effect> {
    let Some(card) = deck.card(&sheet.id) else {
        return Vec::new();
    };
    let (decided, selected) = (sheet.decide(card), sheet.selected(card));
    let is_asked = std::mem::replace(&mut sheet.stage, MessagesStage::Reading);
    deck.overlays.push(Overlay::Messages(sheet));
    match (is_asked, decided) {
        (MessagesStage::Reading, _) => {
            if let Some(line) = selected {
                follow(deck, deck.place(line));
            }
            Vec::new()
        }
        (_, Some(effect)) if deck.view.daemon.state.can_act() => vec![effect],
        (_, Some(_)) => {
            let text = "not connected to the daemon: nothing was decided";
            deck.say(Level::Warn, text);
            Vec::new()
        }
        (_, None) => Vec::new(),
    }
}

/// Whether the work tree has changed since `enter` was asked for.
fn is_stale_meanwhile(deck: &Deck, sheet: &CardSheet) -> bool {
    let card = deck.card(&sheet.id);
    matches!(sheet.stage, CardStage::Approving { .. })
        && card.is_some_and(|card| card.stale_tree.is_some())
}

/// Why the card in front cannot be approved whatever the operator says, and what helps.
fn forbidden(deck: &Deck) -> Option<String> {
    let Some(Overlay::Card(sheet)) = deck.overlays.last() else {
        return None;
    };
    let card = deck.card(&sheet.id)?;
    let first = card.forbids.first()?;
    let more = match card.forbids.len() {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let key = deck.key_in(&deck.contexts(), Action::Gates);
    // One without a command cannot be run: the configuration does not say what it is.
    let can_run = card.gates.iter().any(|gate| !gate.command.is_empty());
    let helps = match card.are_gates_running() {
        true => "the gates run".to_owned(),
        false if can_run => format!("{key} runs the gates"),
        false => "mend it in config.json".to_owned(),
    };
    Some(format!("cannot be approved: {first}{more}; {helps}"))
}

/// What a key does on a card.
pub(super) fn on_card(deck: &mut Deck, action: Action) -> Option<Vec<Effect>> {
    match action {
        Action::Approve => approve(deck),
        Action::Reject => ask_reason(deck),
        Action::Retry => stage(deck, CardStage::Retrying),
        Action::Acknowledge => stage(deck, CardStage::Acknowledging),
        Action::Gates => ask_gates(deck),
        Action::NextField => next_entry(deck),
        _ => return None,
    }
    Some(Vec::new())
}

/// The cursor goes to the next entry that the card names.
fn next_entry(deck: &mut Deck) {
    let Some(Overlay::Card(mut sheet)) = deck.overlays.pop() else {
        return;
    };
    match deck.card(&sheet.id) {
        Some(card) if CardSheet::names_entries(card) => sheet.next_entry(card),
        _ => deck.say(Level::Info, "it names no entry of this record"),
    }
    deck.overlays.push(Overlay::Card(sheet));
}

/// What is not as it was proposed any more is approved by a typed word, anything else by `enter`.
fn approve(deck: &mut Deck) {
    if let Some(why) = forbidden(deck) {
        return deck.say(Level::Warn, why);
    }
    if let Some(Overlay::Card(sheet)) = deck.overlays.last()
        && let Some(answers) = deck.card(&sheet.id).and_then(answers)
    {
        return deck.overlays.push(Overlay::Choice(answers));
    }
    if let Some(Overlay::Card(sheet)) = deck.overlays.last()
        && let Some(trust) = deck.card(&sheet.id).and_then(|card| card.trust.as_deref())
    {
        return match confirm_trust(trust) {
            Some(asked) => deck.overlays.push(Overlay::Confirm(asked)),
            None => refuse(deck, Action::Approve),
        };
    }
    let stale = match deck.overlays.last() {
        Some(Overlay::Card(sheet)) => deck
            .card(&sheet.id)
            .filter(|card| card.stale_tree.is_some()),
        _ => None,
    };
    match stale.cloned() {
        Some(card) if applies(deck, Action::Approve) => confirm_stale(deck, &card),
        _ => {
            let (seen, session) = (deck.view.seen, deck.view.session_id.clone());
            stage(deck, CardStage::Approving { seen, session });
        }
    }
}

/// Runs the command under the cursor; one that does nothing now says why, and the palette stays.
fn run_picked(deck: &mut Deck, palette: Palette) -> Vec<Effect> {
    let found = palette.found(deck);
    let picked = found.get(palette.list.selected.min(found.len().saturating_sub(1)));
    let picked = picked.map(|row| (row.binding.action, row.why_not.clone()));
    match picked {
        Some((action, None)) => perform_anywhere(deck, action),
        not_now => {
            deck.overlays.push(Overlay::Palette(palette));
            if let Some((_, Some(why))) = not_now {
                deck.say(Level::Info, why);
            }
            Vec::new()
        }
    }
}

/// The card that it was chosen on is answered.
fn answer_card(deck: &mut Deck, answer: Effect) -> Vec<Effect> {
    if !deck.view.daemon.state.can_act() {
        let text = "not connected to the daemon: nothing was answered";
        deck.say(Level::Warn, text);
        return Vec::new();
    }
    if let Effect::AnswerApproval {
        id,
        choice,
        note: None,
    } = &answer
        && let Some(asked) = deck.card(id).and_then(|card| card.asked.as_ref())
        && asked.is_own_words(choice)
    {
        let choice = choice.clone();
        let typed = deck.drafts.on_card(id, Some(&choice));
        let field = TextField::line("in words of your own").with_text(typed);
        stage(deck, CardStage::Answering { choice, field });
        return Vec::new();
    }
    deck.overlays.pop();
    vec![answer]
}

/// Asks whether the gates shall run, or those that run shall be stopped.
fn ask_gates(deck: &mut Deck) {
    if !applies(deck, Action::Gates) {
        let text = "no gates to run: name commands in `gates` of config.json and trust them";
        return deck.say(Level::Info, text);
    }
    let shown = match deck.overlays.last() {
        Some(Overlay::Card(sheet)) => deck.card(&sheet.id),
        _ => None,
    };
    let stop = shown.is_some_and(InboxCard::are_gates_running);
    stage(deck, CardStage::Gates { stop });
}

/// Asks why; what was typed before stands there.
fn ask_reason(deck: &mut Deck) {
    let typed = match deck.overlays.last() {
        Some(Overlay::Card(sheet)) => deck.drafts.on_card(&sheet.id, None),
        _ => "",
    };
    let asked = match deck.overlays.last() {
        Some(Overlay::Card(sheet)) => deck.card(&sheet.id).and_then(|card| card.asked.as_ref()),
        _ => None,
    };
    let next = match asked {
        Some(_) => {
            let hint = "what it should do instead; may stay empty";
            CardStage::Denying(TextField::line(hint).with_text(typed))
        }
        None => {
            let hint = "what has to change before it is done";
            CardStage::Rejecting(TextField::line(hint).with_text(typed))
        }
    };
    stage(deck, next);
}

fn stage(deck: &mut Deck, next: CardStage) {
    let action = match next {
        CardStage::Retrying => Action::Retry,
        CardStage::Gates { .. } => Action::Gates,
        CardStage::Acknowledging => Action::Acknowledge,
        CardStage::Rejecting(_) | CardStage::Denying(_) => Action::Reject,
        _ => Action::Approve,
    };
    if !applies(deck, action) {
        return;
    }
    if let Some(Overlay::Card(card)) = deck.overlays.last_mut() {
        card.stage = next;
    }
}
