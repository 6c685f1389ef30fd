//! [`Script`]: an app-server that says what a test wants, over a real WebSocket.
//!
//! The session runs in its own task, driven in the same way as by the adapter's loop.

use std::sync::Arc;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::adapters::codex::attempted_message::AttemptedMessage;
use crate::adapters::codex::compaction_hook::CompactionHook;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::inflight::Outgoing;
use crate::adapters::codex::rpc::Lost;
use crate::adapters::codex::server::Upstream;
use crate::adapters::codex::session::{CallError, Session, SessionContext};
use crate::adapters::codex::thread_state::ThreadState;
use crate::core::delivery::OnBusy;
use crate::core::hex::hex;
use crate::core::id::EntryId;
use crate::core::redact::Redactor;

/// For anything that a test waits for.
const SOON: std::time::Duration = std::time::Duration::from_secs(60);

/// Between two questions of a session whether somebody has signed in.
const ACCOUNT_EVERY: std::time::Duration = std::time::Duration::from_millis(500);

/// What a new thread is called.
const NAME: &str = "ctxrelay proj";

/// What a test asks of the session.
pub(super) enum Ask {
    Deliver(&'static str, OnBusy),
    DeliverText(&'static str, String),
    /// As an attempt after one that these turns had.
    DeliverAgain(&'static str, &'static [&'static str]),
    /// Into this conversation and no other.
    DeliverInto(&'static str, &'static str),
    Recover(Vec<AttemptedMessage>),
    Release,
    TakeBack(&'static str),
    HookGives(&'static str, &'static str),
    Inject(&'static str, &'static str),
    Find(&'static str, &'static str),
    Compact(oneshot::Sender<Result<(), String>>),
}

/// The test's side of the connection.
pub(super) struct Script {
    socket: WebSocketStream<TcpStream>,
    /// What threads were called after what was said in them: their ids and names.
    pub(super) named: Vec<(String, String)>,
    pub(super) facts: mpsc::Receiver<CodexFact>,
    pub(super) asks: mpsc::Sender<Ask>,
    session: JoinHandle<(ThreadState, String)>,
}

impl Script {
    /// Connects a session in this state, up to its `initialize`.
    pub(super) async fn connect(thread_state: ThreadState, fresh: bool) -> Self {
        Self::connect_asking(thread_state, fresh, ACCOUNT_EVERY).await
    }

    async fn connect_asking(
        mut thread_state: ThreadState,
        fresh: bool,
        account_every: std::time::Duration,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = Upstream {
            port: listener.local_addr().unwrap().port(),
            token: "inner".to_owned(),
        };
        let (told, facts) = mpsc::channel(256);
        let (asks, mut asked) = mpsc::channel(16);
        let context = SessionContext {
            project_root: "/proj".to_owned(),
            thread_name: NAME.to_owned(),
            account_every,
            hook: CompactionHook::default(),
            redactor: Arc::new(Redactor::new()),
            facts: told,
        };
        let session = tokio::spawn(async move {
            let error = drive(&upstream, &context, &mut thread_state, fresh, &mut asked).await;
            (thread_state, error.to_string())
        });
        let (stream, _) = listener.accept().await.unwrap();
        let socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let mut script = Self {
            socket,
            named: Vec::new(),
            facts,
            asks,
            session,
        };
        let initialize = script.expect("initialize").await;
        assert_eq!(
            initialize["params"]["capabilities"]["experimentalApi"],
            true
        );
        script
            .answer(&initialize, json!({"userAgent": "ctxrelay/0.169.0 (x) y"}))
            .await;
        assert_eq!(script.read().await["method"], "initialized");
        script
    }

    /// A session on the thread `T`, idle, with nothing in flight.
    pub(super) async fn idle() -> Self {
        Self::idle_asking(ACCOUNT_EVERY).await
    }

    /// The same, which asks so rarely whether somebody has signed in.
    pub(super) async fn idle_asking(account_every: std::time::Duration) -> Self {
        let mut script = Self::connect_asking(ThreadState::default(), true, account_every).await;
        let start = script.expect("thread/start").await;
        assert_eq!(start["params"]["cwd"], "/proj");
        script
            .answer(&start, json!({"thread": thread("T", "idle")}))
            .await;
        let name = script.expect("thread/name/set").await;
        assert_eq!(name["params"]["name"], NAME);
        script.answer(&name, json!({})).await;
        assert_eq!(
            script.fact().await,
            CodexFact::ThreadAdopted {
                thread_id: "T".into()
            }
        );
        next_fact!(script, ThreadStatus);
        script
    }

    /// The same with a turn that runs.
    pub(super) async fn busy() -> Self {
        let mut script = Self::idle().await;
        script
            .status(json!({"type": "active", "activeFlags": []}))
            .await;
        script
            .notify(
                "turn/started",
                json!({"threadId": "T", "turn": {"id": "U", "status": "inProgress"}}),
            )
            .await;
        next_fact!(script, ThreadStatus);
        next_fact!(script, TurnStarted);
        script
    }

    async fn read(&mut self) -> Value {
        loop {
            let frame = tokio::time::timeout(SOON, self.socket.next())
                .await
                .expect("a frame in time");
            let Message::Text(text) = frame.expect("an open connection").unwrap() else {
                continue;
            };
            let frame: Value = serde_json::from_str(&text).unwrap();
            let of = |name: &str| frame["params"][name].as_str().map(str::to_owned);
            match (frame["method"].as_str(), of("threadId"), of("name")) {
                // Nothing waits for the answer.
                (Some("thread/name/set"), Some(id), Some(name)) if name != NAME => {
                    self.named.push((id, name));
                }
                _ => return frame,
            }
        }
    }

    /// The next request, which must be this one.
    pub(super) async fn expect(&mut self, method: &str) -> Value {
        let frame = self.read().await;
        assert_eq!(frame["method"], method, "{frame}");
        frame
    }

    /// Answers the next request, which must be this one.
    pub(super) async fn serve(&mut self, method: &str, result: Value) {
        let request = self.expect(method).await;
        self.answer(&request, result).await;
    }

    /// Tells the thread's status.
    pub(super) async fn status(&mut self, status: Value) {
        self.status_of("T", status).await;
    }

    /// Tells the status of this thread.
    pub(super) async fn status_of(&mut self, thread_id: &str, status: Value) {
        let params = json!({"threadId": thread_id, "status": status});
        self.notify("thread/status/changed", params).await;
    }

    /// The turn `U` ends like this, and the session tells of it.
    pub(super) async fn turn_ends(&mut self, status: &str) {
        self.status(json!({"type": "idle"})).await;
        let turn = json!({"id": "U", "status": status});
        self.notify("turn/completed", json!({"threadId": "T", "turn": turn}))
            .await;
        next_fact!(self, ThreadStatus);
        next_fact!(self, TurnCompleted);
    }

    /// Answers the requests of a look: an empty queue, or this one; then this history.
    pub(super) async fn look(&mut self, queue: Value, turns: Value) {
        self.serve(
            "thread/queue/list",
            json!({"data": queue, "nextCursor": null}),
        )
        .await;
        self.serve(
            "thread/turns/list",
            json!({"data": turns, "nextCursor": null}),
        )
        .await;
    }

    pub(super) async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({"id": request["id"], "result": result}))
            .await;
    }

    pub(super) async fn refuse(&mut self, request: &Value, message: &str) {
        let error = json!({"code": -32600, "message": message});
        self.send(json!({"id": request["id"], "error": error}))
            .await;
    }

    pub(super) async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"method": method, "params": params, "emittedAtMs": 1}))
            .await;
    }

    pub(super) async fn user_message(&mut self, turn: &str, client_id: &str) {
        let item = user(client_id);
        let params = json!({"threadId": "T", "turnId": turn, "item": item});
        self.notify("item/completed", params).await;
    }

    pub(super) async fn send(&mut self, frame: Value) {
        self.send_text(frame.to_string()).await;
    }

    pub(super) async fn send_text(&mut self, text: String) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    pub(super) async fn send_message(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    pub(super) async fn ask(&self, ask: Ask) {
        self.asks
            .send(ask)
            .await
            .unwrap_or_else(|_| panic!("the session is over"));
    }

    pub(super) async fn fact(&mut self) -> CodexFact {
        let fact = tokio::time::timeout(SOON, self.facts.recv())
            .await
            .expect("a fact in time");
        fact.expect("a session")
    }

    /// Proves that nothing else was said or told: an unknown server request does nothing, a
    /// marked turn of the visible thread is the next fact.
    pub(super) async fn quiet(&mut self) {
        self.quiet_on("T").await;
    }

    /// The same where this thread is the visible one.
    pub(super) async fn quiet_on(&mut self, thread_id: &str) {
        let usage = json!({"last": {"totalTokens": 77}, "modelContextWindow": 100});
        self.notify(
            "thread/tokenUsage/updated",
            json!({"threadId": thread_id, "tokenUsage": usage}),
        )
        .await;
        assert_eq!(
            self.fact().await,
            CodexFact::ContextUsed {
                used: 77,
                window: Some(100)
            }
        );
    }

    /// Cuts the connection, without a goodbye, and returns what the session remembers, with the
    /// facts that it told until then.
    pub(super) async fn cut(self) -> (ThreadState, Vec<CodexFact>) {
        let Self {
            socket,
            mut facts,
            session,
            ..
        } = self;
        drop(socket);
        let (thread_state, _) = tokio::time::timeout(SOON, session)
            .await
            .expect("an end in time")
            .unwrap();
        let mut told = Vec::new();
        while let Ok(fact) = facts.try_recv() {
            told.push(fact);
        }
        (thread_state, told)
    }
}

