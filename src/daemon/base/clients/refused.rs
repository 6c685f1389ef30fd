//! [`OperatorRefusals`]: operator commands from somebody else. The first is recorded at once; later
//! ones are counted into one entry a minute, so that repeated attempts cannot fill the record.

use super::Clients;

/// Between two entries, ms.
const EVERY_MS: i64 = 60_000;

/// Refusals that are not recorded yet.
#[derive(Debug, Default)]
pub(super) struct OperatorRefusals {
    /// Refusals are only counted until this time, ms.
    counting_until: Option<i64>,
    count: u64,
    last_from: String,
}

/// The refusals that one entry records.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::daemon) struct Counted {
    pub count: u64,
    pub last_from: String,
}

impl Clients {
    /// One more operator command came from somebody else; what is to be recorded now, if anything.
    pub fn count_refusal(&mut self, now_ms: i64, from: String) -> Option<Counted> {
        let refusals = &mut self.refusals;
        refusals.count += 1;
        refusals.last_from = from;
        match refusals.counting_until {
            Some(_) => None,
            None => self.take_refusals(now_ms),
        }
    }

    /// The refusals that are to be recorded because their time has come.
    pub fn take_refusals_due(&mut self, now_ms: i64) -> Option<Counted> {
        let until = self.refusals.counting_until;
        if until.is_none_or(|until| now_ms < until) {
            return None;
        }
        self.refusals.counting_until = None;
        self.take_refusals(now_ms)
    }

    /// All refusals that were counted; the next minute begins.
    pub fn take_refusals(&mut self, now_ms: i64) -> Option<Counted> {
        let refusals = &mut self.refusals;
        if refusals.count == 0 {
            return None;
        }
        refusals.counting_until = Some(now_ms + EVERY_MS);
        Some(Counted {
            count: std::mem::take(&mut refusals.count),
            last_from: std::mem::take(&mut refusals.last_from),
        })
    }

    /// When the refusals that are counted are due, ms.
    pub fn next_refusals_ms(&self) -> Option<i64> {
        self.refusals.counting_until
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
        let mut clients = Clients::default();
        assert_eq!(clients.count_refusal(0, "a".to_owned()), counted(1, "a"));
        for _ in 0..1_000 {
            assert_eq!(clients.count_refusal(10, "b".to_owned()), None);
        }
        assert_eq!(clients.count_refusal(EVERY_MS - 1, "c".to_owned()), None);
        assert_eq!(clients.take_refusals_due(EVERY_MS - 1), None);
        assert_eq!(clients.take_refusals_due(EVERY_MS), counted(1_001, "c"));
        // The next minute has begun; without news it ends in silence.
        assert_eq!(clients.count_refusal(EVERY_MS + 1, "d".to_owned()), None);
        assert_eq!(clients.take_refusals_due(2 * EVERY_MS), counted(1, "d"));
        assert_eq!(clients.take_refusals_due(3 * EVERY_MS), None);
        assert_eq!(
            clients.count_refusal(3 * EVERY_MS, "e".to_owned()),
            counted(1, "e")
        );
    }
}
