//! [`Lines`]: a file's physical lines, one at a time, in bounded memory.

use std::io::{self, BufRead, BufReader, Read};

use ctxrelay_core::wire::line::LINE_MAX;

/// How much is read at once. Large enough that system calls do not count.
const READ_BYTES: usize = 256 * 1024;

/// Reads lines; holds one at a time, and nothing of a line above [`LINE_MAX`].
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    offset: u64,
}

/// One physical line.
#[derive(Debug)]
pub(super) struct RawLine<'a> {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its bytes without the newline; `None` when it is too long.
    pub text: Option<&'a [u8]>,
    /// It ends with a newline; only the last one of a file may not.
    pub complete: bool,
}

impl<R: Read> Lines<R> {
    /// Reads on from where the reader stands; that place is called `offset`.
    pub(super) fn new(reader: R, offset: u64) -> Self {
        Self {
            reader: BufReader::with_capacity(READ_BYTES, reader),
            line: Vec::new(),
            offset,
        }
    }

    /// The next line, or `None` at the end. Every byte read goes through `each` as well, in
    /// order and in pieces, the newline included.
    pub(super) fn next(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<Option<RawLine<'_>>> {
        self.line.clear();
        let offset = self.offset;
        let mut too_long = false;
        let mut complete = false;
        loop {
            let before = self.line.len();
            let room = if too_long {
                READ_BYTES
            } else {
                LINE_MAX + 1 - before
            };
            let mut reader = (&mut self.reader).take(room as u64);
            let read = reader.read_until(b'\n', &mut self.line)?;
            if read == 0 {
                break;
            }
            each(&self.line[before..]);
            self.offset += read as u64;
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
                complete = true;
                break;
            }
            too_long |= self.line.len() > LINE_MAX;
            if too_long {
                self.line = Vec::new();
            }
        }
        if self.offset == offset {
            return Ok(None);
        }
        Ok(Some(RawLine {
            offset,
            text: (!too_long).then_some(self.line.as_slice()),
            complete,
        }))
    }

    /// Where the next line begins.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }
}
