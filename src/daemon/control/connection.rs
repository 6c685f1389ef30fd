//! One WebSocket of the control protocol: `hello` first, then calls and notifications.
//!
//! A daemon that ends answers every call that it has read and closes with code 1012 after the last
//! answer. So a client knows that a call without an answer was not carried out.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{SplitSink, SplitStream, StreamExt as _};
use futures::{FutureExt as _, SinkExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error as WsError};
use tokio_tungstenite::tungstenite::protocol::frame::Frame as WsFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{
    CloseFrame, Message, Role as WsRole, WebSocketConfig,
};
use tokio_tungstenite::tungstenite::{Bytes, Utf8Bytes};
use tokio_util::sync::CancellationToken;

use super::admission::HelloAdmission;
use super::client_calls::ClientCalls;
use super::lobby::LobbyPlace;
use crate::daemon::handle::{DaemonHandle, Joined};
use crate::daemon::peer::Peer;
use crate::daemon::reply::no_hello;
use crate::wire::control::{Command, FRAME_BYTES_MAX, Hello, PART_BYTES, Refusal};
use crate::wire::jsonrpc::{ErrorObject, Frame, Request, cancelled, code};

/// How long a client may take to say hello.
const HELLO_WAIT: Duration = Duration::from_secs(10);

/// How long one frame may take to be written before the client counts as gone: it stopped
/// reading, and its answers must not pile up here.
const WRITE_WAIT: Duration = Duration::from_secs(10);

/// Requests that may wait here for a place: as long as there are no more, what takes calls back is
/// read behind them.
const PARKED_MAX: usize = 16;

/// Answers that may wait to be written.
const ANSWERS_MAX: usize = 128;

/// How long a client may take to hang up after our close: what it sends until then is read, or the
/// system would throw away with it what we said last.
const HANG_UP_WAIT: Duration = Duration::from_secs(1);

/// A frame quiet for this long is followed by a ping, so that a dead peer is noticed.
const PING_EVERY: Duration = Duration::from_secs(30);

/// Serves one connection to its end. It gives `place` up once it is among the daemon's clients.
pub(in crate::daemon) async fn serve<S>(
    stream: S,
    daemon: DaemonHandle,
    admission: HelloAdmission,
    peer: Peer,
    place: Option<LobbyPlace>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let config = bounds();
    let socket = WebSocketStream::from_raw_socket(stream, WsRole::Server, Some(config)).await;
    serve_socket(socket, daemon, admission, peer, place).await;
}

/// How much a connection may hold, whichever door it came through.
pub(in crate::daemon) fn bounds() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(8 * 1024)
        .write_buffer_size(8 * 1024)
        .max_write_buffer_size(2 * FRAME_BYTES_MAX)
        .max_message_size(Some(FRAME_BYTES_MAX))
        .max_frame_size(Some(FRAME_BYTES_MAX))
}

/// As [`serve`], for a connection whose handshake is done with [`bounds`].
pub(in crate::daemon) async fn serve_socket<S>(
    socket: WebSocketStream<S>,
    daemon: DaemonHandle,
    admission: HelloAdmission,
    peer: Peer,
    place: Option<LobbyPlace>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sink, mut stream) = socket.split();
    let Some(joined) = greet(&mut sink, &mut stream, &daemon, admission, peer).await else {
        return;
    };
    if let Some(place) = place {
        place.leave();
    }
    let conn = joined.conn;
    let converse = converse(sink, stream, daemon.clone(), joined);
    if AssertUnwindSafe(converse).catch_unwind().await.is_err() {
        // It has hung up by now; the daemon must not count it as one that is here.
        tracing::error!(?conn, "a connection ended by a fault of ours");
        daemon.disconnect(conn).await;
    }
}

