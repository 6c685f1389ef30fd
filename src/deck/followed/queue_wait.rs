//! [`QueueWait`]: why the messages queued for an agent wait.

use std::fmt;

use ctxrelay_ui::text::{clock, day, day_number};

use crate::core::agent::{Agent, AgentState};
use crate::deck::followed::row_facts::RowFacts;
use crate::wire::status::{CodexStatus, Status};

/// Why what is queued for an agent waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::deck) enum QueueWait {
    /// The person stopped its turn.
    StoppedTurn,
    /// The person is signed out of Codex.
    SignIn,
    /// The agents answered each other for too long.
    Exchange,
    /// Its usage limit is over then; no time where none is known.
    Limit(Option<String>),
    /// It lies in Codex's own queue, behind the turn that runs.
    RunningTurn,
}

impl fmt::Display for QueueWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StoppedTurn => f.write_str("held: you stopped its turn"),
            Self::SignIn => f.write_str("held until you sign in to Codex"),
            Self::Exchange => f.write_str("held: they answered each other for long without you"),
            Self::Limit(Some(ends)) => write!(f, "held until {ends}"),
            Self::Limit(None) => f.write_str("held until its usage limit is over"),
            Self::RunningTurn => f.write_str("waits for its turn to end"),
        }
    }
}

/// Why what is queued for an agent waits, where that is known: nothing is on its way, or that lies
/// behind Codex's turn.
pub(in crate::deck) fn waits_for(facts: &RowFacts<'_>, agent: Agent) -> Option<QueueWait> {
    let codex = codex_of(facts.status, agent);
    let (told, lane) = (facts.status.agents.of(agent), facts.status.queue.of(agent));
    // Claude gets it within its turn, where it can.
    let is_behind_turn =
        codex.is_some() && matches!(told.state, AgentState::Busy | AgentState::Waiting);
    if facts.is_lost || (lane.in_flight > 0 && !is_behind_turn) {
        return None;
    }
    let local = facts.local;
    match told.state {
        _ if codex.is_some_and(|codex| codex.needs_sign_in) => Some(QueueWait::SignIn),
        _ if codex.is_some_and(|codex| codex.held) => Some(QueueWait::StoppedTurn),
        _ if facts.status.exchanges.iter().any(|it| it.to == agent) => Some(QueueWait::Exchange),
        AgentState::Limited => {
            let ends = told
                .limit
                .and_then(|limit| Some((limit.since, limit.resets_at?)));
            let ends = ends.map(|(since_ms, at_ms)| {
                let day_of = |at_ms| day_number(at_ms, local.offset_s(at_ms));
                let offset = local.offset_s(at_ms);
                let day = match day_of(since_ms) == day_of(at_ms) {
                    true => String::new(),
                    false => format!("{} ", day(since_ms, at_ms, offset)),
                };
                format!("{day}{}", clock(at_ms, offset))
            });
            Some(QueueWait::Limit(ends))
        }
        _ if is_behind_turn => Some(QueueWait::RunningTurn),
        _ => None,
    }
}

/// What is told of Codex alone, where it is the one.
pub(in crate::deck) fn codex_of(status: &Status, agent: Agent) -> Option<&CodexStatus> {
    (agent == Agent::Codex).then_some(&status.agents.codex)
}
