//! The wall clock, for a screen that reads none itself.

use std::time::{SystemTime, UNIX_EPOCH};

/// Ms since the epoch.
pub(super) fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
}

/// When it was, in words, as the command line puts it.
pub(super) fn utc(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// The time zone's offset now, in seconds.
pub fn utc_offset_s() -> i32 {
    jiff::Zoned::now().offset().seconds()
}
