//! The machines one by one, and all of them together in a simulated world.

#![allow(clippy::unwrap_used, reason = "tests")]

mod admission;
mod backlog;
mod claude_state;
mod codex;
mod codex_state;
mod ladder;
mod limit;
mod recovery;
mod row;
mod simulation;
mod watchdog;
