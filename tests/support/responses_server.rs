//! `ResponsesServer`: the OpenAI Responses API as Codex 0.169.0 uses it, scripted.

use serde_json::{Value, json};
use uuid::Uuid;

use super::model_request::{Input, ModelRequest, Side, Speaker};
use super::model_server::{Chunk, Dialect, HttpReply, HttpRequest, Incoming, ModelServer};
use super::script::{Answer, Part, Reply, ToolCall};

/// A scripted model for Codex.
pub type ResponsesServer = ModelServer<Responses>;

/// The wire format of `POST /v1/responses`.
#[derive(Debug)]
pub struct Responses;

/// The title that the TUI's helper threads get.
pub const TITLE: &str = "Scripted title";

impl Dialect for Responses {
    const NAME: &'static str = "responses";

    fn read(http: &HttpRequest) -> Incoming {
        if (http.method.as_str(), http.path.as_str()) != ("POST", "/v1/responses") {
            return Incoming::Unknown;
        }
        let Ok(body) = serde_json::from_slice::<Value>(&http.body) else {
            return Incoming::Unknown;
        };
        let metadata = turn_metadata(&body);
        let text_of = |key: &str| metadata[key].as_str().map(str::to_owned);
        Incoming::Model(Box::new(ModelRequest {
            number: 0,
            side: side(&body, &metadata),
            conversation: text_of("thread_id"),
            turn: text_of("turn_id"),
            fresh: fresh(&body),
            tools: tool_names(&body),
            headers: http.headers.clone(),
            body,
        }))
    }

    fn write(
        request: &ModelRequest,
        answer: Answer,
        tokens: Option<u64>,
    ) -> Result<HttpReply, String> {
        Ok(match answer {
            Answer::Parts(parts) => HttpReply::events(events(request, parts, tokens)),
            // The body and headers of the real service's limit, as far as Codex reads them.
            Answer::UsageLimit { resets_at } => HttpReply::json(
                429,
                &json!({"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached",
                    "plan_type": "pro", "resets_at": resets_at}}),
            )
            .header("x-codex-primary-used-percent", 100)
            .header("x-codex-primary-window-minutes", 300)
            .header("x-codex-primary-reset-at", resets_at),
            Answer::Error { status, message } => {
                HttpReply::json(status, &json!({"error": {"type": "server_error", "message": message}}))
            }
        })
    }

    fn side_reply(request: &ModelRequest) -> Reply {
        match request.side {
            // Anything but a title in its schema makes the TUI ask again at every turn.
            Some(Side::Title) => Reply::text(&json!({ "title": TITLE }).to_string()),
            Some(Side::Compaction) | None => Reply::text("Summary of the work so far."),
        }
    }
}

