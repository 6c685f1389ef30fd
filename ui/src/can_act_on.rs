//! [`can_act_on`] and [`can_start`]: what the operator can do about an agent now.

use crate::action::Action;
use crate::deck::Deck;
use crate::model::{Agent, AgentCard, AgentState};

/// Whether the action would do something for this agent now.
pub(crate) fn can_act_on(deck: &Deck, agent: Agent, action: Action) -> bool {
    let Some(card) = deck.view.agent(agent) else {
        return false;
    };
    let is_cancelled = |card: &AgentCard| {
        let limit = card.limit.as_ref();
        limit.is_some_and(|limit| limit.is_cancelled)
    };
    deck.view.daemon.state.can_act()
        && match action {
            Action::Interrupt => works(card),
            Action::SendAgain => card.cut_off > 0,
            Action::Snooze => card
                .silence
                .as_ref()
                .is_some_and(|silence| silence.snoozed_until_ms.is_none()),
            Action::TryNow => card.limit.is_some(),
            Action::CancelRetries => card.limit.is_some() && !is_cancelled(card),
            Action::Compact => is_between_turns(card) || works(card),
            _ => false,
        }
}

/// No turn would be cut off.
pub(crate) fn is_between_turns(card: &AgentCard) -> bool {
    card.state == AgentState::Idle && card.turn_id.is_none()
}

/// A turn runs, as far as anybody can tell.
fn works(card: &AgentCard) -> bool {
    match card.agent {
        Agent::Claude => matches!(
            card.state,
            AgentState::Busy | AgentState::Waiting | AgentState::Stale
        ),
        Agent::Codex => card.turn_id.is_some(),
    }
}

/// The agent is not there, and its program is.
pub(crate) fn can_start(deck: &Deck, agent: Agent) -> bool {
    deck.view
        .agent(agent)
        .is_some_and(|card| card.installed && matches!(card.state, AgentState::Offline))
}