/// Calls and notifications, until one of both sides ends it.
async fn converse<S>(
    mut sink: SplitSink<WebSocketStream<S>, Message>,
    mut stream: SplitStream<WebSocketStream<S>>,
    daemon: DaemonHandle,
    mut joined: Joined,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (answers, mut to_write) = mpsc::channel::<Frame>(ANSWERS_MAX);
    let calls = Arc::new(ClientCalls::default());
    // Cancelled with the end of this: whatever is still in work then has nobody who waits for it.
    let gone = CancellationToken::new();
    let ended = gone.clone().drop_guard();
    let mut is_complete = false;
    // With every place taken the next requests wait here, and those behind them in their socket.
    let mut parked: VecDeque<Utf8Bytes> = VecDeque::new();
    let mut ping = tokio::time::interval(PING_EVERY);
    ping.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    'talk: loop {
        while calls.has_place()
            && let Some(text) = parked.pop_front()
        {
            let refused = on_text(text.as_str(), &daemon, &joined, &answers, &calls, &gone);
            if let Some(frame) = refused
                && write(&mut sink, &frame).await.is_err()
            {
                break 'talk;
            }
        }
        let written = tokio::select! {
            () = calls.freed() => Ok(()),
            () = joined.closed.cancelled() => {
                // The answers that are still in work, the one to `daemon/stop` among them.
                is_complete = calls.finish().await;
                while let Ok(frame) = to_write.try_recv() {
                    if write(&mut sink, &frame).await.is_err() {
                        is_complete = false;
                        break;
                    }
                }
                break;
            }
            Some(frame) = to_write.recv() => write(&mut sink, &frame).await,
            Some(notification) = joined.notifications.recv() => {
                match notification.to_frame() {
                    Ok(frame) => write(&mut sink, &frame).await,
                    Err(_) => Ok(()),
                }
            }
            () = joined.probes.notified() => {
                send(&mut sink, Message::Ping(Default::default())).await
            }
            _ = ping.tick() => send(&mut sink, Message::Ping(Default::default())).await,
            // What is answered and told goes on while it waits, and each answer looks here again.
            message = stream.next(), if parked.len() < PARKED_MAX => match message {
                Some(Ok(Message::Text(text))) => {
                    match cancelled(text.as_str()) {
                        Some(id) => {
                            let is_it = |text: &Utf8Bytes| Request::read(text).is_ok_and(|it| it.id == id);
                            parked.retain(|text| !is_it(text));
                            calls.cancel(&id);
                        }
                        None => parked.push_back(text),
                    }
                    Ok(())
                }
                Some(Ok(Message::Binary(_))) => {
                    write(&mut sink, &Frame::error(Value::Null, ErrorObject::new(
                        code::INVALID_REQUEST, "send text frames"))).await
                }
                Some(Ok(Message::Pong(_))) => {
                    daemon.ping_answered(joined.conn);
                    Ok(())
                }
                Some(Ok(Message::Ping(_) | Message::Frame(_))) => Ok(()),
                Some(Ok(Message::Close(_))) | None => break,
                Some(Err(error)) => {
                    explain(&mut sink, &error).await;
                    break;
                }
            },
        };
        if written.is_err() {
            break;
        }
    }
    drop(ended);
    daemon.disconnect(joined.conn).await;
    if is_complete {
        let close = CloseFrame {
            code: CloseCode::Restart,
            reason: "everything that was read is answered".into(),
        };
        if send(&mut sink, Message::Close(Some(close))).await.is_ok() {
            let hung_up = async { while let Some(Ok(_)) = stream.next().await {} };
            let _ = timeout(HANG_UP_WAIT, hung_up).await;
        }
    }
    let _ = timeout(WRITE_WAIT, sink.close()).await;
}

async fn greet<S>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    stream: &mut SplitStream<WebSocketStream<S>>,
    daemon: &DaemonHandle,
    admission: HelloAdmission,
    peer: Peer,
) -> Option<Joined>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let deadline = tokio::time::Instant::now() + HELLO_WAIT;
    loop {
        let text = match tokio::time::timeout_at(deadline, stream.next()).await {
            Ok(Some(Ok(Message::Text(text)))) => text,
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue,
            Ok(Some(Err(error))) => {
                explain(sink, &error).await;
                return None;
            }
            _ => return None,
        };
        let request = match Request::read(&text) {
            Ok(request) => request,
            Err(frame) => {
                write(sink, &frame).await.ok()?;
                continue;
            }
        };
        let id = request.id;
        if request.method != "hello" {
            let error = to_error(&no_hello());
            refuse(sink, id, error).await?;
            continue;
        }
        let hello: Hello = match serde_json::from_value(request.params.unwrap_or_default()) {
            Ok(hello) => hello,
            Err(error) => {
                let error = ErrorObject::new(code::INVALID_PARAMS, error.to_string());
                refuse(sink, id, error).await?;
                continue;
            }
        };
        if let Err(refusal) = admission.check(hello.role) {
            refuse(sink, id, to_error(&refusal)).await?;
            return None;
        }
        let process = peer.process(hello.pid, hello.role).await;
        let operator = admission == HelloAdmission::Operator;
        match daemon.join_from(hello, operator, process).await {
            Ok(joined) => {
                let welcome = serde_json::to_value(&joined.welcome).unwrap_or_default();
                if write(sink, &Frame::result(id, welcome)).await.is_err() {
                    // It went away between its hello and our answer: nobody else will say so.
                    daemon.disconnect(joined.conn).await;
                    return None;
                }
                return Some(joined);
            }
            Err(refusal) => {
                refuse(sink, id, to_error(&refusal)).await?;
                return None;
            }
        }
    }
}

