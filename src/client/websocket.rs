//! [`connect`]: the transport over the control WebSocket, or over `operator.sock`.
//!
//! One task per client owns the connection, redials for ever, sends `hello` first and returns
//! answers by id. It knows frames and deadlines, but not what the commands mean.
//! [`WebSocketHandle`] is the callers' end.

mod broken;
mod frame;
mod handle;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_util::sync::CancellationToken;

use super::endpoint::DialError;
use super::socket;
use super::{Client, ClientError, Connection, Dial, NOTIFICATIONS_MAX, Transport};
use crate::wire::control::{Command, Hello, Notification, PROTOCOL, Refusal, Welcome};
use crate::wire::jsonrpc::Frame;
use broken::{Broken, SEND_WAIT, next_frame, read_frame, send};
use frame::{cancel_frame, not_read, refusal, request_frame, with_id};
use handle::LinkCall;
pub(super) use handle::WebSocketHandle;

/// How many calls may wait to be sent. An agent has a handful in flight; more is a loop gone
/// wild, and the caller is told instead of the queue growing.
const CALLS_MAX: usize = 128;

/// How long a call waits for a connection. Long enough for a daemon to be started, short enough
/// that an agent's turn does not hang.
const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// How long one attempt to connect and say hello may take.
const HELLO_WAIT: Duration = Duration::from_secs(5);

/// The first pause between two attempts; doubled up to [`REDIAL_MAX`].
const REDIAL_MIN: Duration = Duration::from_millis(50);

/// The longest pause between two attempts: what an agent may wait longer than necessary.
const REDIAL_MAX: Duration = Duration::from_secs(2);

/// How often a project without a daemon that we start is looked at again.
const DORMANT_POLL: Duration = Duration::from_secs(1);

/// How often the daemon is asked for a sign of life.
const PING_EVERY: Duration = Duration::from_secs(20);

/// A connection that was silent for so long is dead: two pings went unanswered.
const SILENCE_MAX: Duration = Duration::from_secs(45);

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

/// Starts the client's task on the current runtime and returns at once. The task ends when the
/// last clone of the client is dropped.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn connect(options: WebsocketOptions) -> Client {
    connect_within(options, CONNECT_WAIT)
}

/// As [`connect`]; calls wait for a connection as long as `connect_wait`.
fn connect_within(options: WebsocketOptions, connect_wait: Duration) -> Client {
    let (calls, waiting) = mpsc::channel(CALLS_MAX);
    let (notifications, _) = broadcast::channel(NOTIFICATIONS_MAX);
    let (state, connection) = watch::channel(Connection::Connecting {
        why: "not connected yet".to_owned(),
        refusal: None,
        is_raw: false,
    });
    let dropped = CancellationToken::new();
    let link = Link {
        options,
        calls: waiting,
        notifications: notifications.clone(),
        state,
        pending: HashMap::new(),
        given_up: FuturesUnordered::new(),
        held: None,
        next_id: 0,
    };
    let ended = dropped.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = link.run() => {}
            () = ended.cancelled() => {}
        }
    });
    Client {
        transport: Transport::Websocket(WebSocketHandle {
            calls,
            notifications,
            connection,
            connect_wait,
            _dropped: Arc::new(dropped.drop_guard()),
        }),
    }
}

/// The connection's owner.
struct Link {
    options: WebsocketOptions,
    calls: mpsc::Receiver<LinkCall>,
    notifications: broadcast::Sender<Notification>,
    state: watch::Sender<Connection>,
    /// Calls that were sent and not answered, by id.
    pending: HashMap<u64, oneshot::Sender<Result<Value, ClientError>>>,
    /// The id of each, once nobody waits for the answer.
    given_up: FuturesUnordered<BoxFuture<'static, u64>>,
    /// Came while a daemon of another protocol was there: the next attempt decides on it.
    held: Option<LinkCall>,
    next_id: u64,
}

