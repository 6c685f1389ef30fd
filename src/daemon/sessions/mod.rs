//! The end of a session and what follows it: [`Rollover`](rollover::Rollover) and
//! [`Deletion`](deletion::Deletion), what the next session inherits
//! ([`CarryingRead`](carrying::CarryingRead), [`Digest`](digest::Digest)), and the adoption of a
//! project of an older program.
//!
//! `commands::session_ending` answers the client that asks for an end.

pub(in crate::daemon) mod adopt;
pub(in crate::daemon) mod carrying;
pub(in crate::daemon) mod deletion;
pub(in crate::daemon) mod digest;
pub(in crate::daemon) mod mended;
pub(in crate::daemon) mod reopening;
pub(in crate::daemon) mod rollover;
pub(in crate::daemon) mod waiting_ending;
