//! [`CleanBody`]: one pass over a comment, linear in its length.

use std::borrow::Cow;

use super::{details, links, tags};
use crate::envelope::is_line_end;
use crate::hidden::is_hidden;

/// So much of a comment is read, in bytes; what follows is cut.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// So long is a clean text at most, and each suggestion, in bytes.
pub const CLEAN_BYTES_MAX: usize = 16 * 1024;
/// So many suggestions of one comment are kept.
pub const SUGGESTIONS_MAX: usize = 20;

/// A label of a link holds Markdown itself; one inside of that does not count any more.
const DEPTH_MAX: usize = 2;

/// What a comment says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanBody {
    /// Its words and code, in Markdown.
    pub text: String,
    /// The code that it would have instead, one for each suggestion.
    pub suggestions: Vec<String>,
    /// Whether a bound cut something off.
    pub cut: bool,
}

impl CleanBody {
    /// Of a comment as it was written, in GitHub's Markdown with HTML.
    pub fn of(raw: &str) -> Self {
        let read = head(raw, BODY_BYTES_MAX);
        let seen = seen(read);
        let mut scan = Scan::new(&seen, 0);
        scan.run();
        let text = tidy(&scan.out);
        let kept = head(&text, CLEAN_BYTES_MAX);
        Self {
            cut: scan.cut || read.len() < raw.len() || kept.len() < text.len(),
            text: kept.trim_end().to_owned(),
            suggestions: scan.suggestions,
        }
    }
}

/// The text without characters that nobody sees and a program obeys; what some take for the end of a
/// line is one, so that each line gets its mark.
pub(super) fn seen(text: &str) -> Cow<'_, str> {
    let is_odd = |letter: char| letter != '\n' && (is_line_end(letter) || is_hidden(letter));
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let letters = text.chars().filter_map(|letter| match letter {
        letter if is_line_end(letter) => Some('\n'),
        letter => Some(letter).filter(|letter| !is_hidden(*letter)),
    });
    Cow::Owned(letters.collect())
}

/// The longest start of `text` that is no longer than `max` bytes.
pub(super) fn head(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A fenced block: where its code begins and ends, and where the text goes on.
pub(super) struct Fence<'a> {
    pub(super) label: &'a str,
    pub(super) code: &'a str,
    pub(super) end: usize,
}

/// The fenced block that begins with the line at `at`. One that is never closed goes to the end.
pub(super) fn fence(text: &str, at: usize) -> Option<Fence<'_>> {
    let rest = &text[at..];
    let indent = rest.len() - rest.trim_start_matches(' ').len();
    let opening = &rest[indent..];
    let mark = *opening.as_bytes().first()?;
    if indent > 3 || !matches!(mark, b'`' | b'~') {
        return None;
    }
    let marks = opening.bytes().take_while(|byte| *byte == mark).count();
    if marks < 3 {
        return None;
    }
    let line_end = opening.find('\n').unwrap_or(opening.len());
    let label = opening[marks..line_end].trim();
    if mark == b'`' && label.contains('`') {
        return None;
    }
    let code_at = (at + indent + line_end + 1).min(text.len());
    let mut line_at = code_at;
    while line_at < text.len() {
        let line = text[line_at..].split('\n').next().unwrap_or_default();
        let next = (line_at + line.len() + 1).min(text.len());
        let closing = line.trim();
        if closing.len() >= marks && closing.bytes().all(|byte| byte == mark) {
            return Some(Fence {
                label,
                code: &text[code_at..line_at],
                end: next,
            });
        }
        line_at = next;
    }
    Some(Fence {
        label,
        code: &text[code_at..],
        end: text.len(),
    })
}

