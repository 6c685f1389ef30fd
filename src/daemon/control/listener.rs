//! The routes of the control port. Knows nothing of MCP: the `/mcp` service is handed in.

use std::future::Future;
use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use axum::{Extension, Router};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_util::sync::CancellationToken;

use super::admission::Admission;
use super::connection;
use super::guard::{Guard, check_mcp, check_origin, check_reader, check_role};
use crate::daemon::handle::DaemonHandle;
use crate::daemon::peer::Peer;
use crate::wire::control::{Command, Hello, PROTOCOL, Reply, Role};

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
    let app = Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(health))
        .merge(for_roles)
        .merge(for_readers)
        .with_state(shared)
        .merge(mcp.route_layer(from_fn_with_state(guard.clone(), check_mcp)))
        .layer(from_fn_with_state(guard, check_origin));
    async move {
        // Small frames both ways: waiting to fill a segment would cost each call 40 ms.
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection keeps its delay");
            }
        });
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        let served = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned());
        if let Err(error) = served.await {
            tracing::error!(%error, "the control port failed");
        }
    }
}

/// `{"ok":true}` to anybody; the status to readers.
async fn health(State(shared): State<Shared>, request: Request) -> Response {
    if !shared.guard.is_reader(request.headers()) {
        return axum::Json(serde_json::json!({"ok": true})).into_response();
    }
    let hello = Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        role: Role::Cli,
        pid: std::process::id(),
        agent_pid: None,
        runtime_session_id: Default::default(),
        mode: Default::default(),
    };
    let daemon = shared.daemon;
    // On its own: this future is dropped when the client hangs up, and would then never leave.
    let status = tokio::spawn(async move {
        let joined = daemon.join(hello, false).await?;
        let status = daemon.call(joined.conn, Command::ReadStatus).await;
        daemon.leave(joined.conn).await;
        status
    });
    match status.await {
        Ok(Ok(Reply::Status(status))) => axum::Json(*status).into_response(),
        _ => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn metrics(State(shared): State<Shared>) -> Response {
    match shared.daemon.metrics().await {
        Some(text) => (
            [(
                header::CONTENT_TYPE,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
            )],
            text,
        )
            .into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// The upgrade by hand, so that one tungstenite is in the tree and the guards cover it too.
async fn upgrade(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Extension(admission): Extension<Admission>,
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
                    theirs: peer.port(),
                    ours: shared.guard.port(),
                };
                connection::serve(stream, shared.daemon, admission, peer).await;
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
