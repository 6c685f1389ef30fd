//! [`ScriptedClaude`]: the parts of Claude Code around its model. It runs the bridge as its MCP
//! server, the plugin's monitor as its doorbell, and the hooks around its turns.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::DemoError;
use super::mcp::McpChild;
use super::world::DemoWorld;
use crate::core::id::EntryId;

/// Wakes that nobody took yet; one says as much as many.
const WAKES_MAX: usize = 1;

/// A hook gives up by itself after 1.5 s; a process has to start besides.
const HOOK_WAIT: Duration = Duration::from_secs(5);

/// How a prompt begins that a monitor made and no human wrote.
const MONITOR_PROMPT: &str = "<task-notification>";

/// A message as `get_messages` gives it, as far as the story reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mail {
    pub(super) id: String,
    pub(super) from: String,
    kind: String,
    in_reply_to: String,
    text: String,
}

/// What the operator said to a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Approved,
    Rejected { reason: String },
}

impl Mail {
    /// What it says of a proposal, read as a model would read it.
    pub(super) fn decision_on(&self, proposal: &EntryId) -> Option<Decision> {
        if self.kind != "decision" || self.in_reply_to != proposal.as_str() {
            return None;
        }
        let mut lines = self.text.lines();
        if lines.any(|line| line.starts_with("The operator approved")) {
            return Some(Decision::Approved);
        }
        let mut reasons = self
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("Reason: "));
        let reason = reasons.next().unwrap_or("no reason was given").to_owned();
        Some(Decision::Rejected { reason })
    }
}

/// An agent without a model.
#[derive(Debug)]
pub(super) struct ScriptedClaude<'a> {
    world: &'a DemoWorld,
    bridge: McpChild,
    wakes: mpsc::Receiver<()>,
    /// Ends with its handle; the real one is a child of Claude as well.
    _doorbell: Child,
}

impl<'a> ScriptedClaude<'a> {
    /// Starts the bridge and the doorbell.
    pub(super) async fn start(world: &'a DemoWorld) -> Result<Self, DemoError> {
        let (wake, wakes) = mpsc::channel(WAKES_MAX);
        let bridge = McpChild::start(world.own("bridge"), wake.clone()).await?;
        let mut doorbell = world
            .own("doorbell")
            .stdin(Stdio::null())
            .spawn()
            .map_err(DemoError::io("starting the doorbell"))?;
        if let Some(stdout) = doorbell.stdout.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(stdout).lines();
                while let Ok(Some(_)) = lines.next_line().await {
                    let _ = wake.try_send(());
                }
            });
        }
        Ok(Self {
            world,
            bridge,
            wakes,
            _doorbell: doorbell,
        })
    }

    /// A prompt was given: a turn begins.
    pub(super) async fn begin_turn(&self, prompt: &str) -> Result<(), DemoError> {
        self.hook("UserPromptSubmit", json!({"prompt": prompt}))
            .await
    }

    /// The model has nothing more to say.
    pub(super) async fn end_turn(&self) -> Result<(), DemoError> {
        self.hook("Stop", json!({})).await
    }

    /// Calls a tool.
    pub(super) async fn call(
        &mut self,
        tool: &'static str,
        arguments: Value,
    ) -> Result<Value, DemoError> {
        self.bridge.call(tool, arguments).await
    }

    /// Sleeps until it is woken. Safe to cancel.
    pub(super) async fn woken(&mut self) -> Result<(), DemoError> {
        let wake = self.wakes.recv().await;
        wake.ok_or_else(|| DemoError::Bridge("has ended".to_owned()))
    }

    /// Begins a turn, as after a wake, and reads what waits without acknowledging it. When
    /// nothing does the turn is over again.
    pub(super) async fn read_mail(&mut self) -> Result<Vec<Mail>, DemoError> {
        self.begin_turn(&format!("{MONITOR_PROMPT} new messages"))
            .await?;
        let page = self.call("get_messages", json!({})).await?;
        let mail = mail(&page);
        if mail.is_empty() {
            self.end_turn().await?;
        }
        Ok(mail)
    }

    /// Says that these were read.
    pub(super) async fn acknowledge(&mut self, mail: &[Mail]) -> Result<(), DemoError> {
        let ids: Vec<&str> = mail.iter().map(|mail| mail.id.as_str()).collect();
        self.call("ack_messages", json!({"ids": ids})).await?;
        Ok(())
    }

    /// Closes what was started.
    pub(super) async fn end(self) {
        self.bridge.end().await;
    }

    async fn hook(&self, event: &'static str, input: Value) -> Result<(), DemoError> {
        let mut command = self.world.own("hook");
        command.arg(event);
        let mut input = input;
        input["hook_event_name"] = json!(event);
        // As Claude, which goes on whatever a hook does.
        match timeout(HOOK_WAIT, run(command, input.to_string())).await {
            Ok(result) => result.map_err(DemoError::io("running a hook")),
            Err(_) => Ok(()),
        }
    }
}

async fn run(mut command: Command, input: String) -> std::io::Result<()> {
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read is not a fault.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    // What it prints would be context for the model; the script gets the same by `get_messages`.
    child.wait_with_output().await.map(drop)
}

fn mail(page: &Value) -> Vec<Mail> {
    let word = |message: &Value, name: &str| message[name].as_str().unwrap_or_default().to_owned();
    let messages = page["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    messages
        .iter()
        .map(|message| Mail {
            id: word(message, "message_id"),
            from: word(message, "from"),
            kind: word(message, "kind"),
            in_reply_to: word(message, "in_reply_to"),
            text: word(message, "text"),
        })
        .collect()
}
