//! [`LeftFile`]: whether a ledger's file is still as this process left it, and was read as it was
//! written.

use std::fs::File;

use super::stamp::Stamp;

/// Follows the file from the start that read it to the last checkpoint. It vouches only for a file
/// that nobody else touched: the part that a stamp spares the next start is then read by nobody.
#[derive(Debug, Default)]
pub(super) struct LeftFile {
    /// The stamp after our last write.
    left: Option<Stamp>,
    /// How often the stamp was different. A failed write of ours counts as well.
    touches: u64,
    /// The number of touches at which all of the content was read and found as written.
    read_at: Option<u64>,
}

impl LeftFile {
    /// A file with this stamp; of one that is not read nobody knows yet what is in it.
    pub(super) fn new(left: Option<Stamp>, is_read: bool) -> Self {
        Self {
            left,
            touches: 0,
            read_at: is_read.then_some(0),
        }
    }

    /// Looks at the file: before a write of ours, which gives it another stamp, and before it is read
    /// over. Returns how often others were at it so far.
    pub(super) fn look(&mut self, file: &File) -> u64 {
        let found = Stamp::of(file);
        if found.is_none() || found != self.left {
            self.touches += 1;
            self.left = found;
        }
        self.touches
    }

    /// How often others were at it, as was found so far.
    pub(super) fn touches(&self) -> u64 {
        self.touches
    }

    /// A write of ours has just been made. Before it is on the disk [`Self::look`] tells whether others
    /// were at it meanwhile.
    pub(super) fn written(&mut self, file: &File) {
        self.left = Stamp::of(file);
    }

    /// All of it was read; `touches`: what [`Self::look`] said before.
    pub(super) fn read_over(&mut self, touches: u64, is_whole: bool) {
        self.read_at = is_whole.then_some(touches);
    }

    /// The stamp that the next start may go by.
    pub(super) fn stamp(&mut self, file: &File) -> Option<Stamp> {
        let touches = self.look(file);
        let is_known = self.read_at == Some(touches);
        self.left.clone().filter(|_| is_known)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    use super::*;

    #[test]
    fn what_another_writes_behind_our_write_is_seen_before_it_is_on_the_disk() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"text").unwrap();
        let mut left = LeftFile::new(Stamp::of(&file), true);
        assert!(left.stamp(&file).is_some());
        file.write_all(b" more").unwrap();
        left.written(&file);
        let ctime = || {
            let found = file.metadata().unwrap();
            (found.ctime(), found.ctime_nsec())
        };
        let before = ctime();
        while ctime() == before {
            file.write_all_at(b"T", 0).unwrap();
        }
        assert_eq!(left.look(&file), 1);
        assert!(left.stamp(&file).is_none());
        left.read_over(1, true);
        assert!(left.stamp(&file).is_some());
    }
}
