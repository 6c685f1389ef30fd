//! [`Agent`]: an MCP client over a program's pipes that wastes no time. The client of the tests
//! looks for answers every few milliseconds; this one blocks for them.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::launch::Launch;
use crate::support::mcp::PROTOCOL;
use crate::support::wait::timeout;

/// A frame, and when its line was there.
type Frame = (Instant, Value);

/// One agent's end of an MCP server.
#[derive(Debug)]
pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Frame>,
    kept: VecDeque<Frame>,
    last_id: u64,
}

impl Agent {
    /// Starts the program and says nothing yet.
    pub fn spawn(launch: &Launch) -> Self {
        let mut child = launch
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, frames) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let came = Instant::now();
                let frame = serde_json::from_str(&line).unwrap();
                if sender.send((came, frame)).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            frames,
            kept: VecDeque::new(),
            last_id: 0,
        }
    }

    /// Starts the program, shakes hands, and has it connect to the daemon.
    pub fn start(launch: &Launch) -> Self {
        let mut agent = Self::spawn(launch);
        agent.initialize();
        agent.tool("session_info", json!({}));
        agent
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn initialize(&mut self) {
        let params = json!({"protocolVersion": PROTOCOL, "capabilities": {},
            "clientInfo": {"name": "ctxrelay-bench", "version": "0"}});
        let id = self.begin("initialize", &params);
        self.answer(id);
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Calls a tool that must succeed; its structured content.
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.begin_tool(name, arguments);
        let mut result = self.answer(id);
        assert!(result["isError"] != true, "{name} failed: {result}");
        result["structuredContent"].take()
    }

    /// Calls a tool and does not wait.
    pub fn begin_tool(&mut self, name: &str, arguments: Value) -> u64 {
        self.begin("tools/call", &json!({"name": name, "arguments": arguments}))
    }

    /// Waits for a result.
    pub fn answer(&mut self, id: u64) -> Value {
        let (_, mut frame) = self.take(|frame| frame["id"] == id);
        assert!(frame.get("error").is_none(), "refused: {frame}");
        frame["result"].take()
    }

    /// When the next notification of this method was there.
    pub fn notified(&mut self, method: &str) -> Instant {
        self.take(|frame| frame["method"] == method).0
    }

    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn write(&mut self, frame: &Value) {
        let mut line = frame.to_string();
        line.push('\n');
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    fn take(&mut self, wanted: impl Fn(&Value) -> bool) -> Frame {
        if let Some(place) = self.kept.iter().position(|(_, frame)| wanted(frame)) {
            return self.kept.remove(place).unwrap();
        }
        loop {
            let frame = self
                .frames
                .recv_timeout(timeout())
                .expect("an answer in time");
            if wanted(&frame.1) {
                return frame;
            }
            self.kept.push_back(frame);
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The end of its input is the end of a server.
        self.stdin = None;
        let _ = self.child.wait();
    }
}