async fn drive(
    upstream: &Upstream,
    context: &SessionContext,
    thread_state: &mut ThreadState,
    fresh: bool,
    asked: &mut mpsc::Receiver<Ask>,
) -> CallError {
    let run = async {
        let mut session = Session::open(upstream, context, thread_state).await?;
        session.take_up(fresh).await?;
        loop {
            session.settle().await?;
            let due = session.next_due();
            tokio::select! {
                frame = session.next() => session.take_frame(frame?).await,
                Some(ask) = asked.recv() => match ask {
                    Ask::Deliver(id, on_busy) => {
                        session.deliver(outgoing(id, &[]), on_busy, None).await?;
                    }
                    Ask::DeliverText(id, text) => {
                        let message = Outgoing { text, ..outgoing(id, &[]) };
                        session.deliver(message, OnBusy::Queue, None).await?;
                    }
                    Ask::DeliverAgain(id, cut_off_in) => {
                        session.deliver(outgoing(id, cut_off_in), OnBusy::Queue, None).await?;
                    }
                    Ask::DeliverInto(id, thread) => {
                        let meant_for = Some(crate::core::id::ThreadId::new(thread));
                        let message = outgoing(id, &[]);
                        session.deliver(message, OnBusy::Queue, meant_for.as_ref()).await?;
                    }
                    Ask::Recover(messages) => session.recover(messages).await?,
                    Ask::Release => session.release_queue().await?,
                    Ask::TakeBack(id) => session.take_back(&id.into()).await?,
                    Ask::HookGives(id, text) => {
                        session.inject(EntryId::new(id), text.to_owned(), true).await?;
                    }
                    Ask::Inject(id, text) => {
                        session.inject(EntryId::new(id), text.to_owned(), false).await?;
                    }
                    Ask::Find(id, text) => {
                        let sha256 = hex(&Sha256::digest(text.as_bytes()));
                        session.find_packet(EntryId::new(id), sha256).await;
                    }
                    Ask::Compact(reply) => {
                        let _ = reply.send(session.compact().await?);
                    }
                },
                () = async { tokio::time::sleep_until(due.unwrap()).await }, if due.is_some() => {
                    session.on_time().await?;
                }
            }
        }
        #[expect(unreachable_code, reason = "gives the block its type")]
        Ok::<(), CallError>(())
    };
    match run.await {
        Err(error) => error,
        Ok(()) => Lost::Ended("never".to_owned()).into(),
    }
}

