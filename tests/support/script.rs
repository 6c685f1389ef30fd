//! What a scripted model answers: `Reply`, `ToolCall`, and the `Gate` that holds an answer back
//! until the test lets it go. It knows neither service's wire format.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::wait::{timeout, wait_until};

/// Holds an answer back. The server stops at the gate, the test sees that and opens it: a busy
/// agent by condition, with no sleep in it.
#[derive(Clone, Debug)]
pub struct Gate {
    name: Arc<str>,
    state: Arc<watch::Sender<GateState>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct GateState {
    arrived: usize,
    open: bool,
}

impl Gate {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            state: Arc::new(watch::Sender::new(GateState::default())),
        }
    }

    /// Lets everything pass from now on.
    pub fn open(&self) {
        self.state.send_modify(|state| state.open = true);
    }

    /// Waits until an answer stands at the gate: the agent is now busy.
    #[track_caller]
    pub fn wait_arrived(&self) {
        wait_until(
            &format!("an answer held at the gate {:?}", self.name),
            timeout(),
            || (self.state.borrow().arrived > 0).then_some(()),
        );
    }

    /// Whether an answer stands at the gate or has passed it.
    pub fn is_reached(&self) -> bool {
        self.state.borrow().arrived > 0
    }

    /// The server's side: arrives, and goes on when the gate is open.
    pub async fn pass(&self) {
        let mut open = self.state.subscribe();
        self.state.send_modify(|state| state.arrived += 1);
        // The sender is in `self`, so waiting ends by the opening only.
        let _ = open.wait_for(|state| state.open).await;
    }
}

/// One call of a tool by the model.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolCall {
    /// A tool of an MCP server, by the server's and the tool's own names; each service finds out
    /// what the agent calls it.
    Mcp {
        server: String,
        tool: String,
        arguments: Value,
    },
    /// A shell command. With `escalate`, Codex is asked to run it outside its sandbox (an approval).
    Shell {
        command: String,
        escalate: Option<String>,
    },
    /// A tool by the name the agent gave it.
    Named { name: String, arguments: Value },
}

impl ToolCall {
    pub fn mcp(server: &str, tool: &str, arguments: Value) -> Self {
        Self::Mcp {
            server: server.to_owned(),
            tool: tool.to_owned(),
            arguments,
        }
    }

    pub fn shell(command: &str) -> Self {
        Self::Shell {
            command: command.to_owned(),
            escalate: None,
        }
    }

    /// A shell command that needs a human's approval in Codex, with the reason shown to the human.
    pub fn escalated(command: &str, reason: &str) -> Self {
        Self::Shell {
            command: command.to_owned(),
            escalate: Some(reason.to_owned()),
        }
    }

    pub fn named(name: &str, arguments: Value) -> Self {
        Self::Named {
            name: name.to_owned(),
            arguments,
        }
    }
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum Part {
    /// Streamed text; neighbours belong to one message.
    Text(String),
    /// Calls of tools, after which the agent asks again.
    Call(ToolCall),
    /// Nothing goes out until the gate is open.
    Hold(Gate),
}

/// What a scripted model answers.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A good answer, its parts in order.
    Parts(Vec<Part>),
    /// The service's usage limit is reached; it ends at this Unix time in seconds.
    UsageLimit { resets_at: u64 },
    /// An HTTP error with this status, and a message in the service's error form.
    Error { status: u16, message: String },
}

/// One answer of the scripted model, and the gate that it may stand behind.
#[derive(Clone, Debug)]
pub struct Reply {
    pub answer: Answer,
    pub behind: Option<Gate>,
    /// What the service says that request and answer came to, in tokens; little, unless told.
    pub tokens: Option<u64>,
}

impl Reply {
    fn parts(parts: impl Into<Vec<Part>>) -> Self {
        Answer::Parts(parts.into()).into()
    }

    /// A final text.
    pub fn text(text: &str) -> Self {
        Self::parts([Part::Text(text.to_owned())])
    }

    pub fn call(call: ToolCall) -> Self {
        Self::parts([Part::Call(call)])
    }

    /// A text and a call in one answer.
    pub fn text_and_call(text: &str, call: ToolCall) -> Self {
        Self::parts([Part::Text(text.to_owned()), Part::Call(call)])
    }

    /// Several calls in one answer.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self::parts(calls.into_iter().map(Part::Call).collect::<Vec<_>>())
    }

    /// A call of an MCP tool.
    pub fn mcp(server: &str, tool: &str, arguments: Value) -> Self {
        Self::call(ToolCall::mcp(server, tool, arguments))
    }

    pub fn shell(command: &str) -> Self {
        Self::call(ToolCall::shell(command))
    }

    /// `before` is streamed, then nothing until the gate opens, then `after`; one message.
    pub fn held(before: &str, gate: &Gate, after: &str) -> Self {
        Self::parts([
            Part::Text(before.to_owned()),
            Part::Hold(gate.clone()),
            Part::Text(after.to_owned()),
        ])
    }

    pub fn usage_limit(resets_at: u64) -> Self {
        Answer::UsageLimit { resets_at }.into()
    }

    pub fn error(status: u16, message: &str) -> Self {
        Answer::Error {
            status,
            message: message.to_owned(),
        }
        .into()
    }

    /// This answer, but not a byte of it before the gate is open.
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.behind = Some(gate.clone());
        self
    }

    /// This answer, after which the agent's context holds so many tokens.
    pub fn filling(mut self, tokens: u64) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// This answer, and a call of a tool after it.
    #[track_caller]
    pub fn then_call(mut self, call: ToolCall) -> Self {
        match &mut self.answer {
            Answer::Parts(parts) => parts.push(Part::Call(call)),
            failure => panic!("nothing follows {failure:?}"),
        }
        self
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self {
            answer,
            behind: None,
            tokens: None,
        }
    }
}
