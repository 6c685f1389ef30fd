//! [`ClosingRecord`]: the record when its daemon ends.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Keepers, Recorder};
use crate::core::id::SessionId;
use crate::core::snapshot::Snapshot;
use crate::store::head::Head;
use crate::store::ledger::Ledger;

/// How a record is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::daemon) enum CloseHow {
    /// Nothing is under way: the head is marked as that of an orderly end.
    Ended,
    /// Another process continues what is under way; or a fact is not recorded.
    Left,
    /// A fault of ours. The world may be partly folded and is not written down; every line is ours,
    /// so nothing that is appended to them counts.
    Failed {
        /// The writer failed, which may have left anything.
        is_writer: bool,
    },
}

/// The record when its daemon ends: the parts with their own threads, and none that anybody waits
/// for.
#[derive(Debug)]
pub(in crate::daemon) struct ClosingRecord {
    ledger: Ledger,
    keepers: Keepers,
    session_id: SessionId,
    world: Arc<Snapshot>,
    last_hash: String,
    is_disowned: bool,
    given_up: Arc<AtomicBool>,
}

impl<T> Recorder<T> {
    /// Takes nothing more. Callers that still wait for the disk get no answer.
    pub(in crate::daemon) fn into_closing(self) -> ClosingRecord {
        let last = self.recent.back().map(|last| last.hash.clone());
        ClosingRecord {
            is_disowned: self.is_disowned(),
            ledger: self.ledger,
            keepers: self.keepers,
            session_id: self.session_id,
            world: self.world,
            last_hash: last.unwrap_or_default(),
            given_up: Arc::default(),
        }
    }
}

impl ClosingRecord {
    /// Set by who does not wait for [`Self::close`] any more.
    pub(in crate::daemon) fn given_up(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.given_up)
    }

    /// Writes what was taken, and closes everything. Blocks for as long as the disk needs.
    ///
    /// # Errors
    ///
    /// When the end cannot be marked as an orderly one.
    pub(in crate::daemon) fn close(self, how: CloseHow) -> io::Result<()> {
        let Keepers {
            heads,
            checkpoints,
            search,
            space,
        } = self.keepers;
        // Of a session that is still being deleted the next start deletes the rest: by then others
        // may keep the same texts.
        space.sweep().end();
        self.ledger.clone().close();
        let mut marked = Ok(());
        // Nobody was told of an orderly end that comes after it was given up.
        if self.is_disowned || self.given_up.load(Ordering::Acquire) {
            heads.abandon();
            drop(checkpoints);
        } else {
            // Only who goes on with nothing, and left nothing under way, marks the end.
            let is_end = match how {
                CloseHow::Ended => true,
                CloseHow::Left => false,
                CloseHow::Failed { is_writer } => !is_writer,
            };
            let head = self.ledger.stats().head.filter(|_| is_end);
            marked = heads.close(head.map(|(seq, hash)| Head {
                seq,
                hash,
                session_id: self.session_id.clone(),
            }));
            if matches!(how, CloseHow::Failed { .. }) {
                // The last one is of a world that was folded whole.
                drop(checkpoints);
            } else {
                checkpoints.close(self.ledger, self.session_id, self.world, self.last_hash);
            }
        }
        search.close();
        marked
    }
}
