//! What a person would miss by leaving the deck ([`noticed`]), and whether leaving asks first
//! ([`asks_before_quit`]).

use crate::model::{Agent, AgentState, DaemonState, DeckView};
use crate::sanitize;

/// Whether somebody would notice that the deck is left.
pub(crate) fn asks_before_quit(view: &DeckView) -> bool {
    !noticed(view).is_empty() && !view.demo && view.daemon.state != DaemonState::Ended
}

/// What would be missed where the daemon ended now, a sentence each. Codex works for messages of
/// Claude's without a terminal of its own too.
pub(crate) fn noticed(view: &DeckView) -> Vec<String> {
    let names: Vec<&str> = view.attached.iter().map(|agent| agent.title()).collect();
    let mut lines = match names.as_slice() {
        [] => Vec::new(),
        [one] => vec![format!("{one} is attached.")],
        many => vec![format!("{} are attached.", many.join(" and "))],
    };
    for card in &view.agents {
        let (name, is_attached) = (card.agent.title(), view.attached.contains(&card.agent));
        // Codex waits without a turn where nobody is signed in.
        let is_in_turn = match card.state {
            AgentState::Busy => true,
            AgentState::Waiting => card.agent != Agent::Codex || card.turn_id.is_some(),
            _ => false,
        };
        if is_in_turn {
            lines.push(match is_attached {
                true => format!("{name} is in the middle of a turn."),
                false => format!("{name} is in the middle of a turn, which ends with the daemon."),
            });
        } else if card.agent == Agent::Codex && !is_attached && card.queue.in_flight > 0 {
            lines.push(format!("A message is on its way to {name}."));
        }
    }
    lines.extend(view.running_gate.as_deref().map(|gate| {
        let gate = sanitize::line(gate);
        // The next process does not go on with it.
        match view.daemon.state {
            DaemonState::Hosting => format!("The gate {gate} runs, and stops when you leave."),
            _ => format!("The gate {gate} runs."),
        }
    }));
    // A guest that leaves takes nothing from it.
    let is_hosting = view.daemon.state == DaemonState::Hosting;
    if view.has_other_deck && (is_hosting || !lines.is_empty()) {
        lines.push("Another deck is open on this daemon.".to_owned());
    }
    lines
}
