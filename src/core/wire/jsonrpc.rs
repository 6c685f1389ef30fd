//! The JSON-RPC 2.0 envelope of the control protocol, and its error codes by name.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::plain_value::{PlainValue, optional};

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
    #[serde(default, deserialize_with = "optional")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Value>,
    /// Present in requests and notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The arguments.
    #[serde(default, deserialize_with = "optional")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Present in successful responses.
    #[serde(default, deserialize_with = "optional")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Present in failed responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
}

/// A request, as the control port takes it: with an id, because nothing that a client may say
/// goes without an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// A number or a string, echoed verbatim.
    pub id: Value,
    /// What is asked.
    pub method: String,
    /// The arguments.
    pub params: Option<Value>,
}

/// A request whose parts have not been looked at: one that is nested too deeply can still be
/// answered by its id.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

impl Request {
    /// Reads a text frame.
    ///
    /// # Errors
    ///
    /// The answer to what is no request: -32700 for what is no JSON, -32600 for all else, with the
    /// id where it can be read.
    pub fn read(text: &str) -> Result<Self, Box<Frame>> {
        let refuse = |id: Value, code: i64, why: String| {
            Box::new(Frame::error(id, ErrorObject::new(code, why)))
        };
        let not_one = |why: &str| refuse(Value::Null, code::INVALID_REQUEST, why.to_owned());
        if !text.trim_start().starts_with('{') {
            return Err(match PlainValue::of(text) {
                Err(error) => refuse(Value::Null, unread(&error), error.to_string()),
                Ok(_) => not_one("a request is one JSON object"),
            });
        }
        let parts: Parts<'_> = serde_json::from_str(text).map_err(|error| {
            // What is nested too deeply may break off, too.
            let deep = PlainValue::of(text).err();
            let error = deep.unwrap_or(error);
            refuse(Value::Null, unread(&error), error.to_string())
        })?;
        let id = parts.id.and_then(|id| PlainValue::of(id.get()).ok());
        let id: Value = match id {
            Some(id @ (Value::String(_) | Value::Number(_))) => id,
            _ => return Err(not_one("a request needs an `id`, a string or a number")),
        };
        let method = parts
            .method
            .and_then(|it| serde_json::from_str(it.get()).ok());
        let Some(method) = method else {
            let why = "a request needs a `method`, a string".to_owned();
            return Err(refuse(id, code::INVALID_REQUEST, why));
        };
        let params = parts.params.map(|params| PlainValue::of(params.get()));
        match params.transpose() {
            Ok(params) => Ok(Self { id, method, params }),
            Err(error) => Err(refuse(id, unread(&error), error.to_string())),
        }
    }
}

/// Says that nobody waits for the answer to a request any more; the name is that of the Language
/// Server Protocol.
pub const CANCEL_REQUEST: &str = "$/cancelRequest";

/// The id of the request that a text takes back, if that is what it says.
pub fn cancelled(text: &str) -> Option<Value> {
    // Most are none, and need not be read twice.
    text.contains("cancelRequest").then_some(())?;
    let frame: Frame = serde_json::from_str(text).ok()?;
    let is_told = frame.id.is_none() && frame.method.as_deref() == Some(CANCEL_REQUEST);
    is_told.then_some(())?;
    frame.params?.get_mut("id").map(Value::take)
}

/// The code for a text that could not be read: one that is nested too deeply is JSON all the same.
pub fn unread(error: &serde_json::Error) -> i64 {
    if error.is_data() || error.to_string().starts_with("recursion limit exceeded") {
        code::INVALID_REQUEST
    } else {
        code::PARSE
    }
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
    pub fn request(id: u64, method: impl Into<String>, params: Value) -> Self {
        Self {
            jsonrpc: Some("2.0".to_owned()),
            id: Some(Value::from(id)),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plain_value::nested_texts;

    /// The code and the id of the answer to a frame that is no request.
    fn refused(text: &str) -> (i64, Value) {
        let frame = Request::read(text).unwrap_err();
        (frame.error.unwrap().code, frame.id.unwrap())
    }

    #[test]
    fn text_in_text_is_read_as_it_is_written() {
        // The library's own reader would not come back from this.
        let params = format!("{{\"x\":{}}}", nested_texts(200));
        let text = format!(r#"{{"id":1,"method":"status/read","params":{params}}}"#);
        let read = Request::read(&text).unwrap();
        assert_eq!(read.params, Some(PlainValue::of(&params).unwrap()));
    }

    #[test]
    fn what_is_no_request_is_answered_with_its_id_where_it_has_one() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let invalid = code::INVALID_REQUEST;
        for (text, code, id) in [
            ("", code::PARSE, json!(null)),
            ("{", code::PARSE, json!(null)),
            ("{not json", code::PARSE, json!(null)),
            ("[]", invalid, json!(null)),
            ("[1,2,3]", invalid, json!(null)),
            ("7", invalid, json!(null)),
            ("{}", invalid, json!(null)),
            (r#"{"method":"status/read"}"#, invalid, json!(null)),
            (
                r#"{"id":null,"method":"status/read"}"#,
                invalid,
                json!(null),
            ),
            (r#"{"id":{},"method":"status/read"}"#, invalid, json!(null)),
            (r#"{"id":7}"#, invalid, json!(7)),
            (r#"{"id":"x","result":{}}"#, invalid, json!("x")),
            (r#"{"id":8,"method":9}"#, invalid, json!(8)),
            (&deep, invalid, json!(null)),
            (&deep[..50_000], invalid, json!(null)),
            (
                &format!(r#"{{"id":{deep},"method":"m"}}"#),
                invalid,
                json!(null),
            ),
            (
                &format!(r#"{{"params":{deep},"id":9,"method":"m"}}"#),
                invalid,
                json!(9),
            ),
            (
                &format!(r#"{{"id":9,"params":{}"#, &deep[..50_000]),
                invalid,
                json!(null),
            ),
        ] {
            let shown = &text[..text.len().min(60)];
            assert_eq!(refused(text), (code, id), "{shown}");
        }
        let read = Request::read(r#" {"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#);
        let request = read.unwrap();
        assert_eq!(
            (request.id, request.params),
            (json!(1), Some(json!({"a": 1})))
        );
    }
}
