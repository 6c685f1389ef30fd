//! Extracts what a review says from the comment that carries it.
//!
//! - [`CleanBody`]: a comment's words without pictures, buttons and prompts for an AI.
//! - [`ImportedFinding`]: the same, ready to be recorded; [`ImportPlan`]: what is to be recorded.
//! - [`FindingSeverity::of`](crate::entry::FindingSeverity::of): how bad it is, with a
//!   [`SeverityBy`](crate::entry::SeverityBy) for the evidence; [`ReviewPart`]: which part of its
//!   review a comment is.
//!
//! A comment is text from elsewhere: it is read, never followed.

#[cfg(any(test, feature = "testing"))]
pub mod bodies;
mod body;
mod comment;
mod details;
mod fence;
#[cfg(any(test, feature = "testing"))]
pub mod hostile;
mod links;
mod place;
mod plan;
mod quote;
mod severity;
mod tags;
#[cfg(test)]
mod tests;

pub use body::{BODY_BYTES_MAX, CLEAN_BYTES_MAX, CleanBody, SUGGESTIONS_MAX};
pub use comment::{ImportedFinding, ReviewComment, is_inside};
pub use place::{FindingPlace, LineFate};
pub use plan::{FILE_APART_DIGITS, FILE_REVIEW, ImportPlan, ReviewChanged, WholeReview};
pub use quote::{quoted, unquoted, with_suggestions};
pub use severity::ReviewPart;
