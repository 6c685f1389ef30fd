//! A record as one HTML file: no scripts, no external resources, and a policy in the file itself
//! that forbids both in case a text ever slips through.

use std::fmt::Write as _;
use std::io::{self, Write};

use ctxrelay_ui::sanitize;
use jiff::Timestamp;

use super::card::Card;
use crate::cli::text::words::count;
use crate::store::ledger::Stats;

/// All that the page looks like.
const STYLE: &str = include_str!("page.css");

/// The SHA-256 of [`STYLE`] in base64, which the policy names; a test computes it too.
const STYLE_HASH: &str = "6qVvOm4gsWC4vjCIwi73PX8t3TqEv9+bakzQ3FHunRk=";

pub(super) fn begin(session: &str, now_ms: i64, out: &mut impl Write) -> io::Result<()> {
    let session = inline(session);
    let at =
        Timestamp::from_millisecond(now_ms).map_or_else(|_| String::new(), |at| at.to_string());
    write!(
        out,
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{session}</title>\n\
         <style>{STYLE}</style>\n\
         </head>\n\
         <body>\n\
         <header>\n\
         <h1>Record of {session}</h1>\n\
         <p>Written by ctxrelay {} at {at}. Texts are those of the agents and prove nothing by \
         themselves.</p>\n\
         </header>\n\
         <main>\n",
        env!("CARGO_PKG_VERSION")
    )
}

pub(super) fn entry(card: &Card<'_>, out: &mut impl Write) -> io::Result<()> {
    let seq = card.seq;
    write!(
        out,
        "<article id=\"e{seq}\">\n<h2><a href=\"#e{seq}\">{seq}</a> <b>{}</b> <bdi>{}</bdi>",
        inline(card.kind),
        inline(card.source)
    )?;
    if let Some(target) = card.target {
        write!(out, " → <bdi>{}</bdi>", inline(target))?;
    }
    writeln!(
        out,
        "</h2>\n<p><time>{}</time> <bdi>{}</bdi></p>",
        inline(&card.at),
        inline(card.id)
    )?;
    block(&card.content, out)?;
    if card.details.is_empty() && card.hash.is_empty() {
        return writeln!(out, "</article>");
    }
    writeln!(out, "<dl>")?;
    for (name, text) in &card.details {
        write!(out, "<dt><bdi>{}</bdi></dt><dd>", inline(name))?;
        block(text, out)?;
        writeln!(out, "</dd>")?;
    }
    if !card.hash.is_empty() {
        write!(out, "<dt>hash</dt><dd>")?;
        block(card.hash, out)?;
        writeln!(out, "</dd>")?;
    }
    writeln!(out, "</dl>\n</article>")
}

pub(super) fn end(stats: &Stats, remarks: &str, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "</main>\n<footer><p>{}.{}</p></footer>\n</body>\n</html>\n",
        count(stats.entries, "entry", "entries"),
        escape(remarks)
    )
}

/// A text with its lines.
fn block(text: &str, out: &mut impl Write) -> io::Result<()> {
    // A browser swallows the first break, so that there is always one of ours.
    writeln!(out, "<pre dir=\"auto\">")?;
    for (at, line) in sanitize::lines(text).iter().enumerate() {
        let line_break = if at > 0 { "\n" } else { "" };
        write!(out, "{line_break}{}", escape(line))?;
    }
    writeln!(out, "</pre>")
}

/// A text within a line.
fn inline(text: &str) -> String {
    escape(&sanitize::line(text))
}

/// Whatever has a meaning in HTML, in text and in attributes, loses it.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' | '\'' | '`' | '=' => {
                let _ = write!(escaped, "&#{};", c as u32);
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// RFC 4648, for this one digest.
    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let mut bits = [0; 4];
            bits[1..=three.len()].copy_from_slice(three);
            let bits = u32::from_be_bytes(bits);
            for at in 0..4 {
                if at <= three.len() {
                    text.push(char::from(LETTERS[(bits >> (18 - 6 * at)) as usize & 63]));
                } else {
                    text.push('=');
                }
            }
        }
        text
    }

    #[test]
    fn the_policy_names_the_style_that_is_there() {
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"M"), "TQ==");
        assert_eq!(STYLE_HASH, base64(&Sha256::digest(STYLE)));
        assert!(!STYLE.contains("</") && !STYLE.contains("url("));
    }

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(
            escape("</script><img src=x onerror='a()'>&\"`"),
            "&lt;/script&gt;&lt;img src&#61;x onerror&#61;&#39;a()&#39;&gt;&amp;&#34;&#96;"
        );
        assert_eq!(inline("a\0b\u{1b}[2J\u{202e}c"), "a^@b^[[2J&lt;U+202E&gt;c");
    }
}
