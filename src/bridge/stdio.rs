//! [`serve`]: an agent's MCP server over standard input and output.
//!
//! A reader in front of rmcp splits the input into lines, because rmcp drops what it cannot read:
//! broken JSON, lines over the limit and `server/discover` are answered here, everything else goes
//! on as typed messages. One writer owns the output.

mod id_scan;

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use rmcp::model::{
    ClientJsonRpcMessage, CustomNotification, JsonRpcMessage, JsonRpcResponse, ServerNotification,
    ServerResult,
};
use rmcp::service::{
    Peer, RoleServer, RxJsonRpcMessage, ServerInitializeError, ServiceExt as _, TxJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::handed::{Handed, HandedPage};
use super::json::parse;
use super::server::RelayServer;
use super::tools::argument::FAULT_CHARS;
use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::cut_text::cut_text;
use crate::core::id::RuntimeSession;
use crate::core::plain_value::names_raw_text;
use crate::core::trace;
use crate::wire::control::{MailMessage, Notification};
use crate::wire::jsonrpc::{ErrorObject, Frame, code, unread};
use id_scan::IdScan;

/// The longest line, in bytes: a text of 1,000,000 characters and its escapes fit.
pub const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// How many messages may wait on either side of the server. Full, the reader or the answering
/// call waits: the agent on the other end of the pipe then does as well.
const MESSAGES_MAX: usize = 64;

/// How often it is looked whether the parent is still the one that started us.
const PARENT_POLL: Duration = Duration::from_secs(1);

/// How long what was answered may take to leave after the end.
const FLUSH_WAIT: Duration = Duration::from_secs(2);

/// Why a bridge ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdioEnded {
    /// The agent closed its side.
    Closed,
    /// A signal came.
    Signal,
    /// The process that started us is gone.
    Orphaned,
    /// rmcp gave up, for example on a first message that is no `initialize`.
    Failed,
}

/// Serves one agent until it closes its side, a signal comes or it dies. Survives any number of
/// daemons; the client redials. `pair` is Claude's.
///
/// The caller exits the process afterwards: a blocking read of standard input cannot be ended.
pub async fn serve(side: Agent, pair: Option<RuntimeSession>, client: Client) -> StdioEnded {
    let (input, output) = rmcp::transport::stdio_pipes();
    let end = CancellationToken::new();
    let parent = rustix::process::getppid();
    let served = serve_on(side, pair, client, input, output, end.clone());
    tokio::pin!(served);
    let ended = tokio::select! {
        ended = &mut served => return ended,
        () = signals() => StdioEnded::Signal,
        () = orphaned(parent) => StdioEnded::Orphaned,
    };
    end.cancel();
    // What was answered still leaves, and is reported.
    let _ = tokio::time::timeout(FLUSH_WAIT, served).await;
    ended
}

/// As [`serve`], over any pair of streams, until `end` is cancelled.
pub(super) async fn serve_on<R, W>(
    side: Agent,
    pair: Option<RuntimeSession>,
    client: Client,
    input: R,
    output: W,
    end: CancellationToken,
) -> StdioEnded
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let notifications = client.notifications();
    let gone = end.child_token();
    let (lines, written) = mpsc::channel(MESSAGES_MAX);
    let (messages, received) = mpsc::channel(MESSAGES_MAX);
    let reports = TaskTracker::new();
    let writer = tokio::spawn(write(output, written, reports.clone()));
    let reader = tokio::spawn(read(input, messages, lines.clone(), gone.clone()));
    let handed = Handed::default();
    let transport = Lines {
        received,
        lines: lines.clone(),
        handed: handed.clone(),
    };
    drop(lines);

    let server = RelayServer::new(side, pair, client, gone, handed);
    let ended = match server.serve_with_ct(transport, end).await {
        Ok(running) => {
            let push = (side == Agent::Claude)
                .then(|| tokio::spawn(push(notifications, running.peer().clone())));
            let ended = match running.waiting().await {
                Ok(_) => StdioEnded::Closed,
                Err(_) => StdioEnded::Failed,
            };
            if let Some(push) = push {
                push.abort();
            }
            ended
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => StdioEnded::Closed,
        Err(error) => {
            tracing::debug!(%error, "no MCP session came about");
            StdioEnded::Failed
        }
    };
    reader.abort();
    // Everybody who could add a line is gone; what is queued still leaves.
    let _ = tokio::time::timeout(FLUSH_WAIT, writer).await;
    reports.close();
    let _ = tokio::time::timeout(FLUSH_WAIT, reports.wait()).await;
    ended
}

