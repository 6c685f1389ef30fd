//! `ctxrelay demo`: two scripted agents work on a small task in a throw-away project, over the real
//! daemon, the real bridge, doorbell and hook processes and a scripted `codex app-server`.
//!
//! - [`world`]: the temporary project and what the daemon needs to run on it.
//! - [`play`]: the story, from Claude's first note to the operator's decision.
//! - [`text`]: the same without a terminal, as lines.
//! - [`codex`]: the scripted app-server, a separate process behind the adapter.
//!
//! Writes no entry itself: every entry of the record comes from one of the agents, by the same
//! interfaces that the real ones use. Knows no terminal and no screen.

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
