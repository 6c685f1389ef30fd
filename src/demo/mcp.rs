//! [`McpChild`]: an MCP server as a child over standard input and output, with us as its client,
//! like Claude Code.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::DemoError;

/// The bridge waits 10 s for a daemon and 30 s for its answer; then it says so itself.
const ANSWER_WAIT: Duration = Duration::from_secs(50);

/// For an orderly end, after its input was closed.
const END_WAIT: Duration = Duration::from_secs(3);

/// Answers that nobody took yet; we ask one thing at a time.
const ANSWERS_MAX: usize = 16;

/// A running server.
#[derive(Debug)]
pub(super) struct McpChild {
    child: Child,
    stdin: ChildStdin,
    answers: mpsc::Receiver<Value>,
    next_id: u64,
}

impl McpChild {
    /// Starts it and says hello. A channel notification of it goes to `wakes` as one wake; a full
    /// `wakes` has one already.
    pub(super) async fn start(
        mut command: Command,
        wakes: mpsc::Sender<()>,
    ) -> Result<Self, DemoError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(DemoError::io("starting the bridge"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(DemoError::Bridge("has no pipes".to_owned()));
        };
        let (answer, answers) = mpsc::channel(ANSWERS_MAX);
        tokio::spawn(read(stdout, answer, wakes));
        let mut server = Self {
            child,
            stdin,
            answers,
            next_id: 1,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "ctxrelay-demo", "title": "Scripted Claude", "version": env!("CARGO_PKG_VERSION")},
        });
        server.request("initialize", hello).await?;
        server
            .write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await?;
        Ok(server)
    }

    /// Calls a tool and returns its structured answer.
    pub(super) async fn call(
        &mut self,
        tool: &'static str,
        arguments: Value,
    ) -> Result<Value, DemoError> {
        let params = json!({"name": tool, "arguments": arguments});
        let mut result = self.request("tools/call", params).await?;
        if result["isError"] == json!(true) {
            let text = result.pointer("/content/0/text").and_then(Value::as_str);
            return Err(DemoError::Tool {
                tool,
                message: text.unwrap_or("refused").to_owned(),
            });
        }
        Ok(result["structuredContent"].take())
    }

    /// Closes its input and waits for its end.
    pub(super) async fn end(mut self) {
        drop(self.stdin);
        // Past that the child is killed with its handle.
        let _ = timeout(END_WAIT, self.child.wait()).await;
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, DemoError> {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        let answer = async {
            loop {
                let mut answer = self
                    .answers
                    .recv()
                    .await
                    .ok_or_else(|| DemoError::Bridge("has ended".to_owned()))?;
                if answer["id"] != json!(id) {
                    continue;
                }
                if let Some(message) = answer.pointer("/error/message").and_then(Value::as_str) {
                    return Err(DemoError::Bridge(format!("refused {method}: {message}")));
                }
                return Ok(answer["result"].take());
            }
        };
        timeout(ANSWER_WAIT, answer)
            .await
            .map_err(|_| DemoError::Bridge(format!("did not answer {method} in time")))?
    }

    async fn write(&mut self, message: &Value) -> Result<(), DemoError> {
        let line = format!("{message}\n");
        let written = async {
            self.stdin.write_all(line.as_bytes()).await?;
            self.stdin.flush().await
        };
        written
            .await
            .map_err(|error| DemoError::Bridge(format!("cannot be written to: {error}")))
    }
}

async fn read(stdout: ChildStdout, answers: mpsc::Sender<Value>, wakes: mpsc::Sender<()>) {
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if message["method"] == json!("notifications/claude/channel") {
            let _ = wakes.try_send(());
        } else if message.get("method").is_none() && answers.send(message).await.is_err() {
            return;
        }
    }
}
