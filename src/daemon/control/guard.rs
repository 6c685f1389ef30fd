//! [`Guard`]: `Host`, `Origin` and tokens. A request that fails here has no effect at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use subtle::ConstantTimeEq as _;

/// The secrets of the control port. No `Debug`: they must not reach a log.
#[derive(Clone)]
pub struct Guard {
    port: u16,
    control: Arc<str>,
    mcp: Arc<str>,
    refused: Arc<AtomicU64>,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// Every so many refused tokens one line is logged: a thousand wrong tokens are one fault.
const LOG_EVERY: u64 = 100;

impl Guard {
    /// A guard for a port.
    pub fn new(port: u16, control: &str, mcp: &str) -> Self {
        Self {
            port,
            control: control.into(),
            mcp: mcp.into(),
            refused: Arc::new(AtomicU64::new(0)),
        }
    }

    /// The port that it guards.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether the request carries the control token.
    pub fn has_control_token(&self, headers: &HeaderMap) -> bool {
        bearer(headers).is_some_and(|token| same(token, &self.control))
    }

    /// Whether the request carries a token that opens `/mcp`.
    pub fn has_mcp_token(&self, headers: &HeaderMap) -> bool {
        bearer(headers).is_some_and(|token| {
            // Both are compared, so that the time tells nothing about which one it was.
            same(token, &self.mcp) | same(token, &self.control)
        })
    }

    fn is_our_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return false;
        };
        let Ok(host) = host.to_str() else {
            return false;
        };
        host == format!("127.0.0.1:{}", self.port) || host == format!("localhost:{}", self.port)
    }

    fn count_refusal(&self) {
        let count = self.refused.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(LOG_EVERY) {
            tracing::warn!(
                count = count + 1,
                "refused a wrong token on the control port"
            );
        }
    }
}

/// Refuses foreign hosts (DNS rebinding) and every browser page.
pub async fn check_origin(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if !guard.is_our_host(request.headers()) {
        return (StatusCode::FORBIDDEN, "wrong Host\n").into_response();
    }
    if request.headers().contains_key(header::ORIGIN) {
        return (
            StatusCode::FORBIDDEN,
            "requests with an Origin are refused\n",
        )
            .into_response();
    }
    next.run(request).await
}

/// Lets only the control token in.
pub async fn check_control(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if !guard.has_control_token(request.headers()) {
        guard.count_refusal();
        return unauthorized();
    }
    next.run(request).await
}

/// Lets the control token and the `/mcp` secret in.
pub async fn check_mcp(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if !guard.has_mcp_token(request.headers()) {
        guard.count_refusal();
        return unauthorized();
    }
    next.run(request).await
}

fn unauthorized() -> Response {
    (StatusCode::UNAUTHORIZED, "wrong or missing token\n").into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()?.strip_prefix("Bearer ")
}

fn same(given: &str, expected: &str) -> bool {
    given.as_bytes().ct_eq(expected.as_bytes()).into()
}
