//! [`LedgerFile`]: what the writer needs of a file, so that tests can make each step fail; and
//! [`DiskFile`]: the real one.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that grows at its end.
pub(super) trait LedgerFile: Send + std::fmt::Debug {
    /// Writes at the end. Returns the file position after the bytes, which alone shows whether
    /// somebody else wrote at the same moment. After an error some of the bytes may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64>;
    /// Makes what was written survive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Its current length; an error of kind `NotFound` if its name no longer leads to it.
    fn len(&mut self) -> io::Result<u64>;
    /// Drops the descriptor and opens the file of this name: the same file, or a replacement with
    /// the same content, of exactly this length. Any other file is an error of kind `NotFound`.
    fn reopen(&mut self, len: u64) -> io::Result<()>;
    /// The descriptor, for reading at a position.
    fn reader(&self) -> Arc<File>;
}

/// A ledger on a disk, on one descriptor.
#[derive(Debug)]
pub(super) struct DiskFile {
    path: PathBuf,
    file: Arc<File>,
    /// Device and inode: another file with the same name is not this ledger.
    identity: (u64, u64),
}

/// How much of two files is compared at a time.
const COMPARED_BYTES: usize = 64 * 1024;

impl DiskFile {
    /// Opens the file, or makes it with mode 0600 and syncs its folder. Never follows a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = open_flags(true).open(path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if found.len() == 0 {
            // Its name has to survive as well. Done for every empty file, because who made this
            // one may not have lived to do it.
            sync_parent(path)?;
        }
        Ok(Self {
            path: path.to_path_buf(),
            file: Arc::new(file),
            identity: identity(&found),
        })
    }

    /// Whether another file is a copy of this one up to here, and nobody else has a name for it.
    fn is_copy(&self, other: &File, found: &Metadata, len: u64) -> io::Result<bool> {
        let is_there = found.is_file() && found.nlink() == 1 && found.len() == len;
        if !is_there || self.file.metadata()?.len() < len {
            return Ok(false);
        }
        let (mut ours, mut theirs) = ([0; COMPARED_BYTES], [0; COMPARED_BYTES]);
        let mut at = 0;
        while at < len {
            let left = usize::try_from(len - at).unwrap_or(COMPARED_BYTES);
            let piece = ..left.min(COMPARED_BYTES);
            self.file.read_exact_at(&mut ours[piece], at)?;
            other.read_exact_at(&mut theirs[piece], at)?;
            if ours[piece] != theirs[piece] {
                return Ok(false);
            }
            at += ours[piece].len() as u64;
        }
        Ok(true)
    }
}

impl LedgerFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let mut file = &*self.file;
        file.write_all(bytes)?;
        file.stream_position()
    }

    fn sync(&mut self) -> io::Result<()> {
        #[cfg(any(test, feature = "testing"))]
        crate::testing::wait_if_stalled(&self.path);
        self.file.sync_data()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&mut self) -> io::Result<u64> {
        // What was moved away takes every byte, and nobody finds it there again.
        let found = self.path.symlink_metadata()?;
        if identity(&found) != self.identity {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(found.len())
    }

    fn reopen(&mut self, len: u64) -> io::Result<()> {
        let file = open_flags(false).open(&self.path)?;
        let found = file.metadata()?;
        if identity(&found) != self.identity {
            if !self.is_copy(&file, &found, len)? {
                return Err(io::ErrorKind::NotFound.into());
            }
            // Who put it there may not have done it.
            file.sync_all()?;
            sync_parent(&self.path)?;
            self.identity = identity(&found);
        }
        self.file = Arc::new(file);
        Ok(())
    }

    fn reader(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

fn open_flags(create: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .append(true)
        .create(create)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Makes the name of a new file survive a loss of power.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) => {
            #[cfg(any(test, feature = "testing"))]
            crate::testing::room_for(dir)?;
            File::open(dir)?.sync_all()
        }
        None => Ok(()),
    }
}
