//! [`DemoThread`]: one conversation, its queue and its turns, as the app-server shows them.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::task::AbortHandle;

/// Messages that may wait for one thread.
pub(super) const QUEUE_MAX: usize = 64;

/// Turns that are remembered; the story has three.
const TURNS_MAX: usize = 64;

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Submission {
    /// Its id in the queue.
    pub(super) id: String,
    /// `clientUserMessageId`.
    pub(super) client_id: Value,
    /// The content as it came.
    pub(super) input: Value,
}

impl Submission {
    /// Out of the parameters of a request.
    pub(super) fn of(params: &Value) -> Self {
        Self {
            id: new_id(),
            client_id: params["clientUserMessageId"].clone(),
            input: params["input"].clone(),
        }
    }

    /// The text parts, one per line.
    pub(super) fn text(&self) -> String {
        let parts = self.input.as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> = parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect();
        texts.join("\n")
    }

    /// As the queue's listing has it.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "clientUserMessageId": self.client_id,
            "input": self.input,
        })
    }

    /// As an item of a turn.
    pub(super) fn to_item(&self) -> Value {
        json!({
            "type": "userMessage",
            "id": new_id(),
            "clientId": self.client_id,
            "content": self.input,
        })
    }
}

/// A turn that runs, or ran.
#[derive(Debug)]
pub(super) struct DemoTurn {
    pub(super) id: String,
    pub(super) status: &'static str,
    pub(super) error: Value,
    pub(super) items: Vec<Value>,
    /// Stops the one who works on it.
    pub(super) worker: Option<AbortHandle>,
}

impl DemoTurn {
    pub(super) fn new() -> Self {
        Self {
            id: new_id(),
            status: "inProgress",
            error: Value::Null,
            items: Vec::new(),
            worker: None,
        }
    }

    /// With all items, as the history has it.
    pub(super) fn to_json(&self) -> Value {
        json!({"id": self.id, "status": self.status, "error": self.error, "items": self.items})
    }

    /// With the last item alone, as the notification of its end has it.
    pub(super) fn summary(&self) -> Value {
        let last: Vec<&Value> = self.items.last().into_iter().collect();
        json!({"id": self.id, "status": self.status, "error": self.error, "items": last})
    }
}

/// One conversation.
#[derive(Debug)]
pub(super) struct DemoThread {
    pub(super) id: String,
    pub(super) name: Value,
    pub(super) cwd: Value,
    pub(super) status: &'static str,
    pub(super) queue: VecDeque<Submission>,
    /// Oldest first.
    pub(super) turns: VecDeque<DemoTurn>,
}

impl DemoThread {
    pub(super) fn new(cwd: Value) -> Self {
        Self {
            id: new_id(),
            name: Value::Null,
            cwd,
            status: "idle",
            queue: VecDeque::new(),
            turns: VecDeque::new(),
        }
    }

    /// The turn that runs.
    pub(super) fn running(&mut self) -> Option<&mut DemoTurn> {
        self.turns
            .back_mut()
            .filter(|turn| turn.status == "inProgress")
    }

    pub(super) fn push(&mut self, turn: DemoTurn) {
        if self.turns.len() == TURNS_MAX {
            self.turns.pop_front();
        }
        self.turns.push_back(turn);
    }

    /// Its status as an object.
    pub(super) fn status(&self) -> Value {
        match self.status {
            "active" => json!({"type": "active", "activeFlags": []}),
            word => json!({"type": word}),
        }
    }

    /// As answers and `thread/started` have it.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "ephemeral": false,
            "status": self.status(),
            "cwd": self.cwd,
            "threadSource": null,
            "path": format!("(not on disk)/{}.jsonl", self.id),
            "name": self.name,
            "turns": [],
        })
    }
}

/// Time-ordered, as Codex has them.
pub(super) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}
