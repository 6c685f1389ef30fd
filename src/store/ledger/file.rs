//! [`LedgerFile`]: what the writer needs of a file, so that tests can make each step fail; and
//! [`DiskFile`], the real one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that grows at its end.
pub(super) trait LedgerFile: Send + std::fmt::Debug {
    /// Writes at the end. After an error some of the bytes may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was written survive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// How long it is now; an error of kind `NotFound` when it has no name any more.
    fn len(&mut self) -> io::Result<u64>;
    /// Drops the descriptor and opens the same file again.
    fn reopen(&mut self) -> io::Result<()>;
    /// The descriptor, for reading at a position.
    fn reader(&self) -> Arc<File>;
}

/// A ledger on a disk, on one descriptor.
#[derive(Debug)]
pub(super) struct DiskFile {
    path: PathBuf,
    file: Arc<File>,
    /// Device and inode: another file under the same name is not this ledger.
    identity: (u64, u64),
}

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
            identity: (found.dev(), found.ino()),
        })
    }
}

impl LedgerFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&*self.file).write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&mut self) -> io::Result<u64> {
        let found = self.file.metadata()?;
        if found.nlink() == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(found.len())
    }

    fn reopen(&mut self) -> io::Result<()> {
        let file = open_flags(false).open(&self.path)?;
        let found = file.metadata()?;
        if (found.dev(), found.ino()) != self.identity {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.file = Arc::new(file);
        Ok(())
    }

    fn reader(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }
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
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}
