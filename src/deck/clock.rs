//! The wall clock, for a screen that reads no clock itself.

use ctxrelay_ui::model::LocalTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Changes of the clocks that are known of the past: two a year. What is older has the offset of then.
const CHANGES_BEFORE: usize = 24;

/// And of the time to come: a deck stands for months.
const CHANGES_AFTER: usize = 2;

/// Ms since the epoch.
pub fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// When it was, in words, as the command line puts it.
pub(super) fn utc(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// What the clocks on the wall show, for some years back and until the change after the next. The
/// system's zone is read each time: a laptop travels.
pub fn local_time(now_ms: i64) -> LocalTime {
    local_time_in(&TimeZone::system(), now_ms)
}

fn local_time_in(zone: &TimeZone, now_ms: i64) -> LocalTime {
    let now = Timestamp::from_millisecond(now_ms).unwrap_or_default();
    let before = zone.preceding(now).take(CHANGES_BEFORE);
    let after = zone.following(now).take(CHANGES_AFTER);
    let changes: Vec<(i64, i32)> = before
        .chain(after)
        .map(|change| {
            (
                change.timestamp().as_millisecond(),
                change.offset().seconds(),
            )
        })
        .collect();
    let first = changes.iter().map(|(at_ms, _)| *at_ms).min();
    let first = first.and_then(|at_ms| Timestamp::from_millisecond(at_ms - 1).ok());
    let first_s = zone.to_offset(first.unwrap_or(now)).seconds();
    LocalTime::new(first_s, changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_has_the_offset_of_its_own_season_also_after_the_next_change() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let at = |day: &str| day.parse::<Timestamp>().unwrap().as_millisecond();
        let now = at("2026-11-22T14:02:32Z");
        let local = local_time_in(&zone, now);
        let hours = |day: &str| local.offset_s(at(day)) / 3_600;
        assert_eq!(hours("2026-11-22T14:02:32Z"), 1);
        assert_eq!(
            hours("2026-10-25T00:59:59Z"),
            2,
            "before clocks were put back"
        );
        assert_eq!(hours("2026-10-25T01:00:00Z"), 1);
        assert_eq!(hours("2024-07-01T12:00:00Z"), 2, "two years ago");
        assert_eq!(
            hours("2027-03-28T01:00:00Z"),
            2,
            "the next change, while one looks on"
        );
        let utc = local_time_in(&TimeZone::UTC, now);
        assert_eq!(utc.offset_s(now), 0);
        assert_eq!(local_time_in(&zone, i64::MAX).offset_s(0) % 3_600, 0);
    }
}
