//! Codex: its app-server as a child, a second client on it, and the proxy for its terminal.
//!
//! ```text
//! adapter ─► run ─► server  (spawn, banner, end)      proxy (terminal ─► app-server)
//!              └──► session (rpc ─► turns)
//! ```

pub mod adapter;
pub mod attempted_message;
mod command;
pub mod compaction_hook;
pub mod fact;
mod inflight;
pub mod instruction_names;
mod launch;
mod other_threads;
mod packet;
pub mod passed;
mod proxy;
pub mod request;
mod rpc;
mod run;
mod server;
mod session;
mod thread_state;
mod turn_trace;
mod turns;

#[cfg(test)]
mod tests;
