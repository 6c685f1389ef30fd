//! What the [`Writer`] does about a file that is not as it left it: by a failed write, or because
//! somebody else was there.

use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::PoisonError;

use super::super::aside::copy_aside;
use super::super::belief::foreign;
use super::super::error::LedgerError;
use super::super::scan::{End, scan};
use super::super::slots::Slot;
use super::{Writer, WriterEvent};
use ctxrelay_core::id::Seq;
use ctxrelay_core::wire::line::{hash_line, parse};

impl Writer {
    /// Brings the file back to the last good line, and makes sure that this line is there.
    pub(super) fn take_back(&mut self) -> Result<(), LedgerError> {
        self.reopen()?;
        let len = self.file.len().map_err(|error| self.error("read", error))?;
        if len > self.len {
            self.file
                .truncate(self.len)
                .and_then(|()| self.file.sync())
                .map_err(|error| self.error("restore", error))?;
        }
        if !self.tail_is_intact() {
            self.rescan()?;
        }
        self.dirty = false;
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), LedgerError> {
        self.file
            .reopen(self.len)
            .map_err(|error| self.error("open", error))?;
        self.share_reader();
        Ok(())
    }

    /// Whether the last entry that was acknowledged is where it was.
    fn tail_is_intact(&self) -> bool {
        let Some(slot) = self.shared.index().last() else {
            return true;
        };
        let head = self.shared.health().head.clone();
        self.gives(slot, head.as_ref().map(|(_, hash)| hash))
    }

    /// Whether a line gives this hash.
    fn gives(&self, slot: Slot, hash: Option<&String>) -> bool {
        let mut line = vec![0; slot.len as usize];
        let read = self.file.reader().read_exact_at(&mut line, slot.offset);
        let Some(parsed) = read.ok().and_then(|()| parse(&line).ok()) else {
            return false;
        };
        match parsed.link {
            // An unchained ledger; there is nothing to compare it with.
            None => true,
            Some(link) => hash_line(&line, &link.prev).as_ref() == hash,
        }
    }

    /// Where the last entry that was acknowledged ends in a file that was edited; `None` where it is
    /// not there.
    fn own_end(&self) -> Option<u64> {
        let (seq, hash) = self.shared.health().head.clone()?;
        let found = scan(&self.file.reader()).ok()?;
        let slot = found.index.get(Seq(seq))?;
        self.gives(slot, Some(&hash)).then(|| slot.end())
    }

    /// Finds out whether somebody else wrote to the file, or cut, replaced or removed it.
    ///
    /// In the place of one that was replaced its copy is taken, and nothing else. What others append
    /// is no part of the record, not even a well-made entry: it is kept in a file of its own. What
    /// others cut off is gone; the chain goes on from what was acknowledged, so that `verify` shows
    /// the gap, and also what others edited in its middle.
    pub(super) fn meet_others(&mut self) -> Result<(), LedgerError> {
        let mut len = self.file.len();
        if matches!(&len, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            self.reopen()?;
            len = self.file.len();
        }
        let len = len.map_err(|error| self.error("append to", error))?;
        if len == self.len {
            return Ok(());
        }
        tracing::warn!(
            path = %self.shared.path.display(), expected = self.len, found = len,
            "somebody else changed the ledger"
        );
        // An edit in the middle makes it longer as well: what was acknowledged stands elsewhere then.
        let is_edited = len < self.len || !self.tail_is_intact();
        if is_edited {
            match self.own_end() {
                Some(end) if end < len => self.len = end,
                _ => return self.rescan(),
            }
        }
        self.set_foreign_aside(len)?;
        if is_edited {
            // The places of all others: until they are known nothing is appended.
            self.dirty = true;
            self.rescan()?;
            self.dirty = false;
        }
        Ok(())
    }

    /// Puts what others appended out of the way.
    fn set_foreign_aside(&mut self, len: u64) -> Result<(), LedgerError> {
        let kept = self.aside.take();
        let failed = |error| self.error("set foreign lines aside of", error);
        let aside = match kept {
            // From an attempt that could not cut them off.
            Some(kept) if kept.is_of(&self.file.reader(), self.len).map_err(failed)? => kept,
            _ => copy_aside(self.file.as_ref(), &self.shared.path, "foreign", self.len)
                .map_err(failed)?,
        };
        let alarm = foreign(&aside);
        self.aside = Some(aside);
        if let Some(heads) = &self.heads
            && let Err(error) = heads.raise(std::slice::from_ref(&alarm))
        {
            // The entry that tells of it follows at once.
            tracing::warn!(%error, "an alarm was not kept outside of the project");
        }
        self.file
            .truncate(self.len)
            .and_then(|()| self.file.sync())
            .map_err(|error| self.error("set foreign lines aside of", error))?;
        self.aside = None;
        self.shared.health().foreign_bytes += len - self.len;
        (self.on_event)(WriterEvent::Foreign(alarm));
        Ok(())
    }

    /// Reads the file again after somebody else took a part of it away, or moved what is
    /// ours.
    fn rescan(&mut self) -> Result<(), LedgerError> {
        let mut found = scan(&self.file.reader()).map_err(|error| self.error("read", error))?;
        if found.end != End::Whole {
            // The next line must not be glued to what is left of another one.
            self.file
                .append(b"\n")
                .map_err(|error| self.error("append to", error))?;
            found = scan(&self.file.reader()).map_err(|error| self.error("read", error))?;
        }
        self.len = found.bytes;
        self.unlinked = true;
        *self
            .shared
            .index
            .write()
            .unwrap_or_else(PoisonError::into_inner) = found.index;
        let mut health = self.shared.health();
        health.checker = found.checker;
        health.bytes = found.bytes;
        health.was_cut = true;
        Ok(())
    }

    fn share_reader(&self) {
        *self
            .shared
            .file
            .write()
            .unwrap_or_else(PoisonError::into_inner) = self.file.reader();
    }
}
