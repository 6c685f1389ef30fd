//! Whether the agents of a pair are already in other terminals: two more would be a second pair in
//! the same files.

use crate::cli::connection::connect::{self, DaemonFound};
use crate::cli::exit::Failure;
use crate::core::agent::AgentState;
use crate::core::id::RuntimeSession;
use crate::host::ProjectContext;
use crate::wire::status::Status;

/// What the deck says that opens without agents, because they are in other terminals.
pub(super) const ATTACHED_ELSEWHERE: &str = "Claude and Codex of this pair are attached already: only the \
    deck opens. `ctxrelay pair --new` opens both of them here too, with another conversation";

/// Whether both agents of this pair are with the daemon already, in whatever terminal.
pub(super) async fn are_both_attached(project: &ProjectContext) -> Result<bool, Failure> {
    // What cannot be asked stands in the way of nothing: the deck says what is wrong.
    let DaemonFound::Live(live) = connect::control(project).await else {
        return Ok(false);
    };
    let status = live.status().await;
    Ok(status.is_ok_and(|status| has_both(&status, &project.runtime_session)))
}

fn has_both(status: &Status, pair: &RuntimeSession) -> bool {
    let (claude, codex) = (&status.agents.claude, &status.agents.codex);
    let named = claude.pairs.iter().find(|of| of.pair == pair.as_str());
    let state = match named {
        Some(of) => of.state,
        // One pair alone is not named.
        None if claude.pairs.is_empty() && *pair == RuntimeSession::default() => claude.state,
        None => AgentState::Offline,
    };
    // The Codex that the daemon runs is one for all pairs.
    state.is_attached() && codex.tui
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::status::PairStatus;

    #[test]
    fn the_agents_of_this_pair_are_attached_whoever_else_is() {
        let [default, two] = [
            RuntimeSession::default(),
            RuntimeSession::new("two".to_owned()),
        ];
        let mut status = Status::default();
        assert!(!has_both(&status, &default));
        status.agents.claude.state = AgentState::Idle;
        assert!(!has_both(&status, &default), "Codex has no terminal");
        status.agents.codex.tui = true;
        assert!(has_both(&status, &default) && !has_both(&status, &two));
        // Of several the status has each; the state above them is of one.
        let of = |pair: &RuntimeSession, state| PairStatus {
            pair: pair.to_string(),
            state,
            ..PairStatus::default()
        };
        status.agents.claude.pairs = vec![
            of(&default, AgentState::Offline),
            of(&two, AgentState::Busy),
        ];
        assert!(!has_both(&status, &default) && has_both(&status, &two));
    }
}
