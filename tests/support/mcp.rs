//! `McpClient`: an MCP client over the pipes of a program, one JSON object per line, like an agent.

use serde_json::{Value, json};

use super::child::Child;
use super::launch::Launch;
use super::wait::{poll_soon, timeout};
use super::ws::RpcError;

/// The newest revision that both agents speak today.
pub const PROTOCOL: &str = "2025-11-25";

/// The script by which `node` serves MCP on its pipes, with one tool `say`.
pub fn echo_server() -> String {
    format!("{}/tests/agents/echo-mcp.mjs", env!("CARGO_MANIFEST_DIR"))
}

/// A tool's result.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub structured: Value,
    pub text: String,
    pub is_error: bool,
}

/// A program that serves MCP on its pipes.
#[derive(Debug)]
pub struct McpClient {
    child: Child,
    /// Lines of its standard output that have been looked at.
    read: usize,
    frames: Vec<Value>,
    last_id: u64,
}

impl McpClient {
    /// Starts the program; says nothing yet.
    #[track_caller]
    pub fn spawn(launch: &Launch) -> Self {
        Self {
            child: Child::spawn(launch),
            read: 0,
            frames: Vec::new(),
            last_id: 0,
        }
    }

    /// Starts the program and shakes hands.
    #[track_caller]
    pub fn start(launch: &Launch) -> Self {
        let mut client = Self::spawn(launch);
        client.initialize();
        client
    }

    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The handshake; what the server says about itself.
    #[track_caller]
    pub fn initialize(&mut self) -> Value {
        let params = json!({"protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": {"name": "ctxrelay-tests", "version": "0"}});
        let about = self
            .call("initialize", params)
            .unwrap_or_else(|error| panic!("initialize was refused: {error:?}"));
        self.notify("notifications/initialized", json!({}));
        about
    }

    /// The tools on offer.
    #[track_caller]
    pub fn list_tools(&mut self) -> Vec<Value> {
        let mut listed = self
            .call("tools/list", json!({}))
            .unwrap_or_else(|error| panic!("tools/list: {error:?}"));
        serde_json::from_value(listed["tools"].take()).unwrap()
    }

    /// Calls a tool.
    #[track_caller]
    pub fn call_tool(&mut self, name: &str, arguments: Value) -> ToolResult {
        let id = self.begin_tool(name, arguments);
        self.tool_result(&id)
    }

    /// Calls a tool that must succeed; its structured content.
    #[track_caller]
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.call_tool(name, arguments);
        assert!(!result.is_error, "{name} failed: {result:?}");
        result.structured
    }

    /// Calls a tool that must refuse; its `{code, message, hint}`.
    #[track_caller]
    pub fn tool_refused(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.call_tool(name, arguments);
        assert!(result.is_error, "{name} was not refused: {result:?}");
        result.structured
    }

    /// Calls a tool without waiting.
    #[track_caller]
    pub fn begin_tool(&mut self, name: &str, arguments: Value) -> Value {
        self.begin("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Waits for the result of a tool.
    #[track_caller]
    pub fn tool_result(&mut self, id: &Value) -> ToolResult {
        let mut result = self
            .response(id)
            .unwrap_or_else(|error| panic!("the tool call was refused: {error:?}"));
        let texts = result["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|block| block["text"].as_str());
        ToolResult {
            text: texts.collect::<Vec<_>>().join("\n"),
            is_error: result["isError"] == true,
            structured: result["structuredContent"].take(),
        }
    }

    /// Calls any method.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.begin(method, params);
        self.response(&id)
    }

    #[track_caller]
    pub fn begin(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = json!(self.last_id);
        self.send_line(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id
    }

    #[track_caller]
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send_line(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// Writes any line, broken JSON included.
    #[track_caller]
    pub fn send_line(&mut self, line: &str) {
        self.child
            .write_line(line)
            .unwrap_or_else(|error| panic!("the server does not read: {error}"));
    }

    #[track_caller]
    pub fn response(&mut self, id: &Value) -> Result<Value, RpcError> {
        let frame = self.take("a response", |frame| {
            frame.get("method").is_none() && frame["id"] == *id
        });
        RpcError::outcome(frame)
    }

    /// Waits for the next notification with this method; its params.
    #[track_caller]
    pub fn next_notification(&mut self, method: &str) -> Value {
        self.next_where(method, |_| true)
    }

    /// As `next_notification`, for params that `wanted` likes; others stay where they are.
    #[track_caller]
    pub fn next_where(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let what = format!("a notification {method}");
        self.take(&what, |frame| {
            frame["method"] == method && wanted(&frame["params"])
        })["params"]
            .take()
    }

    /// Every frame that has come and was not taken.
    pub fn waiting_frames(&mut self) -> &[Value] {
        self.read_on();
        &self.frames
    }

    /// Waits for the next frame that `wanted` likes, and takes it.
    #[track_caller]
    pub fn take(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = poll_soon(timeout(), || {
            self.read_on();
            let place = self.frames.iter().position(&wanted);
            place.map(|place| self.frames.remove(place))
        });
        found.unwrap_or_else(|| {
            panic!(
                "{what} never came; waiting: {:#?}\nstderr: {:#?}",
                self.frames,
                self.child.stderr()
            )
        })
    }

    fn read_on(&mut self) {
        let lines = self.child.stdout();
        for line in &lines[self.read..] {
            let frame = serde_json::from_str(line).unwrap_or_else(|_| json!({"not_json": line}));
            self.frames.push(frame);
        }
        self.read = lines.len();
    }
}
