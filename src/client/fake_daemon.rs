//! [`FakeDaemon`]: the server's side of the control protocol for tests; a closure answers.

#![allow(
    clippy::result_large_err,
    reason = "the signature of tungstenite's callback"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, watch};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};
use tokio_util::sync::CancellationToken;

use super::{Client, Dial, DialError, Endpoint, WebsocketOptions, connect};
use crate::core::id::SessionId;
use crate::wire::control::{Command, Hello, Notification, PROTOCOL, Refusal, Reply, Role, Welcome};
use crate::wire::jsonrpc::{CANCEL_REQUEST, ErrorObject, Frame, code};

/// Longer than anything here takes, shorter than a person waits for a hung test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

const TOKEN: &str = "00aa";

/// What the daemon does with a command.
pub(crate) enum Answering {
    Reply(Reply),
    Refuse(Refusal),
    /// Nothing ever comes.
    Never,
    /// The connection breaks.
    HangUp,
    /// The daemon ends, and says that it has not read this.
    EndUnread,
}

/// What it speaks, and what it does with a command.
#[derive(Clone)]
struct Handler {
    protocol: u32,
    answer: Arc<dyn Fn(&Command) -> Answering + Send + Sync>,
}

impl Handler {
    fn new(protocol: u32, answer: impl Fn(&Command) -> Answering + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self { protocol, answer }
    }
}

/// Where the daemon of a test stands; outlives daemons.
#[derive(Clone, Default)]
pub(crate) struct Place(Arc<Mutex<Option<u16>>>);

impl Place {
    pub(crate) fn dial(&self) -> Dial {
        let place = self.0.clone();
        Dial::new(move || match *place.lock().unwrap() {
            Some(port) => Ok(Endpoint::Control {
                port,
                token: TOKEN.to_owned(),
            }),
            None => Err(DialError::NotYet("nobody is there".to_owned())),
        })
    }

    pub(crate) fn client(&self, role: Role) -> Client {
        connect(WebsocketOptions {
            dial: self.dial(),
            hello: hello(role),
            on_connect: Vec::new(),
        })
    }
}

pub(crate) fn hello(role: Role) -> Hello {
    Hello::of(role, std::process::id())
}

/// A running one; everything of it ends when it is dropped.
pub(crate) struct FakeDaemon {
    seen: watch::Receiver<Vec<Command>>,
    notifications: broadcast::Sender<Notification>,
    end: CancellationToken,
    place: Place,
}

impl FakeDaemon {
    /// Listens on a free port and says so in `place`.
    pub(crate) async fn start(
        place: &Place,
        handler: impl Fn(&Command) -> Answering + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(place, Handler::new(PROTOCOL, handler)).await
    }

    /// One that speaks the next protocol, and takes no client of this one.
    pub(crate) async fn start_of_another_protocol(place: &Place) -> Self {
        let handler = Handler::new(PROTOCOL + 1, |command| panic!("{command:?}"));
        Self::start_with(place, handler).await
    }

    async fn start_with(place: &Place, handler: Handler) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen_tx, seen) = watch::channel(Vec::new());
        let (notifications, _) = broadcast::channel(64);
        let end = CancellationToken::new();
        let accept = {
            let (seen, notifications, end) = (seen_tx, notifications.clone(), end.clone());
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let connection = serve(
                        stream,
                        handler.clone(),
                        seen.clone(),
                        notifications.subscribe(),
                    );
                    let end = end.clone();
                    tokio::spawn(async move { end.run_until_cancelled(connection).await });
                }
            }
        };
        let ended = end.clone();
        tokio::spawn(async move { ended.run_until_cancelled(accept).await });
        *place.0.lock().unwrap() = Some(port);
        Self {
            seen,
            notifications,
            end,
            place: place.clone(),
        }
    }

    /// Waits until the commands so far fulfil a condition.
    pub(crate) async fn seen(&self, until: impl FnMut(&Vec<Command>) -> bool) -> Vec<Command> {
        let mut seen = self.seen.clone();
        let seen = tokio::time::timeout(DEADLINE, seen.wait_for(until)).await;
        seen.unwrap().unwrap().clone()
    }

    /// What was asked so far.
    pub(crate) fn so_far(&self) -> Vec<Command> {
        self.seen.borrow().clone()
    }

    /// Tells every connection something.
    pub(crate) fn notify(&self, notification: Notification) {
        self.notifications.send(notification).unwrap();
    }
}

