//! The operator's actions on an agent that is silent, at its usage limit, or nearly full, and the
//! questions before anything is lost or spent.

use crate::action::Action;
use crate::can_act_on::{can_act_on, is_between_turns};
use crate::deck::Deck;
use crate::effect::{AgentAction, Effect, WhenBusy};
use crate::keymap::KeyContext;
use crate::model::{Agent, AgentCard, InboxKind, Level, Party};
use crate::overlays::{AgentSheet, Choice, ChoiceOption, Overlay, Pick};
use crate::sanitize;
use crate::text;

/// What the person types at Claude.
const COMPACT_CLAUDE: &str =
    "/compact Keep what is agreed, decided and open, with the ids of the ctxrelay messages.";

/// What an agent is asked before its context is compacted.
const WRITE_DOWN: &str = "Your context is nearly full, and may be compacted soon. Write down in the \
    record now what you are at (append_note: goal, plan, constraint, decision, next_step, question). \
    It comes back to you after the compaction. Nothing else is asked of you.";

/// Messages that are named before they are sent again.
const CUT_OFF_NAMED: usize = 5;

/// Columns of the beginning of each.
const CUT_OFF_COLUMNS: usize = 60;

/// On the pane: the sheet with the keys, never the deed.
pub(super) fn open_agent(deck: &mut Deck, agent: Agent) {
    deck.overlays.push(Overlay::Agent(AgentSheet::new(agent)));
}

/// On the sheet: does it, or asks first.
pub(super) fn agent_action(deck: &mut Deck, agent: Agent, action: Action) -> Vec<Effect> {
    if !can_act_on(deck, agent, action) {
        return Vec::new();
    }
    let Some(card) = deck.view.agent(agent) else {
        return Vec::new();
    };
    if action == Action::Compact
        && let Some(compacting) = compacting(deck)
    {
        return wait_for_compaction(deck, compacting, agent);
    }
    let title = agent.title();
    let release = deck.key_in(&[KeyContext::Inbox], Action::Retry);
    let effect = |act| Effect::AgentAction { agent, act };
    let (question, lines, yes, what, act) = match (action, agent) {
        (Action::Snooze, _) => return vec![effect(AgentAction::Snooze)],
        (Action::CancelRetries, _) => return vec![effect(AgentAction::CancelRetries)],
        (Action::Interrupt, Agent::Claude) => {
            deck.say(
                Level::Info,
                "Claude's turn can be stopped in its own terminal only: press Esc there",
            );
            return Vec::new();
        }
        (Action::Interrupt, Agent::Codex) => (
            "Stop Codex's turn?",
            vec![
                "What it has said so far in this turn and not finished is lost.".to_owned(),
                format!(
                    "Messages that wait in its queue stay there until you write to Codex in its \
                     terminal, or release them: {release} in the Inbox. What the turn had of \
                     ctxrelay's messages you can send again."
                ),
            ],
            "stop it",
            "the turn ends now",
            AgentAction::Interrupt {
                turn_id: card.turn_id.clone().unwrap_or_default(),
            },
        ),
        (Action::Compact, Agent::Claude) => return offer_compact_text(deck),
        (Action::Compact, Agent::Codex) if !is_between_turns(card) => {
            deck.overlays.push(Overlay::Choice(Choice::new(
                "Codex is at work",
                vec![
                    "Its context can be compacted between its turns: one that runs would be cut \
                     off. What it writes down now comes back to it after that."
                        .to_owned(),
                ],
                vec![
                    ChoiceOption::new("leave it", "everything stays as it is", Pick::Nothing),
                    write_down(agent),
                ],
            )));
            return Vec::new();
        }
        (Action::Compact, Agent::Codex) => (
            "Compact Codex's context?",
            vec![
                "Its model sums its conversation up and forgets the rest. That costs a request, and \
                 cannot be taken back."
                    .to_owned(),
                "Then it is told again what the record holds of its work. Messages for it wait \
                 until then, for a minute at most."
                    .to_owned(),
            ],
            "compact it",
            "in a turn of its own, now",
            AgentAction::Compact,
        ),
        (Action::SendAgain, _) => (
            "Send again what was cut off?",
            cut_off_lines(deck, card),
            "send again",
            "in their order, as turns of their own",
            AgentAction::SendAgain,
        ),
        _ => (
            "Try the usage limit now?",
            vec![format!(
                "One message goes to {title}; if the limit still holds, its turn fails and \
                 everything else waits on."
            )],
            "try now",
            "one message is the test",
            AgentAction::TryNow,
        ),
    };
    let mut options = vec![ChoiceOption::new(
        "leave it",
        "everything stays as it is",
        Pick::Nothing,
    )];
    if action == Action::Compact {
        options.push(write_down(agent));
    }
    options.push(ChoiceOption::new(yes, what, Pick::Effect(effect(act))));
    deck.overlays
        .push(Overlay::Choice(Choice::new(question, lines, options)));
    Vec::new()
}

