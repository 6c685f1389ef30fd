//! The command line: one file per verb, each `run(&CliContext, Args) -> CliOutcome`, in a folder
//! with related verbs and what they share.
//!
//! - [`args`]: what can be typed; [`settings`]: what the environment adds, checked once.
//! - [`report`]: what a verb reports, filled once; [`output`]: the place that prints (`signing`
//!   asks for passphrases besides it); [`exit`]: the meaning of the exit codes.
//! - [`connection`]: the ways to a running daemon; [`offline`]: what is known without one.
//!
//! Decides nothing about the record: the daemon carries out a command or refuses it.

mod agents;
pub mod args;
mod capsule;
mod connection;
mod context;
mod decisions;
mod deliveries;
pub mod exit;
mod help;
mod lifecycle;
pub mod logging;
mod offline;
pub mod output;
#[cfg(debug_assertions)]
mod panic_on_order;
mod record;
pub mod report;
pub mod run;
pub mod screen;
pub mod settings;
mod setup;
mod signing;
mod text;
