//! How times, ages and entries are written for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::core::entry::EntryType;

/// How much of what an entry is stands on its row, in characters: another product's may be long.
const WORD_CHARS: usize = 40;

/// What a person says on the command line. Empty it is refused before anything is asked.
pub fn said(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it says nothing".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Clock time of today, else date and time, in the user's zone.
pub fn time(ms: i64, now_ms: i64) -> String {
    let zone = TimeZone::system();
    let (Ok(at), Ok(now)) = (
        Timestamp::from_millisecond(ms),
        Timestamp::from_millisecond(now_ms),
    ) else {
        return ms.to_string();
    };
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone));
    if at.date() == now.date() {
        at.strftime("%H:%M:%S").to_string()
    } else {
        at.strftime("%Y-%m-%d %H:%M").to_string()
    }
}

/// A duration by its largest unit. One that has not begun more than a minute from now on tells of a
/// clock that is wrong, or was.
pub fn age(ms: i64) -> String {
    if is_ahead(ms) {
        return "ahead of the clock".to_owned();
    }
    let s = ms.max(0) / 1000;
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min", s / 60),
        3600..86_400 => format!("{} h", s / 3600),
        _ => format!("{} d", s / 86_400),
    }
}

/// [`age`] in a sentence: `3 min ago`, `ahead of the clock`.
pub fn ago(ms: i64) -> String {
    let age = age(ms);
    match is_ahead(ms) {
        true => age,
        false => format!("{age} ago"),
    }
}

fn is_ahead(ms: i64) -> bool {
    ms <= -60_000
}

/// `1 entry`, `2 entries`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// What a list says of lines that could not be read and are not in it; nothing without any.
pub fn left_out(unread_lines: u64) -> Option<String> {
    let are = match unread_lines {
        0 => return None,
        1 => "1 line could not be read and is".to_owned(),
        many => format!("{many} lines could not be read and are"),
    };
    Some(format!(
        "{are} left out: `ctxrelay ledger verify` names what is wrong"
    ))
}

/// The text, cut to `chars` with a visible mark.
pub fn short(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) => {
            let mut cut: String = text.chars().take(chars.saturating_sub(1)).collect();
            cut.push('…');
            cut
        }
    }
}

/// A text field of an entry as on disk.
pub fn field<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What an entry as on disk is, in words: its type, and what happened where the type does not tell.
pub fn entry_word(entry: &Value) -> String {
    let told = |group: &str, name: &str| entry[group][name].as_str().unwrap_or_default();
    let kind = field(entry, "type");
    let what = match EntryType::parse(kind) {
        Some(EntryType::RuntimeEvent) => {
            match (told("runtimeEvent", "kind"), told("runtimeEvent", "status")) {
                ("", _) => String::new(),
                (what, step) => format!("{what} {step}"),
            }
        }
        Some(EntryType::Note) => match entry["noteKind"].as_str() {
            None | Some("note") => String::new(),
            Some(sort) => format!("note {sort}"),
        },
        Some(EntryType::Artifact) => match (told("artifact", "step"), told("artifact", "status")) {
            ("", status) => format!("artifact {status}"),
            (step, _) => format!("finding {step}"),
        },
        Some(EntryType::FinalityDecision) => match entry["finality"]["approved"].as_bool() {
            Some(true) => "finality approved".to_owned(),
            Some(false) => "finality rejected".to_owned(),
            None => String::new(),
        },
        _ => String::new(),
    };
    let what = what.trim().replace('_', " ");
    match what.as_str() {
        "" => kind.to_owned(),
        what => short(what, WORD_CHARS),
    }
}

/// Wall clock, ms since the epoch.
pub fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        assert_eq!(
            [0, 59_999, 60_000, 3_600_000, 172_800_000, -5].map(age),
            ["0 s", "59 s", "1 min", "1 h", "2 d", "0 s"]
        );
        assert_eq!(
            [-59_999, -60_000, -3_600_000].map(ago),
            ["0 s ago", "ahead of the clock", "ahead of the clock"]
        );
        assert_eq!(age(-3_600_000), "ahead of the clock");
    }

    #[test]
    fn what_is_left_out_is_counted_and_has_a_next_step() {
        assert_eq!(left_out(0), None);
        for (lines, begins) in [(1, "1 line could not"), (2, "2 lines could not")] {
            let note = left_out(lines).unwrap_or_default();
            assert!(note.starts_with(begins), "{note}");
            assert!(note.contains("`ctxrelay ledger verify`"), "{note}");
        }
    }

    #[test]
    fn a_cut_shows_and_never_splits_a_character() {
        assert_eq!(short("äöü", 3), "äöü");
        assert_eq!(short("äöüß", 3), "äö…");
    }
}