fn outgoing(id: &str, cut_off_in: &[&str]) -> Outgoing {
    Outgoing {
        id: id.into(),
        attempt: Some(format!("attempt-at-{id}").into()),
        text: format!("text of {id}"),
        cut_off_in: cut_off_in.iter().copied().map(Into::into).collect(),
    }
}

/// A message of an earlier daemon, which these turns had before.
pub(super) fn handed_over(id: &str, cut_off_in: &[&str]) -> AttemptedMessage {
    AttemptedMessage {
        message_id: id.into(),
        attempt: Some(format!("attempt-at-{id}").into()),
        cut_off_in: cut_off_in.iter().copied().map(Into::into).collect(),
        thread: None,
        is_unwanted: false,
    }
}

pub(super) fn thread(id: &str, status: &str) -> Value {
    json!({
        "id": id, "ephemeral": false, "threadSource": "user", "path": "/rollout", "name": null,
        "status": {"type": status, "activeFlags": []}, "parentThreadId": null, "unknownField": {"a": [1]}
    })
}

pub(super) fn user(client_id: &str) -> Value {
    json!({
        "type": "userMessage", "id": format!("item-{client_id}"), "clientId": client_id,
        "content": [{"type": "text", "text": "hi", "text_elements": []}]
    })
}

pub(super) fn message(turn: &str, client_id: &str, steered: bool) -> CodexFact {
    CodexFact::UserMessage {
        turn_id: turn.into(),
        client_id: Some(client_id.to_owned()),
        preview: "hi".to_owned(),
        steered,
    }
}
