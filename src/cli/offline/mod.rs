//! What can be known and done without a running daemon, from the disk alone.

pub(in crate::cli) mod alone;
pub(in crate::cli) mod destination;
pub(in crate::cli) mod disk;
pub(in crate::cli) mod newer_state;
pub(in crate::cli) mod seen_claude;
