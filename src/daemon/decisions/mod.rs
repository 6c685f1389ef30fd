//! Decisions about the agents' work: the owners of [`Decisions`](super::owners::Decisions) and
//! their flows. That is approvals, gates, proposals, findings of a review, and how the operator's
//! word is signed and passed on.
//!
//! What asks for a decision or gives one is a command: `commands::answer_approval`,
//! `commands::decide`, `commands::gates`.

pub(in crate::daemon) mod agent_ran;
pub(in crate::daemon) mod approval_texts;
pub(in crate::daemon) mod approvals;
pub(in crate::daemon) mod approving;
pub(in crate::daemon) mod decision_messages;
pub(in crate::daemon) mod gates;
pub(in crate::daemon) mod how_over;
pub(in crate::daemon) mod imports;
pub(in crate::daemon) mod pending_decisions;
pub(in crate::daemon) mod shown_over;
pub(in crate::daemon) mod signing;
