//! The JSON-RPC 2.0 envelope of the control protocol, and its error codes by name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One text frame: a request, a response or a notification.
///
/// A flat shape instead of an untagged enum: a wrong frame then gets an error that names the
/// field instead of "did not match any variant".
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Always `2.0`; absent is tolerated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jsonrpc: Option<String>,
    /// Number or string, echoed verbatim; absent in notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// Present in requests and notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Present in successful responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Present in failed responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// One of [`code`].
    pub code: i64,
    /// A sentence.
    pub message: String,
    /// `{code, hint}`: a stable word and the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// Error codes.
pub mod code {
    /// The frame is no JSON.
    pub const PARSE: i64 = -32700;
    /// The frame is no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The arguments have the wrong shape.
    pub const INVALID_PARAMS: i64 = -32602;
    /// A fault of ours.
    pub const INTERNAL: i64 = -32603;
    /// The daemon refused; `data.code` says why.
    pub const REFUSED: i64 = -32000;
}

impl Frame {
    /// A request.
    pub fn request(id: u64, method: impl Into<String>, params: Value) -> Self {
        Self {
            jsonrpc: Some("2.0".to_owned()),
            id: Some(Value::from(id)),
            method: Some(method.into()),
            params: Some(params),
            ..Self::default()
        }
    }

    /// A notification.
    pub fn notification(method: impl Into<String>, params: Value) -> Self {
        Self {
            jsonrpc: Some("2.0".to_owned()),
            method: Some(method.into()),
            params: Some(params),
            ..Self::default()
        }
    }

    /// The answer to a request.
    pub fn result(id: Value, result: Value) -> Self {
        Self {
            jsonrpc: Some("2.0".to_owned()),
            id: Some(id),
            result: Some(result),
            ..Self::default()
        }
    }

    /// The refusal of a request. `id` is null when the request could not be read.
    pub fn error(id: Value, error: ErrorObject) -> Self {
        Self {
            jsonrpc: Some("2.0".to_owned()),
            id: Some(id),
            error: Some(error),
            ..Self::default()
        }
    }
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}
