//! `MessagesServer`: the Anthropic Messages API as Claude Code 2.1.330 uses it, scripted.

use serde_json::{Value, json};
use uuid::Uuid;

use super::model_request::{Input, ModelRequest, Side, Speaker};
use super::model_server::{Chunk, Dialect, HttpReply, HttpRequest, Incoming, ModelServer};
use super::script::{Answer, Gate, Part, Reply, ToolCall};

/// A scripted model for Claude Code.
pub type MessagesServer = ModelServer<Messages>;

/// Of every answer.
const OUTPUT_TOKENS: u64 = 20;

/// The wire format of `POST /v1/messages`.
#[derive(Debug)]
pub struct Messages;

impl Dialect for Messages {
    const NAME: &'static str = "messages";

    fn read(http: &HttpRequest) -> Incoming {
        match (http.method.as_str(), http.path.as_str()) {
            ("POST", "/v1/messages") => {}
            ("POST", "/v1/messages/count_tokens") => {
                return Incoming::Fixed(HttpReply::json(200, &json!({"input_tokens": 100})));
            }
            // A look whether anybody is there.
            ("HEAD" | "GET", "/") => return Incoming::Fixed(HttpReply::json(200, &json!({}))),
            _ => return Incoming::Unknown,
        }
        let Ok(body) = serde_json::from_slice::<Value>(&http.body) else {
            return Incoming::Unknown;
        };
        let fresh = fresh(&body);
        let side = fresh
            .iter()
            .any(|input| is_compaction(&input.text))
            .then_some(Side::Compaction);
        let names = body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str());
        Incoming::Model(Box::new(ModelRequest {
            number: 0,
            side,
            conversation: http.headers.get("x-claude-code-session-id").cloned(),
            turn: None,
            fresh,
            tools: names.map(str::to_owned).collect(),
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
            Answer::Parts(parts) => {
                let blocks = blocks(request, parts)?;
                if request.body["stream"] == true {
                    HttpReply::events(events(request, blocks, tokens))
                } else {
                    whole(request, blocks, tokens)
                }
            }
            // Without `x-should-retry` the client would try for minutes before it gives in.
            Answer::UsageLimit { resets_at } => {
                failure(429, "rate_limit_error", "scripted: usage limit reached")
                    .header("anthropic-ratelimit-unified-status", "rejected")
                    .header("anthropic-ratelimit-unified-reset", resets_at)
            }
            Answer::Error { status, message } => failure(status, error_type(status), &message),
        })
    }

    fn side_reply(_request: &ModelRequest) -> Reply {
        Reply::text("<analysis>scripted</analysis><summary>Summary of the work so far.</summary>")
    }
}

fn failure(status: u16, kind: &str, message: &str) -> HttpReply {
    HttpReply::json(
        status,
        &json!({"type": "error", "error": {"type": kind, "message": message}}),
    )
    .header("x-should-retry", "false")
}

fn error_type(status: u16) -> &'static str {
    match status {
        400 | 402 => "invalid_request_error",
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}

fn is_compaction(text: &str) -> bool {
    text.contains("Respond with TEXT ONLY") && text.contains("detailed summary")
}

/// The messages after the model's last output. Claude Code puts system-role messages among them.
fn fresh(body: &Value) -> Vec<Input> {
    let messages = body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let begin = messages
        .iter()
        .rposition(|message| message["role"] == "assistant")
        .map_or(0, |last| last + 1);
    messages[begin..].iter().flat_map(inputs).collect()
}

