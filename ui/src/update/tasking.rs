//! Tasks that can travel: the list, one of them, and the operator's actions on it.

use super::refuse::{refuse, say_none_next};
use super::taking_text::copy;
use super::topmost::topmost;
use crate::action::Action;
use crate::applies::applies;
use crate::deck::Deck;
use crate::drafts::TypedFor;
use crate::effect::Effect;
use crate::keymap::KeyContext;
use crate::model::{
    Agent, AlikeTo, CapsuleAlong, CapsuleLine, CapsuleReader, CapsuleRows, CapsuleView,
    FoundSnippet, Level, TASK_TITLE_CHARS_MAX,
};
use crate::overlays::{
    BeginLine, CapsuleAsk, CapsuleSheet, CapsulesSheet, Choice, ChoiceOption, Overlay, Pick,
    TickSheet,
};
use crate::sanitize;
use crate::selected::selected_capsule;
use crate::widgets::TextField;

/// Why nothing came of what was said of a task.
const NOT_RECORDED: &str = "not connected to the daemon: nothing was recorded";

/// Why none was begun.
pub(super) const NOT_BEGUN: &str = "not connected to the daemon: no task was begun";

/// Opens the list.
pub(super) fn open_capsules(deck: &mut Deck) -> Vec<Effect> {
    deck.overlays
        .push(Overlay::Capsules(CapsulesSheet::default()));
    vec![Effect::ReadCapsules]
}

/// Opens the task under the cursor.
pub(super) fn open_capsule(deck: &mut Deck) -> Vec<Effect> {
    let Some(id) = selected_capsule(deck).map(|row| row.id.clone()) else {
        return Vec::new();
    };
    open_task(deck, id)
}

/// Opens the task of this id.
pub(super) fn open_task(deck: &mut Deck, id: String) -> Vec<Effect> {
    deck.overlays
        .push(Overlay::Capsule(CapsuleSheet::new(id.clone())));
    vec![Effect::ReadCapsule { id }]
}

/// The list was read, or read again.
pub(super) fn take_capsules(deck: &mut Deck, read: Result<CapsuleRows, String>) {
    if let Some(sheet) = topmost!(deck, Overlay::Capsules(sheet) => sheet) {
        sheet.take(read);
    }
}

/// One was read.
pub(super) fn take_capsule(deck: &mut Deck, id: &str, read: Result<Box<CapsuleView>, String>) {
    if let Some(sheet) = topmost!(deck, Overlay::Capsule(sheet) if sheet.id == id => sheet) {
        sheet.take(read);
    }
}

/// What was said before was looked for. Where nothing was, a task begins without a list to tick.
pub(super) fn take_alike(
    deck: &mut Deck,
    to: &AlikeTo,
    found: Result<Vec<FoundSnippet>, String>,
) -> Vec<Effect> {
    if let Some(sheet) = topmost!(deck, Overlay::Ticks(sheet) if sheet.alike_to == *to => sheet) {
        sheet.take(found, &deck.drafts);
    }
    let begins = match deck.overlays.last() {
        Some(Overlay::Ticks(sheet)) if sheet.alike_to == *to => sheet.begins_at_once(),
        _ => None,
    };
    let Some(begins) = begins.filter(|_| deck.view.daemon.state.can_act()) else {
        return Vec::new();
    };
    deck.overlays.pop();
    deck.drafts.forget_task();
    vec![begins]
}

/// One was written into a file: its sheet says what is in it.
pub(super) fn take_export(deck: &mut Deck, id: &str, lines: Vec<String>) {
    let file = lines.first().map_or("", String::as_str);
    deck.say(Level::Info, format!("exported to {file}"));
    if let Some(sheet) = topmost!(deck, Overlay::Capsule(sheet) if sheet.id == id => sheet) {
        sheet.exported = lines;
        sheet.scroll = 0;
    }
}

/// One was told for somebody else: its text goes on the clipboard.
pub(super) fn take_told(deck: &mut Deck, told: Result<String, String>) -> Vec<Effect> {
    match told {
        Ok(text) => copy(deck, &text),
        Err(why) => {
            deck.say(Level::Error, why);
            Vec::new()
        }
    }
}

