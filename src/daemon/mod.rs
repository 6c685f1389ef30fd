//! The daemon: the only owner of mutable world state, hosted by a deck or on its own.
//!
//! - [`Event`](event::Event): what wakes it, one variant per source.
//! - [`Daemon`](owners::Daemon): the owners; [`run`]: the loop. Append → fold → publish → effects, in this order.
//! - [`DaemonHandle`](handle::DaemonHandle): the cheap way in.
//! - [`Builder`](start::Builder): lock, ledger, queue, ports; then the loop.
//!
//! Who owns what; fields are private, and what has to follow is returned and done by the loop:
//!
//! | owner | has | takes | returns |
//! |---|---|---|---|
//! | [`Recorder`](recorder::Recorder) | ledger, world, latest entries, what waits for the disk | entries, the writer's word, a deadline | [`RecorderAction`](recorder::RecorderAction)s |
//! | [`Clients`](clients::Clients) | connections, waiters, calls that wait for the record, liveness probes | hello, goodbye, deadlines | who hears what, and who is answered |
//! | [`Outbox`](outbox::Outbox) | messages that are not proven yet, the writer of `queue.db` | rows | rows, tokens of their writes |
//! | [`HeldEffects`](held_effects::HeldEffects) | what waits for rows to be on the disk | effects of delivery, who goes on behind them; the writer's word | what may leave, what does not |
//! | [`Gates`](gates::Gates) | the run of gates that is under way | gates, what the running one tells | the gate to run next, who waits for the end |
//! | [`Readers`](readers::Readers) | reads beside the loop | a read | its answer, to who asked |
//! | [`CodexLane`](codex_lane::CodexLane), [`ClaudeLane`](claude_lane::ClaudeLane) | an agent's state and the machine that delivers to it | facts of the adapter, hooks and calls | effects of delivery |
//!
//! A file with `impl Daemon` is a flow over several owners. Knows nothing of screens and command
//! lines.

mod adopt;
mod agent_processes;
mod altered;
pub mod attach;
mod bounded_map;
mod claude;
mod claude_lane;
mod claude_processes;
mod clients;
mod clock;
mod codex;
mod codex_lane;
mod commands;
mod configuration;
mod configuring;
mod connecting;
mod continuation;
pub mod control;
mod decisions;
mod digest;
mod effects;
mod ending;
pub mod event;
mod failing;
pub mod fault;
mod foreign;
mod gates;
mod given_heads;
pub mod handle;
mod handoff_dedup;
mod held_effects;
mod identity;
mod inbox;
mod limiting;
mod limits;
mod loop_times;
mod mended;
mod message_page;
mod metrics;
mod notices;
mod operations;
mod operator;
mod operator_refusals;
mod outbox;
mod outdated;
mod owners;
mod peer;
mod pending_decisions;
mod readers;
mod recorder;
mod recording;
mod registering;
pub mod reply;
mod rollover;
mod run;
pub mod running;
mod sending_again;
mod show;
mod silence;
mod space;
pub mod start;
mod start_error;
mod status;
mod stop;
mod storing;
pub mod takeover;
mod tamper;
mod tree;
mod waiting;
mod watching_turns;
mod whole_text;

#[cfg(test)]
mod tests;