impl Link {
    async fn run(mut self) {
        let mut pause = REDIAL_MIN;
        loop {
            let (why, refusal, is_raw) = match self.options.dial.look() {
                Ok(endpoint) => {
                    let began = match timeout(HELLO_WAIT, socket::open(&endpoint)).await {
                        Ok(Ok(socket::Socket::Tcp(ws))) => self.converse(ws).await,
                        Ok(Ok(socket::Socket::Unix(ws))) => self.converse(ws).await,
                        Ok(Err(error)) => (false, Broken::Open(error)),
                        Err(_) => (false, Broken::Silent),
                    };
                    let (welcomed, broken) = began;
                    if welcomed {
                        pause = REDIAL_MIN;
                    }
                    tracing::debug!(%broken, "not connected to the daemon");
                    let (why, is_raw) = (broken.to_string(), broken.is_raw());
                    match broken {
                        Broken::Refused(refusal) => (why, Some(refusal), is_raw),
                        _ => (why, None, is_raw),
                    }
                }
                Err(DialError::Dormant(why)) => {
                    self.tell(Connection::Dormant(why));
                    sleep(DORMANT_POLL).await;
                    pause = REDIAL_MIN;
                    continue;
                }
                Err(DialError::NotYet(why)) => (why, None, false),
            };
            let other_protocol = refusal.clone().filter(Refusal::is_of_another_protocol);
            self.tell(Connection::Connecting {
                why,
                refusal,
                is_raw,
            });
            if let Some(refusal) = &other_protocol {
                self.refuse_calls(refusal);
            }
            pause = tokio::select! {
                () = sleep(pause) => (pause * 2).min(REDIAL_MAX),
                () = self.options.dial.news() => REDIAL_MIN,
                // Another daemon may have come since.
                Some(call) = self.calls.recv(), if other_protocol.is_some() => {
                    self.held = Some(call);
                    pause
                }
            };
        }
    }

    /// What waits for a connection is not waited for where the daemon that is there will not give one.
    fn refuse_calls(&mut self, refusal: &Refusal) {
        let queued = std::iter::from_fn(|| self.calls.try_recv().ok());
        for call in self.held.take().into_iter().chain(queued) {
            if let Some(answer) = call.claim() {
                let _ = answer.send(Err(ClientError::NotAdmitted(refusal.clone())));
            }
        }
    }

    /// The daemon gave a bridge's place to another, or to this one.
    fn receives(&mut self, receiver: bool) {
        self.state.send_if_modified(|state| match state {
            Connection::Connected(welcome) => {
                let news = welcome.receiver != receiver;
                welcome.receiver = receiver;
                news
            }
            _ => false,
        });
    }

    /// Publishes the state, and only when it is news: the first failed attempt is, however the
    /// state may have read before it.
    fn tell(&mut self, now: Connection) {
        self.state.send_if_modified(|state| {
            let news = *state != now;
            *state = now;
            news
        });
    }

