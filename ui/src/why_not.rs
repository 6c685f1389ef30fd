//! [`why_not`]: the reason why an action would do nothing now; [`aim`]: what it would act on.

use crate::action::Action;
use crate::applies::{applies, is_decided, is_tried_again};
use crate::can_act_on::{can_act_on, can_start};
use crate::deck::Deck;
use crate::leaving::asks_before_quit;
use crate::model::{Agent, AgentState, InboxCard, InboxKind};
use crate::overlays::{Overlay, Subject};
use crate::pane::Pane;
use crate::selected::{selected_agent, selected_capsule};

/// A few words; `None` when it would do something, here or on a row that it finds by itself. The key
/// that starts the daemon leads to the state of the work while one runs.
pub(crate) fn why_not(deck: &Deck, action: Action) -> Option<String> {
    if applies(deck, action) || aim(deck, action).is_some() || action == Action::Restart {
        return None;
    }
    Some(reason(deck, action).unwrap_or_else(|| "not here".to_owned()))
}

/// The first row on which the action would do something: its pane and its place there.
pub(crate) fn aim(deck: &Deck, action: Action) -> Option<(Pane, usize)> {
    let card = |does: &dyn Fn(&InboxCard) -> bool| {
        let mut rows = deck.inbox.rows.iter();
        let place = rows.position(|row| row.gone_until_ms.is_none() && does(&row.card));
        Some((Pane::Inbox, place?))
    };
    let agent = |can: &dyn Fn(Agent) -> bool| {
        let mut agents = deck.view.agents.iter();
        let place = agents.position(|card| can(card.agent));
        Some((Pane::Agents, place?))
    };
    match action {
        Action::Approve | Action::Reject => card(&|card| is_decided(action, card)),
        Action::Retry => card(&|card| is_tried_again(card.kind)),
        Action::Acknowledge => card(&|card| card.kind == InboxKind::Tampering),
        Action::Start => agent(&|agent| can_start(deck, agent)),
        Action::WorkState | Action::Instructions if deck.view.daemon.state.can_act() => {
            agent(&|_| true)
        }
        _ if action.is_of_agent() => agent(&|agent| can_act_on(deck, agent, action)),
        _ => None,
    }
}

/// Why it does nothing, as a sentence without its end; `None` for what needs no words.
pub(crate) fn reason(deck: &Deck, action: Action) -> Option<String> {
    let waits = aim(deck, action).is_some();
    let text = match action {
        Action::WorkState | Action::Instructions if !deck.view.daemon.state.can_act() => {
            "not connected to the daemon: what the agent is at cannot be read now"
        }
        Action::WorkState | Action::Instructions => "no agent is selected",
        Action::Handoff | Action::Coordinator | Action::Clear
            if !deck.view.daemon.state.can_act() =>
        {
            "not connected to the daemon: nothing can be sent now"
        }
        Action::Suspend => return Some(why_not_suspended(deck)),
        Action::LockKey => "no key is unlocked here",
        Action::Clear => "the record is empty: nothing to clear",
        Action::Steps => {
            "nothing is missing: both agents are here, and the daemon has nothing to say"
        }
        Action::Start => return Some(why_not_started(deck)),
        Action::Interrupt if waits => "no turn of this agent runs",
        Action::Interrupt => "no turn runs",
        Action::SendAgain => "no message was cut off",
        Action::Snooze if waits => "this agent is not silent",
        Action::Snooze => "no agent is silent",
        Action::Compact => "this agent is not there, or at its usage limit",
        Action::TryNow | Action::CancelRetries if waits => "this agent is at no usage limit",
        Action::TryNow | Action::CancelRetries => "no agent is at a usage limit",
        Action::Resolve | Action::Dismiss => NO_FINDING,
        Action::Handoff
            if matches!(
                deck.overlays.last(),
                Some(Overlay::Findings(_) | Overlay::Finding(_))
            ) =>
        {
            NO_FINDING
        }
        Action::Import => "the review findings are not open",
        Action::Handoff | Action::Edit | Action::Export | Action::CloseTask
            if is_being_read(deck) =>
        {
            "the task is still being read"
        }
        Action::Export => "no task that can be read is selected",
        Action::CloseTask => "no task that is open is selected",
        Action::Approve if waits => "what is selected waits for no answer",
        Action::Approve => "nothing waits for an answer",
        Action::Reject if waits => "what is selected is no proposal or request",
        Action::Reject => "no proposal or request waits",
        Action::Retry => "there is nothing to try again",
        Action::GiveUp | Action::Mark | Action::MarkRange => "no list of messages is open",
        Action::Acknowledge if has_trouble(deck) => {
            "this alarm goes away by itself once it is over: its card says what to do"
        }
        Action::Acknowledge => "no alarm about the record waits",
        Action::SearchNext | Action::SearchPrev => {
            let key = deck.key(Action::Search);
            return Some(format!("no search yet: {key} starts one"));
        }
        Action::Return => "no reference was followed before, and nowhere was left by a jump",
        Action::ClearChips => "no chip is on",
        Action::LandmarkOlder | Action::LandmarkNewer => "the timeline is not in front",
        Action::Gates => "they are run from the card of a proposal",
        Action::Diff => "only a proposal that names a commit differs from it",
        Action::Thread => Subject::NO_THREAD,
        Action::NextColumn | Action::PrevColumn => "only the tasks stand by column",
        Action::Edit if matches!(deck.overlays.last(), Some(Overlay::Capsules(_))) => {
            return Some(match selected_capsule(deck) {
                Some(_) => {
                    let open = deck.key_in(&deck.contexts(), Action::Open);
                    format!("open it first: {open}")
                }
                None => "no task is selected".to_owned(),
            });
        }
        Action::Edit if matches!(deck.overlays.last(), Some(Overlay::Capsule(_))) => {
            match deck.view.daemon.state.can_act() {
                true => "the task is closed: what is said of it stays as it is",
                false => "not connected to the daemon: nothing can be edited now",
            }
        }
        Action::Copy | Action::CopyId | Action::Edit => {
            let subject = match deck.overlays.last() {
                None | Some(Overlay::Palette(_)) => Subject::selected(deck),
                // What is selected behind it is not what is read.
                Some(front) => front.subject(),
            };
            return Some(why_none(deck, subject.as_ref()));
        }
        Action::Open => "nothing is selected",
        Action::Zoom => "this screen has room for no more than what stands there",
        _ => return None,
    };
    Some(text.to_owned())
}

