//! [`ToolResult`]: what a tool returns, before it becomes an MCP result.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::core::id::EntryId;
use crate::wire::control::Refusal;

/// The largest result, in characters of its JSON. Claude Code 2.1.330 shows a result of more
/// than 50,000 characters only as a 2 KB preview (observed).
pub(in crate::bridge) const RESULT_CHARS_MAX: usize = 40_000;

/// What the pages of a result may take of [`RESULT_CHARS_MAX`]; the rest is for the envelope and
/// the fields around the page.
pub(super) use crate::wire::control::PAGE_CHARS_MAX;
pub(super) use crate::wire::json_size::{escaped_chars, escaped_stretch, json_chars};

/// A tool's answer.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::bridge) struct ToolResult {
    /// An object. Where there is one, Claude Code 2.1.330 shows its model nothing else
    /// (observed), so it says everything.
    pub(super) structured: Value,
    /// The same for a reader of text.
    pub(super) text: String,
    /// Messages whose bodies are in it, whole: with this answer they are delivered.
    pub(in crate::bridge) handed: Vec<EntryId>,
    /// They are what the call was for: with it they are read too, and nobody acknowledges them.
    pub(in crate::bridge) are_read: bool,
}

impl ToolResult {
    /// An answer without bodies.
    pub(super) fn new(structured: Value, text: impl Into<String>) -> Self {
        Self {
            structured,
            text: text.into(),
            handed: Vec::new(),
            are_read: false,
        }
    }

    /// Says that so many lines of the record could not be read and are not in it; nothing without any.
    pub(super) fn leaving_out(mut self, unread_lines: u64) -> Self {
        if unread_lines > 0 {
            let what = match unread_lines {
                1 => "1 line of the record could not be read and is".to_owned(),
                many => format!("{many} lines of the record could not be read and are"),
            };
            let why = format!(
                "{what} left out: the operator's `ctxrelay ledger verify` tells what is wrong."
            );
            self.text = format!("{}\n{why}", self.text);
            self.structured["left_out"] = why.into();
        }
        self
    }
}

/// An answer or a refusal as MCP says it.
pub(in crate::bridge) fn to_result(answer: Result<ToolResult, Refusal>) -> CallToolResult {
    let mut result = CallToolResult::default();
    match answer {
        Ok(answer) => {
            result.is_error = Some(false);
            result.content = vec![ContentBlock::text(fitting(&answer))];
            result.structured_content = Some(answer.structured);
        }
        Err(refusal) => {
            let text = if refusal.hint.is_empty() {
                format!("{}: {}", refusal.code, refusal.message)
            } else {
                format!("{}: {} ({})", refusal.code, refusal.message, refusal.hint)
            };
            result.is_error = Some(true);
            result.content = vec![ContentBlock::text(text)];
            result.structured_content = Some(json!({
                "code": refusal.code,
                "message": refusal.message,
                "hint": refusal.hint,
            }));
        }
    }
    result
}

/// The text twin, unless both together would be too long: then it names the structured one.
fn fitting(answer: &ToolResult) -> String {
    let used = json_chars(&answer.structured);
    if used + escaped_chars(&answer.text) <= RESULT_CHARS_MAX - 500 {
        answer.text.clone()
    } else {
        "The result is in structuredContent.".to_owned()
    }
}
