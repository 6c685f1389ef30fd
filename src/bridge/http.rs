//! [`service`]: Codex's MCP server over HTTP, for the daemon's control port.
//!
//! Stateless with JSON answers: every Codex thread opens a connection of its own, and a session
//! would be lost with the daemon. What rmcp cannot do in this mode is done here: broken JSON gets
//! `-32700`, and a call is cancelled by `notifications/cancelled` or by hanging up. Who may connect
//! at all is checked before this.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Json, Response};
use hyper::body::{Body as HttpBody, Frame as BodyFrame, SizeHint};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::handed::{Handed, HandedPage};
use super::http_call::HttpCall;
use super::server::RelayServer;
use super::stdio::LINE_BYTES_MAX;
use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::lock::lock;
use crate::core::plain_value::{PlainValue, names_raw_text};
use crate::wire::jsonrpc::{ErrorObject, Frame, code, unread};

/// The header by which a client's requests belong together. We give none out, because we know no
/// sessions; a client may have one that an earlier version gave it.
const SESSION: &str = "mcp-session-id";

/// The longest session id that is taken, in bytes.
const SESSION_BYTES_MAX: usize = 128;

/// How many requests are handled at once. Codex has a few for each of its threads, and one that asks
/// the operator takes as long as they do.
const REQUESTS_MAX: usize = 256;

/// How long the body of a request may take: a place that nobody fills is nobody's for ever else.
const BODY_WAIT: Duration = Duration::from_secs(10);

type Mcp = StreamableHttpService<RelayServer, NeverSessionManager>;

/// Codex's MCP server, to be mounted at `/mcp`.
pub fn service(client: Client) -> Router {
    service_for(client, BODY_WAIT)
}

fn service_for(client: Client, body_wait: Duration) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_max_request_body_bytes(LINE_BYTES_MAX);
    // What comes over HTTP has both of its own.
    let (gone, handed) = (CancellationToken::new(), Handed::default());
    let server = RelayServer::new(Agent::Codex, None, client, gone, handed);
    let mcp = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let front = Front {
        mcp,
        calls: Calls::default(),
        places: Arc::new(Semaphore::new(REQUESTS_MAX)),
        body_wait,
    };
    Router::new().fallback(answer).with_state(front)
}

#[derive(Clone)]
struct Front {
    mcp: Mcp,
    calls: Calls,
    places: Arc<Semaphore>,
    body_wait: Duration,
}

async fn answer(State(front): State<Front>, request: Request) -> Response {
    let Ok(_place) = front.places.try_acquire() else {
        let text = format!("more than {REQUESTS_MAX} requests at once");
        return refuse(StatusCode::SERVICE_UNAVAILABLE, code::INTERNAL, &text);
    };
    let (mut parts, body) = request.into_parts();
    // There is no session that could be ended, and nothing is said unasked.
    if parts.method != Method::POST {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response();
    }
    let body = match timeout(front.body_wait, read(&parts.headers, body)).await {
        Ok(Some(body)) => body,
        Ok(None) => {
            let text = format!("the body is longer than {LINE_BYTES_MAX} bytes, or broke off");
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, code::INVALID_REQUEST, &text);
        }
        Err(_) => {
            let text = "the body did not come in time";
            return refuse(StatusCode::REQUEST_TIMEOUT, code::INVALID_REQUEST, text);
        }
    };
    let message = match serde_json::from_slice(&body) {
        // rmcp would read what is in such a text, and what is in that, without an end.
        Ok(PlainValue(message)) if names_raw_text(&message) => {
            let text = "a key has a name that no reader takes for a key";
            return refuse(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, text);
        }
        Ok(PlainValue(message)) => message,
        Err(error) => {
            let text = format!("not JSON: {error}");
            return refuse(StatusCode::BAD_REQUEST, unread(&error), &text);
        }
    };
    if !message.is_object() {
        let text = "a message is one JSON object";
        return refuse(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, text);
    }
    let session = session(&parts.headers);
    match message.get("method").and_then(Value::as_str) {
        Some("notifications/cancelled") => {
            if let Some(id) = message.pointer("/params/requestId") {
                front.calls.cancel(&session, id);
            }
            return StatusCode::ACCEPTED.into_response();
        }
        Some("server/discover") => {
            let id = message.get("id").cloned().unwrap_or_default();
            let error = ErrorObject::new(code::METHOD_NOT_FOUND, "Method not found");
            return Json(Frame::error(id, error)).into_response();
        }
        _ => {}
    }

    let call = HttpCall::default();
    let id = message.get("id");
    // Dropped with this future, which is what happens when the client hangs up.
    let _running = id.map(|id| front.calls.begin(&session, id, call.hangup.clone()));
    parts.extensions.insert(call.clone());
    accept_both(&mut parts.headers);
    let response = forward(&front.mcp, parts, body).await;
    if call.hangup.is_cancelled() {
        return response;
    }
    let id = id.and_then(|id| serde_json::from_value(id.clone()).ok());
    reporting(response, id.and_then(|id| call.handed.take(&id)))
}

