//! [`markers`]: `<!-- relay:objective … -->` and the like, in an agent's own words.
//!
//! The syntax is that of the plugin `relay`, with `ctxrelay:` as a second prefix. A marker is only
//! its author's word.

use crate::entry::NoteKind;

/// How many markers of one turn count: the last ones.
pub const MARKERS_MAX: usize = 20;

/// The most that is kept of one marker, in characters.
pub const MARKER_CHARS_MAX: usize = 2_000;

const OPEN: &str = "<!--";
const CLOSE: &str = "-->";
const PREFIXES: [&str; 2] = ["ctxrelay:", "relay:"];

/// What a marker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextMarker {
    pub kind: NoteKind,
    /// Its text; of `done` it may be empty.
    pub text: String,
}

/// The markers of a text, in their order; the last [`MARKERS_MAX`] of them. What stands in a
/// fenced block of code or in `code` is an example and no marker.
pub fn markers(text: &str) -> Vec<ContextMarker> {
    let mut found: Vec<ContextMarker> = spans(text).into_iter().map(|(_, marker)| marker).collect();
    found.drain(..found.len().saturating_sub(MARKERS_MAX));
    found
}

/// The markers of a turn's messages, in their order; the last [`MARKERS_MAX`] of them. Code that a
/// message leaves open ends with that message.
pub fn markers_of_turn(messages: &[String]) -> Vec<ContextMarker> {
    let mut found: Vec<ContextMarker> = messages
        .iter()
        .flat_map(|message| markers(message))
        .collect();
    found.drain(..found.len().saturating_sub(MARKERS_MAX));
    found
}

/// The text without its markers, and without the lines that held nothing else.
pub fn without_markers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for (span, _) in spans(text) {
        kept.push_str(&text[at..span.start]);
        at = span.end;
        let stands_alone = kept.is_empty() || kept.ends_with('\n');
        if stands_alone && text[at..].starts_with('\n') {
            at += 1;
        }
    }
    kept.push_str(&text[at..]);
    kept
}

fn spans(text: &str) -> Vec<(std::ops::Range<usize>, ContextMarker)> {
    let mut found = Vec::new();
    let code = code_spans(text);
    let mut at = 0;
    while let Some(open) = text[at..].find(OPEN).map(|open| at + open) {
        let inside = open + OPEN.len();
        at = inside;
        if let Some(span) = code.iter().find(|span| span.contains(&open)) {
            at = span.end.max(inside);
            continue;
        }
        let Some(close) = text[inside..].find(CLOSE).map(|close| inside + close) else {
            break;
        };
        // One that was never closed ends where the next one begins.
        if text[inside..close].contains(OPEN) {
            continue;
        }
        if let Some(marker) = marker(text[inside..close].trim()) {
            at = close + CLOSE.len();
            found.push((open..at, marker));
        }
    }
    found
}

fn marker(comment: &str) -> Option<ContextMarker> {
    let rest = PREFIXES
        .iter()
        .find_map(|prefix| comment.strip_prefix(prefix))?;
    let (word, said) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let kind = match word {
        "objective" => NoteKind::Goal,
        "plan" => NoteKind::Plan,
        "next" => NoteKind::NextStep,
        "question" => NoteKind::Question,
        "hypothesis" => NoteKind::Hypothesis,
        "constraint" => NoteKind::Constraint,
        "done" => NoteKind::Done,
        _ => return None,
    };
    let text: String = said.trim().chars().take(MARKER_CHARS_MAX).collect();
    (!text.is_empty() || kind == NoteKind::Done).then_some(ContextMarker { kind, text })
}

/// Where code stands: fenced blocks, to the end where they are not closed, and `code` in a line.
fn code_spans(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut spans = Vec::new();
    let mut fence: Option<(char, usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let trimmed = line.trim_start();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| trimmed.chars().take_while(|c| *c == mark).count());
        match (fence, mark) {
            (None, Some(mark)) if length >= 3 => fence = Some((mark, length, start)),
            (Some((open, least, begin)), Some(mark))
                if mark == open
                    && length >= least
                    && trimmed.trim_end().chars().all(|c| c == mark) =>
            {
                spans.push(begin..at);
                fence = None;
            }
            (None, _) => {
                let ticks: Vec<usize> = line.match_indices('`').map(|(tick, _)| tick).collect();
                spans.extend(
                    ticks
                        .chunks_exact(2)
                        .map(|pair| start + pair[0]..start + pair[1]),
                );
            }
            _ => {}
        }
    }
    spans.extend(fence.map(|(_, _, begin)| begin..text.len()));
    spans
}
