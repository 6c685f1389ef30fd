//! [`Broken`]: why a connection ended, and the frames that are sent and read until then.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::client::socket::OpenError;
use crate::wire::control::Refusal;
use crate::wire::jsonrpc::Frame;

/// How long one frame may take to leave. A daemon that does not read for so long is stuck.
pub(super) const SEND_WAIT: Duration = Duration::from_secs(10);

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the daemon does not answer")]
    Silent,
    #[error("the daemon closed the connection")]
    Closed,
    /// It has answered everything that it read.
    #[error("the daemon ends, or goes on in another process")]
    Complete,
    #[error("{0}")]
    Socket(#[from] tokio_tungstenite::tungstenite::Error),
    #[error("the daemon refused this client: {}", .0.message)]
    Refused(Refusal),
    #[error("the daemon's answer is not understood: {0}")]
    Frame(String),
}

impl Broken {
    /// Whether it is said in the words of the system or the protocol.
    pub(super) fn is_raw(&self) -> bool {
        matches!(self, Self::Open(_) | Self::Socket(_) | Self::Frame(_))
    }
}

pub(super) async fn send<S>(ws: &mut WebSocketStream<S>, frame: &Frame) -> Result<(), Broken>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let text = serde_json::to_string(frame).map_err(|error| Broken::Frame(error.to_string()))?;
    timeout(SEND_WAIT, ws.send(Message::Text(text.into())))
        .await
        .map_err(|_| Broken::Silent)??;
    Ok(())
}

/// The next frame; `None` for what is none of ours.
pub(super) async fn next_frame<S>(ws: &mut WebSocketStream<S>) -> Result<Option<Frame>, Broken>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match ws.next().await {
        None => Err(Broken::Closed),
        Some(Err(error)) => Err(error.into()),
        Some(Ok(message)) => read_frame(&message),
    }
}

/// What stands in a message of the socket.
pub(super) fn read_frame(message: &Message) -> Result<Option<Frame>, Broken> {
    match message {
        Message::Text(text) => serde_json::from_str(text)
            .map(Some)
            .map_err(|error| Broken::Frame(error.to_string())),
        Message::Close(_) => Err(Broken::Closed),
        _ => Ok(None),
    }
}
