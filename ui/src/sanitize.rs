//! Makes hostile text harmless: [`line()`], [`lines`], [`for_input`], [`for_clipboard`].
//!
//! Agents, files and older ledgers write what the deck shows. A carriage return could paint over
//! its own line, an escape sequence could reach the terminal, a bidirectional override could
//! reverse a path, tag characters could carry text that nobody sees. All of these become *visible*
//! here, in the way `cat -v` and `less` do it: `^[`, `^M`, `<9B>`, `<U+202E>`. Nothing is removed
//! silently except what changes no meaning: a single variation selector or joiner inside a word or
//! an emoji. `hidden` of `ctxrelay-core` has the same list and the same rule for what agents
//! receive, and a test of the program keeps the two the same.
//!
//! Knows nothing of widths on the screen beyond tab stops, and nothing of colours.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// Columns between tab stops.
const TAB: usize = 4;

/// Combining marks kept on one base. Vietnamese and Hebrew need three; a stack of twenty paints
/// over the lines above and below.
const MARKS_MAX: usize = 4;

/// What stands for a line break in a single line.
pub const BREAK: &str = "⏎";

/// The text as one harmless line: breaks become ` ⏎ `, blank lines and indents are left out.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in split(text) {
        // Only what is blank to every terminal; a lone carriage return is not.
        let part = if out.is_empty() {
            part
        } else {
            part.trim_start_matches([' ', '\t'])
        };
        if part.trim_matches([' ', '\t']).is_empty() && text.contains('\n') {
            continue;
        }
        if !out.is_empty() {
            let _ = write!(out, " {BREAK} ");
        }
        push_clean(&mut out, part);
    }
    out
}

/// The text as harmless lines, one for each line of it; never empty.
pub fn lines(text: &str) -> Vec<String> {
    split(text)
        .map(|part| {
            let mut out = String::with_capacity(part.len());
            push_clean(&mut out, part);
            out
        })
        .collect()
}

/// Text on its way into an input field: breaks become `\n`, a lone `\r` too, which is what a terminal
/// sends for each line end of a paste; tabs become spaces, and everything
/// that [`line()`] would make visible is taken out, so that what the operator sees is exactly
/// what will be sent. What joins a word stays. The second value counts what was taken out.
pub fn for_input(text: &str) -> (String, usize) {
    for_input_behind("", text)
}

/// As [`for_input`], for text that is put behind other text of the field.
pub(crate) fn for_input_behind(before: &str, text: &str) -> (String, usize) {
    // Terminals disagree on the width of a joined emoji, and the field counts columns.
    let is_of_word = |base: char| base.is_alphanumeric() || base.width() == Some(0);
    let keeps = |base, joining| is_joiner(joining) && is_of_word(base);
    cleaned(before, text, "    ", keeps)
}

/// As [`for_input`], for what is copied: tabs stay, and so does what joins an emoji.
pub fn for_clipboard(text: &str) -> (String, usize) {
    cleaned("", text, "\t", |_, _| true)
}

/// `keeps`: whether what joins this base stays, where it is harmless.
fn cleaned(
    before: &str,
    text: &str,
    tab: &str,
    keeps: impl Fn(char, char) -> bool,
) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut removed = 0;
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut base, mut behind) = (None, None);
    for c in before.chars() {
        match class(c) {
            Class::Joining => behind = Some(c),
            _ => (base, behind) = (Some(c), None),
        }
    }
    for (index, part) in split(&text).enumerate() {
        if index > 0 {
            out.push('\n');
            (base, behind) = (None, None);
        }
        let mut chars = part.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            match (class(c), base) {
                (Class::Plain, _) => (base, behind) = (Some(c), None),
                (Class::Joining, Some(of)) if joins(of, behind, c, next) && keeps(of, c) => {
                    behind = Some(c);
                }
                _ => {
                    (base, behind) = (None, None);
                    match c {
                        '\t' => out.push_str(tab),
                        _ => removed += 1,
                    }
                    continue;
                }
            }
            out.push(c);
        }
    }
    (out, removed)
}

/// Splits at `\n`, `\r\n`, U+2028 and U+2029. A lone `\r` is no break: it is the trick of
/// painting over one's own line, and has to stay visible.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\u{2028}', '\u{2029}'])
        .map(|part| part.strip_suffix('\r').unwrap_or(part))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Drawn as it is.
    Plain,
    /// C0, DEL.
    Control,
    /// C1.
    Control8,
    /// A joiner or a variation selector: fine alone between other characters, hostile in a run.
    Joining,
    /// Invisible, or moves other text.
    Hidden,
}

