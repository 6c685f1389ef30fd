//! Reads, searches, exports and shortens the record, and derives the state of the work from it.

pub(in crate::cli) mod continuity;
pub(in crate::cli) mod instructions;
pub(in crate::cli) mod ledger;
pub(in crate::cli) mod recover;
pub(in crate::cli) mod redact;
pub(in crate::cli) mod search;
pub(in crate::cli) mod status;