    /// Says hello and serves calls until the connection breaks. Says whether it was welcomed.
    async fn converse<S>(&mut self, mut ws: WebSocketStream<S>) -> (bool, Broken)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let welcome = match timeout(HELLO_WAIT, self.greet(&mut ws)).await {
            Ok(Ok(welcome)) => welcome,
            Ok(Err(broken)) => return (false, broken),
            Err(_) => return (false, Broken::Silent),
        };
        self.tell(Connection::Connected(welcome));
        let broken = match self.serve(&mut ws).await {
            Ok(()) => Broken::Closed,
            Err(broken) => broken,
        };
        // A call in flight is never sent again by itself: it may have taken effect. What the daemon
        // says that it has not read did not.
        let is_complete = matches!(broken, Broken::Complete);
        for (_, answer) in self.pending.drain() {
            let _ = answer.send(Err(match is_complete {
                true => ClientError::Refused(not_read()),
                false => ClientError::Unanswered,
            }));
        }
        (true, broken)
    }

    async fn greet<S>(&mut self, ws: &mut WebSocketStream<S>) -> Result<Welcome, Broken>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let params = serde_json::to_value(&self.options.hello)
            .map_err(|error| Broken::Frame(error.to_string()))?;
        let id = self.fresh_id();
        send(ws, &Frame::request(id, "hello", params)).await?;
        let welcome = loop {
            let Some(frame) = next_frame(ws).await? else {
                continue;
            };
            if frame.id != Some(Value::from(id)) {
                self.take(frame);
                continue;
            }
            if let Some(error) = frame.error {
                return Err(Broken::Refused(refusal(error)));
            }
            let welcome: Welcome = serde_json::from_value(frame.result.unwrap_or_default())
                .map_err(|error| Broken::Frame(error.to_string()))?;
            break welcome;
        };
        if welcome.protocol != PROTOCOL {
            let refusal = Refusal::protocol_version(PROTOCOL, welcome.protocol);
            return Err(Broken::Refused(refusal));
        }
        for command in self.options.on_connect.clone() {
            let id = self.fresh_id();
            let frame = request_frame(&command).map_err(|e| Broken::Frame(e.to_string()))?;
            send(ws, &with_id(frame, id)).await?;
        }
        Ok(welcome)
    }

    async fn serve<S>(&mut self, ws: &mut WebSocketStream<S>) -> Result<(), Broken>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let mut ping = tokio::time::interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        let mut silent_at = Instant::now() + SILENCE_MAX;
        if let Some(call) = self.held.take() {
            self.send_call(ws, call).await?;
        }
        loop {
            tokio::select! {
                message = ws.next() => {
                    silent_at = Instant::now() + SILENCE_MAX;
                    match message {
                        Some(Ok(Message::Close(Some(close)))) if close.code == CloseCode::Restart => {
                            return Err(Broken::Complete);
                        }
                        None | Some(Ok(Message::Close(_))) => return Ok(()),
                        Some(Err(error)) => return Err(error.into()),
                        Some(Ok(message)) => {
                            if let Some(frame) = read_frame(&message)? {
                                self.take(frame);
                            }
                        }
                    }
                }
                Some(call) = self.calls.recv() => self.send_call(ws, call).await?,
                Some(id) = self.given_up.next() => {
                    // Else it was answered.
                    if self.pending.remove(&id).is_some() {
                        send(ws, &cancel_frame(id)).await?;
                    }
                }
                _ = ping.tick() => {
                    timeout(SEND_WAIT, ws.send(Message::Ping(Vec::new().into())))
                        .await
                        .map_err(|_| Broken::Silent)??;
                }
                () = tokio::time::sleep_until(silent_at) => return Err(Broken::Silent),
            }
        }
    }

    /// Sends a call, unless its caller was told that it cannot be.
    async fn send_call<S>(
        &mut self,
        ws: &mut WebSocketStream<S>,
        call: LinkCall,
    ) -> Result<(), Broken>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (frame, is_over) = (call.frame.clone(), call.is_over.clone());
        let Some(answer) = call.claim() else {
            return Ok(());
        };
        let id = self.fresh_id();
        self.pending.insert(id, answer);
        let given_up = is_over.cancelled_owned().map(move |()| id).boxed();
        self.given_up.push(given_up);
        send(ws, &with_id(frame, id)).await
    }

    /// Takes an answer or a notification in.
    fn take(&mut self, frame: Frame) {
        if let Some(method) = frame.method {
            match Notification::read(&method, frame.params) {
                Ok(Notification::Receiver { receiver }) => self.receives(receiver),
                // Nobody may be listening, which is no fault.
                Ok(notification) => drop(self.notifications.send(notification)),
                Err(error) => tracing::debug!(%error, "a notification of another version"),
            }
            return;
        }
        let answer = frame
            .id
            .as_ref()
            .and_then(Value::as_u64)
            .and_then(|id| self.pending.remove(&id));
        match (answer, frame.error) {
            (Some(answer), Some(error)) => {
                let _ = answer.send(Err(ClientError::Refused(refusal(error))));
            }
            (Some(answer), None) => {
                let _ = answer.send(Ok(frame.result.unwrap_or_default()));
            }
            (None, Some(error)) => {
                tracing::warn!(error = %error.message, "the daemon refused a command");
            }
            (None, None) => {}
        }
    }

    fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

#[cfg(test)]
mod tests;
