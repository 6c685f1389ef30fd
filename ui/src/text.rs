//! Words for numbers and room for words: [`age`], [`grouped`], [`fit`], [`wrap`].
//!
//! Knows no styles. Widths are terminal columns.

use ratatui::buffer::CellWidth as _;
use unicode_segmentation::UnicodeSegmentation as _;

/// Columns of a text, as it is drawn: each of its graphemes has cells of its own. Letters of which a
/// font makes one, as lam and alef, count each.
pub fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.bytes().filter(|byte| !byte.is_ascii_control()).count(),
        false => text.graphemes(true).map(cells).sum(),
    }
}

/// [`width`] of a text that has at most so many columns, and a number above them for any other: what
/// stands behind them is not looked at, since few columns are drawn of a long text, and that again and
/// again.
pub fn width_to(text: &str, columns: usize) -> usize {
    match text.is_ascii() {
        true => width(text),
        false => columns_of(pieces(text), columns),
    }
}

/// Columns of these graphemes, up to the first one that is beyond so many.
fn columns_of<'a>(graphemes: impl Iterator<Item = &'a str>, columns: usize) -> usize {
    let mut used = 0;
    for grapheme in graphemes {
        used += cells(grapheme);
        if used > columns {
            break;
        }
    }
    used
}

/// The graphemes of a text, one after the other; in plain text a letter is one.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let is_plain = text.is_ascii();
    let plain = is_plain.then(|| text.split_inclusive(|_: char| true));
    let other = (!is_plain).then(|| text.graphemes(true));
    let plain = plain.into_iter().flatten();
    plain.chain(other.into_iter().flatten())
}

/// Cells of a grapheme; nothing is drawn for a control character.
fn cells(grapheme: &str) -> usize {
    match grapheme.contains(char::is_control) {
        true => 0,
        false => usize::from(grapheme.cell_width()),
    }
}

/// The text in at most `columns`; what was cut ends in `…`.
pub fn fit(text: &str, columns: usize) -> String {
    let Some(cut) = cut(pieces(text), columns) else {
        return text.to_owned();
    };
    if columns == 0 {
        return String::new();
    }
    let mut out = text[..cut].trim_end().to_owned();
    out.push('…');
    out
}

/// How many bytes of these graphemes stand before a `…` in so many columns; none where all of them
/// have room. Behind the first one that has none nothing is looked at.
fn cut<'a>(graphemes: impl Iterator<Item = &'a str>, columns: usize) -> Option<usize> {
    let (mut used, mut bytes, mut cut) = (0, 0, 0);
    for grapheme in graphemes {
        used += cells(grapheme);
        if used > columns {
            return Some(cut);
        }
        bytes += grapheme.len();
        if used < columns {
            cut = bytes;
        }
    }
    None
}

/// The text in exactly `columns`: cut as [`fit`] does it, or filled with spaces.
pub fn pad(text: &str, columns: usize) -> String {
    let mut out = fit(text, columns);
    let used = width(&out);
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(used)));
    out
}

/// The text filled with spaces to `columns`, and never cut: for what must be told apart.
pub fn fill(text: &str, columns: usize) -> String {
    let used = width(text);
    let mut out = text.to_owned();
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(used)));
    out
}

/// The text broken into lines of at most `columns`, at spaces where there are some. Leading
/// spaces of the text are kept (code), those at a break are dropped. Never empty.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut out = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in words(text) {
        let w = width_to(word, columns);
        if used + w <= columns {
            current.push_str(word);
            used += w;
            continue;
        }
        let blank = word.starts_with(' ');
        if used > 0 && (blank || w <= columns) && (!current.trim().is_empty()) {
            current.truncate(current.trim_end().len());
            out.push(std::mem::take(&mut current));
            used = 0;
            if blank {
                continue;
            }
        }
        for grapheme in pieces(word) {
            let w = cells(grapheme);
            if used + w > columns && used > 0 {
                out.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push_str(grapheme);
            used += w;
        }
    }
    if out.is_empty() || !current.trim().is_empty() {
        current.truncate(current.trim_end().len());
        out.push(current);
    }
    out
}

/// The text as runs of spaces and runs of everything else.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let blank = rest.starts_with(' ');
        let end = rest.find(|c| (c == ' ') != blank).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// [`wrap`] to at most `rows` lines; the last one ends in `…` when there was more.
pub fn wrap_to(text: &str, columns: usize, rows: usize) -> Vec<String> {
    let mut lines = wrap(text, columns);
    if lines.len() > rows && rows > 0 {
        lines.truncate(rows);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last}… "), columns.min(width(last) + 1));
        }
    }
    lines
}

/// [`wrap_to`] for a text whose first line begins behind something of `used` columns.
pub fn wrap_behind(text: &str, used: usize, columns: usize, rows: usize) -> Vec<String> {
    if rows == 1 {
        return vec![fit(text, columns.saturating_sub(used))];
    }
    // A word of that width stands in for it, and the space behind it is its last column.
    let lead = used.clamp(1, columns.max(2) - 1) - 1;
    let mut lines = wrap_to(&format!("{} {text}", "x".repeat(lead)), columns, rows);
    if let Some(first) = lines.first_mut() {
        *first = first.chars().skip(lead + 1).collect();
    }
    lines
}

