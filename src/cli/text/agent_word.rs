//! [`agent_word`]: an agent as a person types it.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::core::agent::Agent;

/// Reads an agent's name; help and completions know both.
pub fn agent_word() -> impl TypedValueParser<Value = Agent> {
    let names = PossibleValuesParser::new(Agent::ALL.map(Agent::as_str));
    names.map(|name| match name.as_str() {
        "claude" => Agent::Claude,
        _ => Agent::Codex,
    })
}
