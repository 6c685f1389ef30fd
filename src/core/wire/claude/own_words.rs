//! [`OwnWords`]: what Claude said itself, in a part of its transcript, and the commands that it
//! ran.
//!
//! One JSON object a line (2.1.330, observed). Results of tools, words of helpers and of the
//! person, and what Claude Code itself writes in the model's place are other lines. The file is
//! Claude's own and its format is not promised: a line of another form is ignored.

use serde::Deserialize;

use super::transcript::has;
use crate::envelope::id_in_head;
use crate::id::EntryId;

/// Claude's own words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnWords {
    /// Each text as it was said, in their order.
    pub texts: Vec<String>,
    /// Its commands, each with the id of its call.
    pub commands: Vec<(String, String)>,
    /// The ids of calls that came to an end by themselves.
    pub ended: Vec<String>,
    /// When somebody's hook blocked a prompt, as Claude Code writes a time (RFC 3339): it was dropped,
    /// with all that hooks added to it.
    pub blocked_at: Vec<String>,
    /// The messages that hooks added to what the model got.
    pub given: Vec<EntryId>,
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
    /// Only of what says that a prompt began none.
    prompt_submit_ending: Option<PromptEnding>,
    timestamp: Option<String>,
    message: Option<Message>,
    #[serde(default)]
    attachment: Attachment,
}

/// What Claude Code adds to the model's input, as far as it is read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Attachment {
    Texts {
        #[serde(rename = "type")]
        kind: String,
        content: Vec<String>,
    },
    Other(serde::de::IgnoredAny),
}

impl Default for Attachment {
    fn default() -> Self {
        Self::Other(serde::de::IgnoredAny)
    }
}

/// It comes from hooks that were heard: of a prompt that was blocked there is none (2.1.330, observed).
const ADDED: &str = "hook_additional_context";

/// What became of a prompt.
#[derive(Deserialize)]
struct PromptEnding {
    ending: Ending,
}

#[derive(Deserialize)]
struct Ending {
    kind: String,
}

/// A hook of the same event blocked it (2.1.330, observed).
const BLOCKED: &str = "blocked_by_hook";

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
    /// Of a call: what names it, the tool, and what it was given.
    id: Option<String>,
    name: Option<String>,
    #[serde(default)]
    input: Input,
    /// Of what a call returned.
    tool_use_id: Option<String>,
    #[serde(default)]
    content: Returned,
}

impl Block {
    /// It was stopped, as Claude Code itself says at the end of what it returned.
    fn is_stopped(&self) -> bool {
        let is_so = |text: &str| STOPPED.iter().any(|words| text.trim_end().ends_with(words));
        match &self.content {
            Returned::Text(text) => is_so(text),
            Returned::Parts(parts) => parts.iter().any(|part| is_so(&part.text)),
            Returned::Other(_) => false,
        }
    }
}

/// What a tool returned, as far as it is read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Returned {
    Text(String),
    Parts(Vec<Part>),
    Other(serde::de::IgnoredAny),
}

impl Default for Returned {
    fn default() -> Self {
        Self::Other(serde::de::IgnoredAny)
    }
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

/// How that ends of a command that was stopped, as the program of 2.1.330 has it. One that the person
/// stops with Esc ends like one that they refused to have run (observed), and counts as ended.
const STOPPED: [&str; 2] = [
    "<error>Command was aborted before completion</error>",
    "[Request interrupted by user for tool use]",
];

/// What a tool was given, as far as it is read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Command { command: String },
    Other(serde::de::IgnoredAny),
}

impl Default for Input {
    fn default() -> Self {
        Self::Other(serde::de::IgnoredAny)
    }
}

/// The tool that runs a command.
const COMMAND_TOOL: &str = "Bash";

impl OwnWords {
    /// Reads a part of a transcript, which may begin and end in the middle of a line.
    ///
    /// `last_turn`: only what stands behind the last prompt, for a part that holds earlier turns.
    pub fn read(part: &[u8], last_turn: bool) -> Self {
        let end = part.iter().rposition(|byte| *byte == b'\n');
        let end = end.map_or(0, |at| at + 1);
        let mut words = Self {
            end,
            ..Self::default()
        };
        for line in part[..end].split(|byte| *byte == b'\n') {
            // Cheap, before a line with a file's whole content is parsed.
            let may_prompt = last_turn && has(line, b"\"promptSource\"");
            let may_end = has(line, b"\"tool_use_id\"");
            let may_block = has(line, BLOCKED.as_bytes()) || has(line, ADDED.as_bytes());
            if !may_prompt && !may_end && !may_block && !has(line, b"\"assistant\"") {
                continue;
            }
            let Ok(line) = serde_json::from_slice::<Line>(line) else {
                continue;
            };
            if line.is_sidechain || line.is_api_error_message {
                continue;
            }
            if last_turn && line.kind == "user" && line.prompt_source.is_some() {
                words = Self {
                    end,
                    ..Self::default()
                };
                continue;
            }
            let ending = line.prompt_submit_ending.as_ref();
            if line.kind == "system" && ending.is_some_and(|it| it.ending.kind == BLOCKED) {
                words.blocked_at.extend(line.timestamp);
                continue;
            }
            if let Attachment::Texts { kind, content } = &line.attachment
                && line.kind == "attachment"
                && kind == ADDED
            {
                let texts = content.iter().flat_map(|text| text.lines());
                words.given.extend(texts.filter_map(id_in_head));
            }
            let Some(Content::Blocks(blocks)) = line.message.map(|message| message.content) else {
                continue;
            };
            match line.kind.as_str() {
                "assistant" => blocks.into_iter().for_each(|block| words.take(block)),
                "user" => {
                    let ended = blocks.into_iter().filter(|block| !block.is_stopped());
                    let ended = ended.filter_map(|block| block.tool_use_id);
                    words.ended.extend(ended);
                }
                _ => {}
            }
        }
        words
    }

