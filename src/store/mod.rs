//! The disk: where things lie, the ledger, the queue, the registry, the owner's lock.
//!
//! Knows `core` and `wire::line`; knows nothing of sockets and agents.

pub mod dirs;