fn class(c: char) -> Class {
    match c {
        '\0'..='\u{1f}' | '\u{7f}' => Class::Control,
        '\u{80}'..='\u{9f}' => Class::Control8,
        '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => Class::Joining,
        // Soft hyphen, grapheme joiner, Arabic letter mark, Hangul and Khmer fillers, Mongolian
        // selectors, zero widths, bidi marks, overrides and isolates, invisible operators,
        // byte order mark, interlinear notes, musical invisibles, tags, further selectors,
        // braille blank.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Class::Hidden,
        // Noncharacters.
        '\u{fdd0}'..='\u{fdef}' => Class::Hidden,
        c if (c as u32) & 0xfffe == 0xfffe => Class::Hidden,
        _ => Class::Plain,
    }
}

fn push_clean(out: &mut String, part: &str) {
    let start = out.len();
    let mut previous: Option<char> = None;
    // What joins the previous character already.
    let mut behind: Option<char> = None;
    let mut marks = 0;
    let mut chars = part.chars().peekable();
    while let Some(c) = chars.next() {
        match class(c) {
            Class::Control if c == '\t' => {
                let column: usize = out[start..].chars().map(|c| c.width().unwrap_or(0)).sum();
                for _ in 0..TAB - column % TAB {
                    out.push(' ');
                }
            }
            Class::Control => {
                out.push('^');
                // Caret notation: the letter with bit 6 turned round; `^?` is DEL.
                out.push(char::from((c as u8) ^ 0x40));
            }
            Class::Control8 => {
                let _ = write!(out, "<{:02X}>", c as u32);
            }
            Class::Joining
                if previous.is_some_and(|it| joins(it, behind, c, chars.peek().copied())) =>
            {
                // Dropped: terminals disagree on the width of the sequence, and the parts
                // stay readable side by side.
                behind = Some(c);
                continue;
            }
            Class::Joining | Class::Hidden => {
                let mut run = 1;
                while chars
                    .next_if(|&next| matches!(class(next), Class::Joining | Class::Hidden))
                    .is_some()
                {
                    run += 1;
                }
                let _ = write!(out, "<U+{:04X}", c as u32);
                if run > 1 {
                    let _ = write!(out, " ×{run}");
                }
                out.push('>');
            }
            Class::Plain => {
                // A mark is what adds no column of its own.
                if c.width() == Some(0) {
                    marks += 1;
                    if marks > MARKS_MAX {
                        (previous, behind) = (Some(c), None);
                        continue;
                    }
                    if out.len() == start || previous.is_none() {
                        // No base of its own: it would sit on the border of the pane.
                        out.push('◌');
                    }
                } else {
                    marks = 0;
                }
                out.push(c);
                (previous, behind) = (Some(c), None);
                continue;
            }
        }
        (previous, behind) = (None, None);
        marks = 0;
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// A selector behind a character that is not ASCII, or as in a keycap; a joiner behind such a character
/// or its selector (an emoji, an Indic or Persian word). One alone: in a run they can carry a text.
fn joins(base: char, behind: Option<char>, joining: char, next: Option<char>) -> bool {
    let next_class = next.map(class);
    let is_before_joining = next_class == Some(Class::Joining);
    if next_class == Some(Class::Hidden) {
        return false;
    }
    if is_joiner(joining) {
        // As in a Persian ending behind a Latin word.
        let is_ending = joining == '\u{200c}'
            && base.is_ascii_alphanumeric()
            && next.is_some_and(|next| !next.is_ascii() && next.is_alphabetic());
        let joins = !base.is_ascii() || is_ending;
        return joins && !behind.is_some_and(is_joiner) && !is_before_joining;
    }
    let is_joined = next.is_some_and(is_joiner) && !base.is_alphanumeric();
    let is_key = base.is_ascii_digit() || matches!(base, '#' | '*');
    behind.is_none()
        && match base.is_ascii() {
            true => is_key && matches!(joining, '\u{fe0e}' | '\u{fe0f}') && !is_before_joining,
            false => is_joined || !is_before_joining,
        }
}

#[cfg(test)]
mod tests;
