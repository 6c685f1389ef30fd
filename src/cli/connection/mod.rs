//! The ways to a running daemon, and which process holds the project if none answers.

pub(in crate::cli) mod connect;
pub(in crate::cli) mod dialed;
pub(in crate::cli) mod difference;
pub(in crate::cli) mod lock_owner;
pub(in crate::cli) mod operator;
pub(in crate::cli) mod record_now;
pub(in crate::cli) mod state_elsewhere;
