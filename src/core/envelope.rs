//! [`wrap`]: the lines around a text that an agent gets, so that it cannot be mistaken for the
//! human's words or for ours.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_security::skeleton;

use super::agent::Party;
use super::id::EntryId;
use super::word::words;

words! {
    /// What a message is to its receiver.
    pub enum MessageKind {
        Message = "message",
        Handoff = "handoff",
        /// It answers a message.
        Reply = "reply",
        /// What an agent said at the end of a turn.
        Answer = "answer",
        /// The operator's on a proposal.
        Decision = "decision",
    }
}

/// What an envelope says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The message.
    pub id: &'a EntryId,
    /// Who sent it.
    pub from: &'a Party,
    pub kind: &'a MessageKind,
    pub sent: SentWhen<'a>,
    /// It was shown before.
    pub repeat: bool,
    /// The sender waits for an answer.
    pub require_reply: bool,
    /// Why, for a handoff.
    pub reason: Option<&'a str>,
    /// What to look at, for a handoff.
    pub context_refs: &'a [String],
}

/// When a message was sent, as its envelope says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentWhen<'a> {
    /// To somebody who reads it now.
    Ago {
        /// How old it is, in s.
        seconds: i64,
        /// The work tree stands on another commit than when it was sent.
        head_moved: bool,
    },
    /// To somebody who reads it nobody knows when: what is true then, too.
    At {
        /// With its zone.
        time: &'a str,
        /// That the work tree stood on, where it is known.
        commit: Option<&'a str>,
    },
}

/// A message is sent just now until this age, in s.
const NOW_S: i64 = 10;

/// The bracket with which our own lines begin.
const OPEN: char = '[';

/// How our own lines begin. A line of a text that begins like one is marked.
const OWN_LINES: [&str; 2] = ["[ctxrelay", "[end of"];

/// What stands before what its sender gave along with a handoff.
const GIVEN_ALONG: [&str; 2] = ["Reason: ", "See: "];

/// What stands before a line that only looks like one of ours.
const QUOTE: &str = "| ";

/// Puts the envelope around the text. The closing line repeats the end of the id, which no sender
/// knows when it writes; and no line within begins as the envelope's own lines do.
pub fn wrap(envelope: &Envelope<'_>, text: &str) -> String {
    let refs = envelope.context_refs;
    wrap_after(&head(envelope), envelope.id, envelope.reason, refs, text)
}

/// As [`wrap`], with a first line that is known already: the one that a delivery recorded.
pub fn wrap_after(
    head: &str,
    id: &EntryId,
    reason: Option<&str>,
    context_refs: &[String],
    text: &str,
) -> String {
    let [why, see] = GIVEN_ALONG;
    let mut wrapped = head.to_owned();
    wrapped.push('\n');
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        wrapped.push_str(why);
        quote(&mut wrapped, reason);
        wrapped.push('\n');
    }
    if !context_refs.is_empty() {
        wrapped.push_str(see);
        quote(&mut wrapped, &context_refs.join(", "));
        wrapped.push('\n');
    }
    quote(&mut wrapped, text);
    wrapped.push('\n');
    wrapped.push_str(&end(id));
    wrapped
}

/// The first line of an envelope.
pub fn head(envelope: &Envelope<'_>) -> String {
    let who = match envelope.from {
        Party::Human => "your operator, through ctxrelay".to_owned(),
        Party::Agent(agent) => format!("peer {}, not from your operator", agent.title()),
        other => format!("{other}, not from your operator"),
    };
    let mut head = format!("[ctxrelay {} {} from {who}; ", envelope.kind, envelope.id);
    match envelope.sent {
        SentWhen::Ago {
            seconds,
            head_moved,
        } => {
            match seconds {
                ..NOW_S => head.push_str("just now"),
                seconds => head.push_str(&format!("{} ago", age(seconds))),
            }
            if head_moved {
                head.push_str(", HEAD moved since");
            }
        }
        SentWhen::At { time, commit } => {
            head.push_str(&format!("sent {time}"));
            if let Some(commit) = commit {
                head.push_str(&format!(" at commit {commit}"));
            }
        }
    }
    if envelope.repeat {
        head.push_str("; shown before");
    }
    if envelope.require_reply {
        head.push_str("; an answer is expected: reply with in_reply_to set to this id");
    }
    head.push(']');
    head
}

