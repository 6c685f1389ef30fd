//! Messages on their way to their receivers: the owners of
//! [`Deliveries`](super::owners::Deliveries) and their flows, from the row in `queue.db` and the
//! body in the ledger to the proof that a message arrived.
//!
//! How a message reaches a particular agent is in `agents::codex` and `agents::claude`.

pub(in crate::daemon) mod altered;
pub(in crate::daemon) mod blocked_once;
pub(in crate::daemon) mod bodies;
pub(in crate::daemon) mod claiming;
pub(in crate::daemon) mod delivery_record;
pub(in crate::daemon) mod delivery_results;
pub(in crate::daemon) mod effects;
pub(in crate::daemon) mod envelope;
pub(in crate::daemon) mod exchanging;
pub(in crate::daemon) mod given_heads;
pub(in crate::daemon) mod handoff_dedup;
pub(in crate::daemon) mod message_page;
pub(in crate::daemon) mod outbox;
pub(in crate::daemon) mod reading_bodies;
pub(in crate::daemon) mod sending_again;
pub(in crate::daemon) mod storing;
