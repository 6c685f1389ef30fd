//! [`UnreadLines`]: the lines that a read of several leaves out because they are unreadable: one
//! such line must not hide all the others.

use std::io;

use rustix::io::Errno;

use super::Stored;

/// So many lines may the disk not give before it is the disk that fails, and not a piece of the
/// file. Each may take it seconds, and a piece has some tens of lines.
const NOT_GIVEN_MAX: usize = 32;

/// The lines that one reading left out.
#[derive(Debug, Default)]
pub(crate) struct UnreadLines {
    left_out: LinesLeftOut,
    not_given: usize,
    fault: Option<io::Error>,
    has_read: bool,
}

/// Lines that are missing from the result of a reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LinesLeftOut {
    /// The numbers of the lines, in the order of the reading.
    pub(crate) lines: Vec<u64>,
    /// The first of them that the disk did not return: it may later. A line that somebody made
    /// unreadable stays so.
    pub(crate) not_given: Option<u64>,
}

impl UnreadLines {
    /// What the line of this number came to; nothing for one that somebody made unreadable, or that
    /// the disk does not give.
    ///
    /// # Errors
    ///
    /// When more than the line cannot be read.
    pub(crate) fn take(
        &mut self,
        line: u64,
        read: io::Result<Stored>,
    ) -> io::Result<Option<Stored>> {
        let error = match read {
            Ok(stored) => {
                self.has_read = true;
                return Ok(Some(stored));
            }
            Err(error) => error,
        };
        if error.kind() == io::ErrorKind::InvalidData {
            self.has_read = true;
        } else if Errno::from_io_error(&error) == Some(Errno::IO) && self.not_given < NOT_GIVEN_MAX
        {
            self.not_given += 1;
            self.fault = Some(error);
            self.left_out.not_given.get_or_insert(line);
        } else {
            return Err(error);
        }
        self.left_out.lines.push(line);
        Ok(None)
    }

    /// What was left out in the end.
    ///
    /// # Errors
    ///
    /// When the disk gave none of the lines.
    pub(crate) fn end(self) -> io::Result<LinesLeftOut> {
        match self.fault {
            Some(error) if !self.has_read => Err(error),
            _ => Ok(self.left_out),
        }
    }
}
