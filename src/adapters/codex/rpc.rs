//! [`Rpc`]: one WebSocket connection to the app-server, frames in and out.
//!
//! Knows nothing of threads. A read can be cancelled without losing a frame.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::server::Upstream;
use crate::wire::codex::frame::{self, Incoming};

/// Connecting, and the upgrade, on loopback.
const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// Writing one frame. The app-server reads all the time; a longer wait means that it hangs.
const WRITE_WAIT: Duration = Duration::from_secs(5);

/// The default of 128 KiB is for throughput, which nobody needs here.
const READ_BUFFER_BYTES: usize = 16 * 1024;

/// An answer with a page of history holds the output of every command in it.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What of ours may wait to be written. The largest input that Codex takes is six times as many bytes
/// as it has characters where each of them is escaped.
const WRITE_BUFFER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The connection is of no more use.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    /// It could not be made.
    #[error("connecting to the app-server: {0}")]
    Connect(String),
    #[error("the connection to the app-server ended: {0}")]
    Ended(String),
    /// It does not answer.
    #[error("the app-server did not answer {0} in time")]
    Silent(&'static str),
    /// A request could not be written as JSON.
    #[error("writing a request: {0}")]
    Encode(#[from] serde_json::Error),
}

/// A connection.
#[derive(Debug)]
pub(super) struct Rpc {
    socket: WebSocketStream<TcpStream>,
    next_id: u64,
}

impl Rpc {
    /// Connects with the app-server's token.
    pub(super) async fn connect(upstream: &Upstream) -> Result<Self, Lost> {
        let connect = async {
            let url = format!("ws://127.0.0.1:{}/", upstream.port);
            let mut request = url.into_client_request().map_err(why)?;
            let bearer = format!("Bearer {}", upstream.token);
            let mut bearer = HeaderValue::try_from(bearer).map_err(why)?;
            bearer.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, bearer);
            let stream = TcpStream::connect(("127.0.0.1", upstream.port))
                .await
                .map_err(why)?;
            stream.set_nodelay(true).map_err(why)?;
            let config = WebSocketConfig::default()
                .read_buffer_size(READ_BUFFER_BYTES)
                .write_buffer_size(0)
                .max_write_buffer_size(WRITE_BUFFER_BYTES_MAX)
                .max_message_size(Some(MESSAGE_BYTES_MAX))
                .max_frame_size(Some(MESSAGE_BYTES_MAX));
            let (socket, _) = client_async_with_config(request, stream, Some(config))
                .await
                .map_err(why)?;
            Ok(socket)
        };
        match timeout(CONNECT_WAIT, connect).await {
            Ok(Ok(socket)) => Ok(Self { socket, next_id: 1 }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Lost::Silent("the connection")),
        }
    }

    /// Sends a request and returns its id. After an error it is unknown whether it was sent.
    pub(super) async fn request<P: Serialize>(
        &mut self,
        method: &'static str,
        params: &P,
    ) -> Result<u64, Lost> {
        let id = self.next_id;
        self.next_id += 1;
        let text = frame::request(id, method, params)?;
        self.write(Message::text(text), method).await?;
        Ok(id)
    }

    /// Answers a request of the app-server's. After an error it is unknown whether that was sent.
    pub(super) async fn answer(&mut self, id: &str, result: &Value) -> Result<(), Lost> {
        let text = frame::answer(id, result);
        self.write(Message::text(text), "an answer").await
    }

    /// Sends the `initialized` notification.
    pub(super) async fn initialized(&mut self) -> Result<(), Lost> {
        self.write(Message::text(frame::INITIALIZED), "initialized")
            .await
    }

    /// The next frame that we can read; all others are skipped.
    pub(super) async fn next(&mut self) -> Result<Incoming, Lost> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    if let Some(incoming) = Incoming::parse(&text) {
                        return Ok(incoming);
                    }
                }
                Some(Ok(Message::Close(_))) | None => {
                    return Err(Lost::Ended("closed".to_owned()));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(Lost::Ended(error.to_string())),
            }
        }
    }

    /// Says goodbye, without waiting for the answer.
    pub(super) async fn close(mut self) {
        let _ = timeout(WRITE_WAIT, self.socket.close(None)).await;
    }

    async fn write(&mut self, message: Message, what: &'static str) -> Result<(), Lost> {
        match timeout(WRITE_WAIT, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Lost::Ended(error.to_string())),
            Err(_) => Err(Lost::Silent(what)),
        }
    }
}

fn why(error: impl std::fmt::Display) -> Lost {
    Lost::Connect(error.to_string())
}