/// Which messages would be sent again, and what that costs.
fn cut_off_lines(deck: &Deck, card: &AgentCard) -> Vec<String> {
    let title = card.agent.title();
    let mut lines = vec![match card.cut_off {
        1 => format!("{title} has one message whose turn ended early:"),
        n => format!(
            "{title} has {} messages whose turn ended early:",
            text::grouped(u64::from(n))
        ),
    }];
    let mut cards = deck.view.inbox.iter();
    let row = cards.find(|row| row.kind == InboxKind::CutOff && row.by == Party::Agent(card.agent));
    let named = row.map_or(&[][..], |row| &row.unclear);
    let named = &named[..named.len().min(CUT_OFF_NAMED)];
    lines.extend(named.iter().map(|message| {
        let number = text::grouped(message.line);
        match &message.words {
            Some(words) => {
                let words = text::fit(&sanitize::line(words), CUT_OFF_COLUMNS);
                format!("{number}  \u{201c}{words}\u{201d}")
            }
            None => format!("{number}  from {}", sanitize::line(message.from.title())),
        }
    }));
    let more = u64::from(card.cut_off).saturating_sub(named.len() as u64);
    if more > 0 && !named.is_empty() {
        lines.push(format!("and {} more", text::grouped(more)));
    }
    lines.push(match card.cut_off {
        1 => "It comes a second time, marked as a repetition, and costs a turn.".to_owned(),
        _ => "All of them come a second time, marked as a repetition; each costs a turn. Single ones \
              are sent again, or given up, on their row of the inbox."
            .to_owned(),
    });
    lines
}

/// The agent whose context is being compacted.
fn compacting(deck: &Deck) -> Option<Agent> {
    let mut cards = deck.view.agents.iter();
    let card = cards.find(|card| card.compacting)?;
    Some(card.agent)
}

/// One of the two keeps the thread while the other one loses it.
fn wait_for_compaction(deck: &mut Deck, compacting: Agent, wanted: Agent) -> Vec<Effect> {
    let (name, key) = (compacting.title(), deck.key(Action::Compact));
    let line = if compacting == wanted {
        format!("It is told again what the record holds of its work as soon as {name} is done.")
    } else {
        let wanted = wanted.title();
        format!(
            "The two are never compacted at once, so that one of them keeps the thread. Press \
             {key} on {wanted} again when {name} is done."
        )
    };
    deck.overlays.push(Overlay::Choice(Choice::new(
        format!("{name}'s context is being compacted now"),
        vec![line],
        vec![ChoiceOption::new(
            "wait",
            "everything stays as it is",
            Pick::Nothing,
        )],
    )));
    Vec::new()
}

/// Has the agent say first what a compaction may lose.
fn write_down(agent: Agent) -> ChoiceOption {
    ChoiceOption::new(
        "have it write down what it is at",
        "a message to it, in a turn of its own",
        Pick::Effect(Effect::SendMessage {
            draft: None,
            to: agent,
            text: WRITE_DOWN.to_owned(),
            when_busy: WhenBusy::Wait,
        }),
    )
}

/// Claude's context is compacted in its own terminal only.
fn offer_compact_text(deck: &mut Deck) -> Vec<Effect> {
    let lines = vec![
        "Claude's context can be compacted in its own terminal only. Copy the line, and paste it \
         there; then it is told again what the record holds of its work."
            .to_owned(),
        COMPACT_CLAUDE.to_owned(),
    ];
    let copy = Pick::Effect(Effect::CopyText(COMPACT_CLAUDE.to_owned()));
    deck.overlays.push(Overlay::Choice(Choice::new(
        "Compact Claude's context?",
        lines,
        vec![
            ChoiceOption::new("leave it", "everything stays as it is", Pick::Nothing),
            write_down(Agent::Claude),
            ChoiceOption::new("copy the line", "nothing happens here", copy),
        ],
    )));
    Vec::new()
}
