//! [`ReadProgress`]: how far the reading of a ledger is, for display.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// The progress of a reading. Clones share it; the reader of the ledger never waits for a caller.
#[derive(Debug, Clone, Default)]
pub struct ReadProgress(Arc<Figures>);

#[derive(Debug, Default)]
struct Figures {
    bytes: AtomicU64,
    of: AtomicU64,
    entries: AtomicU64,
}

/// What has been read; all figures are of about the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReadSoFar {
    /// Bytes read, from the beginning of the file.
    pub bytes: u64,
    /// Bytes in the file.
    pub of: u64,
    /// Entries read.
    pub entries: u64,
}

impl ReadProgress {
    /// How far it is; all 0 before it begins. One that has to begin once more goes back.
    pub fn so_far(&self) -> ReadSoFar {
        let get = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        ReadSoFar {
            bytes: get(&self.0.bytes),
            of: get(&self.0.of),
            entries: get(&self.0.entries),
        }
    }

    pub(super) fn begins(&self, of: u64) {
        self.0.of.store(of, Ordering::Relaxed);
    }

    pub(super) fn reaches(&self, bytes: u64, entries: u64) {
        self.0.bytes.store(bytes, Ordering::Relaxed);
        self.0.entries.store(entries, Ordering::Relaxed);
    }
}
