//! [`KeptPlaces`]: the places of the Claudes that the previous daemon had. After a start all
//! bridges reconnect, in any order: each place is kept for the Claude that had it, while others
//! wait.

use std::collections::BTreeMap;

use super::Clients;
use crate::core::id::RuntimeSession;
use crate::daemon::attach::ConnId;

/// How long a place is kept, ms. A bridge tries at least every 2 s to come back.
const KEPT_MS: i64 = 3_000;

/// By pair. No client has the place of such a pair.
pub(super) type KeptPlaces = BTreeMap<RuntimeSession, KeptPlace>;

/// The place of one pair.
#[derive(Debug)]
pub(super) struct KeptPlace {
    /// The process of its Claude.
    claude: u32,
    until_ms: i64,
}

impl Clients {
    /// This Claude had the place of a pair before the daemon started. `now_ms`: of the steady clock.
    pub fn keep_place(&mut self, pair: RuntimeSession, claude: u32, now_ms: i64) {
        let until_ms = now_ms + KEPT_MS;
        self.kept.insert(pair, KeptPlace { claude, until_ms });
    }

    /// Whether a place is kept for a Claude that was here before the daemon started.
    pub fn keeps_places(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether the place of a pair is kept for another Claude.
    pub fn is_kept_for_another(&self, pair: &RuntimeSession, process: Option<u32>) -> bool {
        let kept = self.kept.get(pair);
        kept.is_some_and(|kept| process.is_some_and(|process| process != kept.claude))
    }

    /// Whether the place of a pair is kept for this Claude.
    pub fn is_kept_for(&self, pair: &RuntimeSession, claude: u32) -> bool {
        let kept = self.kept.get(pair);
        kept.is_some_and(|kept| kept.claude == claude)
    }

    /// When a place is kept no longer, ms.
    pub(super) fn next_free_ms(&self) -> Option<i64> {
        self.kept.values().map(|kept| kept.until_ms).min()
    }

    /// The pairs whose places are kept no longer, each with the bridge that has waited longest.
    pub fn free_places(&mut self, now_ms: i64) -> Vec<(RuntimeSession, Option<ConnId>)> {
        let free = self.kept.extract_if(.., |_, kept| kept.until_ms <= now_ms);
        let free: Vec<_> = free.map(|(pair, _)| pair).collect();
        let with_heir = |pair| {
            let heir = self.heir_of_left(&pair);
            (pair, heir)
        };
        free.into_iter().map(with_heir).collect()
    }
}
