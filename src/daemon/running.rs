//! [`Running`]: a daemon, as its host sees it.

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::fault::DaemonFault;
use super::handle::DaemonHandle;
use super::takeover::{Replacement, Takeover};
use crate::store::published::Published;

/// A daemon that runs.
#[derive(Debug)]
pub struct Running {
    /// The way in.
    pub handle: DaemonHandle,
    pub published: Published,
    /// What it leaves when it was told to leave; an error when it ended without.
    pub takeover: oneshot::Receiver<Takeover>,
    /// Programs that the operator wants to go on in its place. Where nobody takes them, the
    /// operator is told that it cannot be done.
    pub next_daemons: mpsc::Receiver<Replacement>,
    pub(super) task: JoinHandle<Option<DaemonFault>>,
}

impl Running {
    /// Waits for its end.
    ///
    /// # Errors
    ///
    /// The fault that ended it, when nobody had told it to end.
    pub async fn ended(&mut self) -> Result<(), DaemonFault> {
        match (&mut self.task).await {
            Ok(None) => Ok(()),
            Ok(Some(fault)) => Err(fault),
            Err(_) => Err(DaemonFault::Loop),
        }
    }
}
