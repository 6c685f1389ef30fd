//! [`Refusals`]: refused connections, as one log line a minute. A thousand wrong tokens are one
//! fault.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::core::lock::lock;

/// After the first line, how long the others are only counted.
const WINDOW: Duration = Duration::from_secs(60);

/// Counts refused connections. A cheap clone.
#[derive(Debug, Clone, Default)]
pub(in crate::daemon) struct Refusals(Arc<Mutex<Tally>>);

#[derive(Debug, Default)]
struct Tally {
    /// A line was written less than [`WINDOW`] ago.
    is_open: bool,
    count: u64,
}

impl Tally {
    /// One more. Whether it has to be told now.
    fn add(&mut self) -> bool {
        let is_first = !self.is_open;
        if is_first {
            self.is_open = true;
        } else {
            self.count += 1;
        }
        is_first
    }

    /// The window is over. How many were not told.
    fn close(&mut self) -> u64 {
        self.is_open = false;
        std::mem::take(&mut self.count)
    }
}

impl Refusals {
    /// One was refused. Needs a tokio runtime.
    pub(in crate::daemon) fn count(&self, why: &'static str) {
        let is_first = lock(&self.0).add();
        if !is_first {
            return;
        }
        tracing::warn!(
            why,
            "refused a connection; more within a minute are counted"
        );
        let tally = Arc::clone(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(WINDOW).await;
            let count = lock(&tally).close();
            if count > 0 {
                tracing::warn!(count, "refused more connections within a minute");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_the_others_together() {
        let mut tally = Tally::default();
        assert!(tally.add());
        for _ in 0..1_000 {
            assert!(!tally.add());
        }
        assert_eq!(tally.close(), 1_000);
        assert!(tally.add());
        assert_eq!(tally.close(), 0);
    }
}
