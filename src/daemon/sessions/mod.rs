//! A session's end and what follows it: [`Rollover`](rollover::Rollover) and
//! [`Deletion`](deletion::Deletion), what the next session is left
//! ([`CarryingRead`](carrying::CarryingRead), [`Digest`](digest::Digest)), and a project of an older
//! program that is taken up.
//!
//! Who wishes an end is answered by `commands::session_ending`.

pub(in crate::daemon) mod adopt;
pub(in crate::daemon) mod carrying;
pub(in crate::daemon) mod deletion;
pub(in crate::daemon) mod digest;
pub(in crate::daemon) mod mended;
pub(in crate::daemon) mod reopening;
pub(in crate::daemon) mod rollover;
pub(in crate::daemon) mod waiting_ending;
