//! How the loop continues after a wait: [`Then`] with recorded entries, [`ThenStored`] and
//! [`ThenTaken`] behind rows, [`ThenReloaded`] with a packet, [`ThenRead`] with bodies.
//!
//! An owner keeps each one without looking into it. The loop calls it with the whole [`Daemon`],
//! never before the flow that left it is over: what was true when it was made may have changed, so
//! it has to check again. Dropping one drops the reply that it holds, and its caller gets no
//! answer.

use std::sync::Arc;

use super::Daemon;
use crate::daemon::agents::reloads::RecordedPacket;
use crate::daemon::deliveries::bodies::ReadBodies;
use crate::store::ledger::Stored;
use crate::wire::control::Refusal;

/// What happens once a batch is durable, or is not recorded for good: what was asked for was
/// refused, or what has happened was given up.
pub(in crate::daemon) type Then =
    Box<dyn FnOnce(&mut Daemon, Result<&[Arc<Stored>], &Refusal>) + Send>;

/// What happens once the rows before it are on the disk, or were refused.
pub(in crate::daemon) type ThenStored = Box<dyn FnOnce(&mut Daemon, Result<(), &Refusal>) + Send>;

/// As [`ThenStored`], for texts that leave by it. Whether somebody was there to take them.
pub(in crate::daemon) type ThenTaken =
    Box<dyn FnOnce(&mut Daemon, Result<(), &Refusal>) -> bool + Send>;

/// Gets a packet once it is recorded; none where the record knows of no work, and where it could not
/// be recorded.
pub(in crate::daemon) type ThenReloaded =
    Box<dyn FnOnce(&mut Daemon, Option<RecordedPacket>) + Send>;

/// What happens once bodies were read beside the loop.
pub(in crate::daemon) type ThenRead = Box<dyn FnOnce(&mut Daemon, ReadBodies) + Send>;
