//! [`Checkpoint`]: the result of reading a ledger from its beginning, kept so that opening reads
//! only what came later.
//!
//! It can be discarded, and is accepted only if it matches: it is bound to the number and hash of
//! an entry, to the build that folded it, and by its digest to a file outside the project.
//! Otherwise a writer to `state/` could make the daemon believe in decisions that no entry holds.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use super::belief::Border;
use super::check::Checker;
use super::index::EntryIndex;
use super::slots::Slot;
use super::stamp::Stamp;
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::snapshot::Snapshot;
use ctxrelay_core::wire::line::{hash_line, parse_link};

mod disk;
mod keeper;

pub use disk::read;
pub use keeper::{CheckpointKeeper, CheckpointPause};

/// The state of a ledger up to some entry.
#[derive(Debug)]
pub struct Checkpoint {
    pub(super) session: SessionId,
    pub(super) snapshot: Snapshot,
    pub(super) checker: Checker,
    pub(super) index: EntryIndex,
    /// The file as it was left, if the checkpoint was made after its last write and nobody else
    /// touched it.
    pub(super) stamp: Option<Stamp>,
}

impl Checkpoint {
    /// Where the first line lies that it does not know.
    pub(super) fn bytes(&self) -> u64 {
        self.index.last().map_or(0, Slot::end)
    }

    /// Whether the ledger has, at its place, the entry that the checkpoint ends with.
    pub(super) fn fits(&self, session: &SessionId, file: &File) -> bool {
        let (Some(slot), Some((seq, head))) = (self.index.last(), self.checker.head()) else {
            return false;
        };
        let mut line = vec![0; slot.len as usize + 1];
        let read = file.read_exact_at(&mut line, slot.offset);
        let whole = line.pop() == Some(b'\n');
        let link = parse_link(&line).ok().flatten();
        self.session == *session
            && u64::from(slot.seq) == seq
            && read.is_ok()
            && whole
            && link.is_some_and(|link| {
                link.seq == seq && hash_line(&line, &link.prev).as_ref() == Some(&head)
            })
    }

    /// Whether it holds nothing that is not believed: it was folded with the same border, and the
    /// file has the head, as far as it goes.
    pub(super) fn is_believed(&self, file: &File, border: Option<&Border>) -> bool {
        let Some(border) = border else {
            return true;
        };
        let Some(head) = border.head() else {
            return false;
        };
        // Somebody wrote to a file that was left in order.
        let is_touched = self.stamp.is_some() && Stamp::of(file) != self.stamp;
        if self.snapshot.foreign_through != border.foreign_through() || is_touched {
            return false;
        }
        if !self.has_passed(border) {
            return true;
        }
        let Some(slot) = self.index.get(Seq(head.seq)) else {
            return false;
        };
        let mut line = vec![0; slot.len as usize];
        let read = file.read_exact_at(&mut line, slot.offset);
        let link = parse_link(&line).ok().flatten();
        read.is_ok()
            && link.is_some_and(|link| hash_line(&line, &link.prev).as_ref() == Some(&head.hash))
    }

    /// Whether the head lies in what it covers.
    pub(super) fn has_passed(&self, border: &Border) -> bool {
        border
            .head()
            .is_some_and(|head| Seq(head.seq) <= self.snapshot.seq)
    }
}