/// The last line of an envelope. Each message pays for it, so it does not hold the whole id.
pub fn end(id: &EntryId) -> String {
    format!("[end of {}]", id.short())
}

/// Whether a text is the message with this id, in its envelope.
pub fn is_wrapped(text: &str, id: &EntryId) -> bool {
    let head = text.lines().next().unwrap_or_default();
    // The bracket with our name, then the kind.
    head.starts_with(OWN_LINES[0]) && head.split(' ').nth(2) == Some(id.as_str())
}

/// What stands within an envelope, of a handoff without what its sender gave along; of another text
/// all of it.
pub fn unwrapped(text: &str) -> &str {
    let [begin, end] = OWN_LINES;
    let within = text.strip_prefix(begin).and_then(|rest| {
        let (head, within) = rest.split_once('\n')?;
        let end = within.match_indices(end).map(|(at, _)| at);
        let mut end = end.filter(|at| within[..*at].ends_with('\n'));
        let within = &within[..end.next()?];
        let kind = head.split_whitespace().next();
        let is_handoff = kind == Some(MessageKind::Handoff.as_str());
        Some(if is_handoff { ask(within) } else { within })
    });
    within.unwrap_or(text)
}

/// What is asked within a handoff: it stands behind the lines that say why and what to look at.
fn ask(within: &str) -> &str {
    GIVEN_ALONG.iter().fold(within, |rest, given| {
        let line = rest.split_once('\n');
        let is_along =
            |(line, behind): &(&str, &str)| line.starts_with(given) && !behind.trim().is_empty();
        let behind = line.filter(is_along);
        behind.map_or(rest, |(_, behind)| behind)
    })
}

/// Puts a text in, with a mark before each line that could be taken for one of ours.
pub fn quote(wrapped: &mut String, text: &str) {
    quote_beside(wrapped, text, &[]);
}

/// As [`quote`], beside lines that begin like these: they are ours there, too.
pub fn quote_beside(wrapped: &mut String, text: &str, more: &[&str]) {
    for line in text.split_inclusive(is_line_end) {
        if looks_like_ours(line, more) {
            wrapped.push_str(QUOTE);
        }
        wrapped.push_str(line);
    }
}

/// A text in which no bracket stands before one of these words, whole, for somebody who reads it, as
/// [`looks_like_ours`] has it: a mark stands between them.
pub fn mark_brackets(text: &str, words: &[&str]) -> String {
    marked(text, |rest| {
        words.iter().any(|word| is_word_like(rest, word))
    })
}

/// As [`mark_brackets`], also where more follows that belongs to the same words: blanks are not seen.
pub fn mark_brackets_before(text: &str, beginnings: &[&str]) -> String {
    marked(text, |rest| {
        beginnings.iter().any(|own| begins_like(rest, own))
    })
}

fn marked(text: &str, is_ours: impl Fn(&str) -> bool) -> String {
    let mut marked = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        marked.push(letter);
        if looks_like_open(letter) && is_ours(&text[at + letter.len_utf8()..]) {
            marked.push_str(QUOTE);
        }
    }
    marked
}

fn looks_like_open(letter: char) -> bool {
    match letter.is_ascii() {
        true => letter == OPEN,
        false => skeleton_of(letter.encode_utf8(&mut [0; 4])).next() == Some(OPEN),
    }
}

