//! The routes of the control port. Knows nothing of MCP: the `/mcp` service is passed in.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::serve::{IncomingStream, Listener};
use axum::{Extension, Router};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_util::sync::CancellationToken;

use super::admission::HelloAdmission;
use super::connection;
use super::guard::{Guard, check_mcp, check_origin, check_reader, check_role};
use super::lobby::{InLobby, Lobby, LobbyPlace};
use crate::daemon::handle::DaemonHandle;
use crate::daemon::metrics::in_text_format;
use crate::daemon::peer::Peer;
use crate::wire::control::{Command, Hello, Reply, Role};

/// Between two tries to accept where the system has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone)]
struct Shared {
    daemon: DaemonHandle,
    guard: Guard,
}

/// Serves the control port until the daemon has ended.
pub fn serve(
    listener: TcpListener,
    daemon: DaemonHandle,
    guard: Guard,
    mcp: Router,
    stop: CancellationToken,
) -> impl Future<Output = ()> {
    let entrance = Entrance {
        listener,
        lobby: Lobby::new(guard.refusals().clone()),
    };
    let shared = Shared {
        daemon,
        guard: guard.clone(),
    };
    let for_roles = Router::new()
        .route("/ws", get(upgrade))
        .route_layer(from_fn_with_state(guard.clone(), check_role));
    let for_readers = Router::new()
        .route("/metrics", get(metrics))
        .route_layer(from_fn_with_state(guard.clone(), check_reader));
    // A daemon that ends at once has none, and a layer without a route is a panic.
    let mcp = match mcp.has_routes() {
        true => mcp.route_layer(from_fn_with_state(guard.clone(), check_mcp)),
        false => mcp,
    };
    let app = Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(health))
        .merge(for_roles)
        .merge(for_readers)
        .with_state(shared)
        .merge(mcp)
        .layer(from_fn_with_state(guard, check_origin));
    async move {
        let app = app.into_make_service_with_connect_info::<Arrival>();
        let served = axum::serve(entrance, app).with_graceful_shutdown(stop.cancelled_owned());
        if let Err(error) = served.await {
            tracing::error!(%error, "the control port failed");
        }
    }
}

/// The control port's listener: who comes is in the lobby first.
struct Entrance {
    listener: TcpListener,
    lobby: Lobby,
}

/// Who comes.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    address: SocketAddr,
    /// Its place in the lobby.
    pub(super) place: LobbyPlace,
}

impl Listener for Entrance {
    type Io = InLobby<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    tracing::debug!("a client of the control port comes");
                    // Small frames both ways: waiting to fill a segment would cost each call
                    // 40 ms.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "a connection keeps its delay");
                    }
                    return (self.lobby.enter(stream), address);
                }
                Err(error) => {
                    tracing::debug!(%error, "the control port could not accept");
                    // Without free descriptors those that have shown nothing make room.
                    self.lobby.expel_oldest();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Entrance>> for Arrival {
    fn connect_info(stream: IncomingStream<'_, Entrance>) -> Self {
        Self {
            address: *stream.remote_addr(),
            place: stream.io().place().clone(),
        }
    }
}

/// `{"ok":true}` to anybody; the status to readers.
async fn health(State(shared): State<Shared>, request: Request) -> Response {
    if !shared.guard.is_reader(request.headers()) {
        return axum::Json(serde_json::json!({"ok": true})).into_response();
    }
    let hello = Hello::of(Role::Cli, std::process::id());
    let daemon = shared.daemon;
    // On its own: this future is dropped when the client hangs up, and would then never leave.
    let status = tokio::spawn(async move {
        let joined = daemon.join(hello, false).await?;
        let status = daemon.call(joined.conn, Command::ReadStatus).await;
        daemon.disconnect(joined.conn).await;
        status
    });
    match status.await {
        Ok(Ok(Reply::Status(status))) => axum::Json(*status).into_response(),
        _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// In OpenMetrics text to who asks for that.
async fn metrics(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    let Some(text) = shared.daemon.metrics().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let mut accepted = headers.get_all(header::ACCEPT).iter();
    let (kind, text) = match accepted.any(|value| {
        let value = value.to_str().unwrap_or_default();
        value.contains("application/openmetrics-text")
    }) {
        true => (
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text,
        ),
        false => (
            "text/plain; version=0.0.4; charset=utf-8",
            in_text_format(&text),
        ),
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// The upgrade by hand, so that one tungstenite is in the tree and the guards cover it too.
async fn upgrade(
    State(shared): State<Shared>,
    ConnectInfo(arrival): ConnectInfo<Arrival>,
    Extension(admission): Extension<HelloAdmission>,
    mut request: Request,
) -> Response {
    let headers = request.headers();
    let asks = |name: header::HeaderName, word: &str| {
        headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .any(|value| value.trim().eq_ignore_ascii_case(word))
    };
    let key = headers
        .get(header::SEC_WEBSOCKET_KEY)
        .map(|key| derive_accept_key(key.as_bytes()));
    let (true, true, true, Some(accept)) = (
        asks(header::UPGRADE, "websocket"),
        asks(header::CONNECTION, "upgrade"),
        asks(header::SEC_WEBSOCKET_VERSION, "13"),
        key,
    ) else {
        return (
            StatusCode::UPGRADE_REQUIRED,
            "this is a WebSocket endpoint\n",
        )
            .into_response();
    };
    let upgrading = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        match upgrading.await {
            Ok(stream) => {
                let stream = hyper_util::rt::TokioIo::new(stream);
                let peer = Peer::Loopback {
                    theirs: arrival.address.port(),
                    ours: shared.guard.port(),
                };
                connection::serve(stream, shared.daemon, admission, peer, Some(arrival.place))
                    .await;
            }
            Err(error) => tracing::debug!(%error, "an upgrade did not happen"),
        }
    });
    (
        StatusCode::SWITCHING_PROTOCOLS,
        [
            (header::UPGRADE, "websocket".to_owned()),
            (header::CONNECTION, "Upgrade".to_owned()),
            (header::SEC_WEBSOCKET_ACCEPT, accept),
        ],
    )
        .into_response()
}
