//! Opens overlays with their questions and texts.

use super::moving::{list_of, step};
use super::refuse::say_none_next;
use super::searching::search_now;
use super::taking_text::copy;
use super::tasking::tick;
use crate::action::Action;
use crate::can_act_on::can_start;
use crate::deck::Deck;
use crate::drafts::Writing;
use crate::effect::{Effect, QuitChoice};
use crate::keymap::KeyContext;
use crate::leaving::{asks_before_quit, noticed};
use crate::model::{Agent, DaemonState, FirstStep, InboxCard, Level, StepAct};
use crate::overlays::{
    Choice, ChoiceOption, Composer, Confirm, Overlay, Pick, SearchSheet, Subject, TickSheet,
    starts_codex, warnings,
};
use crate::pane::Pane;
use crate::sanitize;
use crate::selected::selected_fold;
use crate::text;

/// What is typed to approve what is not as it was proposed.
const STALE_WORD: &str = "stale";

/// Opens what the cursor stands on; a folded column shows its tasks, or hides them.
pub(super) fn open_selected(deck: &mut Deck) {
    if let Some(column) = selected_fold(deck) {
        deck.tasks.toggle(column);
    } else if let Some(subject) = Subject::selected(deck) {
        deck.overlays.push(subject.open());
    }
}

/// What is next to it in the pane that it was opened from, in its place.
pub(super) fn open_next(deck: &mut Deck, rows: isize) -> Vec<Effect> {
    let opened = deck.overlays.last().and_then(Overlay::subject);
    let Some(opened) = opened.filter(|opened| opened.has_neighbours(deck)) else {
        let text = "it stands in no list beside this: nothing is next to it";
        deck.say(Level::Info, text);
        return Vec::new();
    };
    let is_selected = Subject::selected(deck).as_ref() == Some(&opened);
    if let Subject::Entry(place) = &opened
        && !is_selected
    {
        // The timeline has followed what came since: on from the entry that is read.
        deck.timeline.pause(&deck.view.timeline);
        let at = deck.timeline.at_or_before(&deck.view.timeline, place.line);
        deck.timeline.list.selected = at;
    }
    let from = list_of(deck, deck.focus).selected;
    let (next, effects) = step_to_subject(deck, rows);
    match next {
        Some(next) if next != opened => {
            deck.overlays.pop();
            deck.overlays.push(next.open());
        }
        Some(_) => {}
        None => {
            let now = list_of(deck, deck.focus).selected;
            step(deck, deck.focus, from as isize - now as isize);
            say_none_next(deck, rows);
        }
    }
    effects
}

/// Moves on to what can be opened: over the line of a column of tasks, and over cards that are gone.
fn step_to_subject(deck: &mut Deck, rows: isize) -> (Option<Subject>, Vec<Effect>) {
    let mut effects = Vec::new();
    loop {
        let at = list_of(deck, deck.focus).selected;
        effects.extend(step(deck, deck.focus, rows));
        let next = Subject::selected(deck);
        if next.is_some() || list_of(deck, deck.focus).selected == at {
            return (next, effects);
        }
    }
}

/// Opens the search with what was searched for last, to be gone on from.
pub(super) fn open_search(deck: &mut Deck) -> Vec<Effect> {
    let words = deck.timeline.search.clone();
    deck.search.open();
    deck.overlays
        .push(Overlay::Search(SearchSheet::new(&words)));
    search_now(deck)
}

/// Writes to `to`, or to whom it most likely is for.
pub(super) fn compose(deck: &mut Deck, to: Option<Agent>, writing: Writing) {
    let to = to.unwrap_or_else(|| likely_receiver(deck));
    let composer = Composer::open(to, writing, &mut deck.drafts);
    match composer.more(&deck.drafts) {
        0 => {}
        1 => deck.say(Level::Info, "one more draft waits behind this one"),
        n => deck.say(Level::Info, format!("{n} more drafts wait behind this one")),
    }
    let waits = composer.waits_for_peer(&deck.drafts);
    deck.overlays.push(Overlay::Composer(composer));
    if let Some(peer) = waits {
        let other = deck.key_in(&deck.contexts(), Action::OtherAgent);
        let text = format!("a draft to {} waits: {other}", peer.title());
        deck.say(Level::Info, text);
    }
}

/// The agent under the cursor, else the only one that is there, else Claude.
pub(super) fn likely_receiver(deck: &Deck) -> Agent {
    if deck.focus == Pane::Agents
        && let Some(card) = deck.view.agents.get(deck.agents.selected)
    {
        return card.agent;
    }
    let mut attached = deck
        .view
        .agents
        .iter()
        .filter(|card| card.state.is_attached());
    match (attached.next(), attached.next()) {
        (Some(only), None) => only.agent,
        _ => Agent::Claude,
    }
}