/// That the chain is broken, at which entry if that is known (0: it is not).
pub fn broken_chain(seq: u64) -> String {
    match seq {
        0 => "chain broken".to_owned(),
        seq => format!("chain broken at {}", grouped(seq)),
    }
}

/// 1204 as `1 204`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, c) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// 98 304 tokens as `98k`.
pub fn tokens(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{}k", n / 1_000),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// How long ago, short: `now`, `3m`, `2h`, `5d`. Under a minute it says `now`, so that nothing
/// has to be drawn each second.
pub fn age(now_ms: i64, at_ms: i64) -> String {
    match now_ms.saturating_sub(at_ms).max(0) / 1_000 {
        0..60 => "now".to_owned(),
        s => span(s),
    }
}

/// Whether it was in the last minute.
pub fn is_now(now_ms: i64, at_ms: i64) -> bool {
    now_ms.saturating_sub(at_ms) < 60_000
}

/// [`age`] in a sentence: `now`, `3m ago`.
pub fn ago(now_ms: i64, at_ms: i64) -> String {
    let age = age(now_ms, at_ms);
    match is_now(now_ms, at_ms) {
        true => age,
        false => format!("{age} ago"),
    }
}

/// How long something has been running, short, seconds included: `41s`, `3m`, `2h`.
pub fn running(now_ms: i64, since_ms: i64) -> String {
    span(now_ms.saturating_sub(since_ms).max(0) / 1_000)
}

/// How long until something, short: `now`, `41s`, `12m`, `2h 10m`, `3d`. Seconds only in the last
/// minute.
pub fn until(now_ms: i64, at_ms: i64) -> String {
    // Rounded up: what is due in half a second is not due now.
    let seconds = (at_ms.saturating_sub(now_ms).max(0) + 999) / 1_000;
    match seconds {
        0 => "now".to_owned(),
        3_600..86_400 if seconds / 60 % 60 > 0 => {
            format!("{}h {}m", seconds / 3_600, seconds / 60 % 60)
        }
        s => span(s),
    }
}

fn span(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long something took: `3 ms`, `1.4 s`, `2 min`.
pub fn took(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min", ms / 60_000),
    }
}

/// `14:02` in local time.
pub fn clock(at_ms: i64, utc_offset_s: i32) -> String {
    let day_s = local_second(at_ms, utc_offset_s);
    format!("{:02}:{:02}", day_s / 3_600, day_s / 60 % 60)
}

/// `14:02:30` in local time.
pub fn clock_seconds(at_ms: i64, utc_offset_s: i32) -> String {
    let day_s = local_second(at_ms, utc_offset_s);
    format!(
        "{:02}:{:02}:{:02}",
        day_s / 3_600,
        day_s / 60 % 60,
        day_s % 60
    )
}

/// `21 Nov` in local time.
pub fn day(at_ms: i64, utc_offset_s: i32) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    // Civil date from days since the epoch (Howard Hinnant's algorithm), without the year.
    let shifted = day_number(at_ms, utc_offset_s) + 719_468;
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    format!("{day} {}", MONTHS[((from_march + 2) % 12) as usize])
}

/// Days since the epoch in local time.
pub fn day_number(at_ms: i64, utc_offset_s: i32) -> i64 {
    (at_ms
        .div_euclid(1_000)
        .saturating_add(i64::from(utc_offset_s)))
    .div_euclid(86_400)
}

fn local_second(at_ms: i64, utc_offset_s: i32) -> i64 {
    (at_ms
        .div_euclid(1_000)
        .saturating_add(i64::from(utc_offset_s)))
    .rem_euclid(86_400)
}

