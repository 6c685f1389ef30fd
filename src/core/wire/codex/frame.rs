//! [`Incoming`]: one text frame of the app-server; and the serialisation of ours.
//!
//! JSON-RPC without `"jsonrpc"`. Ids are counted per direction: the server's own requests carry
//! integers from a counter of its own and collide with ours, so frames are distinguished by which
//! of `method` and `id` they have (Codex 0.169.0, observed).

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::plain_value::{member, optional};

use super::notification::CodexNotification;

/// One frame from the app-server.
#[derive(Debug)]
pub enum Incoming {
    /// The answer to our request.
    Answer {
        /// Our id.
        id: u64,
        /// Its `result`, or the refusal.
        result: Result<Box<RawValue>, RpcError>,
    },
    /// The server asks its clients something; every subscriber gets it, the first answer counts.
    Request(ServerRequest),
    /// Something happened.
    Notification(CodexNotification),
}

/// A request of the server to its clients. Answered by us only with what the operator chose: an
/// error reply counts as a denial for everybody (Codex 0.169.0, observed).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRequest {
    /// The id as JSON text: `3` or `"three"`.
    pub id: String,
    pub method: String,
    /// The thread that it belongs to, where it says so.
    pub thread_id: Option<String>,
    /// Its parameters, as JSON.
    pub params: String,
}

impl ServerRequest {
    /// Whether it waits for a decision or an answer of the human.
    pub fn waits_for_human(&self) -> bool {
        self.method.ends_with("/requestApproval")
            || matches!(
                self.method.as_str(),
                "item/tool/requestUserInput"
                    | "mcpServer/elicitation/request"
                    | "applyPatchApproval"
                    | "execCommandApproval"
            )
    }
}

/// A refusal. Nearly all carry the code -32600, so the text is what tells them apart.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RpcError {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: String,
    /// What else it says, where it does.
    #[serde(default, deserialize_with = "member")]
    pub data: Value,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default, deserialize_with = "optional")]
    id: Option<Value>,
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Addressed {
    thread_id: Option<String>,
    /// The legacy approvals call it so.
    conversation_id: Option<String>,
}

impl Incoming {
    /// Reads a frame; `None` when it is nothing that we could use.
    pub fn parse(text: &str) -> Option<Self> {
        let raw: Raw<'_> = serde_json::from_str(text).ok()?;
        match (raw.method, raw.id) {
            (Some(method), Some(id)) => {
                let addressed = raw
                    .params
                    .and_then(|params| serde_json::from_str::<Addressed>(params.get()).ok());
                Some(Self::Request(ServerRequest {
                    id: id.to_string(),
                    method,
                    thread_id: addressed.and_then(|to| to.thread_id.or(to.conversation_id)),
                    params: raw.params.map_or("null", RawValue::get).to_owned(),
                }))
            }
            (Some(method), None) => {
                let params = raw.params.map_or("null", RawValue::get);
                CodexNotification::parse(&method, params).map(Self::Notification)
            }
            (None, Some(id)) => {
                let result = match (raw.error, raw.result) {
                    (Some(error), _) => Err(error),
                    (None, Some(result)) => Ok(result.to_owned()),
                    // `"result": null` reads as absent; both are an empty success.
                    (None, None) => Ok(RawValue::NULL.to_owned()),
                };
                Some(Self::Answer {
                    id: id.as_u64()?,
                    result,
                })
            }
            (None, None) => None,
        }
    }
}

/// The text of a request.
///
/// # Errors
///
/// When the parameters cannot be written as JSON.
pub fn request<P: Serialize>(
    id: u64,
    method: &str,
    params: &P,
) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Out<'a, P> {
        id: u64,
        method: &'a str,
        params: &'a P,
    }
    serde_json::to_string(&Out { id, method, params })
}

/// The text of the answer to a [`ServerRequest`]. `id`: as it came.
pub fn answer(id: &str, result: &Value) -> String {
    // The id is JSON already.
    format!(r#"{{"id":{id},"result":{result}}}"#)
}

/// The only notification that a client sends.
pub const INITIALIZED: &str = r#"{"method":"initialized"}"#;

#[cfg(test)]
#[path = "frame/tests.rs"]
mod tests;
