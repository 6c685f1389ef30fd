//! [`EndSignals`]: the signals that ask this process to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::Failure;

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
