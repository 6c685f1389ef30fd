//! [`agent_of`], [`party_of`]: from a core party to the screen's; [`core_agent_of`]: back.

use ctxrelay_ui::model as ui;

use crate::core::agent::{Agent, Party};

/// As the screen names it.
pub(super) fn agent_of(agent: Agent) -> ui::Agent {
    match agent {
        Agent::Claude => ui::Agent::Claude,
        Agent::Codex => ui::Agent::Codex,
    }
}

/// As [`agent_of`], also who is no agent.
pub(super) fn party_of(party: &Party) -> ui::Party {
    match party {
        Party::Agent(agent) => ui::Party::Agent(agent_of(*agent)),
        Party::Human => ui::Party::Human,
        Party::System => ui::Party::System,
        Party::Other(name) => ui::Party::Other(name.clone()),
    }
}

/// The agent that the screen means.
pub(super) fn core_agent_of(agent: ui::Agent) -> Agent {
    match agent {
        ui::Agent::Claude => Agent::Claude,
        ui::Agent::Codex => Agent::Codex,
    }
}
