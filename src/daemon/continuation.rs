//! [`GoOn`]: how the loop goes on with what was to be recorded; [`ThenStored`]: behind rows;
//! [`ThenReloaded`]: with a packet; [`ThenRead`]: with bodies.

use std::sync::Arc;

use super::bodies::ReadBodies;
use super::owners::Daemon;
use super::reloads::RecordedPacket;
use crate::store::ledger::Stored;
use crate::wire::control::Refusal;

/// What happens once a batch is durable, or has failed.
pub(super) type Then = Box<dyn FnOnce(&mut Daemon, Result<&[Arc<Stored>], &Refusal>) + Send>;

/// What happens once a fact is durable.
pub(super) type ThenDurable = Box<dyn FnOnce(&mut Daemon, &[Arc<Stored>]) + Send>;

/// What happens once the rows before it are on the disk, or were refused.
pub(super) type ThenStored = Box<dyn FnOnce(&mut Daemon, Result<(), &Refusal>) + Send>;

/// Gets a packet once it is recorded; none where the record knows of no work, and where it could not
/// be recorded.
pub(super) type ThenReloaded = Box<dyn FnOnce(&mut Daemon, Option<RecordedPacket>) + Send>;

/// What happens once bodies were read beside the loop.
pub(super) type ThenRead = Box<dyn FnOnce(&mut Daemon, ReadBodies) + Send>;

/// How the loop goes on with what was to be recorded.
pub(super) enum GoOn {
    /// With what somebody asked for.
    Asked(Then),
    /// With what has happened.
    Fact(ThenDurable),
}

impl GoOn {
    pub(super) fn recorded(self, daemon: &mut Daemon, entries: &[Arc<Stored>]) {
        match self {
            Self::Asked(then) => then(daemon, Ok(entries)),
            Self::Fact(then) => then(daemon, entries),
        }
    }

    pub(super) fn refused(self, daemon: &mut Daemon, refusal: &Refusal) {
        match self {
            Self::Asked(then) => then(daemon, Err(refusal)),
            Self::Fact(_) => {}
        }
    }
}