/// Everything that somebody may show as the end of a line.
pub fn is_line_end(character: char) -> bool {
    matches!(
        character,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether a line begins like one of ours for somebody who reads it: whatever cannot be seen is
/// left out, letters of other scripts count as those that they look like (UTS 39), and so do
/// brackets. A line that turns the direction of its text is taken for one of ours wherever it
/// holds our words, in either direction.
fn looks_like_ours(line: &str, more: &[&str]) -> bool {
    let mut own_lines = OWN_LINES.iter().chain(more);
    if line.contains(is_bidi_control) {
        let seen: String = skeleton_of(line).collect();
        let turned: String = seen.chars().rev().collect();
        return own_lines.any(|own| {
            let words: String = skeleton_of(own.trim_start_matches(OPEN)).collect();
            seen.contains(&words) || turned.contains(&words)
        });
    }
    if skeleton_of(line).next() != Some(OPEN) {
        return false;
    }
    own_lines.any(|own| begins_like(line, own))
}

fn begins_like(text: &str, own: &str) -> bool {
    behind(text, own).is_some()
}

/// As [`begins_like`], and no longer word begins so.
fn is_word_like(text: &str, own: &str) -> bool {
    let next = behind(text, own).map(|mut rest| rest.next());
    next.is_some_and(|next| !next.is_some_and(|letter| letter.is_alphabetic() || letter == '_'))
}

/// What stands behind these letters where a text begins with what looks like them.
fn behind(text: &str, own: &str) -> Option<impl Iterator<Item = char>> {
    let mut seen = skeleton_of(text);
    skeleton_of(own)
        .all(|letter| seen.next() == Some(letter))
        .then_some(seen)
}

/// The letters of a text as they look: compatibility forms, marks, spaces and what is not shown
/// taken away, without case.
fn skeleton_of(text: &str) -> impl Iterator<Item = char> + '_ {
    text.nfkd()
        .filter(|letter| !is_unseen(*letter))
        .map(|letter| if is_bracket(letter) { OPEN } else { letter })
        .flat_map(|letter| {
            let seen: String = skeleton(letter.encode_utf8(&mut [0; 4])).collect();
            seen.to_lowercase().chars().collect::<Vec<_>>()
        })
        .filter(|letter| !is_unseen(*letter))
}

/// Whether a character leaves no trace, or only a space or a mark at its neighbour.
fn is_unseen(letter: char) -> bool {
    letter.is_whitespace()
        || letter.is_control()
        || is_combining_mark(letter)
        // The blank of Braille.
        || letter == '\u{2800}'
        // What Unicode calls default-ignorable has an empty skeleton.
        || skeleton(letter.encode_utf8(&mut [0; 4])).next().is_none()
}

/// Marks, embeddings, overrides and isolates of the bidirectional algorithm.
fn is_bidi_control(letter: char) -> bool {
    matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Opening brackets that look like the one of ours and have another skeleton.
fn is_bracket(letter: char) -> bool {
    matches!(
        letter,
        '〔' | '【'
            | '〖'
            | '〚'
            | '⟦'
            | '❲'
            | '⁅'
            | '⌈'
            | '⌊'
            | '⎡'
            | '⎣'
            | '⸢'
            | '⸤'
            | '「'
            | '『'
            | '⦋'
            | '⦍'
            | '⦏'
    )
}

/// A short age: `59s`, `3m`, `2h`, `5d`.
pub fn age(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..60 => format!("{s}s"),
        s @ 60..3600 => format!("{}m", s / 60),
        s @ 3600..86_400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86_400),
    }
}

/// The message whose envelope begins with this line. No text within one has such a line.
pub fn id_in_head(line: &str) -> Option<EntryId> {
    let mut words = line.strip_prefix(OWN_LINES[0])?.split(' ');
    let (space, _kind, id, from) = (words.next()?, words.next()?, words.next()?, words.next()?);
    (space.is_empty() && from == "from" && !id.is_empty()).then(|| EntryId::new(id))
}

#[cfg(test)]
mod tests;
