//! [`Text`]: the searchable text of an entry, and how texts become words.
//!
//! A word is a run of letters and digits, in lower case. Scripts that are written without spaces
//! give one word per character, so that a part of a sentence is found as a phrase.

use std::ops::Range;

use serde_json::Value;

use ctxrelay_core::entry::{Entry, EntryKind};
use ctxrelay_core::id::EntryId;
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::review::unquoted;

/// Of a longer word only the beginning counts, in characters: a megabyte of base64 is one word,
/// and nobody types it.
const WORD_CHARS_MAX: usize = 64;

/// Stands between two texts of an entry, so that no phrase reaches from one into the other. A
/// private character is no letter, so that no query holds it.
const BETWEEN: char = '\u{e000}';

/// How deep details of unknown entries are looked into; the reader of lines stops at 128.
const DEPTH_MAX: usize = 128;

/// The texts of an entry that can be found, redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) pieces: Vec<String>,
}

impl Text {
    /// What can be found of an entry.
    ///
    /// It is redacted once more: the ledger may begin with lines of an older program that masked
    /// less, or be older than one of the rules.
    pub(super) fn of(entry: &Entry, redactor: &Redactor) -> Self {
        let word;
        let said;
        let content = match &entry.kind {
            // Its head says what stands in the facts, and that it is somebody else's: each hit does.
            EntryKind::Finding(_) => {
                said = unquoted(&entry.content);
                said.as_str()
            }
            _ => entry.content.as_str(),
        };
        let mut pieces = vec![content];
        match &entry.kind {
            EntryKind::Handoff(handoff) => {
                pieces.push(&handoff.reason);
                pieces.extend(handoff.context_refs.iter().map(String::as_str));
            }
            EntryKind::Artifact(artifact) => {
                pieces.extend([artifact.title.as_str(), &artifact.summary]);
                pieces.push(artifact.kind.as_str());
                pieces.extend(artifact.evidence.iter().map(String::as_str));
            }
            EntryKind::Finding(record) => {
                pieces.push(record.finding.as_str());
                if let Some(facts) = &record.facts {
                    pieces.extend([facts.title.as_str(), &facts.author]);
                    if let Some(severity) = &facts.severity {
                        word = severity.to_string();
                        pieces.push(&word);
                    }
                    pieces.extend(facts.path.as_deref());
                }
                pieces.extend(record.suggestions.iter().map(String::as_str));
            }
            EntryKind::FinalityProposal(proposal) => {
                pieces.push(&proposal.summary);
                pieces.extend(proposal.evidence.iter().map(String::as_str));
                pieces.extend(proposal.remaining_risk.as_deref());
            }
            EntryKind::FinalityDecision(decision) => {
                pieces.extend(decision.reason.as_deref());
                pieces.push(decision.proposal_id.as_str());
            }
            EntryKind::Message(message) => {
                pieces.extend(message.in_reply_to.as_ref().map(EntryId::as_str));
            }
            EntryKind::Note { withdraws, .. } => {
                pieces.extend(withdraws.as_ref().map(EntryId::as_str));
            }
            EntryKind::AgentChanged(change) => pieces.extend(change.why.as_deref()),
            EntryKind::Error { code } => {
                word = code.to_string();
                pieces.push(&word);
            }
            EntryKind::Task(record) => pieces.push(record.task.as_str()),
            EntryKind::Other { detail, .. } => {
                for value in detail.values() {
                    push_strings(value, DEPTH_MAX, &mut pieces);
                }
            }
            EntryKind::SessionStarted { .. }
            | EntryKind::Delivery(_)
            | EntryKind::Turn(_)
            | EntryKind::Approval(_)
            | EntryKind::Continuity(_)
            | EntryKind::Lifecycle { .. } => {}
        }
        // What answers or resolves an entry is found by that one's id.
        pieces.extend(entry.handles().iter().map(EntryId::as_str));
        // Many entries say the same twice, in their content and in a detail.
        let mut kept: Vec<&str> = Vec::new();
        for piece in pieces {
            if !piece.is_empty() && !kept.contains(&piece) {
                kept.push(piece);
            }
        }
        Self::of_pieces(kept, redactor)
    }

