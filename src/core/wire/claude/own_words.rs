//! [`OwnWords`]: what Claude said itself, in a part of its transcript.
//!
//! One JSON object a line (2.1.330, observed). What tools returned, what helpers said, the person's
//! words and what Claude Code itself writes in the model's place are other lines. It is Claude's own
//! file, of no promised shape: a line that looks otherwise says nothing.

use serde::Deserialize;

use super::transcript::has;

/// Claude's own words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnWords {
    /// Each text as it was said, in their order.
    pub texts: Vec<String>,
    /// How far whole lines go, in bytes: one that is still being written is left for later.
    pub end: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_api_error_message: bool,
    /// Only of what begins a turn, the person's words or others'.
    prompt_source: Option<String>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Blocks(Vec<Block>),
    Other(serde::de::IgnoredAny),
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
}

impl OwnWords {
    /// Reads a part of a transcript, which may begin and end in the middle of a line.
    ///
    /// `last_turn`: only what stands behind the last prompt, for a part that holds earlier turns.
    pub fn read(part: &[u8], last_turn: bool) -> Self {
        let end = part.iter().rposition(|byte| *byte == b'\n');
        let end = end.map_or(0, |at| at + 1);
        let mut texts = Vec::new();
        for line in part[..end].split(|byte| *byte == b'\n') {
            // Cheap, before a line with a file's whole content is parsed.
            let may_prompt = last_turn && has(line, b"\"promptSource\"");
            if !may_prompt && !has(line, b"\"assistant\"") {
                continue;
            }
            let Ok(line) = serde_json::from_slice::<Line>(line) else {
                continue;
            };
            if line.is_sidechain || line.is_api_error_message {
                continue;
            }
            match (line.kind.as_str(), line.message) {
                ("user", _) if last_turn && line.prompt_source.is_some() => texts.clear(),
                ("assistant", Some(message)) => {
                    let Content::Blocks(blocks) = message.content else {
                        continue;
                    };
                    let said = blocks.into_iter().filter(|block| block.kind == "text");
                    texts.extend(said.filter_map(|block| block.text));
                }
                _ => {}
            }
        }
        Self { texts, end }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn said(text: &str) -> Value {
        json!({"isSidechain": false, "type": "assistant",
            "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}})
    }

    fn prompt(text: &str) -> Value {
        json!({"type": "user", "promptSource": "typed", "message": {"role": "user", "content": text}})
    }

    fn lines(lines: &[Value]) -> Vec<u8> {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        lines.concat().into_bytes()
    }

    #[test]
    fn only_what_claude_said_itself_counts() {
        let words = "\"type\":\"assistant\" <!-- relay:next not mine -->";
        let part = lines(&[
            prompt(words),
            said("One."),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": words}]},
                "toolUseResult": {"type": "assistant", "content": [{"type": "text", "text": words}]}}),
            json!({"type": "assistant", "isSidechain": true,
                "message": {"content": [{"type": "text", "text": words}]}}),
            json!({"type": "assistant", "isApiErrorMessage": true,
                "message": {"content": [{"type": "text", "text": words}]}}),
            json!({"type": "attachment", "attachment": {"type": "assistant"}, "rendered": [{"content": words}]}),
            json!({"type": "assistant", "message": {"content": [
                {"type": "thinking", "thinking": words},
                {"type": "text", "text": "Two."},
                {"type": "tool_use", "name": "Write", "input": {"content": words}}]}}),
        ]);
        let read = OwnWords::read(&part, false);
        assert_eq!(read.texts, ["One.", "Two."]);
        assert_eq!(read.end, part.len());
    }

    #[test]
    fn a_line_that_is_being_written_is_left_for_later() {
        let whole = lines(&[said("One.")]);
        let both = [whole.clone(), said("Two.").to_string().into_bytes()].concat();
        let read = OwnWords::read(&both, false);
        assert_eq!((read.texts.len(), read.end), (1, whole.len()));
        assert_eq!(OwnWords::read(b"\"One.\"", false), OwnWords::default());
    }

    #[test]
    fn of_several_turns_the_last_one_can_be_asked_for() {
        let result = json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "content": "\"promptSource\""}]}});
        let part = lines(&[
            prompt("a"),
            said("1"),
            prompt("b"),
            said("2"),
            result,
            said("3"),
        ]);
        assert_eq!(OwnWords::read(&part, true).texts, ["2", "3"]);
        assert_eq!(OwnWords::read(&part, false).texts, ["1", "2", "3"]);
    }

    #[test]
    fn a_file_of_another_shape_says_nothing() {
        let part = lines(&[
            json!(["assistant"]),
            json!({"type": "assistant"}),
            json!({"type": "assistant", "message": {"content": "a plain text"}}),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": 7}]}}),
        ]);
        assert!(OwnWords::read(&part, false).texts.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let read = OwnWords::read(&bytes, true);
            prop_assert!(read.end <= bytes.len());
        }
    }
}