/// What Codex says about the turn that a request belongs to.
fn turn_metadata(body: &Value) -> Value {
    body["client_metadata"]["x-codex-turn-metadata"]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

fn side(body: &Value, metadata: &Value) -> Option<Side> {
    if body["text"]["format"]["schema"]["properties"]
        .get("title")
        .is_some()
    {
        return Some(Side::Title);
    }
    (metadata["request_kind"] == "compaction").then_some(Side::Compaction)
}

/// The input items after the model's last output.
fn fresh(body: &Value) -> Vec<Input> {
    let items = body["input"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is_output = |item: &Value| {
        item["role"] == "assistant"
            || matches!(
                item["type"].as_str(),
                Some("function_call" | "custom_tool_call" | "reasoning" | "tool_search_call")
            )
    };
    let begin = items.iter().rposition(is_output).map_or(0, |last| last + 1);
    items[begin..].iter().filter_map(input).collect()
}

fn input(item: &Value) -> Option<Input> {
    let kind = item["type"].as_str()?;
    let (from, content) = match kind {
        "message" if item["role"] == "user" => (Speaker::User, &item["content"]),
        "message" => (Speaker::System, &item["content"]),
        "function_call_output" | "custom_tool_call_output" => (Speaker::Tool, &item["output"]),
        _ => return None,
    };
    Some(Input {
        from,
        text: text_of(content),
    })
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        Value::Object(_) => text_of(&content["content"]),
        _ => String::new(),
    }
}

/// The direct tools; or, in code mode, `exec` and the namespaces that its script can reach.
fn tool_names(body: &Value) -> Vec<String> {
    let direct = body["tools"].as_array().into_iter().flatten();
    let added = body["input"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|item| item["type"] == "additional_tools");
    let added = added.flat_map(|item| item["tools"].as_array().into_iter().flatten());
    direct
        .chain(added)
        .flat_map(|tool| match tool["tools"].as_array() {
            Some(inner) => inner.iter().collect(),
            None => vec![tool],
        })
        .filter_map(|tool| {
            tool["name"]
                .as_str()
                .or_else(|| tool["type"].as_str())
                .map(str::to_owned)
        })
        .collect()
}

/// Newer models call no tool directly: they write a script for `exec`.
fn is_code_mode(request: &ModelRequest) -> bool {
    request.tools.iter().any(|name| name == "exec")
}

fn events(request: &ModelRequest, parts: Vec<Part>, tokens: Option<u64>) -> Vec<Chunk> {
    let id = fresh_id("resp");
    let mut stream = Stream {
        chunks: Vec::new(),
        text: None,
        index: 0,
    };
    stream.send(&json!({"type": "response.created", "response": {"id": id}}));
    for part in parts {
        match part {
            Part::Text(text) => stream.text(&text),
            Part::Hold(gate) => stream.chunks.push(Chunk::Hold(gate)),
            Part::Call(call) => {
                stream.end_text("commentary");
                let item = if is_code_mode(request) {
                    scripted_call(&call)
                } else {
                    direct_call(&call)
                };
                stream.item(&item);
            }
        }
    }
    stream.end_text("final_answer");
    let total = tokens.unwrap_or(1_050);
    let usage = json!({"input_tokens": total.saturating_sub(50), "input_tokens_details": {"cached_tokens": 200},
        "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": total});
    stream.send(&json!({"type": "response.completed", "response": {"id": id, "usage": usage}}));
    stream.chunks
}

struct Stream {
    chunks: Vec<Chunk>,
    /// The message being streamed: its id and text so far.
    text: Option<(String, String)>,
    index: usize,
}

impl Stream {
    fn send(&mut self, event: &Value) {
        let kind = event["type"].as_str().unwrap_or_default();
        self.chunks
            .push(Chunk::Bytes(format!("event: {kind}\ndata: {event}\n\n")));
    }

    fn text(&mut self, delta: &str) {
        let index = self.index;
        if self.text.is_none() {
            let id = fresh_id("msg");
            let item = json!({"type": "message", "role": "assistant", "id": id, "status": "in_progress", "content": []});
            self.send(
                &json!({"type": "response.output_item.added", "output_index": index, "item": item}),
            );
            self.text = Some((id, String::new()));
        }
        let Some((id, whole)) = &mut self.text else {
            return;
        };
        whole.push_str(delta);
        let event = json!({"type": "response.output_text.delta", "item_id": id, "output_index": index,
            "content_index": 0, "delta": delta});
        self.send(&event);
    }

    fn end_text(&mut self, phase: &str) {
        if let Some((id, whole)) = self.text.take() {
            self.item(
                &json!({"type": "message", "role": "assistant", "id": id, "phase": phase,
                "content": [{"type": "output_text", "text": whole}]}),
            );
        }
    }

    fn item(&mut self, item: &Value) {
        let index = self.index;
        self.send(
            &json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
        self.index += 1;
    }
}

fn direct_call(call: &ToolCall) -> Value {
    let mut item =
        json!({"type": "function_call", "id": fresh_id("fc"), "call_id": fresh_id("call")});
    let arguments = match call {
        ToolCall::Mcp {
            server,
            tool,
            arguments,
        } => {
            item["namespace"] = format!("mcp__{server}").into();
            item["name"] = tool.as_str().into();
            arguments.clone()
        }
        ToolCall::Shell { command, escalate } => {
            item["name"] = "exec_command".into();
            shell_arguments(command, escalate.as_deref())
        }
        ToolCall::Named { name, arguments } => {
            item["name"] = name.as_str().into();
            arguments.clone()
        }
    };
    item["arguments"] = arguments.to_string().into();
    item
}

fn scripted_call(call: &ToolCall) -> Value {
    let (name, arguments) = match call {
        ToolCall::Mcp {
            server,
            tool,
            arguments,
        } => (format!("mcp__{server}__{tool}"), arguments.clone()),
        ToolCall::Shell { command, escalate } => (
            "exec_command".to_owned(),
            shell_arguments(command, escalate.as_deref()),
        ),
        ToolCall::Named { name, arguments } => (name.clone(), arguments.clone()),
    };
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    json!({"type": "custom_tool_call", "id": fresh_id("ctc"), "call_id": fresh_id("call"), "name": "exec",
        "input": format!("text(await tools.{name}({arguments}));")})
}

fn shell_arguments(command: &str, escalate: Option<&str>) -> Value {
    match escalate {
        Some(reason) => {
            json!({"cmd": command, "sandbox_permissions": "require_escalated", "justification": reason})
        }
        None => json!({"cmd": command}),
    }
}

fn fresh_id(kind: &str) -> String {
    format!("{kind}_{}", Uuid::new_v4().simple())
}
