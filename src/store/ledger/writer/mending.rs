//! What the [`Writer`] does about a file that is not as it left it: after a failed write, or
//! because somebody else changed it.

use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::PoisonError;

use super::super::aside::copy_aside;
use super::super::error::LedgerError;
use super::super::index::is_id;
use super::super::scan::{End, Scan, scan};
use super::super::slots::Slot;
use super::{Writer, WriterEvent};
use ctxrelay_core::wire::line::{hash_line, parse};

/// The end of our part of a file that somebody edited.
#[derive(Debug, Clone, Copy)]
struct OwnEnd {
    /// Where the next line of ours belongs, in bytes.
    offset: u64,
    /// How much higher a scan numbers our lines: the number of lines that were inserted before the
    /// chain.
    shift: i64,
}

impl Writer {
    /// Makes the file ready for more: takes back what a failed write left, and puts right what
    /// others did. The next number may be a higher one then.
    pub(super) fn prepare(&mut self) -> Result<(), LedgerError> {
        if self.left.is_some() {
            self.take_back()?;
        }
        self.meet_others()
    }

    /// This text was not written as it should be. What there is of it is taken back; if that fails,
    /// the next append begins with it.
    pub(super) fn give_up(&mut self, text: &[u8]) {
        self.left = Some(text.to_vec());
        drop(self.take_back());
    }

    /// Brings the file back to the last good line, and makes sure that this line is there.
    ///
    /// Where that line ends is not taken for granted: a retry may come long after the failure, and
    /// what others did meanwhile is met here as it is on the usual way.
    pub(super) fn take_back(&mut self) -> Result<(), LedgerError> {
        self.reopen()?;
        let len = self.file.len().map_err(|error| self.error("read", error))?;
        self.put_right(len)?;
        self.left = None;
        self.shared.health().ahead = 0;
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), LedgerError> {
        self.file
            .reopen(self.len)
            .map_err(|error| self.error("open", error))?;
        self.share_reader();
        Ok(())
    }

    /// Finds out whether somebody else wrote to the file, or cut, replaced or removed it.
    ///
    /// In the place of one that was replaced its copy is taken, and nothing else. What others append
    /// is no part of the record, not even a well-made entry: it is kept in a file of its own. What
    /// others cut off is gone; the chain goes on from what was acknowledged, so that `verify` shows
    /// the gap, and also what others edited in its middle.
    fn meet_others(&mut self) -> Result<(), LedgerError> {
        let mut len = self.file.len();
        if matches!(&len, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            self.reopen()?;
            len = self.file.len();
        }
        let len = len.map_err(|error| self.error("append to", error))?;
        if len == self.len && !self.is_unsettled {
            return Ok(());
        }
        tracing::warn!(
            path = %self.shared.path.display(), expected = self.len, found = len,
            "somebody else changed the ledger"
        );
        self.put_right(len)
    }

    /// Brings a file of this length to the end of what is ours, and the index to what is in it.
    ///
    /// Each step can be asked for once more: what failed on the way is gone on with by the next
    /// append, and nothing is appended before all of them are done.
    fn put_right(&mut self, len: u64) -> Result<(), LedgerError> {
        let goes_on = std::mem::replace(&mut self.is_unsettled, true);
        // An edit in the middle makes it longer as well: what was acknowledged stands elsewhere then.
        let edited = match len < self.len || !self.tail_is_intact()? {
            true => Some(self.scan()?),
            false => None,
        };
        let end = match &edited {
            Some(found) => self.own_end(found, len)?,
            None => OwnEnd {
                offset: self.len,
                shift: 0,
            },
        };
        if end.offset < len {
            self.cut(end.offset, len)?;
        }
        if end.offset < len || goes_on {
            self.file
                .sync()
                .map_err(|error| self.error("restore", error))?;
        }
        if let Some(aside) = self.aside.take() {
            self.shared.health().foreign_bytes += aside.bytes;
            (self.on_event)(WriterEvent::Foreign(aside.alarm()));
        }
        if let Some(found) = edited {
            let found = match end.offset < len {
                true => self.scan()?,
                false => found,
            };
            self.take_in(found, end.shift)?;
        }
        self.is_unsettled = false;
        Ok(())
    }

    /// Whether the last line that is known is where it was, and the file goes on in a new line
    /// behind what is known.
    fn tail_is_intact(&self) -> Result<bool, LedgerError> {
        let Some(last) = self.shared.index().last() else {
            return self.ends_line(self.len);
        };
        Ok(self.is_tail(last, last)? && self.ends_line(last.end())? && self.ends_line(self.len)?)
    }

    /// Whether a line ends here.
    fn ends_line(&self, offset: u64) -> Result<bool, LedgerError> {
        let Some(at) = offset.checked_sub(1) else {
            return Ok(true);
        };
        let mut byte = [0];
        Ok(self.read(&mut byte, at)? && byte == *b"\n")
    }

