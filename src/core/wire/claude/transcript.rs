//! [`TranscriptEnd`]: what the end of a transcript of Claude Code says of its context.
//! [`CompactBoundary`]: what it says of a compaction.
//!
//! One JSON object a line (2.1.330, observed). The file is Claude's own and its format is not
//! promised: a line of another form is ignored.

use serde::Deserialize;

use crate::context_fill::ContextSource;

/// The size of the context as the last line that tells it has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptEnd {
    /// Tokens in the context.
    pub used: u64,
    /// The model's window, where its name is in our table.
    pub window: Option<(u64, ContextSource)>,
}

/// Windows by the beginning of the model's name, in tokens. `claude-opus-5-5`: by Claude's status
/// line (2.1.330, observed); the others: as their vendor documents them. A model that is offered with
/// two windows (`claude-sonnet-4-5`, `claude-sonnet-4-2…`) is not among them: a transcript has its
/// name without `[1m]`, whichever it runs with.
const WINDOWS: [(&str, u64); 6] = [
    ("claude-opus-5-5", 1_000_000),
    ("claude-opus-4-5", 200_000),
    ("claude-opus-4-1", 200_000),
    ("claude-opus-4-2", 200_000),
    ("claude-haiku-4-5", 200_000),
    ("claude-3", 200_000),
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    message: Option<Message>,
    compact_metadata: Option<Boundary>,
    #[serde(default)]
    timestamp: String,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    model: String,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Usage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    output_tokens: u64,
}

impl Usage {
    fn total(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_creation_input_tokens)
            .saturating_add(self.cache_read_input_tokens)
            .saturating_add(self.output_tokens)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Boundary {
    pre_tokens: Option<u64>,
    post_tokens: Option<u64>,
}

/// A compaction, as a line of the transcript tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactBoundary {
    /// When, as it stands there.
    pub at: String,
    /// The context before it, in tokens.
    pub before: Option<u64>,
    /// The context after it, in tokens.
    pub after: Option<u64>,
}

impl CompactBoundary {
    /// The last one in the end of a transcript, which may begin in the middle of a line.
    pub fn last(tail: &[u8]) -> Option<Self> {
        let lines = tail.rsplit(|byte| *byte == b'\n');
        let mut lines = lines.filter(|line| has(line, b"\"compact_boundary\""));
        lines.find_map(|line| {
            let line = serde_json::from_slice::<Line>(line).ok()?;
            let is_boundary = line.subtype.as_deref() == Some("compact_boundary");
            let figures = line.compact_metadata.filter(|_| is_boundary)?;
            Some(Self {
                at: line.timestamp,
                before: figures.pre_tokens,
                after: figures.post_tokens,
            })
        })
    }
}

impl TranscriptEnd {
    /// Reads the end of a transcript, which may begin in the middle of a line. `None` where no
    /// line of it tells the size.
    pub fn read(tail: &[u8]) -> Option<Self> {
        let mut left = None;
        for line in tail.rsplit(|byte| *byte == b'\n') {
            // Cheap, before a line with a file's whole content is parsed.
            if !has(line, b"\"usage\"") && !has(line, b"\"compact_boundary\"") {
                continue;
            }
            let Ok(line) = serde_json::from_slice::<Line>(line) else {
                continue;
            };
            if line.is_sidechain {
                continue;
            }
            match (line.kind.as_str(), line.subtype.as_deref()) {
                // The window is that of the model that answered before it.
                ("system", Some("compact_boundary")) if left.is_none() => {
                    left = Some(line.compact_metadata?.post_tokens?);
                }
                ("assistant", _) => {
                    let Some(message) = line.message else {
                        continue;
                    };
                    // What Claude says itself, in the model's place, tells nothing.
                    let Some(usage) = message.usage.filter(|usage| usage.total() > 0) else {
                        continue;
                    };
                    return Some(Self {
                        used: left.unwrap_or(usage.total()),
                        window: window_of(&message.model),
                    });
                }
                _ => {}
            }
        }
        left.map(|used| Self { used, window: None })
    }
}