/// The pass itself.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    out: String,
    suggestions: Vec<String>,
    cut: bool,
    /// Runs of one and two backticks have no partner before this place.
    no_close: [usize; 3],
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            out: String::with_capacity(text.len().min(2 * CLEAN_BYTES_MAX)),
            suggestions: Vec::new(),
            cut: false,
            no_close: [0; 3],
        }
    }

    fn run(&mut self) {
        let mut line_start = true;
        while self.at < self.text.len() {
            if line_start && self.fenced() {
                continue;
            }
            line_start = false;
            let rest = &self.text[self.at..];
            let plain = rest
                .bytes()
                .position(|byte| matches!(byte, b'\n' | b'<' | b'!' | b'[' | b'`' | b'h' | b'&'))
                .unwrap_or(rest.len());
            self.out.push_str(&rest[..plain]);
            self.at += plain;
            match rest.as_bytes().get(plain) {
                Some(b'\n') => {
                    line_start = true;
                    self.keep(1);
                }
                Some(b'<') => self.angle(),
                Some(b'`') => self.code_span(),
                Some(b'&') => self.entity(),
                Some(_) => self.link(),
                None => {}
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn keep(&mut self, bytes: usize) {
        let kept = &self.rest()[..bytes];
        self.out.push_str(kept);
        self.at += bytes;
    }

    /// A fenced block at this line: a suggestion is taken out, other code stays as it is.
    fn fenced(&mut self) -> bool {
        let Some(fence) = fence(self.text, self.at) else {
            return false;
        };
        if fence.label.split_whitespace().next() == Some("suggestion") {
            let code = head(fence.code, CLEAN_BYTES_MAX);
            self.cut |= code.len() < fence.code.len();
            if self.suggestions.len() < SUGGESTIONS_MAX {
                self.suggestions
                    .push(code.trim_end_matches('\n').to_owned());
            } else {
                self.cut = true;
            }
        } else {
            self.out.push_str(&self.text[self.at..fence.end]);
        }
        self.at = fence.end;
        true
    }

    /// A comment, a tag, or a `<` that is none: `Vec<T>` stays.
    fn angle(&mut self) {
        let rest = self.rest();
        if let Some(comment) = rest.strip_prefix("<!--") {
            // As a browser reads it: a comment that is not closed hides all that follows.
            let end = comment.find("-->").map_or(rest.len(), |found| found + 7);
            self.at += end;
            return;
        }
        let tag = tags::known(rest).and_then(|name| Some((name, tags::end(rest)?)));
        let Some((name, end)) = tag else {
            return self.keep(1);
        };
        if name == "details" && details::is_prompt(&rest[end + 1..]) {
            self.at = details::end(self.text, self.at + end + 1);
            return;
        }
        if tags::ends_line(name) {
            self.out.push('\n');
        }
        self.at += end + 1;
        self.close_gap();
    }

    /// What was taken out at the start of a line or of bold words leaves no space there.
    fn close_gap(&mut self) {
        if self.out.is_empty() || self.out.ends_with(['\n', '*', '_']) {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches(' ').len();
        }
    }

    /// Code in a line stays as it is.
    fn code_span(&mut self) {
        let rest = self.rest();
        let marks = rest.bytes().take_while(|byte| *byte == b'`').count();
        if marks > 2 || self.at < self.no_close[marks] {
            return self.keep(marks);
        }
        let mut from = marks;
        while let Some(found) = rest[from..].find(['`', '\n']) {
            from += found;
            let run = rest[from..]
                .bytes()
                .take_while(|byte| *byte == b'`')
                .count();
            if run == 0 {
                break;
            }
            from += run;
            if run == marks {
                return self.keep(from);
            }
        }
        let line_end = rest[from..]
            .find('\n')
            .map_or(rest.len(), |found| from + found);
        self.no_close[marks] = self.at + line_end;
        self.keep(marks);
    }

    fn entity(&mut self) {
        let rest = self.rest();
        for (written, meant) in [
            ("&nbsp;", " "),
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&#39;", "'"),
            ("&amp;", "&"),
        ] {
            if rest.starts_with(written) {
                self.out.push_str(meant);
                self.at += written.len();
                return;
            }
        }
        self.keep(1);
    }

    /// A picture goes, a link keeps its label and its address without what is written in code.
    fn link(&mut self) {
        let rest = self.rest();
        if let Some(link) = links::markdown(rest) {
            self.at += link.len;
            if link.is_picture {
                return self.close_gap();
            }
            let label = if self.depth < DEPTH_MAX {
                let mut inner = Scan::new(link.label, self.depth + 1);
                inner.run();
                inner.out
            } else {
                link.label.to_owned()
            };
            if !label.trim().is_empty() && !links::is_button(&label) {
                let address = links::without_query(link.address);
                self.out.push_str(&format!("[{}]({address})", label.trim()));
            }
        } else if let Some(address) = links::bare(rest) {
            self.out.push_str(links::without_query(address));
            self.at += address.len();
        } else {
            self.keep(1);
        }
    }
}

/// Without control characters, buttons that stand alone, and empty lines one after another.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty = 0_usize;
    for line in text.lines() {
        let line = line.trim_end();
        if line.is_empty() || links::is_button(line) {
            empty += 1;
            continue;
        }
        if !tidied.is_empty() {
            tidied.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        if line
            .chars()
            .any(|letter| letter.is_control() && letter != '\t')
        {
            tidied.extend(
                line.chars()
                    .filter(|letter| !letter.is_control() || *letter == '\t'),
            );
        } else {
            tidied.push_str(line);
        }
    }
    tidied
}
