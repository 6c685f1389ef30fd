//! [`McpClient`]: calls tools over streamable HTTP, as Codex does for each of its threads.
//!
//! One connection per request, and answers as one JSON body: the daemon's `/mcp` needs no more.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::VERSION;
use super::arguments::McpEntry;

/// A tool's answer; the same that Codex gives a tool by default.
const ANSWER_WAIT: Duration = Duration::from_secs(60);

/// More than any answer of a tool.
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What a call belongs to; Codex sends both along with every call.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) thread_id: String,
    pub(super) turn_id: String,
}

/// A session with the tools of one thread.
#[derive(Debug)]
pub(super) struct McpClient {
    entry: McpEntry,
    session: Option<String>,
    next_id: u64,
}

impl McpClient {
    /// Says hello.
    pub(super) async fn open(entry: McpEntry) -> Result<Self, String> {
        let mut client = Self {
            entry,
            session: None,
            next_id: 1,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "codex-mcp-client", "title": "Codex", "version": VERSION},
        });
        client.request("initialize", hello).await?;
        client
            .post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await?;
        Ok(client)
    }

    /// Calls a tool; a refusal is an error.
    pub(super) async fn call(
        &mut self,
        tool: &str,
        arguments: Value,
        caller: &Caller,
    ) -> Result<(), String> {
        let params = json!({
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "threadId": caller.thread_id,
                "x-codex-turn-metadata": {"turn_id": caller.turn_id},
            },
        });
        let result = self.request("tools/call", params).await?;
        if result["isError"] == json!(true) {
            let text = result.pointer("/content/0/text").and_then(Value::as_str);
            return Err(format!("{tool}: {}", text.unwrap_or("refused")));
        }
        Ok(())
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut answer = self.post(&request).await?;
        if let Some(message) = answer.pointer("/error/message").and_then(Value::as_str) {
            return Err(format!("{method}: {message}"));
        }
        Ok(answer["result"].take())
    }

    async fn post(&mut self, message: &Value) -> Result<Value, String> {
        match timeout(ANSWER_WAIT, self.exchange(&message.to_string())).await {
            Ok(answer) => answer.map_err(|error| format!("the tools do not answer: {error}")),
            Err(_) => Err("the tools did not answer in time".to_owned()),
        }
    }

    async fn exchange(&mut self, body: &str) -> std::io::Result<Value> {
        let McpEntry { port, path, token } = &self.entry;
        let session = self
            .session
            .as_ref()
            .map(|id| format!("Mcp-Session-Id: {id}\r\n"))
            .unwrap_or_default();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: text/event-stream, application/json\r\n\
             {session}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(("127.0.0.1", *port)).await?;
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut bytes = Vec::new();
        stream
            .take(ANSWER_BYTES_MAX)
            .read_to_end(&mut bytes)
            .await?;
        let answer = Response::read(&bytes)?;
        if answer.session.is_some() {
            self.session = answer.session;
        }
        Ok(answer.body)
    }
}

/// An HTTP response whose body ends with the connection.
#[derive(Debug, PartialEq)]
struct Response {
    session: Option<String>,
    body: Value,
}

impl Response {
    fn read(bytes: &[u8]) -> std::io::Result<Self> {
        let bad = |why: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, why.to_owned());
        let end = bytes
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .ok_or_else(|| bad("no HTTP answer"))?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| bad("no HTTP answer"))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or_default();
        if status
            .split(' ')
            .nth(1)
            .is_none_or(|code| !code.starts_with('2'))
        {
            return Err(bad(status));
        }
        let session = lines
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"))
            .map(|(_, value)| value.trim().to_owned());
        let body = &bytes[end + 4..];
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(body).map_err(|_| bad("an answer that is no JSON"))?
        };
        Ok(Self { session, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_apart_and_a_refusal_is_an_error() {
        let read = Response::read(
            b"HTTP/1.1 200 OK\r\nMcp-Session-Id: s 1\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
        );
        let expected = Response {
            session: Some("s 1".to_owned()),
            body: json!({"a": 1}),
        };
        assert_eq!(read.unwrap(), expected);
        let empty = Response::read(b"HTTP/1.1 202 Accepted\r\n\r\n").unwrap();
        assert_eq!(empty.body, Value::Null);
        for bad in [
            &b"HTTP/1.1 401 Unauthorized\r\n\r\nwrong or missing token\n"[..],
            b"HTTP/1.1 200 OK\r\n\r\n{",
            b"",
        ] {
            assert!(Response::read(bad).is_err());
        }
    }
}
