//! [`Seeker`]: a chained entry of a ledger file by its number, without reading the file.
//!
//! The numbers rise from line to line, so that halving the file finds any of them in a few dozen
//! short reads. Lines without a number (bad ones, and those of an older ledger before its chain)
//! are stepped over and cannot be found.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::dirs::open_private;
use crate::ledger::{LINE_MAX, Stored};
use ctxrelay_core::id::Seq;
use ctxrelay_core::wire::line::{parse, parse_link};

/// A rest of the file below this is read from its beginning, in bytes.
const READ_THROUGH: u64 = 32 * 1024;

/// How much is read at once: a line or two.
const READ_BYTES: usize = 8 * 1024;

/// Finds entries by halving the file.
#[derive(Debug)]
pub(super) struct Seeker {
    reader: BufReader<File>,
    len: u64,
    line: Vec<u8>,
}

/// A chained entry and where the line after it begins.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) stored: Stored,
    pub(super) end: u64,
}

/// What [`Seeker::next_line`] came to.
struct Step {
    start: u64,
    end: u64,
}

impl Seeker {
    /// Of a file as if it ended at `end`, in bytes.
    pub(super) fn open(path: &Path, end: u64) -> io::Result<Self> {
        let file = open_private(path)?;
        let len = file.metadata()?.len().min(end);
        Ok(Self {
            reader: BufReader::with_capacity(READ_BYTES, file),
            len,
            line: Vec::new(),
        })
    }

    /// The entry with this number; `None` when no chained line has it.
    pub(super) fn find(&mut self, seq: u64) -> io::Result<Option<Placed>> {
        // The line looked for begins in here; `low` is the beginning of a line.
        let (mut low, mut high) = (0, self.len);
        while high - low > READ_THROUGH {
            let middle = low + (high - low) / 2;
            match self.first_numbered(middle, high)? {
                None => high = middle,
                Some((has, _)) if has > seq => high = middle,
                Some((has, step)) if has < seq => low = step.end,
                Some((_, step)) => return self.read(&step, seq),
            }
        }
        self.reader.seek(SeekFrom::Start(low))?;
        let mut at = low;
        while let Some(step) = self.next_line(at)? {
            if step.start >= high {
                break;
            }
            if self.number() == Some(seq) {
                return self.read(&step, seq);
            }
            at = step.end;
        }
        Ok(None)
    }

    /// The entries after a place, oldest first, while each has the number after the one before
    /// it and `each` wants more. Returns `false` when something else stood there.
    pub(super) fn after(
        &mut self,
        from: u64,
        mut seq: u64,
        mut each: impl FnMut(Stored) -> bool,
    ) -> io::Result<bool> {
        self.reader.seek(SeekFrom::Start(from))?;
        let mut at = from;
        while let Some(step) = self.next_line(at)? {
            if step.start >= self.len {
                break;
            }
            seq += 1;
            let Some(stored) = self.entry(seq) else {
                return Ok(false);
            };
            if !each(stored) {
                break;
            }
            at = step.end;
        }
        Ok(true)
    }

    /// The first line with a number that begins in `from..to`.
    fn first_numbered(&mut self, from: u64, to: u64) -> io::Result<Option<(u64, Step)>> {
        // The byte before tells whether a line begins right here.
        let mut at = from.saturating_sub(1);
        self.reader.seek(SeekFrom::Start(at))?;
        if from > 0 {
            match self.next_line(at)? {
                Some(step) => at = step.end,
                None => return Ok(None),
            }
        }
        while let Some(step) = self.next_line(at)? {
            if step.start >= to {
                break;
            }
            if let Some(seq) = self.number() {
                return Ok(Some((seq, step)));
            }
            at = step.end;
        }
        Ok(None)
    }

    /// Reads the line at the reader's place; `None` at the end, and when it has no newline yet.
    /// Of a line above [`LINE_MAX`] nothing is kept.
    fn next_line(&mut self, start: u64) -> io::Result<Option<Step>> {
        self.line.clear();
        let mut end = start;
        let mut too_long = false;
        loop {
            let read = (&mut self.reader)
                .take((LINE_MAX + 1) as u64)
                .read_until(b'\n', &mut self.line)?;
            if read == 0 {
                return Ok(None);
            }
            end += read as u64;
            let complete = self.line.last() == Some(&b'\n');
            too_long |= self.line.len() > LINE_MAX + usize::from(complete);
            if too_long {
                self.line = Vec::new();
            }
            if complete {
                self.line.pop();
                return Ok(Some(Step { start, end }));
            }
        }
    }

    fn number(&self) -> Option<u64> {
        parse_link(&self.line).ok()?.map(|link| link.seq)
    }

    fn read(&mut self, step: &Step, seq: u64) -> io::Result<Option<Placed>> {
        let end = step.end;
        Ok(self.entry(seq).map(|stored| Placed { stored, end }))
    }

    fn entry(&self, seq: u64) -> Option<Stored> {
        let parsed = parse(&self.line).ok()?;
        let link = parsed.link.filter(|link| link.seq == seq)?;
        let mut entry = parsed.entry;
        entry.seq = Seq(seq);
        Some(Stored {
            entry,
            line: String::from_utf8(self.line.clone()).ok()?,
            hash: link.hash,
        })
    }
}
