//! What the entry of a message that was carried over from ContextRelay 3 says.

use serde_json::Value;

use super::Entry;

/// The key of an entry's `meta` with the product that it was carried over from.
pub const IMPORTED_FROM: &str = "importedFrom";

/// That product.
pub const CONTEXTRELAY_3: &str = "contextrelay-3";

/// The key of its `meta` with the time at which it was sent there, ms since the epoch.
pub const SENT_AT: &str = "sentAt";

impl Entry {
    /// When a message was sent: one that was carried over, before it was recorded here.
    pub fn sent_ms(&self) -> i64 {
        let from = self.meta.get(IMPORTED_FROM).and_then(Value::as_str);
        let sent = self.meta.get(SENT_AT).and_then(Value::as_i64);
        // That product may not have said when.
        let sent = sent.filter(|at_ms| from == Some(CONTEXTRELAY_3) && *at_ms > 0);
        sent.unwrap_or(self.timestamp_ms)
    }
}
