//! `ctxrelay demo`: two scripted agents work a small task on a throw-away project, over the real
//! daemon, the real bridge, doorbell and hook processes and a scripted `codex app-server`.
//!
//! - [`world`]: the temporary project and what the daemon needs to run on it.
//! - [`play`]: the story, from Claude's first note to the operator's decision.
//! - [`text`]: the same without a terminal, as lines.
//! - [`codex`]: the scripted app-server, a process of its own behind the adapter.
//!
//! Writes no entry by itself: whatever stands in the record was said by one of the agents through
//! the same doors that the real ones use. Knows no terminal and no screen.

mod claude;
pub mod codex;
mod error;
mod mcp;
mod pace;
pub mod play;
mod story;
pub mod text;
mod watch;
pub mod world;

pub use error::DemoError;
pub use pace::SPEEDS;