/// The window of a model of this name, and that a table says so.
fn window_of(model: &str) -> Option<(u64, ContextSource)> {
    let long = model.ends_with("[1m]").then_some(1_000_000);
    let known = WINDOWS.iter().find(|(name, _)| model.starts_with(name));
    let window = long.or(known.map(|(_, window)| *window))?;
    Some((window, ContextSource::Table))
}

/// Whether the line holds the word, read as nothing but bytes.
pub(super) fn has(line: &[u8], word: &[u8]) -> bool {
    line.windows(word.len()).any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn answer(model: &str, input: u64, output: u64) -> String {
        json!({"type": "assistant", "isSidechain": false, "message": {"model": model, "role": "assistant",
            "content": [{"type": "text", "text": "a \"usage\" of words"}],
            "usage": {"input_tokens": input, "cache_creation_input_tokens": 10,
                "cache_read_input_tokens": 200, "output_tokens": output}}})
        .to_string()
    }

    fn boundary(left: u64) -> String {
        json!({"type": "system", "subtype": "compact_boundary",
            "compactMetadata": {"trigger": "auto", "preTokens": 970_502, "postTokens": left}})
        .to_string()
    }

    fn read(lines: &[String]) -> Option<TranscriptEnd> {
        TranscriptEnd::read(lines.join("\n").as_bytes())
    }

    const TABLE: ContextSource = ContextSource::Table;

    #[test]
    fn the_last_answer_counts_with_all_its_kinds_of_tokens() {
        let lines = [
            "ssage\":{\"usage\":{}}}".to_owned(),
            answer("claude-opus-5-5", 1, 1),
            answer("claude-opus-5-5", 5_000, 40),
            json!({"type": "user", "message": {"content": "my \"usage\""}}).to_string(),
            json!({"type": "assistant", "isSidechain": true, "message": {"model": "claude-haiku-4-5",
                "usage": {"input_tokens": 9}}})
            .to_string(),
            json!({"type": "assistant", "message": {"model": "<synthetic>", "usage": {"input_tokens": 0}}})
                .to_string(),
            r#"{"type":"assistant","message":{"usage":"#.to_owned(),
        ];
        let end = read(&lines).unwrap();
        assert_eq!((end.used, end.window), (5_250, Some((1_000_000, TABLE))));
    }

    #[test]
    fn after_a_compaction_what_it_left_counts_until_the_next_answer() {
        let mut lines = vec![
            answer("claude-haiku-4-5-20251001", 150_000, 10),
            boundary(5_216),
        ];
        let end = read(&lines).unwrap();
        assert_eq!((end.used, end.window), (5_216, Some((200_000, TABLE))));
        lines.push(answer("a-model-of-tomorrow", 6_000, 10));
        let end = read(&lines).unwrap();
        assert_eq!((end.used, end.window), (6_220, None));
        // Nothing but the boundary is in what was read.
        let end = read(&[boundary(5_216)]).unwrap();
        assert_eq!((end.used, end.window), (5_216, None));
    }

    #[test]
    fn a_window_that_the_name_tells_is_believed() {
        assert_eq!(window_of("claude-sonnet-4-5[1m]"), Some((1_000_000, TABLE)));
        assert_eq!(window_of("gpt"), None);
    }

    #[test]
    fn a_model_of_two_windows_has_none_by_its_bare_name() {
        for model in ["claude-sonnet-4-5-20250929", "claude-sonnet-4-20250514"] {
            assert_eq!(window_of(model), None, "{model}");
        }
        let end = read(&[answer("claude-sonnet-4-5-20250929", 300_000, 10)]).unwrap();
        assert_eq!((end.used, end.window), (300_220, None));
    }

    #[test]
    fn a_file_of_another_shape_says_nothing() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&["[\"usage\"]".to_owned(), "{}".to_owned()]), None);
        let odd =
            json!({"type": "assistant", "message": {"model": "m", "usage": {"input_tokens": -5}}});
        assert_eq!(read(&[odd.to_string()]), None);
        let most = answer("claude-opus-5-5", u64::MAX, u64::MAX);
        assert_eq!(read(&[most]).unwrap().used, u64::MAX);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            let _ = TranscriptEnd::read(&bytes);
        }
    }
}
