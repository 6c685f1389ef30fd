//! [`CleanBody`]: one pass over a comment, linear in its length.

use std::borrow::Cow;

use super::fence::fence;
use super::{details, links, tags};
use crate::cut_text::head;
use crate::envelope::is_line_end;
use crate::hidden::letters;

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

/// The text without characters that nobody sees and a program or a terminal obeys; what some take for
/// the end of a line is one, so that each line gets its mark.
pub(super) fn seen(text: &str) -> Cow<'_, str> {
    let is_obeyed = |(letter, is_hidden): (char, bool)| {
        is_hidden || letter.is_control() && !matches!(letter, '\n' | '\t')
    };
    if !letters(text).any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let seen = letters(&text).filter_map(|it| match is_line_end(it.0) {
        true => Some('\n'),
        false => Some(it.0).filter(|_| !is_obeyed(it)),
    });
    Cow::Owned(seen.collect())
}

/// Behind the HTML comment that begins at `at`; none where GitHub shows its `<!--`. One that begins its
/// line goes on until it is closed, or to the end; any other is closed in its own paragraph. None of
/// those before `unclosed` is.
pub(super) fn comment_end(text: &str, at: usize, unclosed: &mut usize) -> Option<usize> {
    // `<!-->` is one.
    let from = at + "<!".len();
    let before = &text[..at];
    let line = before.trim_end_matches(' ');
    if (line.is_empty() || line.ends_with('\n')) && before.len() - line.len() <= 3 {
        let close = text[from..].find("-->");
        return Some(close.map_or(text.len(), |found| from + found + 3));
    }
    if at < *unclosed {
        return None;
    }
    let mut line_at = from;
    for (number, line) in text[from..].split('\n').enumerate() {
        if number > 0 && line.trim().is_empty() {
            break;
        }
        if let Some(found) = line.find("-->") {
            return Some(line_at + found + 3);
        }
        line_at += line.len() + 1;
    }
    *unclosed = line_at;
    None
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
    /// Comments within a line are not closed that begin before this place.
    unclosed: usize,
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
            unclosed: 0,
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
        let is_suggestion = fence.label.split_whitespace().next() == Some("suggestion");
        if is_suggestion && !fence.is_quoted {
            let code = head(&fence.code, CLEAN_BYTES_MAX);
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
        if rest.starts_with("<!--") {
            match comment_end(self.text, self.at, &mut self.unclosed) {
                Some(end) => self.at = end,
                None => self.keep("<!--".len()),
            }
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

/// Without buttons that stand alone, and empty lines one after another.
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
        tidied.push_str(line);
    }
    tidied
}
