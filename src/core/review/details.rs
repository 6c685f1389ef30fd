//! Folded blocks that instruct an AI instead of addressing the author.

use super::fence::fence;
use super::tags;
use crate::cut_text::head;

/// So far into a block its summary is looked for, in bytes.
const SUMMARY_BYTES_MAX: usize = 512;

/// Whether a block of details is a prompt. `text` begins behind the opening tag.
pub(super) fn is_prompt(text: &str) -> bool {
    let start = head(text, SUMMARY_BYTES_MAX).to_ascii_lowercase();
    let Some(summary) = start.trim_start().strip_prefix("<summary") else {
        return false;
    };
    let summary = summary.split("</summary").next().unwrap_or_default();
    let words: Vec<&str> = summary
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let has = |word: &str| words.contains(&word);
    let of_machine = has("ai") || has("agent") || has("agents") || has("llm");
    (has("prompt") || has("prompts")) && (of_machine || has("fix")) || has("fix") && has("ai")
}

/// Where the block ends whose inside begins at `from`: behind its closing tag, else at the end.
pub(super) fn end(text: &str, from: usize) -> usize {
    let mut at = from;
    let mut open = 1_usize;
    let mut line_start = false;
    while at < text.len() {
        if line_start && let Some(fence) = fence(text, at) {
            at = fence.end;
            continue;
        }
        let Some(found) = text[at..].find(['\n', '<']) else {
            return text.len();
        };
        at += found;
        line_start = text.as_bytes()[at] == b'\n';
        match tags::details(&text[at..]) {
            Some((true, _)) => open += 1,
            Some((false, end)) => {
                open -= 1;
                if open == 0 {
                    return at + end + 1;
                }
            }
            None => {}
        }
        at += 1;
    }
    text.len()
}