    /// These texts, redacted.
    pub(super) fn of_pieces<'a>(
        pieces: impl IntoIterator<Item = &'a str>,
        redactor: &Redactor,
    ) -> Self {
        let pieces = pieces.into_iter();
        Self {
            pieces: pieces
                .map(|piece| redactor.redact_text(piece).0.into_owned())
                .collect(),
        }
    }

    /// All words, each between two spaces; empty when there is none.
    pub(super) fn folded(&self) -> String {
        let mut folded = String::from(" ");
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                folded.push(BETWEEN);
                folded.push(' ');
            }
            for word in Words::of(piece) {
                fold(&piece[word], &mut folded);
                folded.push(' ');
            }
        }
        if folded.chars().all(|c| c == ' ' || c == BETWEEN) {
            folded.clear();
        }
        folded
    }
}

fn push_strings<'a>(value: &'a Value, depth: usize, into: &mut Vec<&'a str>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match value {
        Value::String(text) => into.push(text),
        Value::Array(values) => values
            .iter()
            .for_each(|value| push_strings(value, depth, into)),
        Value::Object(fields) => fields
            .values()
            .for_each(|value| push_strings(value, depth, into)),
        _ => {}
    }
}

/// Adds a word in the form in which it is compared.
pub(super) fn fold(word: &str, into: &mut String) {
    for c in word.chars().take(WORD_CHARS_MAX) {
        if c.is_ascii() {
            into.push(c.to_ascii_lowercase());
        } else {
            into.extend(c.to_lowercase());
        }
    }
}

/// The places of a text's words, in order.
#[derive(Debug)]
pub(super) struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = &self.text[self.at..];
        let (skipped, first) = rest.char_indices().find(|(_, c)| c.is_alphanumeric())?;
        let start = self.at + skipped;
        let end = if is_whole(first) {
            start + first.len_utf8()
        } else {
            let rest = &self.text[start..];
            start
                + rest
                    .find(|c| !continues(c) || is_whole(c))
                    .unwrap_or(rest.len())
        };
        self.at = end;
        Some(start..end)
    }
}

/// Whether a character goes on with the word before it: letters, digits, and the accents that
/// stand as characters of their own behind their letter.
fn continues(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\u{300}'..='\u{36f}')
}

/// Whether a character is a word by itself: scripts without spaces between words, and Korean,
/// whose words end in particles.
fn is_whole(c: char) -> bool {
    matches!(
        c,
        // Thai, Lao; Myanmar; Khmer.
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // Kana, Bopomofo and their extensions, ideographs, Hangul.
        | '\u{3040}'..='\u{318f}' | '\u{31a0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        Words::of(text)
            .map(|word| {
                let mut folded = String::new();
                fold(&text[word], &mut folded);
                folded
            })
            .collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        assert_eq!(
            words("src/Lexer.rs:42 — snake_case ÄÖß\0x"),
            ["src", "lexer", "rs", "42", "snake", "case", "äöß", "x"]
        );
        assert_eq!(words("... --- \u{202e}"), [""; 0]);
        assert_eq!(words("e\u{301}tude"), ["e\u{301}tude"]);
    }

    #[test]
    fn scripts_without_spaces_give_a_word_per_character() {
        assert_eq!(
            words("修复bug和测试"),
            ["修", "复", "bug", "和", "测", "试"]
        );
        assert_eq!(words("テスト한글"), ["テ", "ス", "ト", "한", "글"]);
    }

    #[test]
    fn a_very_long_word_counts_by_its_beginning() {
        let long = "a".repeat(1_000);
        assert_eq!(words(&long), ["a".repeat(WORD_CHARS_MAX)]);
    }

    #[test]
    fn a_phrase_cannot_reach_from_one_text_into_the_next() {
        let text = Text {
            pieces: vec!["one two".to_owned(), "Three".to_owned()],
        };
        assert_eq!(text.folded(), " one two \u{e000} three ");
        let empty = Text {
            pieces: vec!["--".to_owned(), "!".to_owned()],
        };
        assert_eq!(empty.folded(), "");
    }
}
