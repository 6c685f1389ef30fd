//! [`Watch`]: a reading client of the daemon in this process, which waits for what the story needs.
//!
//! Never changes anything: the agents act through their own interfaces.

use std::time::Duration;

use tokio::sync::broadcast;
use tokio::time::timeout;

use super::DemoError;
use crate::client::Client;
use crate::core::snapshot::Snapshot;
use crate::host::{ProjectContext, Running};
use crate::wire::control::{Command, Notification, Reply, Role};
use crate::wire::status::Status;

/// A subscription that is read.
#[derive(Debug)]
pub(super) struct Watch {
    client: Client,
    notifications: broadcast::Receiver<Notification>,
}

impl Watch {
    pub(super) async fn open(
        project: &ProjectContext,
        running: &Running,
    ) -> Result<Self, DemoError> {
        let hello = project.hello(Role::Cli, None);
        let client = Client::in_process(running.handle.clone(), hello, false)
            .await
            .map_err(DemoError::Refused)?;
        let notifications = client.notifications();
        client.call(Command::Subscribe).await?;
        Ok(Self {
            client,
            notifications,
        })
    }

    /// Asks as a client.
    pub(super) async fn call(&self, command: Command) -> Result<Reply, DemoError> {
        Ok(self.client.call(command).await?)
    }

    /// Waits until the folded world has what is looked for, within the time if there is one.
    pub(super) async fn world<T>(
        &mut self,
        what: &'static str,
        wait: Option<Duration>,
        pick: impl Fn(&Snapshot) -> Option<T>,
    ) -> Result<T, DemoError> {
        let looked = self.until(Command::ReadSnapshot, |reply| match reply {
            Reply::Snapshot(world) => pick(world),
            _ => None,
        });
        within(what, wait, looked).await
    }

    /// As [`Self::world`], for the status.
    pub(super) async fn status<T>(
        &mut self,
        what: &'static str,
        wait: Option<Duration>,
        pick: impl Fn(&Status) -> Option<T>,
    ) -> Result<T, DemoError> {
        let looked = self.until(Command::ReadStatus, |reply| match reply {
            Reply::Status(status) => pick(status),
            _ => None,
        });
        within(what, wait, looked).await
    }

    /// Waits for news of any kind, those that were missed included.
    pub(super) async fn news(&mut self) -> Result<(), DemoError> {
        match self.notifications.recv().await {
            Ok(Notification::Stopping { .. }) | Err(broadcast::error::RecvError::Closed) => {
                Err(DemoError::Ended)
            }
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => Ok(()),
        }
    }

    async fn until<T>(
        &mut self,
        command: Command,
        pick: impl Fn(&Reply) -> Option<T>,
    ) -> Result<T, DemoError> {
        loop {
            if let Some(found) = pick(&self.client.call(command.clone()).await?) {
                return Ok(found);
            }
            self.news().await?;
        }
    }
}

async fn within<T>(
    what: &'static str,
    wait: Option<Duration>,
    looked: impl Future<Output = Result<T, DemoError>>,
) -> Result<T, DemoError> {
    match wait {
        Some(wait) => timeout(wait, looked)
            .await
            .map_err(|_| DemoError::InVain(what))?,
        None => looked.await,
    }
}
