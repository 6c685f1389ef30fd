//! [`serve`]: the WebSocket and the requests on it. One loop owns all threads.
//!
//! Notifications go to every client: there are at most two, the daemon and a terminal.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, ORIGIN};

use super::VERSION;
use super::arguments::Arguments;
use super::mcp::Caller;
use super::thread::{DemoThread, DemoTurn, QUEUE_MAX, Submission, new_id};
use super::turn::{TurnStep, work};
use crate::core::hex::hex;

/// Frames of clients that wait for the loop; full, the client's reader waits.
const EVENTS_MAX: usize = 256;

/// Frames that wait for a client; one that reads so slowly is dropped, as Codex does.
const OUTGOING_MAX: usize = 512;

/// Steps of turns that wait for the loop.
const STEPS_MAX: usize = 64;

/// The handshake, on loopback.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);

/// The only code that Codex has for nearly everything; the words tell what it is.
const INVALID_REQUEST: i64 = -32600;

/// A number for each connection.
type ConnId = u64;

enum Event {
    Connected(ConnId, mpsc::Sender<String>),
    Frame(ConnId, String),
    Gone(ConnId),
}

/// Listens until the process is ended.
pub(super) async fn serve(arguments: Arguments) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).await?;
    let port = listener.local_addr()?.port();
    eprintln!("codex app-server (WebSockets, scripted for the demo)");
    eprintln!("  listening on: ws://127.0.0.1:{port}");

    let (events, mut event_receiver) = mpsc::channel(EVENTS_MAX);
    let (steps, mut taken) = mpsc::channel(STEPS_MAX);
    let digest = arguments.token_sha256.to_ascii_lowercase();
    let mut server = Server {
        arguments,
        threads: BTreeMap::new(),
        clients: HashMap::new(),
        steps,
    };
    let mut next_conn = 0;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                next_conn += 1;
                tokio::spawn(converse(next_conn, stream, digest.clone(), events.clone()));
            }
            Some(event) = event_receiver.recv() => server.take(event),
            Some((caller, step)) = taken.recv() => server.step(&caller, step),
        }
    }
}

/// One connection, from its handshake to its end.
async fn converse(conn: ConnId, stream: TcpStream, digest: String, events: mpsc::Sender<Event>) {
    #[expect(clippy::result_large_err, reason = "the type is tungstenite's")]
    let check = |request: &Request, response: Response| match refusal(request, &digest) {
        None => Ok(response),
        Some(status) => {
            let mut refused = ErrorResponse::new(None);
            *refused.status_mut() = status;
            Err(refused)
        }
    };
    let Ok(Ok(socket)) = timeout(HANDSHAKE_WAIT, accept_hdr_async(stream, check)).await else {
        return;
    };
    let (mut sink, mut frames) = socket.split();
    let (out, mut outgoing) = mpsc::channel(OUTGOING_MAX);
    if events.send(Event::Connected(conn, out)).await.is_err() {
        return;
    }
    loop {
        tokio::select! {
            text = outgoing.recv() => {
                let sent = match text {
                    Some(text) => sink.send(Message::text(text)).await.is_ok(),
                    None => false,
                };
                if !sent {
                    break;
                }
            }
            frame = frames.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    let event = Event::Frame(conn, text.as_str().to_owned());
                    if events.send(event).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            }
        }
    }
    let _ = events.send(Event::Gone(conn)).await;
}

/// As Codex: no browser, and nobody without the token whose digest we were given.
fn refusal(request: &Request, digest: &str) -> Option<StatusCode> {
    if request.headers().contains_key(ORIGIN) {
        return Some(StatusCode::FORBIDDEN);
    }
    let token = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    // Digests are compared, so that the time tells nothing about the token.
    let good = token.is_some_and(|token| hex(&Sha256::digest(token.as_bytes())) == digest);
    (!good).then_some(StatusCode::UNAUTHORIZED)
}

struct Server {
    arguments: Arguments,
    threads: BTreeMap<String, DemoThread>,
    clients: HashMap<ConnId, Peer>,
    steps: mpsc::Sender<(Caller, TurnStep)>,
}

struct Peer {
    out: mpsc::Sender<String>,
    initialized: bool,
}

/// What a request comes to.
type Answer = Result<Value, String>;

impl Server {
    fn take(&mut self, event: Event) {
        match event {
            Event::Connected(conn, out) => {
                let initialized = false;
                self.clients.insert(conn, Peer { out, initialized });
            }
            Event::Gone(conn) => {
                self.clients.remove(&conn);
            }
            Event::Frame(conn, text) => self.frame(conn, &text),
        }
    }

