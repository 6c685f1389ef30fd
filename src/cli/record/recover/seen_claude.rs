//! [`SeenClaude`]: the process of a pair's Claude, as the record told of it last.

use std::time::Duration;

use crate::adapters::process::age;

/// How far the clock may have been set since the record was written.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

/// A Claude whose process the record names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeenClaude {
    /// Its process.
    pub(super) pid: u32,
    /// When the record named it last, ms since the epoch.
    pub(super) at_ms: i64,
}

impl SeenClaude {
    /// Whether it is still open: a process of this id runs, and did so when the record named it. One
    /// that has begun since has the id of a Claude that is gone.
    pub(super) fn is_open(self, now_ms: i64) -> bool {
        let since = u64::try_from(now_ms.saturating_sub(self.at_ms)).unwrap_or(0);
        age(self.pid).is_some_and(|age| age + CLOCK_SLACK >= Duration::from_millis(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::text::words::now_ms;

    #[test]
    fn a_process_that_began_after_it_was_named_is_another_one() {
        let pid = std::process::id();
        let now_ms = now_ms();
        let is_open = |pid, at_ms| SeenClaude { pid, at_ms }.is_open(now_ms);
        assert!(is_open(pid, now_ms));
        assert!(!is_open(pid, 0));
        assert!(!is_open(u32::MAX, now_ms), "there is none");
    }
}
