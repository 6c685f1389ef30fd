//! [`place_of`]: parses the place of the record that a person types, an entry's number or a time.

use jiff::ToSpan as _;
use jiff::civil::{Date, DateTime, Time};

use crate::model::{LocalTime, TimelineGo};
use crate::text;

/// What may be typed, for the field and for who typed something else.
pub(crate) const EXAMPLES: &str = "1204, 14:05, yesterday 9:00, 21 Nov 9:00 or -2h";

/// The longest text that is looked at, characters.
const CHARS_MAX: usize = 64;

/// The place that is meant. A time of day is the last one that has been: at 9 o'clock, `14:05` is
/// yesterday's.
///
/// # Errors
///
/// One sentence that says what is wrong, with what may be typed.
pub(crate) fn place_of(
    typed: &str,
    now_ms: i64,
    zone: &LocalTime,
    head: u64,
) -> Result<TimelineGo, String> {
    let words = typed.trim().to_lowercase();
    let not_understood = || format!("neither a number nor a time: {EXAMPLES}");
    if words.is_empty() || words.chars().nth(CHARS_MAX).is_some() {
        return Err(not_understood());
    }
    let number = words
        .trim_start_matches(['#', 'h'])
        .replace([' ', '\u{a0}', '\u{202f}'], "");
    if number.chars().all(|c| c.is_ascii_digit()) && !number.is_empty() {
        return line_of(&number, head);
    }
    let utc_offset_s = zone.offset_s(now_ms);
    let offset_ms = i64::from(utc_offset_s) * 1_000;
    let now = local(now_ms.saturating_add(offset_ms)).ok_or_else(not_understood)?;
    if let Some(span) = words.strip_prefix('-') {
        let back = span_ms(span).ok_or_else(not_understood)?;
        return Ok(TimelineGo::Time(now_ms.saturating_sub(back)));
    }
    // Moments are compared and not what clocks show: in autumn they show an hour twice.
    let moment_of = |shown: DateTime| {
        let epoch = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
        let shown_ms = i64::try_from(shown.duration_since(epoch).as_millis()).ok()?;
        Some(zone.moment(shown_ms, now_ms))
    };
    let has_been = |shown| moment_of(shown).is_some_and(|at_ms| at_ms <= now_ms);
    let shown = day_and_clock(&words, now, has_been);
    let at_ms = shown.and_then(moment_of).ok_or_else(not_understood)?;
    if at_ms > now_ms {
        return Err(format!(
            "that is to come: it is {}",
            text::clock(now_ms, utc_offset_s)
        ));
    }
    Ok(TimelineGo::Time(at_ms))
}

fn line_of(number: &str, head: u64) -> Result<TimelineGo, String> {
    let last = text::grouped(head);
    match number.parse::<u64>() {
        Ok(0) => Err("the first entry is number 1".to_owned()),
        Ok(line) if line <= head => Ok(TimelineGo::Entry(line)),
        _ => Err(format!("the last entry is number {last}")),
    }
}

fn local(ms: i64) -> Option<DateTime> {
    DateTime::constant(1970, 1, 1, 0, 0, 0, 0)
        .checked_add(ms.milliseconds())
        .ok()
}

/// `2h`, `30m`, `1h30m`, in ms.
fn span_ms(text: &str) -> Option<i64> {
    let mut total = 0_i64;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: i64 = rest[..end].parse().ok()?;
        let unit_end = rest[end..]
            .find(|c: char| c.is_ascii_digit())
            .map_or(rest.len(), |at| at + end);
        let unit_ms = match rest[end..unit_end].trim() {
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            _ => return None,
        };
        total = total.checked_add(count.checked_mul(unit_ms)?)?;
        rest = &rest[unit_end..];
    }
    (total > 0).then_some(total)
}

/// A day, a time of day, or both, as clocks show it.
fn day_and_clock(
    words: &str,
    now: DateTime,
    has_been: impl Fn(DateTime) -> bool,
) -> Option<DateTime> {
    let parts: Vec<&str> = words.split_whitespace().collect();
    let (day, clock) = match parts.split_last()? {
        (last, day) if last.contains(':') => (day, Some(time(last)?)),
        _ => (&parts[..], None),
    };
    if day.is_empty() {
        let today = now.date().to_datetime(clock?);
        return if has_been(today) {
            Some(today)
        } else {
            today.checked_sub(1.day()).ok()
        };
    }
    let date = date(day, now.date())?;
    Some(date.to_datetime(clock.unwrap_or(Time::midnight())))
}

fn time(word: &str) -> Option<Time> {
    let mut parts = word.split(':').map(|part| part.parse::<i8>().ok());
    let hour = parts.next()??;
    let minute = parts.next()??;
    let second = match parts.next() {
        Some(second) => second?,
        None => 0,
    };
    if parts.next().is_some() {
        return None;
    }
    Time::new(hour, minute, second, 0).ok()
}