/// Takes one request in, or returns why not: as many of these as there are requests, so they do not
/// go by the queue of answers. The caller saw to it that there is a place among the calls in work.
fn on_text(
    text: &str,
    daemon: &DaemonHandle,
    joined: &Joined,
    answers: &mpsc::Sender<Frame>,
    calls: &Arc<ClientCalls>,
    gone: &CancellationToken,
) -> Option<Frame> {
    let Request { id, method, params } = match Request::read(text) {
        Ok(request) => request,
        Err(frame) => return Some(*frame),
    };
    let command = match Command::read(&method, params) {
        Ok(command) => command,
        Err(error) => return Some(Frame::error(id, error)),
    };
    let place = calls.place()?;
    tracing::debug!(method, "asked");
    let (daemon, conn, answers) = (daemon.clone(), joined.conn, answers.clone());
    let closed = joined.closed.clone();
    let of_client = Arc::clone(calls);
    let awaited = calls.begin(&id, gone);
    calls.spawn(async move {
        let answer = async {
            let called = daemon.call_until(conn, command, &awaited).await;
            of_client.end(&id);
            let Some(called) = called else {
                of_client.give_back(place);
                return true;
            };
            let frame = match called {
                Ok(reply) => match reply.to_json() {
                    Ok(value) => Frame::result(id, value),
                    Err(error) => {
                        Frame::error(id, ErrorObject::new(code::INTERNAL, error.to_string()))
                    }
                },
                Err(refusal) => Frame::error(id, to_error(&refusal)),
            };
            // Before the answer, which wakes the reader.
            drop(place);
            timeout(WRITE_WAIT, answers.send(frame)).await.is_ok()
        };
        // A client that does not take its answers is ended, whatever it had asked; and one whose
        // call failed by a fault of ours, because it would wait for the answer.
        if !AssertUnwindSafe(answer)
            .catch_unwind()
            .await
            .unwrap_or(false)
        {
            of_client.lose_one();
            closed.cancel();
        }
    });
    None
}

fn to_error(refusal: &Refusal) -> ErrorObject {
    ErrorObject {
        code: code::REFUSED,
        message: refusal.message.clone(),
        data: Some(json!({"code": refusal.code, "hint": refusal.hint})),
    }
}

async fn refuse<S>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    id: Value,
    error: ErrorObject,
) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    write(sink, &Frame::error(id, error)).await.ok()
}

async fn write<S>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    frame: &Frame,
) -> Result<(), ()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let text = serde_json::to_string(frame).map_err(|_| ())?;
    if text.len() <= PART_BYTES {
        return send(sink, Message::text(text)).await;
    }
    // In parts, each with its own time: a large answer needs no large buffer, and a client that
    // reads slowly is one that reads.
    let mut rest = Bytes::from(text);
    let mut data = Data::Text;
    while !rest.is_empty() {
        let part = rest.split_to(rest.len().min(PART_BYTES));
        let part = WsFrame::message(part, OpCode::Data(data), rest.is_empty());
        send(sink, Message::Frame(part)).await?;
        data = Data::Continue;
    }
    Ok(())
}

async fn send<S>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    message: Message,
) -> Result<(), ()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match timeout(WRITE_WAIT, sink.send(message)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(()),
    }
}

/// tungstenite ends the stream without a close frame on bad input: say why.
async fn explain<S>(sink: &mut SplitSink<WebSocketStream<S>, Message>, error: &WsError)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (code, reason) = match error {
        WsError::Capacity(CapacityError::MessageTooLong { .. }) => {
            (CloseCode::Size, "frame too large")
        }
        WsError::Utf8(_) => (CloseCode::Invalid, "invalid UTF-8"),
        WsError::Protocol(_) => (CloseCode::Protocol, "not the WebSocket protocol"),
        _ => return,
    };
    let frame = CloseFrame {
        code,
        reason: reason.into(),
    };
    let _ = send(sink, Message::Close(Some(frame))).await;
}