    fn frame(&mut self, conn: ConnId, text: &str) {
        // Codex ignores what is no request, and so does this.
        let Ok(frame) = serde_json::from_str::<Value>(text) else {
            return;
        };
        let (Some(method), Some(id)) = (frame["method"].as_str(), frame.get("id")) else {
            return;
        };
        let Some(peer) = self.clients.get_mut(&conn) else {
            return;
        };
        let known = peer.initialized;
        peer.initialized |= method == "initialize";
        let params = &frame["params"];
        let answer = match (known, method) {
            (false, "initialize") => Ok(json!({
                "userAgent": format!("ctxrelay-demo/{VERSION} (scripted)"),
            })),
            (false, _) => Err("Not initialized".to_owned()),
            (true, "initialize") => Err("Already initialized".to_owned()),
            (true, _) => self.request(method, params),
        };
        let answer = match answer {
            Ok(result) => json!({"id": id, "result": result}),
            Err(message) => {
                json!({"id": id, "error": {"code": INVALID_REQUEST, "message": message}})
            }
        };
        self.send(conn, &answer);
        // What follows from it comes after its answer.
        self.follow_up(method, params);
    }

    fn request(&mut self, method: &str, params: &Value) -> Answer {
        match method {
            "thread/start" => {
                let thread = DemoThread::new(params["cwd"].clone());
                let answer = json!({"thread": thread.to_json()});
                self.threads.insert(thread.id.clone(), thread);
                Ok(answer)
            }
            "thread/resume" => {
                let id = params["threadId"].as_str().unwrap_or_default();
                let thread = self.threads.get(id);
                let thread =
                    thread.ok_or_else(|| format!("no rollout found for thread id {id}"))?;
                Ok(json!({"thread": thread.to_json()}))
            }
            "thread/name/set" => {
                self.thread(params)?.name = params["name"].clone();
                Ok(json!({}))
            }
            "thread/unsubscribe" => Ok(json!({"status": "unsubscribed"})),
            "thread/turns/list" => self.turns(params),
            "thread/queue/add" => self.enqueue(params),
            "thread/queue/list" => {
                let queue = &self.thread(params)?.queue;
                let rows: Vec<Value> = queue.iter().map(Submission::to_json).collect();
                Ok(json!({"data": rows, "nextCursor": null}))
            }
            "thread/queue/delete" => {
                let id = params["queuedSubmissionId"].clone();
                let queue = &mut self.thread(params)?.queue;
                let at = queue.iter().position(|row| id == *row.id);
                let deleted = at.is_some_and(|at| queue.remove(at).is_some());
                Ok(json!({"deleted": deleted}))
            }
            "turn/start" => self.start(params),
            "turn/steer" => self.steer(params),
            "turn/interrupt" => self.interrupt(params),
            other => Err(format!("Invalid request: unknown variant `{other}`")),
        }
    }

    /// Notifications and turns that a request leads to.
    fn follow_up(&mut self, method: &str, params: &Value) {
        let thread_id = params["threadId"].as_str().unwrap_or_default().to_owned();
        match method {
            "thread/start" => {
                let youngest = self.threads.values().next_back().map(DemoThread::to_json);
                self.tell("thread/started", json!({"thread": youngest}));
            }
            "thread/queue/add" | "thread/queue/delete" => {
                self.tell("thread/queue/changed", json!({"threadId": thread_id}));
                self.next_turn(&thread_id);
            }
            "thread/resume" | "turn/start" => self.next_turn(&thread_id),
            _ => {}
        }
    }

    fn thread(&mut self, params: &Value) -> Result<&mut DemoThread, String> {
        let id = params["threadId"].as_str().unwrap_or_default();
        self.threads
            .get_mut(id)
            .ok_or_else(|| format!("thread not found: {id}"))
    }

    fn turns(&mut self, params: &Value) -> Answer {
        let limit = params["limit"].as_u64().unwrap_or(20);
        let newest_first = params["sortDirection"] == json!("desc");
        let turns = &self.thread(params)?.turns;
        let rows = turns.iter().map(DemoTurn::to_json);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let rows: Vec<Value> = if newest_first {
            rows.rev().take(limit).collect()
        } else {
            rows.take(limit).collect()
        };
        // The story is shorter than a page.
        Ok(json!({"data": rows, "nextCursor": null}))
    }

    fn enqueue(&mut self, params: &Value) -> Answer {
        let submission = Submission::of(params);
        let thread = self.thread(params)?;
        if thread.queue.len() == QUEUE_MAX {
            return Err("the queue is full".to_owned());
        }
        let answer = json!({"queuedSubmission": submission.to_json()});
        thread.queue.push_back(submission);
        Ok(answer)
    }

    /// On a busy thread it joins the turn that runs, as Codex has it.
    fn start(&mut self, params: &Value) -> Answer {
        if let Some(turn) = self.thread(params)?.running() {
            let turn_id = turn.id.clone();
            self.join(params, Submission::of(params));
            return Ok(json!({"turn": {"id": turn_id, "status": "inProgress"}}));
        }
        self.thread(params)?
            .queue
            .push_front(Submission::of(params));
        // Its id is told by `turn/started`.
        Ok(json!({"turn": {"id": "", "status": "inProgress"}}))
    }

    fn steer(&mut self, params: &Value) -> Answer {
        let turn = self.thread(params)?.running();
        let turn_id = turn.ok_or("no active turn to steer")?.id.clone();
        let expected = params["expectedTurnId"].as_str().unwrap_or_default();
        if turn_id != expected {
            return Err(format!(
                "expected active turn id `{expected}` but found `{turn_id}`"
            ));
        }
        self.join(params, Submission::of(params));
        Ok(json!({"turnId": turn_id}))
    }

