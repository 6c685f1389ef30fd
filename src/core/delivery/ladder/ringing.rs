//! [`Ringing`]: how often the doorbell may ring.

/// Claude shows ten lines of a monitor at once and one more every two seconds. What comes faster
/// it keeps until the next line, and after the last one no next line comes (Claude Code 2.1.330,
/// observed: "suppressed 2 events — output rate exceeded"). We stay below both numbers.
const PAUSE_MS: i64 = 2_100;

/// So many rings need no pause between them.
const BURST: i64 = 8;

/// How often the doorbell of one Claude may ring.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ringing {
    /// The end of all rings so far, if each were followed by a pause, ms.
    paid_until: i64,
}

impl Ringing {
    /// From when on it may ring again, ms.
    pub(super) fn next_ms(self) -> i64 {
        self.paid_until - (BURST - 1) * PAUSE_MS
    }

    pub(super) fn ring(&mut self, now_ms: i64) {
        self.paid_until = self.paid_until.max(now_ms) + PAUSE_MS;
    }
}
