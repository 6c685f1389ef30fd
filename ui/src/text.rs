//! Numbers as words, and text fitted to a width: [`age`], [`grouped`], [`fit`], [`wrap`].
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

/// How long ago, short: `now`, `3m`, `2h`, `5d`, and `ahead` of what the clock has not reached. Within
/// a minute it says `now`, so that nothing has to be drawn each second.
pub fn age(now_ms: i64, at_ms: i64) -> String {
    match now_ms.saturating_sub(at_ms) / 1_000 {
        ..=-60 => "ahead".to_owned(),
        -59..60 => "now".to_owned(),
        s => span(s),
    }
}

/// Whether it was in the last minute; one that the clock is about to reach counts, since two clocks
/// are never alike.
pub fn is_now(now_ms: i64, at_ms: i64) -> bool {
    now_ms.saturating_sub(at_ms).saturating_abs() < 60_000
}

/// [`age`] in a sentence: `now`, `3m ago`, `ahead of the clock`.
pub fn ago(now_ms: i64, at_ms: i64) -> String {
    let age = age(now_ms, at_ms);
    if is_now(now_ms, at_ms) {
        age
    } else if at_ms > now_ms {
        format!("{age} of the clock")
    } else {
        format!("{age} ago")
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

/// `21 Nov` in local time, and `21 Nov 2025` in another year than now.
pub fn day(now_ms: i64, at_ms: i64, utc_offset_s: i32) -> String {
    let (year, month, day) = date(at_ms, utc_offset_s);
    match year == date(now_ms, utc_offset_s).0 {
        true => format!("{day} {month}"),
        false => format!("{day} {month} {year}"),
    }
}

/// [`day`] in eight columns: `21 Nov`, and in another year than now `Nov 2025`.
pub fn day_or_month(now_ms: i64, at_ms: i64, utc_offset_s: i32) -> String {
    let (year, month, day) = date(at_ms, utc_offset_s);
    match year == date(now_ms, utc_offset_s).0 {
        true => format!("{day} {month}"),
        false => format!("{month} {year}"),
    }
}

/// Year, month and day in local time.
fn date(at_ms: i64, utc_offset_s: i32) -> (i64, &'static str, i64) {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    // Civil date from days since the epoch (Howard Hinnant's algorithm): its years begin in March.
    let shifted = day_number(at_ms, utc_offset_s) + 719_468;
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12;
    let year = 400 * shifted.div_euclid(146_097) + year_of_era + i64::from(month < 2);
    (year, MONTHS[month as usize], day)
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
mod tests;
