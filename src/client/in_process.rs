//! The in-process transport: commands reach the daemon's loop unchanged.

use tokio::sync::{broadcast, watch};

use super::{Client, ClientError, Connection, NOTIFICATIONS_MAX, Transport};
use crate::daemon::attach::ConnId;
use crate::daemon::handle::DaemonHandle;
use crate::wire::control::{Command, Hello, Notification, Refusal, Reply};

/// A client in the daemon's own process.
#[derive(Clone)]
pub(super) struct InProcessHandle {
    daemon: DaemonHandle,
    conn: ConnId,
    notifications: broadcast::Sender<Notification>,
    connection: watch::Receiver<Connection>,
}

impl Client {
    /// Joins the daemon of this process. The connection lasts as long as the daemon; there is
    /// nothing to redial.
    ///
    /// # Errors
    ///
    /// When the daemon refuses the hello.
    pub async fn in_process(
        daemon: DaemonHandle,
        hello: Hello,
        operator: bool,
    ) -> Result<Self, Refusal> {
        let mut joined = daemon.join(hello, operator).await?;
        let (notifications, _) = broadcast::channel(NOTIFICATIONS_MAX);
        let (connected, connection) = watch::channel(Connection::Connected(joined.welcome));
        let handle = InProcessHandle {
            daemon: daemon.clone(),
            conn: joined.conn,
            notifications: notifications.clone(),
            connection,
        };
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    notification = joined.notifications.recv() => match notification {
                        // Nobody listening is no fault.
                        Some(notification) => { let _ = notifications.send(notification); }
                        None => break,
                    },
                    () = daemon.ended().cancelled() => break,
                }
            }
            // How it ended is known once it has.
            daemon.ended().cancelled().await;
            let _ = connected.send(match daemon.fault() {
                Some(fault) if !fault.is_place_lost() => Connection::Ended {
                    why: fault.to_string(),
                },
                _ => Connection::Connecting {
                    why: "the daemon has ended".to_owned(),
                    refusal: None,
                    is_raw: false,
                },
            });
        });
        Ok(Self {
            transport: Transport::InProcess(handle),
        })
    }
}

impl InProcessHandle {
    pub(super) async fn call(&self, command: Command) -> Result<Reply, ClientError> {
        self.daemon
            .call(self.conn, command)
            .await
            .map_err(ClientError::Refused)
    }

    pub(super) fn notifications(&self) -> broadcast::Receiver<Notification> {
        self.notifications.subscribe()
    }

    pub(super) fn connection(&self) -> watch::Receiver<Connection> {
        self.connection.clone()
    }
}
