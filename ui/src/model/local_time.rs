//! [`LocalTime`]: what the clocks on the wall show, then and now.

use std::sync::Arc;

/// How far local time is ahead of UTC, and when that changes: in spring and autumn, mostly.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalTime {
    /// Before the first change, in seconds.
    first_s: i32,
    /// From when on, ms since the epoch, and how far from then on; in order.
    changes: Arc<[(i64, i32)]>,
}

impl LocalTime {
    /// Always as far ahead, in seconds.
    pub fn fixed(offset_s: i32) -> Self {
        Self::new(offset_s, Vec::new())
    }

    /// So many seconds ahead before the first of these changes, and as they say after each.
    pub fn new(first_s: i32, mut changes: Vec<(i64, i32)>) -> Self {
        changes.sort_by_key(|(at_ms, _)| *at_ms);
        Self {
            first_s,
            changes: changes.into(),
        }
    }

    /// How far it is ahead at a moment, in seconds.
    pub fn offset_s(&self, at_ms: i64) -> i32 {
        let passed = self.changes.partition_point(|(from, _)| *from <= at_ms);
        let last = passed.checked_sub(1).map(|last| self.changes[last].1);
        last.unwrap_or(self.first_s)
    }

    /// The moment at which the clocks show this, given as ms since the epoch as if it were UTC. Of
    /// an hour that comes twice the last one that is not to come at `now_ms`, else the first; of one
    /// that is left out, the one after it.
    pub(crate) fn moment(&self, shown_ms: i64, now_ms: i64) -> i64 {
        let moment = |offset_s: i32| shown_ms.saturating_sub(i64::from(offset_s) * 1_000);
        let offsets = self.changes.iter().map(|(_, offset_s)| *offset_s);
        let all = std::iter::once(self.first_s).chain(offsets);
        let fits = |at: &i64| moment(self.offset_s(*at)) == *at;
        let shown: Vec<i64> = all.map(moment).filter(fits).collect();
        let has_been = shown.iter().filter(|at| **at <= now_ms).max();
        let shown = has_been.or(shown.iter().min()).copied();
        shown.unwrap_or_else(|| moment(self.offset_s(shown_ms)))
    }
}

#[cfg(test)]
mod tests {
    use super::LocalTime;

    const HOUR_MS: i64 = 3_600_000;

    /// One hour ahead, two from the third day on, one again from the ninth.
    fn summer() -> LocalTime {
        let day = 24 * HOUR_MS;
        LocalTime::new(3_600, vec![(9 * day, 3_600), (3 * day, 7_200)])
    }

    #[test]
    fn each_moment_has_the_offset_of_its_own_day() {
        let day = 24 * HOUR_MS;
        let offsets = [
            0,
            3 * day - 1,
            3 * day,
            9 * day - 1,
            9 * day,
            i64::MAX,
            i64::MIN,
        ];
        let offsets = offsets.map(|at| summer().offset_s(at) / 3_600);
        assert_eq!(offsets, [1, 1, 2, 2, 1, 1, 1]);
    }

    #[test]
    fn what_the_clocks_show_is_found_on_either_side_of_a_change() {
        let day = 24 * HOUR_MS;
        for at in [
            0,
            3 * day - HOUR_MS,
            5 * day,
            9 * day - 2 * HOUR_MS,
            12 * day,
        ] {
            let shown = at + i64::from(summer().offset_s(at)) * 1_000;
            assert_eq!(summer().moment(shown, i64::MAX), at);
            assert_eq!(summer().moment(shown, i64::MIN), at);
        }
        // Twice: the last one that has been counts.
        let shown = 9 * day + HOUR_MS + HOUR_MS / 2;
        let (first, second) = (9 * day - HOUR_MS / 2, 9 * day + HOUR_MS / 2);
        for (now, meant) in [
            (first - 1, first),
            (first, first),
            (second - 1, first),
            (second, second),
        ] {
            assert_eq!(summer().moment(shown, now), meant);
        }
        // Never: it stands beside the change.
        let near = summer().moment(3 * day + HOUR_MS + HOUR_MS / 2, i64::MAX);
        assert!((near - 3 * day).abs() <= HOUR_MS, "{near}");
        assert_eq!(LocalTime::fixed(-3_600).moment(0, 0), HOUR_MS);
    }
}
