//! [`Reading`]: a ledger file at random positions, for readers that do not write it.

use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};

use super::aside::measure;
use super::belief::Border;
use super::checkpoint::Checkpoint;
use super::progress::ReadProgress;
use super::scan::scan_after;
use super::shared::{LedgerHealth, SharedLedger};
use crate::dirs::open_private;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::snapshot::Snapshot;

/// A ledger as it was when it was opened. Takes no lock, repairs nothing, and does not follow later
/// appends.
#[derive(Debug)]
pub struct Reading {
    shared: SharedLedger,
    snapshot: Snapshot,
    is_whole: bool,
    is_cut_short: bool,
}

impl Reading {
    /// Reads a ledger from its checkpoint on, or the whole of it when none fits, up to where it is
    /// believed. What stands behind that is no part of it.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is a link.
    pub fn open(
        path: &Path,
        session: &SessionId,
        checkpoint: Option<Checkpoint>,
        border: Option<&Border>,
    ) -> io::Result<Self> {
        let file = open_private(path)?;
        let found = scan_after(&file, session, checkpoint, border, &ReadProgress::default())?;
        Ok(Self {
            shared: SharedLedger {
                path: path.to_owned(),
                index: RwLock::new(found.index),
                file: RwLock::new(Arc::new(file)),
                health: Mutex::new(LedgerHealth::new(found.checker, found.bytes)),
                space: None,
            },
            snapshot: found.snapshot,
            is_whole: !found.is_cut_short && found.lost.is_none(),
            is_cut_short: found.is_cut_short,
        })
    }

    /// The fold of all entries.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Whether the file is the record: it has no line that is not believed, and has its head.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// How many lines stand in the file that are not believed, and are no part of this.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn foreign_lines(&self) -> io::Result<u64> {
        if !self.is_cut_short {
            return Ok(0);
        }
        let (lines, _) = measure(&self.shared.file(), self.stats().bytes, |_| Ok(()))?;
        Ok(lines)
    }
}

impl Deref for Reading {
    type Target = SharedLedger;

    fn deref(&self) -> &SharedLedger {
        &self.shared
    }
}
