//! The daemon: the only owner of mutable world state, hosted by a deck or on its own.
//!
//! - [`Event`](event::Event): what wakes it, one variant per source.
//! - [`Daemon`](run::Daemon): the loop. Append → fold → publish → effects, in this order.
//! - [`DaemonHandle`](handle::DaemonHandle): the cheap way in.
//! - [`Builder`](start::Builder): lock, ledger, queue, ports; then the loop.
//!
//! Knows nothing of screens and command lines.

mod adopt;
mod agent_processes;
mod altered;
pub mod attach;
mod claude_lane;
mod clients;
mod clock;
mod codex_lane;
mod commands;
mod configuration;
mod connecting;
pub mod control;
mod decisions;
mod digest;
mod effects;
mod ending;
pub mod event;
mod failing;
pub mod fault;
mod foreign;
pub mod handle;
mod handoff_dedup;
mod identity;
mod inbox;
mod limits;
mod loop_times;
mod mended;
mod message_page;
mod metrics;
mod notices;
mod operator;
mod operator_refusals;
mod outbox;
mod outdated;
mod peer;
mod readers;
mod recorder;
mod recording;
pub mod reply;
mod rollover;
mod run;
pub mod running;
mod show;
mod silence;
mod space;
pub mod start;
mod start_error;
mod status;
pub mod takeover;
mod tamper;
mod tree;
mod waiting;
mod whole_text;

#[cfg(test)]
mod tests;
