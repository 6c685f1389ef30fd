//! The machines one by one, and all of them together in a simulated world.

#![allow(clippy::unwrap_used, reason = "tests")]

mod admission;
mod codex;
mod ladder;
mod limit;
mod recovery;
mod row;
mod simulation;
mod watchdog;
