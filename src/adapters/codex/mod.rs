//! Codex: its app-server as a child, a second client on it, and the proxy for its terminal.

pub mod fact;
pub mod request;
