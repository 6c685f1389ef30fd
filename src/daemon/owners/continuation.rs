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

/// Runs once a batch is durable, or will certainly not be recorded: a request was refused, or a
/// fact was given up.
pub(in crate::daemon) type Then =
    Box<dyn FnOnce(&mut Daemon, Result<&[Arc<Stored>], &Refusal>) + Send>;

/// Runs once the rows before it are on the disk, or were refused.
pub(in crate::daemon) type ThenStored = Box<dyn FnOnce(&mut Daemon, Result<(), &Refusal>) + Send>;

/// Like [`ThenStored`], for texts that leave. Returns whether anybody was there to take them.
pub(in crate::daemon) type ThenTaken =
    Box<dyn FnOnce(&mut Daemon, Result<(), &Refusal>) -> bool + Send>;

/// Gets a packet once it is recorded; none if the record knows of no work, or the packet could not
/// be recorded.
pub(in crate::daemon) type ThenReloaded =
    Box<dyn FnOnce(&mut Daemon, Option<RecordedPacket>) + Send>;

/// Runs once bodies were read beside the loop.
pub(in crate::daemon) type ThenRead = Box<dyn FnOnce(&mut Daemon, ReadBodies) + Send>;