pub(super) fn ask_theme(deck: &mut Deck) {
    let names = deck.theme_names();
    let selected = names
        .iter()
        .position(|name| *name == deck.theme.name)
        .unwrap_or(0);
    let options = names
        .into_iter()
        .map(|name| {
            // A broken one is shown as well: choosing it says what is wrong.
            let about = deck.load_theme(&name).map(|theme| theme.about);
            let desc = about.unwrap_or_else(|error| sanitize::line(&error.to_string()));
            ChoiceOption::new(name.clone(), desc, Pick::Theme(name))
        })
        .collect();
    let mut choice = Choice::new("Theme", Vec::new(), options);
    choice.list.selected = selected;
    choice.theme_before = Some(deck.theme.name.clone());
    deck.overlays.push(Overlay::Choice(choice));
}

/// How many characters of the session's id are typed before it is deleted: short, and no habit,
/// because they are others each time.
const TYPED: usize = 4;

pub(super) fn ask_clear(deck: &mut Deck) {
    let entries = text::grouped(deck.view.ledger.entries);
    let mut lines = vec![format!("This session's record has {entries} entries.")];
    lines.extend(taken_back(deck));
    deck.overlays.push(Overlay::Choice(Choice::new(
        "Clear the session's history?",
        lines,
        vec![
            ChoiceOption::new(
                "archive",
                "sealed and kept; tasks, questions go on",
                Pick::Clear { discard: false },
            ),
            ChoiceOption::new(
                "delete for good",
                "for a secret in it; nothing goes on",
                Pick::Clear { discard: true },
            ),
            ChoiceOption::new("leave it", "everything stays as it is", Pick::Nothing),
        ],
    )));
}

fn confirm_clear(deck: &mut Deck, discard: bool) {
    let entries = text::grouped(deck.view.ledger.entries);
    let (title, hint, word, what) = if discard {
        let session = sanitize::line(&deck.view.session_id);
        let from = session.chars().count().saturating_sub(TYPED);
        (
            "Delete this session for good?",
            "the last four characters of its id",
            session.chars().skip(from).collect(),
            format!(
                "This session's record of {entries} entries is deleted, with its tasks, its long \
                 texts and everything that was set aside of it. Only how many entries it had and its head \
                 stay. This cannot be undone. The disk may hold the old bytes for a while: a \
                 secret that was in them should be changed."
            ),
        )
    } else {
        (
            "Clear the session's history?",
            "clear",
            "clear".to_owned(),
            format!(
                "This session's record of {entries} entries is sealed and moved to the archive, \
                 and a new one begins. Tasks with their findings and questions to you go on in it. \
                 Nothing is deleted."
            ),
        )
    };
    // What is lost is short, and read also where there is little room.
    let mut lines: Vec<String> = taken_back(deck).into_iter().collect();
    if deck.view.waiting() > 0 {
        lines.push(match discard {
            true => "What waits in the inbox goes with it, unanswered.".to_owned(),
            false => "What waits in the inbox goes with it, unanswered, save questions to you."
                .to_owned(),
        });
    }
    lines.push(what);
    let effect = Effect::ClearSession {
        session: deck.view.session_id.clone(),
        discard,
    };
    let asked = Confirm::new(title, lines, (word, hint), effect);
    deck.overlays.push(Overlay::Confirm(asked));
}

/// Asks before what is not as it was proposed is approved nonetheless.
pub(super) fn confirm_stale(deck: &mut Deck, card: &InboxCard) {
    let mut lines = warnings(card);
    lines.extend(starts_codex(deck, card).map(str::to_owned));
    if let Some(commit) = &card.commit {
        let diff = deck.key_in(&[KeyContext::Card], Action::Diff);
        let commit = text::short(&sanitize::line(commit), 7);
        lines.push(format!(
            "{diff} on the card shows all that differs from commit {commit}: look at it first."
        ));
    }
    lines.push(
        "Your approval names the tree that lies there now; it is refused if that changes again."
            .to_owned(),
    );
    let effect = Effect::Approve {
        proposal_id: card.id.clone(),
        stale_tree: card.stale_tree.clone(),
        seen: deck.view.seen,
        session: deck.view.session_id.clone(),
    };
    let title = "Approve what was not proposed?";
    let word = (STALE_WORD.to_owned(), STALE_WORD);
    let asked = Confirm::new(title, lines, word, effect);
    deck.overlays.push(Overlay::Confirm(asked));
}

/// What is on its way to an agent does not go on in the next session.
fn taken_back(deck: &Deck) -> Option<String> {
    let waiting: u32 = deck.view.agents.iter().map(|card| card.queue.open()).sum();
    match waiting {
        0 => None,
        1 => Some("One message has not arrived yet: it is taken back.".to_owned()),
        n => Some(format!(
            "{n} messages have not arrived yet: they are taken back."
        )),
    }
}