    fn join(&mut self, params: &Value, submission: Submission) {
        let item = submission.to_item();
        let Ok(thread) = self.thread(params) else {
            return;
        };
        let thread_id = thread.id.clone();
        let Some(turn) = thread.running() else {
            return;
        };
        turn.items.push(item.clone());
        let turn_id = turn.id.clone();
        self.tell_item(&thread_id, &turn_id, &item);
    }

    fn interrupt(&mut self, params: &Value) -> Answer {
        let thread = self.thread(params)?;
        let thread_id = thread.id.clone();
        let turn = thread.running().ok_or("no active turn to interrupt")?;
        if params["turnId"] != json!(turn.id) {
            return Err(format!("expected active turn id but found {}", turn.id));
        }
        if let Some(worker) = turn.worker.take() {
            worker.abort();
        }
        self.end_turn(&thread_id, "interrupted", Value::Null);
        Ok(json!({}))
    }

    /// Begins a turn with the next message, when nothing runs.
    fn next_turn(&mut self, thread_id: &str) {
        let Some(thread) = self.threads.get_mut(thread_id) else {
            return;
        };
        if thread.running().is_some() {
            return;
        }
        let Some(submission) = thread.queue.pop_front() else {
            return;
        };
        let mut turn = DemoTurn::new();
        let item = submission.to_item();
        turn.items.push(item.clone());
        let caller = Caller {
            thread_id: thread_id.to_owned(),
            turn_id: turn.id.clone(),
        };
        let worker = tokio::spawn(work(
            submission.text(),
            caller.clone(),
            self.arguments.mcp.clone(),
            self.arguments.pace,
            self.steps.clone(),
        ));
        turn.worker = Some(worker.abort_handle());
        thread.push(turn);
        thread.status = "active";
        let status = thread.status();
        let started = json!({"id": caller.turn_id, "status": "inProgress", "items": []});
        self.tell(
            "thread/status/changed",
            json!({"threadId": thread_id, "status": status}),
        );
        self.tell(
            "turn/started",
            json!({"threadId": thread_id, "turn": started}),
        );
        self.tell_item(thread_id, &caller.turn_id, &item);
    }

    fn step(&mut self, caller: &Caller, step: TurnStep) {
        let Some(turn) = self
            .threads
            .get_mut(&caller.thread_id)
            .and_then(DemoThread::running)
            // A step of a turn that was interrupted meanwhile.
            .filter(|turn| turn.id == caller.turn_id)
        else {
            return;
        };
        let (text, phase) = match &step {
            TurnStep::Comment(text) => (Some(*text), "commentary"),
            TurnStep::Ended(Ok(text)) => (Some(*text), "final_answer"),
            TurnStep::Ended(Err(_)) => (None, ""),
        };
        if let Some(text) = text {
            let item =
                json!({"type": "agentMessage", "id": new_id(), "text": text, "phase": phase});
            turn.items.push(item.clone());
            self.tell_item(&caller.thread_id, &caller.turn_id, &item);
        }
        match step {
            TurnStep::Comment(_) => {}
            TurnStep::Ended(Ok(_)) => self.end_turn(&caller.thread_id, "completed", Value::Null),
            TurnStep::Ended(Err(message)) => {
                let error = json!({"message": message, "codexErrorInfo": null});
                self.end_turn(&caller.thread_id, "failed", error);
            }
        }
    }

    /// The thread's status changes just before the turn's end is told, as Codex has it.
    fn end_turn(&mut self, thread_id: &str, status: &'static str, error: Value) {
        let Some(thread) = self.threads.get_mut(thread_id) else {
            return;
        };
        let Some(turn) = thread.running() else {
            return;
        };
        turn.status = status;
        turn.error = error;
        let summary = turn.summary();
        thread.status = if status == "failed" {
            "systemError"
        } else {
            "idle"
        };
        let now = thread.status();
        self.tell(
            "thread/status/changed",
            json!({"threadId": thread_id, "status": now}),
        );
        self.tell(
            "turn/completed",
            json!({"threadId": thread_id, "turn": summary}),
        );
        // What waits is held after an interruption, until somebody resumes the thread.
        if status != "interrupted" {
            self.next_turn(thread_id);
        }
    }

    fn tell_item(&mut self, thread_id: &str, turn_id: &str, item: &Value) {
        self.tell(
            "item/completed",
            json!({"threadId": thread_id, "turnId": turn_id, "item": item}),
        );
    }

    fn tell(&mut self, method: &str, params: Value) {
        let frame = json!({"method": method, "params": params});
        let initialized: Vec<ConnId> = self
            .clients
            .iter()
            .filter(|(_, peer)| peer.initialized)
            .map(|(conn, _)| *conn)
            .collect();
        for conn in initialized {
            self.send(conn, &frame);
        }
    }

    fn send(&mut self, conn: ConnId, frame: &Value) {
        let Some(peer) = self.clients.get(&conn) else {
            return;
        };
        if peer.out.try_send(frame.to_string()).is_err() {
            // Dropping its channel ends the connection.
            self.clients.remove(&conn);
        }
    }
}
