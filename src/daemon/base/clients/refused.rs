//! [`OperatorRefusals`]: operator commands from somebody else. The first is an entry at once; those
//! that follow are counted, and become one entry a minute: who tries again and again must not fill
//! the record.

/// Between two entries, ms.
const EVERY_MS: i64 = 60_000;

/// What was refused and is not recorded yet.
#[derive(Debug, Default)]
pub(in crate::daemon) struct OperatorRefusals {
    /// Until then refusals are only counted, ms.
    counting_until: Option<i64>,
    count: u64,
    last_from: String,
}

/// Refusals for one entry.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::daemon) struct Counted {
    pub count: u64,
    pub last_from: String,
}

impl OperatorRefusals {
    /// One more; what is to be recorded now, if anything.
    pub fn add(&mut self, now_ms: i64, from: String) -> Option<Counted> {
        self.count += 1;
        self.last_from = from;
        match self.counting_until {
            Some(_) => None,
            None => self.take(now_ms),
        }
    }

    /// What is to be recorded because its time has come.
    pub fn due(&mut self, now_ms: i64) -> Option<Counted> {
        if self.counting_until.is_none_or(|until| now_ms < until) {
            return None;
        }
        self.counting_until = None;
        self.take(now_ms)
    }

    /// Everything that was counted; the next minute begins.
    pub fn take(&mut self, now_ms: i64) -> Option<Counted> {
        if self.count == 0 {
            return None;
        }
        self.counting_until = Some(now_ms + EVERY_MS);
        Some(Counted {
            count: std::mem::take(&mut self.count),
            last_from: std::mem::take(&mut self.last_from),
        })
    }

    /// When what is counted is due, ms.
    pub fn next_ms(&self) -> Option<i64> {
        self.counting_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: u64, last_from: &str) -> Option<Counted> {
        let last_from = last_from.to_owned();
        Some(Counted { count, last_from })
    }

    #[test]
    fn the_first_is_told_at_once_and_the_others_together() {
        let mut refusals = OperatorRefusals::default();
        assert_eq!(refusals.add(0, "a".to_owned()), counted(1, "a"));
        for _ in 0..1_000 {
            assert_eq!(refusals.add(10, "b".to_owned()), None);
        }
        assert_eq!(refusals.add(EVERY_MS - 1, "c".to_owned()), None);
        assert_eq!(refusals.due(EVERY_MS - 1), None);
        assert_eq!(refusals.due(EVERY_MS), counted(1_001, "c"));
        // The next minute has begun; without news it ends in silence.
        assert_eq!(refusals.add(EVERY_MS + 1, "d".to_owned()), None);
        assert_eq!(refusals.due(2 * EVERY_MS), counted(1, "d"));
        assert_eq!(refusals.due(3 * EVERY_MS), None);
        assert_eq!(refusals.add(3 * EVERY_MS, "e".to_owned()), counted(1, "e"));
    }
}
