//! The command line: one file per verb, each `run(&CliContext, Args) -> CliOutcome`, in a folder with
//! what is near to it and with what these verbs share.
//!
//! - [`args`]: what can be typed; [`settings`]: what the environment adds, checked once.
//! - [`report`]: what a verb tells, filled once; [`output`]: the place that prints
//!   (passphrases are asked for beside it, in `signing`);
//!   [`exit`]: what the exit codes mean.
//! - [`connection`]: the ways to a running daemon; [`offline`]: what is known without one.
//!
//! Decides nothing about the record: the daemon does, or says no.

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