pub(super) fn ask_start(deck: &mut Deck, agent: Agent) {
    let Some(card) = deck.view.agent(agent).filter(|_| can_start(deck, agent)) else {
        return;
    };
    let command = sanitize::line(&card.start_command);
    let line = match deck.opens_panes {
        true => format!(
            "Runs `{command}` beside this deck. It uses your own account once you talk to it."
        ),
        false => format!(
            "Run `{command}` in another terminal, in this project: only inside tmux it can be \
             started from here. `ctxrelay pair` opens all of them there."
        ),
    };
    let start = ChoiceOption::new("start it", "now", Pick::Effect(Effect::StartAgent(agent)));
    let mut options = Vec::from_iter(deck.opens_panes.then_some(start));
    options.push(ChoiceOption::new(
        "copy the command",
        "to run it yourself",
        Pick::Effect(Effect::CopyText(card.start_command.clone())),
    ));
    options.push(ChoiceOption::new("not now", "", Pick::Nothing));
    let asked = Choice::new(format!("Start {}?", agent.title()), vec![line], options);
    deck.overlays.push(Overlay::Choice(asked));
}

pub(super) fn ask_steps(deck: &mut Deck) {
    let open: Vec<&FirstStep> = deck.view.missing.iter().filter(|step| !step.done).collect();
    let mut options: Vec<ChoiceOption> = open
        .iter()
        .filter(|step| !step.command.is_empty())
        .map(|step| {
            let command = sanitize::line(&step.command);
            let (desc, pick) = match step.act {
                StepAct::Start(agent) if deck.opens_panes => (
                    format!("starts {} beside the deck", agent.title()),
                    Pick::Effect(Effect::StartAgent(agent)),
                ),
                StepAct::Start(_) => (
                    "copies the command, for another terminal".to_owned(),
                    Pick::Effect(Effect::CopyText(step.command.clone())),
                ),
                StepAct::Copy | StepAct::Beside => (
                    "copies the command".to_owned(),
                    Pick::Effect(Effect::CopyText(step.command.clone())),
                ),
            };
            ChoiceOption::new(command, desc, pick)
        })
        .collect();
    options.push(ChoiceOption::new("not now", "", Pick::Nothing));
    let lines = open
        .iter()
        .map(|step| format!("{} {}", deck.glyphs.dot(), sanitize::line(&step.text)))
        .collect();
    deck.overlays.push(Overlay::Choice(Choice::new(
        "What is missing",
        lines,
        options,
    )));
}

/// Asks when somebody would notice; `Some` when there is nothing to ask.
pub(super) fn ask_quit(deck: &mut Deck) -> Option<()> {
    let view = &deck.view;
    if !asks_before_quit(view) {
        return Some(());
    }
    let mut lines = noticed(view);
    match deck.drafts.on_their_way() {
        0 => {}
        1 => lines.push("What you wrote last may not be recorded yet.".to_owned()),
        n => lines.push(format!("{n} texts of yours may not be recorded yet.")),
    }
    let stay = match view.daemon.state {
        DaemonState::Hosting => "the daemon goes on in the background; messages keep flowing",
        _ => "this deck closes; the daemon goes on",
    };
    // An attached agent would start it again within a second.
    let (ends, stop) = match view.attached.is_empty() {
        true => (
            "the daemon ends; what is queued is kept for the next start",
            QuitChoice::Stop,
        ),
        false => (
            "the daemon ends; what is queued is kept until you start it",
            QuitChoice::KeepStopped,
        ),
    };
    let options = vec![
        ChoiceOption::new(
            "stay in the background",
            stay,
            Pick::Effect(Effect::Quit(QuitChoice::Stay)),
        ),
        ChoiceOption::new("stop", ends, Pick::Effect(Effect::Quit(stop))),
        ChoiceOption::new("cancel", "back to the deck", Pick::Nothing),
    ];
    deck.overlays.push(Overlay::Choice(Choice::new(
        "Leave the deck",
        lines,
        options,
    )));
    None
}

/// Leaves without a question: a host stops what it hosts, a guest only goes.
pub(super) fn quit_now(deck: &Deck) -> Vec<Effect> {
    let choice = if deck.seen && deck.view.daemon.state != DaemonState::Hosting {
        QuitChoice::Stay
    } else {
        QuitChoice::Stop
    };
    vec![Effect::Quit(choice)]
}

/// Performs an answer.
pub(super) fn pick(deck: &mut Deck, pick: Pick) -> Vec<Effect> {
    match pick {
        Pick::Nothing => Vec::new(),
        Pick::Effect(Effect::CopyText(text)) => copy(deck, &text),
        Pick::Effect(effect) => vec![effect],
        Pick::Ticks { id, to } => tick(deck, TickSheet::for_handing(id, to)),
        Pick::Clear { discard } => {
            confirm_clear(deck, discard);
            Vec::new()
        }
        Pick::Theme(name) => match deck.load_theme(&name) {
            Ok(theme) => {
                deck.theme = theme;
                vec![Effect::SetTheme(name)]
            }
            Err(error) => {
                deck.say(Level::Error, format!("theme {name}: {error}"));
                Vec::new()
            }
        },
    }
}
