//! `RpcSocket`: a bare JSON-RPC client over a WebSocket, for the control port and for Codex's
//! app-server. It knows no method; frames arrive unchanged.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::wait::{never_within, poll_soon, timeout};

/// Why a socket was not opened.
#[derive(Debug)]
pub enum Refused {
    /// The server answered with this HTTP status and body.
    Status(u16, String),
    /// There is no such server, or it broke off.
    Broken(String),
}

/// The error member of a response.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

impl RpcError {
    /// What a response says.
    pub fn outcome(mut response: Value) -> Result<Value, Self> {
        match response.get_mut("error") {
            None => Ok(response["result"].take()),
            Some(error) => Err(Self {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
                data: error["data"].take(),
            }),
        }
    }
}

#[derive(Debug, Default)]
struct Received {
    frames: Vec<Value>,
    closed: Option<String>,
}

/// An open socket. Frames are read all the time, so pings are answered and nothing piles up at
/// the server.
pub struct RpcSocket {
    received: Arc<Mutex<Received>>,
    outgoing: mpsc::UnboundedSender<Message>,
    last_id: u64,
    runtime: Option<tokio::runtime::Runtime>,
}

impl fmt::Debug for RpcSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcSocket")
            .field("received", &self.received)
            .finish_non_exhaustive()
    }
}

impl RpcSocket {
    /// Opens a socket, with the token as a bearer if there is one, and further headers.
    pub fn open(
        url: &str,
        token: Option<&str>,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, Refused> {
        let mut request = url
            .into_client_request()
            .map_err(|error| Refused::Broken(error.to_string()))?;
        if let Some(token) = token {
            request
                .headers_mut()
                .insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (socket, _) = runtime
            .block_on(async { tokio::time::timeout(timeout(), connect_async(request)).await })
            .map_err(|_| Refused::Broken("no answer to the handshake".to_owned()))?
            .map_err(|error| match error {
                Error::Http(response) => {
                    let body = response
                        .body()
                        .as_deref()
                        .map(String::from_utf8_lossy)
                        .unwrap_or_default();
                    Refused::Status(response.status().as_u16(), body.into_owned())
                }
                other => Refused::Broken(other.to_string()),
            })?;
        let (mut sink, mut source) = socket.split();
        let (outgoing, mut queue) = mpsc::unbounded_channel::<Message>();
        runtime.spawn(async move {
            while let Some(message) = queue.recv().await {
                if sink.send(message).await.is_err() {
                    return;
                }
            }
        });
        let received = Arc::new(Mutex::new(Received::default()));
        let arrived = Arc::clone(&received);
        runtime.spawn(async move {
            let reason = loop {
                match source.next().await {
                    Some(Ok(Message::Text(text))) => {
                        let frame = serde_json::from_str(&text)
                            .unwrap_or_else(|_| json!({"not_json": text.as_str()}));
                        arrived.lock().unwrap().frames.push(frame);
                    }
                    Some(Ok(Message::Close(frame))) => break format!("close {frame:?}"),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => break error.to_string(),
                    None => break "end of stream".to_owned(),
                }
            };
            arrived.lock().unwrap().closed = Some(reason);
        });
        Ok(Self {
            received,
            outgoing,
            last_id: 0,
            runtime: Some(runtime),
        })
    }

    /// Calls a method and waits for its response.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.begin(method, params);
        self.response(&id)
    }

    /// Calls a method that must succeed.
    #[track_caller]
    pub fn expect(&mut self, method: &str, params: Value) -> Value {
        self.call(method, params)
            .unwrap_or_else(|error| panic!("{method} was refused: {error:?}"))
    }

    /// Calls a method of a server that may be gone by now; `None` when the socket closes before
    /// the response has come.
    #[track_caller]
    pub fn outcome(&mut self, method: &str, params: Value) -> Option<Result<Value, RpcError>> {
        let id = self.begin(method, params);
        let is_response = |frame: &Value| frame.get("method").is_none() && frame["id"] == id;
        super::wait::wait_until("a response or the end", timeout(), || {
            let received = self.received.lock().unwrap();
            let here = received.frames.iter().any(is_response);
            (here || received.closed.is_some()).then_some(here)
        })
        .then(|| self.response(&id))
    }

    /// Sends a request without waiting; the id fetches the response.
    #[track_caller]
    pub fn begin(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = json!(self.last_id);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the response to a request.
    #[track_caller]
    pub fn response(&mut self, id: &Value) -> Result<Value, RpcError> {
        let frame = self.take("a response", |frame| {
            frame.get("method").is_none() && frame["id"] == *id
        });
        RpcError::outcome(frame)
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits for the next notification (or request of the server) with this method, and takes it;
    /// its `params` are returned.
    #[track_caller]
    pub fn next_notification(&mut self, method: &str) -> Value {
        self.next_where(method, |_| true)
    }

    /// As `next_notification`, for params that `wanted` likes; others stay where they are.
    #[track_caller]
    pub fn next_where(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let what = format!("a notification {method}");
        self.take(&what, |frame| {
            frame["method"] == method && wanted(&frame["params"])
        })["params"]
            .take()
    }

    /// Waits for the next frame that `wanted` likes, and takes it.
    #[track_caller]
    pub fn take(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = poll_soon(timeout(), || {
            let mut received = self.received.lock().unwrap();
            let place = received.frames.iter().position(&wanted);
            match place {
                Some(place) => Some(Some(received.frames.remove(place))),
                None => received.closed.is_some().then_some(None),
            }
        });
        found
            .flatten()
            .unwrap_or_else(|| panic!("{what} never came; {:#?}", self.received.lock().unwrap()))
    }

    /// How many of the frames that have come and were not taken are like that.
    pub fn count(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        let received = self.received.lock().unwrap();
        received.frames.iter().filter(|frame| wanted(frame)).count()
    }

    /// Watches for `span` that no frame comes that `unwanted` likes.
    #[track_caller]
    pub fn never(&self, what: &str, span: Duration, unwanted: impl Fn(&Value) -> bool) {
        never_within(what, span, || {
            self.received
                .lock()
                .unwrap()
                .frames
                .iter()
                .find(|frame| unwanted(frame))
                .cloned()
        });
    }

    /// Sends a frame as it is.
    pub fn send(&mut self, frame: &Value) {
        self.send_text(&frame.to_string());
    }

    /// Sends any text, broken JSON included.
    pub fn send_text(&mut self, text: &str) {
        self.send_message(Message::text(text));
    }

    /// Sends any message, binary ones included.
    pub fn send_message(&mut self, message: Message) {
        // A closed socket shows itself where an answer is awaited.
        let _ = self.outgoing.send(message);
    }

    /// Why the socket is closed, if it is.
    pub fn closed(&self) -> Option<String> {
        self.received.lock().unwrap().closed.clone()
    }

    /// Waits until the server has closed the socket.
    #[track_caller]
    pub fn wait_closed(&self) -> String {
        super::wait::wait_until("the socket to be closed", timeout(), || self.closed())
    }
}

impl Drop for RpcSocket {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