    /// Whether the line of a slot is the last one that is known, which has this slot.
    fn is_tail(&self, slot: Slot, last: Slot) -> Result<bool, LedgerError> {
        let mut line = vec![0; slot.len as usize];
        if !self.read(&mut line, slot.offset)? {
            return Ok(false);
        }
        let Ok(parsed) = parse(&line) else {
            return Ok(false);
        };
        let hash = self.shared.health().checker.head().map(|(_, hash)| hash);
        Ok(match parsed.link {
            // An unchained ledger: there is no more to compare it with.
            None => is_id(&parsed.entry.id, &last),
            Some(link) => hash_line(&line, &link.prev) == hash,
        })
    }

    /// Reads from a place on; whether the file has so much there. That the disk does not give it is
    /// no answer: on a line that is not found the rest of the file may be taken for somebody else's.
    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<bool, LedgerError> {
        match self.file.reader().read_exact_at(bytes, offset) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(self.error("read", error)),
        }
    }

    fn scan(&self) -> Result<Scan, LedgerError> {
        scan(&self.file.reader()).map_err(|error| self.error("read", error))
    }

    /// Where what is ours ends in a file that was edited: behind the last line that is known, or,
    /// where somebody edited this one too, before what a failed write left; else with the file.
    fn own_end(&self, found: &Scan, len: u64) -> Result<OwnEnd, LedgerError> {
        let slots = found.index.slots();
        let last = self.shared.index().last();
        for slot in slots.range(0..slots.len()).rev() {
            let last = last.filter(|last| last.id == slot.id);
            if let Some(last) = last
                && self.is_tail(slot, last)?
            {
                return Ok(OwnEnd {
                    offset: slot.end().min(len),
                    shift: i64::from(slot.seq) - i64::from(last.seq),
                });
            }
        }
        let left = self.left.as_deref().unwrap_or_default();
        let lines = left.iter().filter(|byte| **byte == b'\n').count();
        let whole = slots.range(slots.len().saturating_sub(lines)..slots.len());
        let torn = match found.end {
            End::Torn { offset } => Some(offset),
            End::Whole | End::NoNewline => None,
        };
        let mut offset = len;
        for begin in whole.map(|slot| slot.offset).chain(torn) {
            if self.is_left(begin, len)? {
                offset = begin;
                break;
            }
        }
        Ok(OwnEnd { offset, shift: 0 })
    }

    /// Whether all that stands from here on is what the failed write left.
    fn is_left(&self, from: u64, len: u64) -> Result<bool, LedgerError> {
        let left = self.left.as_deref().unwrap_or_default();
        // Somebody may have appended since the length was read.
        let count = len
            .checked_sub(from)
            .and_then(|count| usize::try_from(count).ok());
        let Some(left) = count.and_then(|count| left.get(..count)) else {
            return Ok(false);
        };
        let mut bytes = vec![0; left.len()];
        Ok(self.read(&mut bytes, from)? && bytes == left)
    }

    /// Cuts off what stands behind this place. What others wrote is put out of the way first.
    fn cut(&mut self, offset: u64, len: u64) -> Result<(), LedgerError> {
        let mut doing = "restore";
        if !self.is_left(offset, len)? {
            doing = "set foreign lines aside of";
            self.keep_foreign(offset)?;
        }
        self.file
            .truncate(offset)
            .map_err(|error| self.error(doing, error))
    }

    /// Copies what others wrote from here on.
    fn keep_foreign(&mut self, offset: u64) -> Result<(), LedgerError> {
        let kept = self.aside.take();
        let failed = |error| self.error("set foreign lines aside of", error);
        let aside = match kept {
            // From an attempt that could not cut them off.
            Some(kept) if kept.is_of(&self.file.reader(), offset).map_err(failed)? => kept,
            _ => copy_aside(self.file.as_ref(), &self.shared.path, "foreign", offset)
                .map_err(failed)?,
        };
        let alarm = aside.alarm();
        self.aside = Some(aside);
        if let Some(heads) = &self.heads
            && let Err(error) = heads.raise(std::slice::from_ref(&alarm))
        {
            // The entry that tells of it follows at once.
            tracing::warn!(%error, "an alarm was not kept outside of the project");
        }
        Ok(())
    }

    /// Takes what a file holds after somebody else took a part of it away, or moved what is ours.
    /// Entries keep the numbers that they have had.
    fn take_in(&mut self, mut found: Scan, shift: i64) -> Result<(), LedgerError> {
        if found.end != End::Whole {
            // The next line must not be glued to what is left of another one.
            self.file
                .append(b"\n")
                .map_err(|error| self.error("append to", error))?;
            found = self.scan()?;
        }
        let index = found.index.lowered(shift);
        // Lines of others have the next numbers. Ours stands behind them, and would be none with a
        // number that was there already.
        let last = index.last().map_or(0, |slot| u64::from(slot.seq));
        self.next.seq = self.next.seq.max(last + 1);
        self.len = found.bytes;
        self.unlinked = true;
        *self
            .shared
            .index
            .write()
            .unwrap_or_else(PoisonError::into_inner) = index;
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