/// What a key does on the list or the sheet in front.
pub(super) fn on_capsules(deck: &mut Deck, action: Action) -> Option<Vec<Effect>> {
    let row = selected_capsule(deck).filter(|_| applies(deck, action));
    let effects = match (action, row.cloned()) {
        (Action::NextEntry, _) => next(deck, 1),
        (Action::PrevEntry, _) => next(deck, -1),
        (Action::NextField, _) => choose_along(deck),
        (Action::NewTask, _) => begin_task(deck),
        (Action::Handoff, Some(row)) => ask_receiver(deck, &row),
        (Action::Edit, Some(_)) => edit(deck),
        (Action::Export, Some(row)) => {
            let mut field = TextField::line("a file, from the project's folder");
            field.replace(&row.file);
            let along = row.can_be_closed().then(CapsuleAlong::default);
            ask(deck, CapsuleAsk::Export(field, along))
        }
        (Action::CloseTask, Some(row)) => {
            let field = TextField::line("what came of it; may be empty");
            let about = TypedFor::Outcome(row.id.clone());
            let field = field.with_text(deck.drafts.line(&about));
            ask(deck, CapsuleAsk::Close(field))
        }
        (Action::Copy, Some(row)) => copy(deck, &row.title),
        (Action::CopyId, Some(row)) => copy(deck, &row.id),
        (
            Action::Handoff
            | Action::Edit
            | Action::Export
            | Action::CloseTask
            | Action::Copy
            | Action::CopyId,
            None,
        ) => {
            refuse(deck, action);
            Vec::new()
        }
        _ => return None,
    };
    Some(effects)
}

/// Opens what is said of the task in front in the person's editor.
fn edit(deck: &mut Deck) -> Vec<Effect> {
    let sheet = match deck.overlays.last() {
        Some(Overlay::Capsule(sheet)) => sheet,
        _ => return Vec::new(),
    };
    let Some(view) = sheet.view() else {
        return Vec::new();
    };
    let text = deck.drafts.begin_edit(&sheet.id, &view.draft);
    let is_draft = true;
    vec![Effect::OpenEditor { text, is_draft }]
}

/// The person left this text there; `before`: what was said of the task when they began.
pub(super) fn take_edited_task(
    deck: &mut Deck,
    id: String,
    before: String,
    after: String,
) -> Vec<Effect> {
    // It is in what they left now.
    deck.drafts.forget_edit(&id);
    if deck.view.daemon.state.can_act() {
        return vec![Effect::EditCapsule { id, before, after }];
    }
    let mut text = NOT_RECORDED.to_owned();
    if deck.drafts.keep_edit(id, before, after) {
        let edit = deck.key_in(&[KeyContext::Capsules], Action::Edit);
        text.push_str(&format!("; what you wrote is kept, and {edit} opens it"));
    }
    deck.say(Level::Warn, text);
    Vec::new()
}

/// Asks for the title of a task that begins; the list of them stands below.
pub(super) fn begin_task(deck: &mut Deck) -> Vec<Effect> {
    let mut overlays = deck.overlays.iter();
    let effects = match overlays.any(|overlay| matches!(overlay, Overlay::Capsules(_))) {
        true => Vec::new(),
        false => open_capsules(deck),
    };
    let line = BeginLine::new(&deck.drafts);
    deck.overlays.push(Overlay::Begin(line));
    effects
}

/// `enter` in a line of a task that begins.
pub(super) fn agree_on_beginning(deck: &mut Deck, line: BeginLine) -> Vec<Effect> {
    let said = line.field.text().trim().to_owned();
    let Some(title) = line.title.clone() else {
        let fault = match said.chars().count() {
            0 => Some("a task has a title".to_owned()),
            1..=TASK_TITLE_CHARS_MAX => None,
            _ => Some(format!(
                "a title has at most {TASK_TITLE_CHARS_MAX} characters; more is said later"
            )),
        };
        let next = match fault {
            Some(fault) => {
                deck.say(Level::Info, fault);
                line
            }
            None => BeginLine::titled(said),
        };
        deck.overlays.push(Overlay::Begin(next));
        return Vec::new();
    };
    if said.is_empty() && !deck.view.daemon.state.can_act() {
        deck.say(Level::Warn, NOT_BEGUN);
        deck.overlays.push(Overlay::Begin(line));
        return Vec::new();
    }
    if said.is_empty() {
        let found = Vec::new();
        deck.drafts.forget_task();
        return vec![Effect::BeginTask { title, found }];
    }
    // It is not begun yet, and can still be left.
    deck.drafts.keep_title(title.clone());
    tick(deck, TickSheet::for_beginning(title, said))
}

