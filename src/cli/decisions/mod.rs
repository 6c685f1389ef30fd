//! The operator's decisions: approvals, finality, gates and findings of reviews.

pub(in crate::cli) mod approvals;
pub(in crate::cli) mod finality;
pub(in crate::cli) mod gates;
pub(in crate::cli) mod review;