/// The response, which reports what it holds once it was taken to be sent. One that tells of a fault
/// instead does not hold it.
fn reporting(response: Response, page: Option<HandedPage>) -> Response {
    match page.filter(|_| response.status().is_success()) {
        Some(page) => response.map(|body| Body::new(SentBody::new(body, page))),
        None => response,
    }
}

/// The body, unless it is too long; one that says so beforehand is not waited for.
async fn read(headers: &HeaderMap, body: Body) -> Option<Bytes> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > LINE_BYTES_MAX) {
        return None;
    }
    to_bytes(body, LINE_BYTES_MAX).await.ok()
}

async fn forward(mcp: &Mcp, parts: Parts, body: Bytes) -> Response {
    let request = Request::from_parts(parts, Body::from(body));
    let response = mcp.handle(request).await;
    // Read here and not while it is sent: the call counts as running until it is answered.
    let (parts, body) = response.into_parts();
    match to_bytes(Body::new(body), usize::MAX).await {
        Ok(body) => Response::from_parts(parts, Body::from(body)),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// rmcp refuses a client that does not accept both kinds of answer, and gives only one of them.
fn accept_both(headers: &mut HeaderMap) {
    headers.insert(
        header::ACCEPT,
        HeaderValue::from_static("application/json, text/event-stream"),
    );
}

fn session(headers: &HeaderMap) -> String {
    headers
        .get(SESSION)
        .and_then(|value| value.to_str().ok())
        .filter(|value| value.len() <= SESSION_BYTES_MAX)
        .unwrap_or_default()
        .to_owned()
}

fn refuse(status: StatusCode, code: i64, message: &str) -> Response {
    let frame = Frame::error(Value::Null, ErrorObject::new(code, message));
    (status, Json(frame)).into_response()
}

/// The body of an answer with messages in it. They are reported once it was taken to be sent.
struct SentBody {
    body: Body,
    page: Option<HandedPage>,
}

impl SentBody {
    fn new(body: Body, page: HandedPage) -> Self {
        let page = Some(page);
        Self { body, page }
    }
}

impl HttpBody for SentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let is_last = matches!(frame, Poll::Ready(None)) || self.body.is_end_stream();
        if frame.is_ready()
            && is_last
            && let Some(page) = self.page.take()
        {
            tokio::spawn(page.report());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A session's id, mostly none, and a request's, as JSON: `1` and `"1"` are two requests.
type CallKey = (String, String);

/// The calls that run. As many as there are open requests.
#[derive(Debug, Clone, Default)]
struct Calls(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    by_key: HashMap<CallKey, BTreeMap<u64, CancellationToken>>,
    begun: u64,
}

impl Calls {
    fn begin(&self, session: &str, id: &Value, hangup: CancellationToken) -> RunningCall {
        let key = (session.to_owned(), id.to_string());
        let mut running = self.lock();
        running.begun += 1;
        let serial = running.begun;
        let calls = running.by_key.entry(key.clone()).or_default();
        calls.insert(serial, hangup.clone());
        RunningCall {
            calls: self.clone(),
            key,
            serial,
            _hangup: hangup.drop_guard(),
        }
    }

    fn cancel(&self, session: &str, id: &Value) {
        let key = (session.to_owned(), id.to_string());
        let running = self.lock();
        let Some(calls) = running.by_key.get(&key) else {
            return;
        };
        // Without a session two threads may have used one number: whose call is meant cannot be
        // told, and both end by their own time.
        if session.is_empty() && calls.len() > 1 {
            return;
        }
        if let Some((_, call)) = calls.last_key_value() {
            call.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        lock(&self.0)
    }
}

/// A running call, for as long as its request is.
struct RunningCall {
    calls: Calls,
    key: CallKey,
    serial: u64,
    _hangup: DropGuard,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut running = self.calls.lock();
        // A client that hung up may have begun another call by the same number already.
        if let Some(calls) = running.by_key.get_mut(&self.key) {
            calls.remove(&self.serial);
            if calls.is_empty() {
                running.by_key.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
