//! [`EndSignals`]: the signals that ask this process to end, and their repetitions.

use std::io;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::select_all;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::exit::{ExitKind, Failure};
use crate::wire::control::ProgramCode;

/// How long a process that was told to end may take to do so in order: the daemon's own steps
/// together, and a little.
pub(in crate::cli) const END_WAIT: Duration = Duration::from_secs(15);

/// Kept from the moment on from which they are listened to: one that comes before anybody waits is not
/// lost.
pub(in crate::cli) struct EndSignals(Vec<Signal>);

impl EndSignals {
    /// SIGTERM, SIGINT and SIGHUP, which ask this process to end.
    pub(in crate::cli) fn listen() -> Result<Self, Failure> {
        Self::of(&[
            SignalKind::terminate(),
            SignalKind::interrupt(),
            SignalKind::hangup(),
        ])
    }

    /// SIGTERM and SIGINT, by which somebody insists on the end of a process that is about to leave
    /// its terminal. SIGHUP is none of them: it comes with the terminal, mostly twice.
    pub(in crate::cli) fn listen_once_more() -> Result<Self, Failure> {
        Self::of(&[SignalKind::terminate(), SignalKind::interrupt()])
    }

    fn of(kinds: &[SignalKind]) -> Result<Self, Failure> {
        let signals: io::Result<_> = kinds.iter().map(|kind| signal(*kind)).collect();
        let signals = signals.map_err(|error| Failure::internal("watch signals", error))?;
        Ok(Self(signals))
    }

    pub(in crate::cli) async fn next(&mut self) {
        select_all(self.0.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
    }

    /// What has come so far was heeded by somebody else.
    pub(in crate::cli) fn forget(&mut self) {
        for signal in &mut self.0 {
            while signal.recv().now_or_never().is_some() {}
        }
    }
}

/// The process ends before what it owns has: what to say of it.
pub(in crate::cli) fn not_in_order(why: &str) -> Failure {
    Failure::new(
        ExitKind::Internal,
        ProgramCode::NotInOrder,
        format!("the daemon did not end in order: {why}"),
        "what was acknowledged is on disk; see .contextrelay/state/contextrelay.log",
    )
}

/// Somebody insisted.
pub(in crate::cli) fn at_once() -> Failure {
    tracing::warn!("a second signal: ending at once");
    not_in_order("a second signal ended it at once")
}

/// It was given up.
pub(in crate::cli) fn too_late() -> Failure {
    tracing::error!("the daemon did not end in time");
    not_in_order("it took too long")
}
