//! [`RecentActivity`]: in which of the last minutes an agent worked, and how much it wrote in each.

use serde::{Deserialize, Serialize};

/// How many minutes are kept.
pub const ACTIVITY_MINUTES: usize = 12;

/// One minute of an agent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ActivityMinute {
    /// A turn of its ran, for some of it at least.
    pub worked: bool,
    /// Entries that it wrote.
    pub entries: u16,
}

/// The last minutes of an agent, by the times of entries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecentActivity {
    /// The newest one, minutes since the epoch.
    newest: i64,
    /// The newest one first.
    minutes: [ActivityMinute; ACTIVITY_MINUTES],
}

impl RecentActivity {
    /// It wrote an entry.
    pub(crate) fn wrote(&mut self, at_ms: i64) {
        let minute = self.reach(minute_of(at_ms));
        minute.entries = minute.entries.saturating_add(1);
    }

    /// A turn of its ran, from one time to another.
    pub(crate) fn worked(&mut self, from_ms: i64, to_ms: i64) {
        let to = minute_of(to_ms);
        let oldest = to.saturating_sub(ACTIVITY_MINUTES as i64 - 1);
        for minute in minute_of(from_ms).max(oldest)..=to {
            self.reach(minute).worked = true;
        }
    }

    /// The minutes before a time, the oldest one first; the last is the one of that time.
    pub fn until(&self, now_ms: i64) -> [ActivityMinute; ACTIVITY_MINUTES] {
        let now = minute_of(now_ms);
        let mut back = 0;
        [(); ACTIVITY_MINUTES].map(|()| {
            back += 1;
            let minute = now.saturating_sub((ACTIVITY_MINUTES - back) as i64);
            let place = usize::try_from(self.newest.saturating_sub(minute));
            let known = place.ok().and_then(|place| self.minutes.get(place));
            known.copied().unwrap_or_default()
        })
    }

    /// How many of the last minutes a record tells of that began at a time: the one in which it did is
    /// among them.
    pub fn minutes_since(since_ms: i64, now_ms: i64) -> usize {
        let before = minute_of(now_ms).saturating_sub(minute_of(since_ms));
        let before = usize::try_from(before).unwrap_or(0);
        before.saturating_add(1).min(ACTIVITY_MINUTES)
    }

    /// One minute, and forgets what is too old beside it. A clock that was put back empties the
    /// rest.
    fn reach(&mut self, minute: i64) -> &mut ActivityMinute {
        let place = match usize::try_from(self.newest.saturating_sub(minute)) {
            Ok(place) if place < ACTIVITY_MINUTES => place,
            Ok(_) => {
                self.minutes = Default::default();
                self.newest = minute;
                0
            }
            Err(_) => {
                let ahead = minute.saturating_sub(self.newest);
                let ahead = usize::try_from(ahead)
                    .map_or(ACTIVITY_MINUTES, |ahead| ahead.min(ACTIVITY_MINUTES));
                self.minutes.rotate_right(ahead % ACTIVITY_MINUTES);
                self.minutes[..ahead].fill(ActivityMinute::default());
                self.newest = minute;
                0
            }
        };
        &mut self.minutes[place]
    }
}

fn minute_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(60_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: i64 = 60_000;

    /// `.` nothing, `_` worked, a digit for entries.
    fn drawn(activity: &RecentActivity, now_ms: i64) -> String {
        let minutes = activity.until(now_ms).into_iter();
        minutes
            .map(|minute| match (minute.worked, minute.entries) {
                (false, 0) => '.',
                (true, 0) => '_',
                (_, entries) => char::from(b'0' + entries.min(9) as u8),
            })
            .collect()
    }

    #[test]
    fn minutes_stand_where_they_were_and_move_on_with_the_time() {
        let mut activity = RecentActivity::default();
        activity.worked(100 * M + 5, 103 * M);
        activity.wrote(103 * M + 1);
        activity.wrote(103 * M + 59_999);
        activity.wrote(105 * M);
        assert_eq!(drawn(&activity, 105 * M), "......___2.1");
        assert_eq!(drawn(&activity, 108 * M), "...___2.1...");
        assert_eq!(drawn(&activity, 116 * M), "1...........");
        assert_eq!(drawn(&activity, 117 * M), "............");
    }

    #[test]
    fn what_is_written_late_is_counted_in_its_own_minute() {
        let mut activity = RecentActivity::default();
        activity.wrote(105 * M);
        activity.wrote(103 * M);
        assert_eq!(drawn(&activity, 105 * M), ".........1.1");
    }

    #[test]
    fn a_turn_of_days_a_leap_and_any_time_at_all_cost_no_more_than_the_minutes_kept() {
        let mut activity = RecentActivity::default();
        activity.worked(i64::MIN, 200 * M);
        assert_eq!(drawn(&activity, 200 * M), "____________");
        activity.wrote(i64::MAX);
        activity.worked(i64::MIN, i64::MAX);
        assert_eq!(drawn(&activity, i64::MAX), "___________1");
        // The clock was put back: what is told from then on counts.
        activity.wrote(200 * M);
        assert_eq!(drawn(&activity, 200 * M), "...........1");
        activity.worked(300 * M, 200 * M);
        assert_eq!(drawn(&activity, 200 * M), "...........1");
        activity.wrote(i64::MIN);
        assert_eq!(drawn(&activity, i64::MIN), "...........1");
    }
}
