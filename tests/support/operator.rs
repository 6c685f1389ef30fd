//! [`Operator`]: commands over the operator's socket, as the deck and the command line send them.

use std::path::{Path, PathBuf};

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use super::project::Project;
use super::pty::Pty;
use super::wait::{timeout, wait_until};
use super::ws::RpcError;

/// Passes bytes between a socket of the test's and the operator's: it is the one that connects.
const RELAY: &str = "const net = require('net'), [listen, operator] = process.argv.slice(1); \
    net.createServer((ours) => { const theirs = net.connect(operator); \
    ours.pipe(theirs).pipe(ours); \
    for (const end of [ours, theirs]) \
    end.on('error', () => { ours.destroy(); theirs.destroy(); }); }).listen(listen);";

/// The operator's connection. A test has no terminal, so that a process in one connects for it.
/// Made before an agent that the test itself stands for is attached: nobody below an agent is the
/// operator.
#[derive(Debug)]
pub struct Operator {
    runtime: Runtime,
    ws: WebSocketStream<UnixStream>,
    last_id: u64,
    _terminal: Pty,
}

/// The operator's socket of a project whose daemon runs.
#[track_caller]
pub fn socket(project: &Project) -> PathBuf {
    std::fs::read_dir(project.registry().join("run"))
        .unwrap()
        .map(|instance| instance.unwrap().path().join("operator.sock"))
        .find(|path| path.exists())
        .expect("an operator's socket")
}

impl Operator {
    /// Says hello.
    #[track_caller]
    pub fn connect(project: &Project) -> Self {
        Self::greet_as(project, "cli").unwrap()
    }

    /// Says hello as this role.
    ///
    /// # Errors
    ///
    /// What the daemon refuses it with.
    #[track_caller]
    pub fn greet_as(project: &Project, role: &str) -> Result<Self, RpcError> {
        let listen = project
            .base()
            .join(format!("{}.sock", uuid::Uuid::new_v4().simple()));
        let relay = project.program("node").args(["-e", RELAY]);
        let terminal = Pty::spawn(&relay.arg(&listen).arg(socket(project)));
        // Its socket is there a moment before it listens.
        let stream = wait_until("the relay in its terminal", timeout(), || {
            std::os::unix::net::UnixStream::connect(&listen).ok()
        });
        stream.set_nonblocking(true).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (ws, _) = runtime.block_on(async {
            let stream = UnixStream::from_std(stream).unwrap();
            client_async("ws://operator/", stream).await.unwrap()
        });
        let mut operator = Self {
            runtime,
            ws,
            last_id: 0,
            _terminal: terminal,
        };
        let hello = json!({"protocol": 1, "role": role, "pid": std::process::id()});
        operator.call("hello", hello)?;
        Ok(operator)
    }

    /// Sends one command.
    ///
    /// # Errors
    ///
    /// What the daemon refuses it with.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.try_call(method, params)
            .unwrap_or_else(|| panic!("the daemon hung up before it answered {method}"))
    }

    /// As `call`, of a command that is refused while something is being written: once nothing is.
    ///
    /// # Errors
    ///
    /// What the daemon refuses it with.
    #[track_caller]
    pub fn when_quiet(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        wait_until("a moment without anything on its way", timeout(), || {
            let done = self.call(method, params.clone());
            let code = done.as_ref().err().map(|refused| &refused.data["code"]);
            (code != Some(&json!("in_flight"))).then_some(done)
        })
    }

    /// As `hand_over`; `None` when the daemon is gone before it answers.
    pub fn begin_hand_over(
        &mut self,
        program: impl AsRef<Path>,
    ) -> Option<Result<Value, RpcError>> {
        self.try_call("daemon/handOver", json!({"program": program.as_ref()}))
    }

    /// As `call`; `None` when the daemon is gone before it answers.
    pub fn try_call(&mut self, method: &str, params: Value) -> Option<Result<Value, RpcError>> {
        self.last_id += 1;
        let asked = ask(&mut self.ws, self.last_id, method, params);
        self.runtime
            .block_on(async { tokio::time::timeout(timeout(), asked).await.unwrap() })
    }

    /// Has a program go on in place of the daemon.
    ///
    /// # Errors
    ///
    /// What the daemon refuses it with.
    #[track_caller]
    pub fn hand_over(&mut self, program: impl AsRef<Path>) -> Result<Value, RpcError> {
        self.call("daemon/handOver", json!({"program": program.as_ref()}))
    }
}

async fn ask(
    ws: &mut WebSocketStream<UnixStream>,
    id: u64,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    ws.send(Message::text(frame.to_string())).await.ok()?;
    loop {
        let Some(Ok(message)) = ws.next().await else {
            return None;
        };
        let Message::Text(text) = message else {
            continue;
        };
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["id"] == id {
            return Some(RpcError::outcome(frame));
        }
    }
}
