//! [`UnreadLines`]: lines that a reading of several leaves out because they cannot be read: one of them
//! must not hide all the others.

use std::io;

use rustix::io::Errno;

use super::Stored;

/// So many lines may the disk not give before it is the disk that fails, and not a piece of the
/// file. Each may take it seconds, and a piece has some tens of lines.
const NOT_GIVEN_MAX: usize = 32;

/// The lines that one reading has left out.
#[derive(Debug, Default)]
pub(crate) struct UnreadLines {
    not_given: usize,
    fault: Option<io::Error>,
    has_read: bool,
}

impl UnreadLines {
    /// What a line came to; nothing for one that somebody made unreadable, or that the disk does not
    /// give.
    ///
    /// # Errors
    ///
    /// When more than the line cannot be read.
    pub(crate) fn take(&mut self, read: io::Result<Stored>) -> io::Result<Option<Stored>> {
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
        } else {
            return Err(error);
        }
        Ok(None)
    }

    /// # Errors
    ///
    /// When the disk gave none of the lines.
    pub(crate) fn end(self) -> io::Result<()> {
        match self.fault {
            Some(error) if !self.has_read => Err(error),
            _ => Ok(()),
        }
    }
}
