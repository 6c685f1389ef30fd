//! The agents' side of the daemon: MCP over stdio and over HTTP, the doorbell and the hook.
//!
//! Talks to the daemon only through `client`, records nothing and decides nothing. Standard output
//! belongs to the agent on the other side; diagnostics go to `tracing`.

pub mod doorbell;
mod handed;
pub mod hook;
pub mod http;
mod http_call;
mod instructions;
mod json;
mod process;
mod server;
pub mod stdio;
mod tools;

use crate::core::agent::Agent;
use crate::core::relay_cost::ShownChars;

/// How long the texts are that an agent's model gets of our server when a conversation begins. Codex's
/// gets the first paragraph of the instructions, and more when it looks for a tool (0.169.0,
/// observed).
pub fn shown_chars(agent: Agent) -> ShownChars {
    let instructions = instructions::instructions(agent);
    let listed = || serde_json::to_string(&tools::toolbox::list(agent)).unwrap_or_default();
    let chars = |text: &str| text.chars().count() as u64;
    match agent {
        Agent::Claude => ShownChars {
            tools: chars(&listed()),
            instructions: chars(instructions),
        },
        Agent::Codex => ShownChars {
            tools: 0,
            instructions: chars(instructions.split("\n\n").next().unwrap_or_default()),
        },
    }
}