/// On what is over, or where none is there.
const NO_FINDING: &str = "no review finding that stands is open";

/// Why nothing of it can be copied or opened in an editor.
pub(crate) fn why_none(deck: &Deck, subject: Option<&Subject>) -> String {
    let only = "only entries and cards have a text and an id";
    match subject {
        None if deck.overlays.is_empty() => "nothing is selected".to_owned(),
        None => format!("there is nothing to copy here: {only}"),
        Some(Subject::Agent(agent)) => format!("{} is an agent: {only}", agent.title()),
        Some(Subject::Messages(_)) => format!("this is a list of messages: {only}"),
        Some(Subject::Entry(_) | Subject::Card(_)) => format!("no entry stands there: {only}"),
    }
}

/// Whether something is not as it should be: a row of it goes by itself.
fn has_trouble(deck: &Deck) -> bool {
    let mut rows = deck.inbox.rows.iter();
    rows.any(|row| row.gone_until_ms.is_none() && row.card.kind == InboxKind::Trouble)
}

/// And what helps: it depends on what the key that leaves does now.
fn why_not_suspended(deck: &Deck) -> String {
    let stops = "the daemon runs in this deck and would stop with it";
    let Some(quit) = deck.keymap.key_of(&deck.contexts(), Action::Quit) else {
        // No key leaves from here: letters are typed.
        return format!("{stops}: close what is open first");
    };
    match asks_before_quit(&deck.view) {
        true => format!("{stops}: {quit} asks whether it goes on in the background"),
        false if deck.view.demo => stops.to_owned(),
        false => {
            format!("{stops}: after {quit}, `ctxrelay daemon --detach` runs it without a deck")
        }
    }
}

/// Whether the task in front, or the list of them, is not there yet.
fn is_being_read(deck: &Deck) -> bool {
    match deck.overlays.last() {
        Some(Overlay::Capsule(sheet)) => sheet.is_being_read(),
        Some(Overlay::Capsules(sheet)) => sheet.is_being_read(),
        _ => false,
    }
}

/// Which it is: there, or not installed. Of the selected agent, or of each.
fn why_not_started(deck: &Deck) -> String {
    // With whether it is installed.
    let why = |agent: Agent| {
        let card = deck.view.agent(agent)?;
        let title = agent.title();
        match (card.installed, &card.state) {
            (false, _) => Some((format!("{title} is not installed"), false)),
            (true, AgentState::Offline) => None,
            (true, _) => Some((format!("{title} runs already"), true)),
        }
    };
    if let Some(agent) = selected_agent(deck) {
        let steps = deck.key(Action::Steps);
        return match why(agent) {
            Some((why, false)) => format!("{why}: {steps} says how"),
            Some((why, true)) => why,
            None => "it cannot be started now".to_owned(),
        };
    }
    let all: Vec<String> = deck
        .view
        .agents
        .iter()
        .filter_map(|card| Some(why(card.agent)?.0))
        .collect();
    all.join(", ")
}