/// Opens the list of what was said before, and has it looked for.
pub(super) fn tick(deck: &mut Deck, sheet: TickSheet) -> Vec<Effect> {
    let alike_to = sheet.alike_to.clone();
    deck.overlays.push(Overlay::Ticks(sheet));
    vec![Effect::FindAlike(alike_to)]
}

/// `enter` in a line that is typed.
pub(super) fn agree_on_task(deck: &mut Deck, mut sheet: CapsuleSheet) -> Vec<Effect> {
    if sheet.asks.is_some() && !deck.view.daemon.state.can_act() {
        deck.say(Level::Warn, NOT_RECORDED);
        deck.overlays.push(Overlay::Capsule(sheet));
        return Vec::new();
    }
    let Some(asks) = sheet.asks.take() else {
        // A sheet to read: enter closes it, as it opened it.
        return Vec::new();
    };
    let id = sheet.id.clone();
    deck.overlays.push(Overlay::Capsule(sheet));
    let said = |field: TextField| {
        let said = field.text().trim().to_owned();
        (!said.is_empty()).then_some(said)
    };
    match asks {
        CapsuleAsk::Close(field) => {
            deck.drafts.forget_line(&TypedFor::Outcome(id.clone()));
            let outcome = said(field);
            vec![Effect::CloseCapsule { id, outcome }]
        }
        CapsuleAsk::Export(field, along) => {
            let file = said(field).into_iter();
            file.map(|file| Effect::ExportCapsule {
                id: id.clone(),
                file,
                along: along.unwrap_or_default(),
            })
            .collect()
        }
    }
}

/// Something else goes along into the file that is asked for.
fn choose_along(deck: &mut Deck) -> Vec<Effect> {
    if let Some(Overlay::Capsule(sheet)) = deck.overlays.last_mut()
        && let Some(asks) = &mut sheet.asks
    {
        asks.next_along();
    }
    Vec::new()
}

/// Has a line typed; from the list its sheet is opened for that.
fn ask(deck: &mut Deck, asks: CapsuleAsk) -> Vec<Effect> {
    let effects = match deck.overlays.last() {
        Some(Overlay::Capsules(_)) => open_capsule(deck),
        _ => Vec::new(),
    };
    if let Some(Overlay::Capsule(sheet)) = deck.overlays.last_mut() {
        sheet.asks = Some(asks);
    }
    effects
}

fn ask_receiver(deck: &mut Deck, row: &CapsuleLine) -> Vec<Effect> {
    let hand = |to: Agent| {
        let what = Effect::HandCapsule {
            id: row.id.clone(),
            to,
            found: Vec::new(),
        };
        ChoiceOption::new(
            to.title(),
            "as a handoff of yours, which names the task",
            Pick::Effect(what),
        )
    };
    let nothing = ChoiceOption::new("leave it", "nothing is sent", Pick::Nothing);
    let mut options = vec![nothing];
    options.extend(Agent::ALL.map(hand));
    options.extend(Agent::ALL.map(|to| {
        let id = row.id.clone();
        ChoiceOption::new(
            format!("{} and more", to.title()),
            "with what was said before about the same, as far as you tick it",
            Pick::Ticks { id, to },
        )
    }));
    options.extend(CapsuleReader::ALL.map(|to| {
        let id = row.id.clone();
        ChoiceOption::new(
            to.title(),
            "its text on the clipboard of this terminal",
            Pick::Effect(Effect::TellCapsule { id, to }),
        )
    }));
    let mut lines = vec![sanitize::line(&row.title)];
    lines.push(format!(
        "What it says of the work tree is {}.",
        row.standing.as_str()
    ));
    deck.overlays.push(Overlay::Choice(Choice::new(
        "Hand the task to whom?",
        lines,
        options,
    )));
    Vec::new()
}

/// To the task behind, or before.
fn next(deck: &mut Deck, by: isize) -> Vec<Effect> {
    let is_next = match &mut deck.overlays[..] {
        [.., Overlay::Capsules(list)] => {
            list.step(by);
            return Vec::new();
        }
        [.., Overlay::Capsules(list), Overlay::Capsule(_)] => {
            let before = list.list.selected;
            list.step(by);
            list.list.selected != before
        }
        _ => false,
    };
    if !is_next {
        return say_none_next(deck, by);
    }
    deck.overlays.pop();
    open_capsule(deck)
}
