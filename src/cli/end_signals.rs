//! [`EndSignals`]: the signals that ask this process to end; [`OnceMore`]: those that say so again.

use std::time::Duration;

use futures::FutureExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::{ExitKind, Failure};
use crate::wire::control::ProgramCode;

/// How long a process that was told to end may take to do so in order: the daemon's own steps
/// together, and a little.
pub(super) const END_WAIT: Duration = Duration::from_secs(15);

/// SIGTERM, SIGINT and SIGHUP, from the moment of [`Self::listen`] on: one that comes before anybody
/// waits is kept.
pub(super) struct EndSignals([Signal; 3]);

impl EndSignals {
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::internal("watch signals", error));
        Ok(Self([
            listen(SignalKind::terminate())?,
            listen(SignalKind::interrupt())?,
            listen(SignalKind::hangup())?,
        ]))
    }

    pub(super) async fn next(&mut self) {
        let [terminate, interrupt, hangup] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// SIGTERM and SIGINT, by which somebody insists on the end of a process that is about to leave its
/// terminal. SIGHUP is none of them: it comes with the terminal, mostly twice.
pub(super) struct OnceMore([Signal; 2]);

impl OnceMore {
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::internal("watch signals", error));
        Ok(Self([
            listen(SignalKind::terminate())?,
            listen(SignalKind::interrupt())?,
        ]))
    }

    pub(super) async fn next(&mut self) {
        let [terminate, interrupt] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }

    /// What has come so far was heeded by somebody else.
    pub(super) fn forget(&mut self) {
        for signal in &mut self.0 {
            while signal.recv().now_or_never().is_some() {}
        }
    }
}

/// The process ends before what it owns has: what to say of it.
pub(super) fn not_in_order(why: &str) -> Failure {
    Failure::new(
        ExitKind::Internal,
        ProgramCode::NotInOrder,
        format!("the daemon did not end in order: {why}"),
        "what was acknowledged is on disk; see .contextrelay/state/contextrelay.log",
    )
}

/// Somebody insisted.
pub(super) fn at_once() -> Failure {
    tracing::warn!("a second signal: ending at once");
    not_in_order("a second signal ended it at once")
}

/// It was given up.
pub(super) fn too_late() -> Failure {
    tracing::error!("the daemon did not end in time");
    not_in_order("it took too long")
}
