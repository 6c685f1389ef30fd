//! [`Clock`]: the time that the machines of delivery are told.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::{Duration, Instant};
use uuid::Uuid;

use crate::core::delivery::Moment;
use crate::core::id::AttemptId;

/// Wall clock at the start, and steady from there on: a clock that jumps moves no deadline.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall_ms: i64,
    start: Instant,
}

impl Clock {
    /// Starts with the wall clock of now.
    pub fn start() -> Self {
        Self {
            wall_ms: now_ms(),
            start: Instant::now(),
        }
    }

    /// Lets time pass at once.
    #[cfg(test)]
    pub fn pass(&mut self, ms: i64) {
        self.wall_ms += ms;
    }

    pub fn now_ms(self) -> i64 {
        let since = i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.wall_ms.saturating_add(since)
    }

    /// Now, and an id that nothing has.
    pub(super) fn moment(self) -> Moment {
        Moment {
            now_ms: self.now_ms(),
            attempt: AttemptId::new(Uuid::now_v7().to_string()),
        }
    }

    /// When that is, for waiting. What is past is now.
    pub fn instant(self, at_ms: i64) -> Instant {
        // A millisecond later: the steady clock is cut to whole ones.
        let since = at_ms.saturating_sub(self.wall_ms).saturating_add(1);
        self.start + Duration::from_millis(u64::try_from(since).unwrap_or(0))
    }
}

/// Wall clock, ms since the epoch.
pub fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
}

/// Enough to tell sessions of one millisecond apart.
pub(super) fn rand_u32() -> u32 {
    Uuid::new_v4().as_fields().0
}