/// Takes lines apart until the end of the input.
async fn read<R>(
    input: R,
    messages: mpsc::Sender<ClientJsonRpcMessage>,
    answers: mpsc::Sender<OutLine>,
    gone: CancellationToken,
) where
    R: AsyncRead + Unpin,
{
    // A call that waits for a message must not take it once its agent has left.
    let _gone = gone.drop_guard();
    let mut input = BufReader::new(input);
    let mut initialized = false;
    loop {
        let line = match next_line(&mut input).await {
            Ok(Some(line)) => line,
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "standard input broke");
                return;
            }
        };
        let sent = match Incoming::of(&line, initialized) {
            Incoming::Nothing => continue,
            Incoming::Answer(frame) => answers.send(OutLine::of(&frame)).await.is_ok(),
            Incoming::Message(message) => {
                initialized = true;
                messages.send(*message).await.is_ok()
            }
        };
        if !sent {
            return;
        }
    }
}

/// A line from the agent.
enum Line {
    Whole(Vec<u8>),
    /// With the id of the request that it is, where it has one.
    TooLong(Option<Value>),
}

/// The next line, of which at most [`LINE_BYTES_MAX`] bytes are ever held.
async fn next_line<R>(input: &mut BufReader<R>) -> std::io::Result<Option<Line>>
where
    R: AsyncRead + Unpin,
{
    let mut line = Vec::new();
    let mut too_long: Option<IdScan> = None;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            let rest = (!line.is_empty() && too_long.is_none()).then_some(Line::Whole(line));
            return Ok(rest);
        }
        let (taken, done) = match available.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (available.len(), false),
        };
        if let Some(scan) = &mut too_long {
            scan.feed(&available[..taken]);
        } else {
            line.extend_from_slice(&available[..taken]);
            if line.len() > LINE_BYTES_MAX {
                let scan = too_long.insert(IdScan::default());
                scan.feed(&line);
                line = Vec::new();
            }
        }
        input.consume(taken);
        if done {
            return Ok(Some(match too_long {
                Some(scan) => Line::TooLong(scan.into_id()),
                None => Line::Whole(line),
            }));
        }
    }
}

/// What a line comes to.
enum Incoming {
    Nothing,
    /// Answered here.
    Answer(Box<Frame>),
    /// For rmcp.
    Message(Box<ClientJsonRpcMessage>),
}

impl Incoming {
    fn of(line: &Line, initialized: bool) -> Self {
        let bytes = match line {
            Line::Whole(bytes) => bytes.trim_ascii(),
            Line::TooLong(id) => {
                let text = format!("the line is longer than {LINE_BYTES_MAX} bytes");
                let id = id.clone().unwrap_or_default();
                return Self::refuse(id, code::INVALID_REQUEST, text);
            }
        };
        if bytes.is_empty() {
            return Self::Nothing;
        }
        let value = match parse(bytes) {
            Ok(value) => value,
            Err(error) => {
                let text = format!("not JSON: {error}");
                // Who asked would wait for good for an answer that names nothing.
                let mut scan = IdScan::default();
                scan.feed(bytes);
                let id = scan.into_id().unwrap_or_default();
                return Self::refuse(id, unread(&error), text);
            }
        };
        let method = value.get("method").and_then(Value::as_str);
        let id = value
            .get("id")
            .filter(|id| id.is_string() || id.is_number())
            .cloned();
        if names_raw_text(&value) {
            // rmcp would read what is in such a text, and what is in that, without an end.
            return match (method, id) {
                (Some(_), None) => Self::Nothing,
                (_, id) => Self::refuse(
                    id.unwrap_or_default(),
                    code::INVALID_REQUEST,
                    "a key has a name that no reader takes for a key",
                ),
            };
        }
        match (method, id) {
            // Answered, it would lead to a session without `initialize`.
            (Some("server/discover"), Some(id)) => {
                Self::refuse(id, code::METHOD_NOT_FOUND, "Method not found")
            }
            // rmcp ends when a session begins with anything but a request.
            (Some(_), None) if !initialized => Self::Nothing,
            (method, id) => {
                let is_notification = method.is_some() && id.is_none();
                match serde_json::from_value(value) {
                    Ok(message) => Self::Message(Box::new(message)),
                    // A notification gets no answer, a wrong one neither.
                    Err(_) if is_notification => Self::Nothing,
                    Err(error) => Self::refuse(
                        id.unwrap_or_default(),
                        code::INVALID_REQUEST,
                        format!(
                            "not a request: {}",
                            cut_text(&error.to_string(), FAULT_CHARS)
                        ),
                    ),
                }
            }
        }
    }

