//! [`Deliveries`]: the messages that are on their way.

use super::continuation::ThenRead;
use super::continuation::ThenStored;
use crate::core::delivery::HeldEffects;
use crate::daemon::deliveries::blocked_once::BlockedOnce;
use crate::daemon::deliveries::bodies::BodyReads;
use crate::daemon::deliveries::given_heads::GivenHeads;
use crate::daemon::deliveries::handoff_dedup::HandoffDedup;
use crate::daemon::deliveries::outbox::Outbox;
use crate::wire::control::Refusal;

/// Effects that wait for rows of messages to be on the disk.
pub(in crate::daemon) type HeldByRows = HeldEffects<ThenStored, Refusal>;

/// The messages on their way to any agent: their rows, the effects that wait for these to be on the
/// disk, their bodies, and how they were given.
///
/// Whether an agent can take one now is decided by its lane, in [`Agents`](super::Agents).
pub struct Deliveries {
    pub(in crate::daemon) outbox: Outbox,
    pub(in crate::daemon) held: HeldByRows,
    pub(in crate::daemon) bodies: BodyReads<ThenRead>,
    pub(in crate::daemon) given: GivenHeads,
    pub(in crate::daemon) handoff_dedup: HandoffDedup,
    pub(in crate::daemon) blocked_once: BlockedOnce,
}

impl Deliveries {
    pub(super) fn new(outbox: Outbox, handoff_dedup: HandoffDedup) -> Self {
        Self {
            outbox,
            held: HeldByRows::default(),
            bodies: BodyReads::default(),
            given: GivenHeads::default(),
            handoff_dedup,
            blocked_once: BlockedOnce::default(),
        }
    }
}
