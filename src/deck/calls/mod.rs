//! The screen's wishes as calls to the daemon, and their results.

pub(in crate::deck) mod agent_work;
pub mod capsules;
pub mod elsewhere;
pub(in crate::deck) mod found;
pub(in crate::deck) mod notice;
pub(in crate::deck) mod open_entry;
pub(in crate::deck) mod perform;
pub(in crate::deck) mod queue_changes;
pub(in crate::deck) mod search;
pub(in crate::deck) mod thread;