    fn refuse(id: Value, code: i64, message: impl Into<String>) -> Self {
        Self::Answer(Box::new(Frame::error(id, ErrorObject::new(code, message))))
    }
}

/// A line for the agent, with the messages in it.
struct OutLine {
    text: String,
    handed: Option<HandedPage>,
}

impl OutLine {
    fn of(frame: &Frame) -> Self {
        Self {
            text: serde_json::to_string(frame).unwrap_or_default(),
            handed: None,
        }
    }
}

/// Writes lines out as they come, and ends with the last sender or a closed output. What they held
/// is reported behind each.
async fn write<W>(mut output: W, mut lines: mpsc::Receiver<OutLine>, reports: TaskTracker)
where
    W: AsyncWrite + Unpin,
{
    while let Some(line) = lines.recv().await {
        let OutLine { mut text, handed } = line;
        text.push('\n');
        let written = async {
            output.write_all(text.as_bytes()).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "standard output broke");
            return;
        }
        if let Some(page) = handed {
            reports.spawn(page.report());
        }
    }
}

/// What rmcp sees: typed messages in, lines out.
struct Lines {
    received: mpsc::Receiver<ClientJsonRpcMessage>,
    lines: mpsc::Sender<OutLine>,
    handed: Handed,
}

/// The agent does not read any more.
#[derive(Debug, thiserror::Error)]
#[error("the output is closed")]
struct OutputClosed;

impl Transport<RoleServer> for Lines {
    type Error = OutputClosed;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let lines = self.lines.clone();
        let handed = match &message {
            JsonRpcMessage::Response(JsonRpcResponse {
                id,
                result: ServerResult::CallToolResult(_),
                ..
            }) => self.handed.take(id),
            _ => None,
        };
        async move {
            let text = serde_json::to_string(&message).map_err(|_| OutputClosed)?;
            let line = OutLine { text, handed };
            lines.send(line).await.map_err(|_| OutputClosed)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.received.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.received.close();
        Ok(())
    }
}

/// Passes messages on as channel notifications. Whether Claude shows them is for the daemon to
/// find out: Claude Code 2.1.330 drops them silently where channels are off (observed).
async fn push(mut notifications: broadcast::Receiver<Notification>, peer: Peer<RoleServer>) {
    loop {
        match notifications.recv().await {
            Ok(Notification::Push(message)) => {
                trace::message(&message.message_id)
                    .in_scope(|| tracing::debug!("pushed to claude"));
                let sent = peer.send_notification(channel(&message)).await;
                if let Err(error) = sent {
                    tracing::debug!(%error, "a channel notification was not sent");
                }
            }
            Ok(_) => {}
            // What was missed is still unread, and comes by the next rung.
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "notifications were missed");
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// `meta` becomes attributes of a tag: identifiers as keys, text as values.
fn channel(message: &MailMessage) -> ServerNotification {
    let mut meta = json!({
        "message_id": message.message_id,
        "from": message.from,
        "kind": message.kind,
        "seq": message.seq.to_string(),
    });
    if message.require_reply {
        meta["require_reply"] = json!("true");
    }
    let params = json!({"content": message.text, "meta": meta});
    ServerNotification::CustomNotification(CustomNotification::new(
        "notifications/claude/channel",
        Some(params),
    ))
}

/// Ends at the first signal that asks us to go. Claude sends SIGINT when it exits (observed).
pub(super) async fn signals() {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let mut waits: Vec<_> = kinds
        .into_iter()
        .filter_map(|kind| signal(kind).ok())
        .map(|mut signal| Box::pin(async move { signal.recv().await }))
        .collect();
    if waits.is_empty() {
        return std::future::pending().await;
    }
    let _ = futures::future::select_all(&mut waits).await;
}

/// Ends when the parent is another one: ours has died.
async fn orphaned(parent: Option<rustix::process::Pid>) {
    let mut poll = tokio::time::interval(PARENT_POLL);
    loop {
        poll.tick().await;
        if rustix::process::getppid() != parent {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
