//! [`open`]: from an [`Endpoint`] to a WebSocket. Knows no frames.

use std::net::Ipv4Addr;

use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::error::Error as WsError;
use tokio_tungstenite::tungstenite::http::{HeaderValue, header::AUTHORIZATION};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::Endpoint;
use crate::wire::control::{ANSWER_BYTES_MAX, FRAME_BYTES_MAX};

/// The read buffer of a connection, in bytes. tungstenite's own default is 128 KiB, which a
/// mostly idle client holds for nothing; larger frames still pass.
const READ_BUFFER_BYTES: usize = 8 * 1024;

/// An open connection, by what lies under it.
pub(super) enum Socket {
    /// The control port.
    Tcp(WebSocketStream<TcpStream>),
    /// The operator's socket.
    Unix(WebSocketStream<UnixStream>),
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("nothing answers: {0}")]
    Connect(#[source] std::io::Error),
    #[error("the token is not one that can be sent")]
    Token,
    #[error("the daemon refused the token")]
    Unauthorized,
    #[error("what answers is not the ctxrelay daemon: {0}")]
    Handshake(#[source] Box<WsError>),
}

impl From<WsError> for OpenError {
    fn from(error: WsError) -> Self {
        match error {
            WsError::Http(response) if response.status() == 401 => Self::Unauthorized,
            WsError::Io(error) => Self::Connect(error),
            error => Self::Handshake(Box::new(error)),
        }
    }
}

/// Connects and upgrades. The caller sets the deadline.
pub(super) async fn open(endpoint: &Endpoint) -> Result<Socket, OpenError> {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(ANSWER_BYTES_MAX))
        .max_frame_size(Some(FRAME_BYTES_MAX));
    match endpoint {
        Endpoint::Control { port, token } => open_control(*port, token, config).await,
        Endpoint::Operator { path } => {
            let request = "ws://localhost/ws".into_client_request()?;
            let stream = UnixStream::connect(path)
                .await
                .map_err(OpenError::Connect)?;
            let (ws, _) = client_async_with_config(request, stream, Some(config)).await?;
            Ok(Socket::Unix(ws))
        }
    }
}

async fn open_control(
    port: u16,
    token: &str,
    config: WebSocketConfig,
) -> Result<Socket, OpenError> {
    let mut request = format!("ws://127.0.0.1:{port}/ws").into_client_request()?;
    let mut bearer =
        HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| OpenError::Token)?;
    bearer.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, bearer);
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(OpenError::Connect)?;
    // Frames are small and each is awaited: never hold one back to fill a packet.
    stream.set_nodelay(true).map_err(OpenError::Connect)?;
    let (ws, _) = client_async_with_config(request, stream, Some(config)).await?;
    Ok(Socket::Tcp(ws))
}
