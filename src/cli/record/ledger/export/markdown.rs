//! A record as Markdown (CommonMark, and as GitHub reads it).
//!
//! No text of the record can become structure: a long text is put into a code fence that is longer
//! than any run of backticks in it, a short one has every punctuation mark escaped, and what a
//! terminal or an editor would obey is made visible.

use std::io::{self, Write};

use ctxrelay_ui::sanitize;
use jiff::Timestamp;

use super::card::Card;
use crate::cli::text::words::count;
use crate::store::ledger::Stats;

/// A detail above this stands in a fence, in characters.
const INLINE_CHARS: usize = 120;

pub(super) fn begin(session: &str, now_ms: i64, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# Record of {}\n", inline(session))?;
    let at =
        Timestamp::from_millisecond(now_ms).map_or_else(|_| String::new(), |at| at.to_string());
    writeln!(
        out,
        "Written by ctxrelay {} at {at}. Texts are those of the agents and prove nothing by themselves.\n",
        env!("CARGO_PKG_VERSION")
    )
}

pub(super) fn entry(card: &Card<'_>, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "## {} · {} · {}",
        card.seq,
        inline(card.kind),
        inline(card.source)
    )?;
    if let Some(target) = card.target {
        write!(out, " → {}", inline(target))?;
    }
    writeln!(out, "\n\n{} · {}\n", inline(&card.at), inline(card.id))?;
    fence(&card.content, out)?;
    for (name, text) in &card.details {
        let name = inline(name);
        if text.contains(['\n', '\u{2028}', '\u{2029}']) || text.chars().nth(INLINE_CHARS).is_some()
        {
            writeln!(out, "{name}:\n")?;
            fence(text, out)?;
        } else {
            writeln!(out, "{name}: {}\n", inline(text))?;
        }
    }
    if !card.hash.is_empty() {
        writeln!(out, "hash: {}\n", inline(card.hash))?;
    }
    Ok(())
}

pub(super) fn end(stats: &Stats, remarks: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "---\n\n{}.{remarks}",
        count(stats.entries, "entry", "entries"),
    )
}

/// A text as a code block.
fn fence(text: &str, out: &mut impl Write) -> io::Result<()> {
    let lines = sanitize::lines(text);
    let longest = lines
        .iter()
        .flat_map(|line| line.split(|c| c != '`'))
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    writeln!(out, "{fence}text")?;
    for line in &lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{fence}\n")
}

/// A text within a line: nothing in it means anything.
fn inline(text: &str) -> String {
    let line = sanitize::line(text);
    let mut escaped = String::with_capacity(line.len());
    for c in line.chars() {
        // CommonMark lets every mark of ASCII punctuation be escaped, and takes none of them for
        // anything then. GitHub's bare links need a `:` or `.` or `@` to be one.
        if c.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    // Four spaces, a number with a dot or a dash mean something only where a line begins, and no
    // hostile text stands there.
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        for text in [
            "",
            "plain",
            "```\nout\n````` \n# no heading",
            "`",
            "~~~\n```",
        ] {
            let mut out = Vec::new();
            fence(text, &mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            let lines: Vec<&str> = out.trim_end().lines().collect();
            let fence = lines[0].strip_suffix("text").unwrap();
            assert!(fence.len() >= 3 && fence.chars().all(|c| c == '`'));
            assert_eq!(*lines.last().unwrap(), fence);
            for line in &lines[1..lines.len() - 1] {
                assert!(!line.contains(fence), "{text:?}: {line}");
            }
        }
    }

    #[test]
    fn within_a_line_nothing_means_anything() {
        assert_eq!(
            inline("<img src=x> [a](http://b) **c** &amp; `d` https://e.f g@h.i\n# j"),
            "\\<img src\\=x\\> \\[a\\]\\(http\\:\\/\\/b\\) \\*\\*c\\*\\* \\&amp\\; \\`d\\` \
             https\\:\\/\\/e\\.f g\\@h\\.i ⏎ \\# j"
        );
        assert_eq!(inline("a\u{202e}b\u{1b}[0m"), "a\\<U\\+202E\\>b\\^\\[\\[0m");
    }
}
