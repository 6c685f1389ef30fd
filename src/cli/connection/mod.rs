//! The ways to a running daemon, and who holds the project where none answers.

pub(in crate::cli) mod connect;
pub(in crate::cli) mod dialed;
pub(in crate::cli) mod difference;
pub(in crate::cli) mod lock_owner;
pub(in crate::cli) mod operator;
pub(in crate::cli) mod record_now;
pub(in crate::cli) mod state_elsewhere;
