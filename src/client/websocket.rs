//! The WebSocket transport: to be written.

use tokio::sync::{broadcast, watch};

use super::{Client, ClientError, Connection, Dial};
use crate::wire::control::{Command, Hello, Notification, Reply};

/// How to connect.
#[derive(Debug, Clone)]
pub struct WebsocketOptions {
    /// Where the daemon is.
    pub dial: Dial,
    /// Who we are.
    pub hello: Hello,
    /// Sent again after each reconnect, before anything else (for example
    /// [`Command::Subscribe`] or [`Command::DoorbellAttach`]).
    pub on_connect: Vec<Command>,
}

/// Starts the client's task on the current runtime and returns at once.
pub fn connect(_options: WebsocketOptions) -> Client {
    unimplemented!()
}

#[derive(Clone)]
pub(super) struct Handle;

impl Handle {
    pub(super) async fn call(&self, _command: Command) -> Result<Reply, ClientError> {
        unimplemented!()
    }
    pub(super) fn notifications(&self) -> broadcast::Receiver<Notification> {
        unimplemented!()
    }
    pub(super) fn connection(&self) -> watch::Receiver<Connection> {
        unimplemented!()
    }
}
