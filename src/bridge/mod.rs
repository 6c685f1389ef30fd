//! What the agents talk to: MCP over stdio and over HTTP, the doorbell and the hook.
//!
//! Speaks to the daemon through `client` alone, records nothing and decides nothing. Standard
//! output belongs to the agent on the other side; diagnostics go to `tracing`.

pub mod doorbell;
pub mod hook;
pub mod http;
mod instructions;
mod process;
mod server;
pub mod stdio;
mod tools;