impl Drop for FakeDaemon {
    fn drop(&mut self) {
        *self.place.0.lock().unwrap() = None;
        self.end.cancel();
    }
}

/// Answers one connection to `operator.sock`, where no token is asked for.
pub(crate) async fn serve_operator(
    stream: tokio::net::UnixStream,
    handler: impl Fn(&Command) -> Answering + Send + Sync + 'static,
) {
    let ws = tokio_tungstenite::accept_async(stream).await.unwrap();
    let (seen, _) = watch::channel(Vec::new());
    let (_notifications, none) = broadcast::channel(1);
    converse(ws, Handler::new(PROTOCOL, handler), seen, none).await;
}

async fn serve(
    stream: tokio::net::TcpStream,
    handler: Handler,
    seen: watch::Sender<Vec<Command>>,
    notifications: broadcast::Receiver<Notification>,
) {
    let check = |request: &Request, response: Response| {
        let bearer = request.headers().get("authorization");
        if bearer.is_some_and(|value| value == &format!("Bearer {TOKEN}")) {
            Ok(response)
        } else {
            let mut refusal = ErrorResponse::new(None);
            *refusal.status_mut() = http::StatusCode::UNAUTHORIZED;
            Err(refusal)
        }
    };
    if let Ok(ws) = accept_hdr_async(stream, check).await {
        converse(ws, handler, seen, notifications).await;
    }
}

async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    mut ws: WebSocketStream<S>,
    handler: Handler,
    seen: watch::Sender<Vec<Command>>,
    mut notifications: broadcast::Receiver<Notification>,
) {
    loop {
        let frame = tokio::select! {
            notification = notifications.recv() => {
                Some(notification.unwrap().to_frame().unwrap())
            }
            message = ws.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    let frame: Frame = serde_json::from_str(&text).unwrap();
                    match answer(&frame, &handler, &seen) {
                        Ok(frame) => frame,
                        Err(None) => return,
                        Err(close) => {
                            let _ = ws.close(close).await;
                            return;
                        }
                    }
                }
                Some(Ok(_)) => None,
                _ => return,
            },
        };
        if let Some(frame) = frame {
            let text = serde_json::to_string(&frame).unwrap();
            if ws.send(Message::Text(text.into())).await.is_err() {
                return;
            }
        }
    }
}

/// An error hangs up, with these last words.
fn answer(
    frame: &Frame,
    handler: &Handler,
    seen: &watch::Sender<Vec<Command>>,
) -> Result<Option<Frame>, Option<CloseFrame>> {
    if frame.method.as_deref() == Some(CANCEL_REQUEST) {
        return Ok(None);
    }
    let id = frame.id.clone().unwrap();
    let refuse = |refusal: Refusal| {
        let mut error = ErrorObject::new(code::REFUSED, refusal.message);
        error.data = Some(json!({"code": refusal.code, "hint": refusal.hint}));
        Ok(Some(Frame::error(id.clone(), error)))
    };
    if frame.method.as_deref() == Some("hello") {
        let hello: Hello = serde_json::from_value(frame.params.clone().unwrap()).unwrap();
        if hello.protocol != handler.protocol {
            let refusal = Refusal::protocol_version(hello.protocol, handler.protocol);
            return refuse(refusal);
        }
        let welcome = Welcome {
            protocol: handler.protocol,
            version: "test".to_owned(),
            instance_id: "ctx_0123456789ab".to_owned(),
            session_id: SessionId::new("session_1795000000000_a1b2c3d4"),
            receiver: true,
            operator: false,
        };
        let result = serde_json::to_value(welcome).unwrap();
        return Ok(Some(Frame::result(id, result)));
    }
    let method = frame.method.as_deref().unwrap();
    let command = Command::read(method, frame.params.clone()).unwrap();
    let answering = (handler.answer)(&command);
    seen.send_modify(|seen| seen.push(command));
    match answering {
        Answering::Reply(reply) => Ok(Some(Frame::result(id, reply.to_json().unwrap()))),
        Answering::Refuse(refusal) => refuse(refusal),
        Answering::Never => Ok(None),
        Answering::HangUp => Err(None),
        Answering::EndUnread => Err(Some(CloseFrame {
            code: CloseCode::Restart,
            reason: "".into(),
        })),
    }
}