/// A long id or hash shortened to what tells it apart: `9f31c2`, at most `columns`.
pub fn short(id: &str, columns: usize) -> String {
    // Time-ordered ids differ at their end, hashes anywhere.
    let plain: Vec<char> = id.chars().filter(|c| c.is_alphanumeric()).collect();
    if id.len() == 36 && id.matches('-').count() == 4 {
        plain[plain.len().saturating_sub(columns)..]
            .iter()
            .collect()
    } else {
        id.chars().take(columns).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::{
        age, clock, columns_of, cut, day, fill, fit, grouped, is_now, pad, pieces, running, short,
        tokens, took, until, width, width_to, wrap, wrap_behind, wrap_to,
    };

    #[test]
    fn a_text_behind_something_has_less_of_the_first_line_only() {
        assert_eq!(wrap_behind("one two three", 4, 9, 2), ["one", "two three"]);
        assert_eq!(
            wrap_behind("one two three", 8, 9, 3),
            ["", "one two", "three"]
        );
        assert_eq!(wrap_behind("one two three", 4, 9, 1), ["one…"]);
        assert_eq!(wrap_behind("one", 0, 9, 2), ["one"]);
        assert_eq!(wrap_behind("", 40, 9, 2), [""]);
    }

    #[test]
    fn what_was_cut_ends_in_an_ellipsis() {
        assert_eq!(fit("refresh", 7), "refresh");
        assert_eq!(fit("refresh", 5), "refr…");
        assert_eq!(fit("two words", 5), "two…");
        assert_eq!(fit("漢字漢字", 4), "漢…");
        assert_eq!(fit("x", 0), "");
        assert_eq!(pad("漢字", 3), "漢…");
        assert_eq!(pad("漢字漢", 4), "漢… ");
        assert_eq!(fill("h7", 4), "h7  ");
        assert_eq!(fill("h98706", 4), "h98706");
    }

    #[test]
    fn of_a_long_text_no_more_is_looked_at_than_has_room() {
        for long in ["漢 — word ", "plain "] {
            let long = long.repeat(1_000);
            let looked_at = Cell::new(0);
            let graphemes = || pieces(&long).inspect(|_| looked_at.set(looked_at.get() + 1));
            assert!(columns_of(graphemes(), 20) > 20);
            assert!(looked_at.take() <= 21, "{long}");
            assert!(cut(graphemes(), 20).is_some());
            assert!(looked_at.take() <= 21, "{long}");
        }
        assert_eq!(width_to("漢 —", 4), width("漢 —"));
        assert_eq!(fit("a\u{300}b — c", 4), "a\u{300}b…");
        assert_eq!(wrap("— abcdefgh", 3), ["— a", "bcd", "efg", "h"]);
    }

    #[test]
    fn letters_that_a_font_joins_have_a_column_each() {
        assert_eq!(width("لا"), 2);
        assert_eq!(width("漢a"), 3);
        let text = "لا".repeat(4);
        assert_eq!(fit(&text, 8), text);
        assert_eq!(fit(&text, 7), "لالالا…");
        assert_eq!(pad("لا", 3), "لا ");
        let lines = wrap(&text, 6);
        assert_eq!(lines, ["لالالا", "لا"]);
    }

    proptest! {
        #[test]
        fn a_text_is_as_wide_as_it_is_drawn(
            text in "(\\PC|[\u{600}-\u{6ff}\u{ff66}-\u{ff9f}]|[ -~]){0,60}"
        ) {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 400, 1));
            let (end, _) = buffer.set_stringn(0, 0, &text, 400, Style::default());
            prop_assert_eq!(width(&text), usize::from(end), "{:?}", text);
        }
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("  code here", 8), ["  code", "here"]);
        assert_eq!(
            wrap("dropped (on rotation).", 10),
            ["dropped", "(on", "rotation)."]
        );
        assert_eq!(wrap("", 3), [""]);
        assert_eq!(wrap_to("one two three four", 7, 2), ["one two", "three…"]);
        for line in wrap("漢字 漢字漢字 a", 3) {
            assert!(width(&line) <= 3, "{line:?}");
        }
    }

    #[test]
    fn numbers_are_grouped_and_ages_short() {
        assert_eq!(grouped(1_204), "1 204");
        assert_eq!(grouped(12), "12");
        assert_eq!(grouped(1_000_000), "1 000 000");
        assert_eq!(tokens(98_304), "98k");
        assert_eq!(age(59_999, 0), "now");
        assert!(is_now(59_999, 0) && !is_now(60_000, 0) && is_now(0, 180_000));
        assert_eq!(age(180_000, 0), "3m");
        assert_eq!(age(0, 180_000), "now");
        assert_eq!(running(41_000, 0), "41s");
        assert_eq!(running(7_200_000, 0), "2h");
        assert_eq!(until(0, 0), "now");
        assert_eq!(until(9, 0), "now");
        assert_eq!(until(0, 1), "1s");
        assert_eq!(until(0, 41_000), "41s");
        assert_eq!(until(0, 720_000), "12m");
        assert_eq!(until(0, 7_800_000), "2h 10m");
        assert_eq!(until(0, 7_200_000), "2h");
        assert_eq!(until(0, 180_000_000), "2d");
        assert_eq!(took(3), "3 ms");
        assert_eq!(took(12_400), "12.4 s");
    }

    #[test]
    fn the_clock_is_local_and_survives_the_epoch() {
        assert_eq!(clock(0, 3_600), "01:00");
        assert_eq!(clock(-1, 0), "23:59");
        assert_eq!(clock(i64::MAX, i32::MAX).len(), 5);
        assert_eq!(day(0, 0), "1 Jan");
        assert_eq!(day(-1, 0), "31 Dec");
        assert_eq!(day(1_709_164_800_000, 0), "29 Feb");
        assert_eq!(day(1_795_305_600_000, 0), "22 Nov");
        let _ = (day(i64::MAX, i32::MAX), day(i64::MIN, i32::MIN));
    }

    #[test]
    fn ids_keep_what_tells_them_apart() {
        assert_eq!(short("019ab3c4-1111-7000-8000-00000000c2d1", 6), "00c2d1");
        assert_eq!(short("4c1d2e0ffeeddcc", 7), "4c1d2e0");
    }
}