fn inputs(message: &Value) -> Vec<Input> {
    let role = if message["role"] == "user" {
        Speaker::User
    } else {
        Speaker::System
    };
    match &message["content"] {
        Value::String(text) => vec![Input {
            from: role,
            text: text.clone(),
        }],
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| match block["type"].as_str()? {
                "text" => Some(Input {
                    from: role,
                    text: block["text"].as_str()?.to_owned(),
                }),
                "tool_result" => Some(Input {
                    from: Speaker::Tool,
                    text: text_of(&block["content"]),
                }),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// A content block of the answer, or a gate between two pieces of it.
enum Block {
    Text(Vec<Result<String, Gate>>),
    Tool { name: String, input: Value },
    Hold(Gate),
}

fn blocks(request: &ModelRequest, parts: Vec<Part>) -> Result<Vec<Block>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    for part in parts {
        match (part, blocks.last_mut()) {
            (Part::Text(text), Some(Block::Text(pieces))) => pieces.push(Ok(text)),
            (Part::Text(text), _) => blocks.push(Block::Text(vec![Ok(text)])),
            (Part::Hold(gate), Some(Block::Text(pieces))) => pieces.push(Err(gate)),
            (Part::Hold(gate), _) => blocks.push(Block::Hold(gate)),
            (Part::Call(call), _) => {
                let (name, input) = tool_use(request, call)?;
                blocks.push(Block::Tool { name, input });
            }
        }
    }
    Ok(blocks)
}

fn tool_use(request: &ModelRequest, call: ToolCall) -> Result<(String, Value), String> {
    Ok(match call {
        ToolCall::Mcp {
            server,
            tool,
            arguments,
        } => (offered(request, &server, &tool)?, arguments),
        ToolCall::Shell { command, .. } => (
            "Bash".to_owned(),
            json!({"command": command, "description": "scripted"}),
        ),
        ToolCall::Named { name, arguments } => (name, arguments),
    })
}

/// The name under which Claude Code offers a tool of an MCP server: it differs between a plugin's
/// server (`mcp__plugin_P_S__T`) and a configured one (`mcp__S__T`).
fn offered(request: &ModelRequest, server: &str, tool: &str) -> Result<String, String> {
    let fits = |name: &str| {
        name.strip_prefix("mcp__")
            .and_then(|rest| rest.strip_suffix(&format!("__{tool}")))
            .is_some_and(|owner| owner == server || owner.ends_with(&format!("_{server}")))
    };
    request
        .tools
        .iter()
        .find(|name| fits(name))
        .cloned()
        .ok_or_else(|| {
            format!(
                "no tool {tool} of the MCP server {server} among {:?}",
                request.tools
            )
        })
}

fn events(request: &ModelRequest, blocks: Vec<Block>, tokens: Option<u64>) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut message = envelope(request, tokens);
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    chunks.push(event(&json!({"type": "message_start", "message": message})));
    let stop_reason = stop_reason(&blocks);
    let mut index = 0;
    for block in blocks {
        let (start, deltas) = match block {
            Block::Hold(gate) => {
                chunks.push(Chunk::Hold(gate));
                continue;
            }
            Block::Text(pieces) => {
                let deltas = pieces
                    .into_iter()
                    .map(|piece| piece.map(|text| json!({"type": "text_delta", "text": text})));
                (
                    json!({"type": "text", "text": ""}),
                    deltas.collect::<Vec<_>>(),
                )
            }
            Block::Tool { name, input } => (
                json!({"type": "tool_use", "id": fresh_id("toolu"), "name": name, "input": {}}),
                vec![Ok(
                    json!({"type": "input_json_delta", "partial_json": input.to_string()}),
                )],
            ),
        };
        chunks.push(event(
            &json!({"type": "content_block_start", "index": index, "content_block": start}),
        ));
        for delta in deltas {
            chunks.push(match delta {
                Ok(delta) => {
                    event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
                }
                Err(gate) => Chunk::Hold(gate),
            });
        }
        chunks.push(event(
            &json!({"type": "content_block_stop", "index": index}),
        ));
        index += 1;
    }
    let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
    chunks.push(event(
        &json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": OUTPUT_TOKENS}}),
    ));
    chunks.push(event(&json!({"type": "message_stop"})));
    chunks
}

/// The answer in one piece, for a request that does not stream.
fn whole(request: &ModelRequest, blocks: Vec<Block>, tokens: Option<u64>) -> HttpReply {
    let mut message = envelope(request, tokens);
    message["stop_reason"] = stop_reason(&blocks).into();
    let mut gates = Vec::new();
    let mut content = Vec::new();
    for block in blocks {
        match block {
            Block::Hold(gate) => gates.push(Chunk::Hold(gate)),
            Block::Tool { name, input } => {
                content.push(json!({"type": "tool_use", "id": fresh_id("toolu"), "name": name, "input": input}));
            }
            Block::Text(pieces) => {
                let (texts, holds): (Vec<_>, Vec<_>) = pieces.into_iter().partition(Result::is_ok);
                gates.extend(holds.into_iter().filter_map(Result::err).map(Chunk::Hold));
                let text: String = texts.into_iter().filter_map(Result::ok).collect();
                content.push(json!({"type": "text", "text": text}));
            }
        }
    }
    message["content"] = content.into();
    let mut reply = HttpReply::json(200, &message);
    reply.body.splice(0..0, gates);
    reply
}

fn envelope(request: &ModelRequest, tokens: Option<u64>) -> Value {
    let input = tokens.map_or(100, |tokens| tokens.saturating_sub(OUTPUT_TOKENS));
    json!({"id": fresh_id("msg"), "type": "message", "role": "assistant", "model": request.body["model"],
        "stop_sequence": null, "usage": {"input_tokens": input, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "output_tokens": 1}})
}

fn stop_reason(blocks: &[Block]) -> &'static str {
    if blocks
        .iter()
        .any(|block| matches!(block, Block::Tool { .. }))
    {
        "tool_use"
    } else {
        "end_turn"
    }
}

fn event(event: &Value) -> Chunk {
    Chunk::Bytes(format!(
        "event: {}\ndata: {event}\n\n",
        event["type"].as_str().unwrap_or_default()
    ))
}

fn fresh_id(kind: &str) -> String {
    format!("{kind}_{}", Uuid::new_v4().simple())
}
