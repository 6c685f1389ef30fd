//! `ctxrelay`: Claude Code and Codex side by side as one auditable team.
//!
//! Who may import whom (held by `tests/it/tidy.rs`):
//!
//! ```text
//!  main ─► cli ─┐
//!       bridge ─┼─► client ─► daemon ─► adapters ─► wire ─► core
//!         deck ─┘                └────► store ────► wire
//!  deck ─► ctxrelay-ui (crate)     host: composition root, may see all
//! ```
//!
//! Invariants:
//!
//! - `core` does no IO, reads no clock and knows no runtime. It refuses, it does not fail.
//! - The ledger line and the protocols are written in `wire` alone.
//! - Only the daemon's loop changes the world, and always **append → fold → publish**: nobody
//!   learns a fact that the ledger does not hold.
//! - `bridge`, `cli` and `deck` ask the daemon through `client`, and in no other way.
//! - `ctxrelay-ui` does not know that a daemon, a socket, a file or a clock exists.
//! - Only `deck::term` touches the terminal; only `bridge` and `cli::output` write to stdout.
//! - Every queue is bounded and says what happens when it is full; every wait has a deadline.

pub mod adapters;
pub mod bridge;
pub mod cli;
pub mod client;
pub mod core;
pub mod daemon;
pub mod deck;
pub mod demo;
pub mod host;
pub mod store;
pub mod wire;