fn date(words: &[&str], today: Date) -> Option<Date> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    match words {
        ["today"] => Some(today),
        ["yesterday"] => today.yesterday().ok(),
        [date] => date.parse().ok(),
        [day, month] => {
            let month = MONTHS
                .iter()
                .position(|known| month.get(..3) == Some(known))?;
            let month = i8::try_from(month).ok()? + 1;
            let day = day.parse().ok()?;
            let this_year = Date::new(today.year(), month, day).ok();
            let last_year = || Date::new(today.year() - 1, month, day).ok();
            this_year.filter(|date| *date <= today).or_else(last_year)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::place_of;
    use crate::model::{LocalTime, TimelineGo};
    use crate::text;

    /// 22 November 2026, 14:02 at an offset of one hour.
    const NOW_MS: i64 = 1_795_352_520_000;
    const OFFSET_S: i32 = 3_600;

    /// The place, as a person would read it.
    fn read(typed: &str) -> String {
        match place_of(typed, NOW_MS, &LocalTime::fixed(OFFSET_S), 1_204) {
            Ok(TimelineGo::Entry(line)) => format!("entry {line}"),
            Ok(TimelineGo::Time(at)) => {
                format!(
                    "{} {}",
                    text::day(NOW_MS, at, OFFSET_S),
                    text::clock_seconds(at, OFFSET_S)
                )
            }
            Ok(other) => format!("{other:?}"),
            Err(why) => format!("! {why}"),
        }
    }

    #[test]
    fn numbers_and_times_as_people_write_them() {
        let table = [
            ("1204", "entry 1204"),
            (" 1 204 ", "entry 1204"),
            ("#7", "entry 7"),
            ("h7", "entry 7"),
            ("14:02", "22 Nov 14:02:00"),
            ("14:05", "21 Nov 14:05:00"),
            ("9:00:30", "22 Nov 09:00:30"),
            ("today 9:00", "22 Nov 09:00:00"),
            ("yesterday 9:00", "21 Nov 09:00:00"),
            ("Yesterday", "21 Nov 00:00:00"),
            ("21 Nov 23:40", "21 Nov 23:40:00"),
            ("3 december", "3 Dec 2025 00:00:00"),
            ("2026-11-20 8:15", "20 Nov 08:15:00"),
            ("-2h", "22 Nov 12:02:00"),
            ("-1h30m", "22 Nov 12:32:00"),
            ("- 3 d", "19 Nov 14:02:00"),
            ("-90s", "22 Nov 14:00:30"),
        ];
        for (typed, meant) in table {
            assert_eq!(read(typed), meant, "{typed}");
        }
    }

    #[test]
    fn of_the_hour_that_clocks_show_twice_the_last_moment_that_has_been_is_meant() {
        /// Clocks in Berlin go from 3 o'clock back to 2 o'clock, 31 October 2027.
        const BACK_MS: i64 = 1_824_944_400_000;
        const MINUTE_MS: i64 = 60_000;
        let berlin = LocalTime::new(7_200, vec![(BACK_MS, 3_600)]);
        let minutes = |typed: &str, now: i64| {
            let now_ms = BACK_MS + now * MINUTE_MS;
            match place_of(typed, now_ms, &berlin, 1_204) {
                Ok(TimelineGo::Time(at)) => Ok((at - BACK_MS) / MINUTE_MS),
                Ok(other) => panic!("{other:?}"),
                Err(why) => Err(why),
            }
        };
        for day in ["", "31 oct ", "today "] {
            let at = |clock: &str, now: i64| minutes(&format!("{day}{clock}"), now);
            // It is 2:20 for the second time.
            assert_eq!(at("2:45", 20), Ok(-15));
            assert_eq!(at("2:20", 20), Ok(20));
            assert_eq!(at("2:10", 20), Ok(10));
            assert_eq!(at("1:50", 20), Ok(-70));
            // And for the first time.
            assert_eq!(at("2:10", -40), Ok(-50));
            assert_eq!(at("2:45", 90), Ok(45));
        }
        let to_come = "that is to come: it is 02:20".to_owned();
        assert_eq!(minutes("31 oct 3:00", 20), Err(to_come.clone()));
        assert_eq!(minutes("31 oct 2:45", -40), Err(to_come));
        // Yesterday's, when clocks showed it once.
        assert_eq!(minutes("3:00", 20), Ok(-24 * 60));
    }

    #[test]
    fn what_is_no_place_is_told_with_what_may_be_typed() {
        let long = "1".repeat(65);
        for typed in [
            "",
            "  ",
            "#",
            "now",
            "25:00",
            "14:61",
            "14",
            "-h",
            "-2",
            "-2y",
            "yesterday noon",
            "31 feb",
            "2026-13-01",
            "1:2:3:4",
            "tomorrow 9:00",
            "\u{202e}14:05",
            "-99999999999999999999h",
            "-9223372036854775807w",
            "99 nov",
            "é nov",
            &long,
        ] {
            let told = read(typed);
            assert!(
                typed == "14" || told.starts_with("! neither"),
                "{typed:?}: {told}"
            );
        }
        assert_eq!(read("today 23:00"), "! that is to come: it is 14:02");
        assert_eq!(read("0"), "! the first entry is number 1");
        assert_eq!(read("1205"), "! the last entry is number 1 204");
        assert_eq!(
            read("99999999999999999999999"),
            "! the last entry is number 1 204"
        );
    }
}
