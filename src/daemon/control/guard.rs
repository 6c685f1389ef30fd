//! [`Guard`]: `Host`, `Origin` and tokens. A request that fails here has no effect at all.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use subtle::ConstantTimeEq as _;

use super::admission::HelloAdmission;
use super::listener::Arrival;
use super::lobby::LobbyPlace;
use super::refusals::Refusals;
use crate::store::secrets::Secrets;

/// The secrets of the control port. No `Debug`: they must not reach a log.
#[derive(Clone)]
pub struct Guard {
    port: u16,
    claude: Arc<str>,
    codex: Arc<str>,
    reader: Arc<str>,
    mcp: Arc<str>,
    refusals: Refusals,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard")
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// A guard for a port. `mcp` is the secret of `/mcp` beside Codex's own token.
    pub fn new(port: u16, secrets: &Secrets, mcp: &str) -> Self {
        Self {
            port,
            claude: secrets.claude.as_str().into(),
            codex: secrets.codex.as_str().into(),
            reader: secrets.reader.as_str().into(),
            mcp: mcp.into(),
            refusals: Refusals::default(),
        }
    }

    /// Counts what is refused.
    pub(in crate::daemon) fn refusals(&self) -> &Refusals {
        &self.refusals
    }

    /// The port that it guards.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// What the request's token admits as; `None` without a good one. All tokens are compared, so
    /// that the time tells nothing about which one it was.
    pub(super) fn admission(&self, headers: &HeaderMap) -> Option<HelloAdmission> {
        let token = bearer(headers)?;
        let tokens = [
            (&self.claude, HelloAdmission::Claude),
            (&self.codex, HelloAdmission::Codex),
            (&self.reader, HelloAdmission::Reader),
        ];
        tokens
            .into_iter()
            .fold(None, |found, (expected, admission)| {
                let is_it = same(token, expected);
                found.or(is_it.then_some(admission))
            })
    }

    /// Whether the request carries the readers' token.
    pub(super) fn is_reader(&self, headers: &HeaderMap) -> bool {
        self.admission(headers) == Some(HelloAdmission::Reader)
    }

    /// Whether the request carries a token that opens `/mcp`.
    fn has_mcp_token(&self, headers: &HeaderMap) -> bool {
        bearer(headers).is_some_and(|token| same(token, &self.mcp) | same(token, &self.codex))
    }

    async fn let_in(&self, may_enter: bool, request: Request, next: Next) -> Response {
        if !may_enter {
            self.refusals.count("a wrong or missing token");
            return unauthorized();
        }
        // Its connection has all the time from here on.
        if let Some(place) = place_of(&request) {
            place.leave();
        }
        next.run(request).await
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
}

/// Refuses foreign hosts (DNS rebinding) and every browser page.
pub async fn check_origin(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if !guard.is_our_host(request.headers()) {
        guard.refusals.count("a wrong Host");
        return (StatusCode::FORBIDDEN, "wrong Host\n").into_response();
    }
    if request.headers().contains_key(header::ORIGIN) {
        guard.refusals.count("an Origin");
        return (
            StatusCode::FORBIDDEN,
            "requests with an Origin are refused\n",
        )
            .into_response();
    }
    next.run(request).await
}

/// Lets the token of any role in, and leaves its [`HelloAdmission`] with the request.
pub async fn check_role(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let Some(admission) = guard.admission(request.headers()) else {
        guard.refusals.count("a wrong or missing token");
        return unauthorized();
    };
    request.extensions_mut().insert(admission);
    if let Some(place) = place_of(&request) {
        // Until its hello is taken: clients are counted from there on.
        place.stay();
    }
    next.run(request).await
}

/// Lets only the readers' token in.
pub async fn check_reader(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let may_enter = guard.is_reader(request.headers());
    guard.let_in(may_enter, request, next).await
}

/// Lets Codex's token and the `/mcp` secret in.
pub async fn check_mcp(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let may_enter = guard.has_mcp_token(request.headers());
    guard.let_in(may_enter, request, next).await
}

fn place_of(request: &Request) -> Option<&LobbyPlace> {
    let arrival = request.extensions().get::<ConnectInfo<Arrival>>();
    arrival.map(|ConnectInfo(arrival)| &arrival.place)
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