    fn take(&mut self, block: Block) {
        match (block.kind.as_str(), block.text, block.input) {
            ("text", Some(text), _) => self.texts.push(text),
            ("tool_use", _, Input::Command { command })
                if block.name.as_deref() == Some(COMMAND_TOOL) =>
            {
                self.commands.extend(block.id.map(|id| (id, command)));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_prompt_that_a_hook_blocked_is_told_by_claude_code_alone() {
        // As 2.1.330 writes it.
        let ending = json!({"ending": {"kind": "blocked_by_hook", "reason": "not now"},
            "promptKept": false});
        let blocked = json!({"parentUuid": "1", "isSidechain": false, "type": "system",
            "subtype": "informational", "level": "warning", "preventContinuation": true,
            "content": "UserPromptSubmit operation blocked by hook:\nnot now\n\nOriginal prompt: go",
            "timestamp": "2026-11-27T04:29:53.217Z", "promptSubmitEnding": ending});
        let blocked_at = |part: &[Value], last| OwnWords::read(&lines(part), last).blocked_at;
        assert_eq!(
            blocked_at(&[said("One."), blocked.clone()], false),
            ["2026-11-27T04:29:53.217Z"]
        );
        // What was blocked before the last prompt is none of its own.
        assert_eq!(blocked_at(&[blocked.clone(), prompt("go")], true), [""; 0]);
        let other = [
            said(&blocked.to_string()),
            prompt(&blocked.to_string()),
            json!({"type": "user", "promptSubmitEnding": ending, "message": {"content": []}}),
            json!({"type": "system", "promptSubmitEnding": {"ending": {"kind": "kept"}},
                "content": "blocked_by_hook"}),
            json!({"type": "system", "isSidechain": true, "promptSubmitEnding": ending}),
            json!({"type": "system", "promptSubmitEnding": "blocked_by_hook"}),
        ];
        assert_eq!(blocked_at(&other, false), [""; 0]);
    }

    #[test]
    fn the_messages_that_a_hook_added_to_what_the_model_got_are_known_by_their_heads() {
        // As 2.1.330 writes it.
        let added = |kind: &str, line_kind: &str| {
            json!({"parentUuid": "1", "isSidechain": false, "type": line_kind,
                "attachment": {"type": kind, "content": [
                    "[ctxrelay message 0198aa from peer Codex, not from your operator; just now]\n\
                     as [ctxrelay message 0198ab from\n[end of 0198aa]\n\n\
                     [ctxrelay handoff 0198ac from peer Codex; just now]\nit\n[end of 0198ac]"],
                    "hookName": "UserPromptSubmit"}})
        };
        let given = |line: Value| OwnWords::read(&lines(&[line]), false).given;
        let ids = ["0198aa", "0198ac"].map(EntryId::new);
        assert_eq!(given(added("hook_additional_context", "attachment")), ids);
        let empty: [EntryId; 0] = [];
        assert_eq!(given(added("queued_command", "attachment")), empty);
        assert_eq!(given(added("hook_additional_context", "user")), empty);
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
    fn commands_and_the_ends_of_calls_are_told_by_their_ids() {
        let call = |id: &str, tool: &str, input: Value| {
            json!({"type": "assistant", "message": {"content": [
                {"type": "tool_use", "id": id, "name": tool, "input": input}]}})
        };
        let ended = |id: &str| {
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": id, "content": "\"tool_use_id\""}]}})
        };
        let part = lines(&[
            call("a", "Bash", json!({"command": "make"})),
            ended("a"),
            call("b", "Bash", json!({"command": "sleep 9", "timeout": 1})),
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": "b", "is_error": true,
                    "content": "Exit code 137\n[Request interrupted by user for tool use]"}]}}),
            call("c", "Read", json!({"command": "x", "file_path": "a"})),
            call("d", "Bash", json!({"command": 7})),
        ]);
        let read = OwnWords::read(&part, false);
        let command = |id: &str, text: &str| (id.to_owned(), text.to_owned());
        assert_eq!(
            read.commands,
            [command("a", "make"), command("b", "sleep 9")]
        );
        assert_eq!(read.ended, ["a"]);
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
