//! [`Blobs`]: texts that are too long for a line, in `blobs/`, each under its SHA-256.
//!
//! Everything goes through the folder's own descriptor, so that no link in its place or among the
//! files leads elsewhere. A file's name proves nothing: a reader checks the hash. Knows no ledger;
//! `erase` knows which texts are still referenced.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::disk_space::{DiskSpace, SpaceRefusal};
use crate::dirs::UNPLACED;
use ctxrelay_core::hex::hex;
use ctxrelay_core::wire::control::RefusalCode;
use ctxrelay_core::wire::line::{LINE_MAX, is_hash};

/// The longest text that is kept or read, in bytes. As long as the longest line that could have
/// held it.
pub const BLOB_BYTES_MAX: u64 = LINE_MAX as u64;

/// How much is read at once when only the hash is wanted.
const READ_BYTES: usize = 64 * 1024;

/// Why a text cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There is none of this name.
    #[error("it is not there any more")]
    Missing,
    /// What lies there is another text, or no text, or no file.
    #[error("it was altered")]
    Altered,
    /// The disk says no.
    #[error("it cannot be read: {0}")]
    Io(#[source] io::Error),
}

impl BlobError {
    /// The word in reports and error entries.
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::Missing => RefusalCode::BlobMissing,
            Self::Altered => RefusalCode::BlobAltered,
            Self::Io(_) => RefusalCode::BlobUnreadable,
        }
    }
}

/// Why a text is not kept.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// There is too little room for it, and the disk was not asked.
    #[error(transparent)]
    NoRoom(SpaceRefusal),
    /// The disk says no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for PutError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// The long texts of a project.
#[derive(Debug, Clone)]
pub struct Blobs {
    dir: PathBuf,
    space: Option<Arc<DiskSpace>>,
}

impl Blobs {
    /// The texts that the ledgers of a folder speak of: `sessions/` and `archives/` have one
    /// `blobs/` beside them.
    pub fn of_ledger(ledger: &Path) -> Self {
        let relay = ledger.parent().and_then(Path::parent);
        Self {
            dir: relay.unwrap_or(Path::new(".")).join("blobs"),
            space: None,
        }
    }

    /// New ones are kept only where there is room for them, and of those that are swept only what
    /// was not kept meanwhile goes.
    #[must_use]
    pub fn within(mut self, space: Option<Arc<DiskSpace>>) -> Self {
        self.space = space;
        self
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Keeps a text and returns its name. When this returns, the text survives a loss of power.
    ///
    /// A file that lies there under this name already is read and compared, not trusted: what is
    /// not this text is replaced.
    ///
    /// # Errors
    ///
    /// When there is no room for another text, the disk takes no more, or the folder is none;
    /// there is nothing new under the name then.
    pub fn put(&self, text: &str) -> Result<String, PutError> {
        let name = name_of(text.as_bytes());
        self.keep(&name);
        let folder = match self.open() {
            Err(Errno::NOENT) => {
                // Not the folders above it: a project that was removed is not made again.
                rustix::fs::mkdir(&self.dir, Mode::RWXU)?;
                self.open()?
            }
            opened => opened?,
        };
        if matches!(read_checked(&folder, &name), Ok(found) if found == text) {
            // Its writer may have died before the name was durable.
            rustix::fs::fsync(&folder)?;
            return Ok(name);
        }
        let bytes = text.len() as u64;
        if let Some(space) = &self.space {
            space.admit_blob(bytes).map_err(PutError::NoRoom)?;
        }
        let temporary = format!("{UNPLACED}{}", uuid::Uuid::new_v4().simple());
        self.keep(&temporary);
        let written = write_new(&folder, &temporary, text.as_bytes()).and_then(|()| {
            rustix::fs::renameat(&folder, &temporary, &folder, &name)?;
            Ok(rustix::fs::fsync(&folder)?)
        });
        if written.is_err() {
            // On a full disk this is what gives the room back.
            let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
        }
        written?;
        if let Some(space) = &self.space {
            space.blob_kept(bytes);
        }
        Ok(name)
    }

    /// The text of this name, after its hash was compared.
    ///
    /// # Errors
    ///
    /// See [`BlobError`].
    pub fn get(&self, name: &str) -> Result<String, BlobError> {
        let folder = self.open().map_err(from_errno)?;
        read_checked(&folder, name)
    }

    /// Whether the text of this name is there and unaltered, in bounded memory.
    ///
    /// # Errors
    ///
    /// See [`BlobError`].
    pub fn check(&self, name: &str) -> Result<(), BlobError> {
        let folder = self.open().map_err(from_errno)?;
        let mut file = open_file(&folder, name)?;
        let mut hasher = Sha256::new();
        let mut piece = vec![0; READ_BYTES];
        loop {
            match file.read(&mut piece).map_err(BlobError::Io)? {
                0 => break,
                read => hasher.update(&piece[..read]),
            }
        }
        if hex(&hasher.finalize()) == name {
            Ok(())
        } else {
            Err(BlobError::Altered)
        }
    }

    /// Removes every text that `keep` does not name, and what was left half written. Returns how
    /// many texts went. While somebody writes only [within](Self::within) the room that the writer
    /// has, once its sweep has begun.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read, or one cannot be removed; the others are gone all the same.
    /// When the sweep ends before all are.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) -> io::Result<u64> {
        let folder = match self.open() {
            Err(Errno::NOENT) => return Ok(0),
            opened => opened?,
        };
        let mut removed = 0;
        let mut failed = None;
        for file in Dir::read_from(&folder)? {
            let file = file?;
            let name = file.file_name().to_string_lossy();
            let is_text = is_hash(&name);
            if !(is_text && !keep(&name) || name.starts_with(UNPLACED)) {
                continue;
            }
            let unlink = || rustix::fs::unlinkat(&folder, file.file_name(), AtFlags::empty());
            let gone = match &self.space {
                Some(space) => space.sweep().unlink(&name, unlink),
                None => unlink().map(|()| true),
            };
            match gone {
                Ok(gone) => removed += u64::from(is_text && gone),
                Err(Errno::NOENT) => {}
                Err(Errno::CANCELED) => return Err(Errno::CANCELED.into()),
                Err(error) => failed = Some(error),
            }
        }
        rustix::fs::fsync(&folder)?;
        match failed {
            None => Ok(removed),
            Some(error) => Err(error.into()),
        }
    }

    /// The name is not to be swept.
    fn keep(&self, name: &str) {
        if let Some(space) = &self.space {
            space.sweep().keep(name);
        }
    }

    fn open(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::open(&self.dir, flags, Mode::empty())
    }
}

fn write_new(folder: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(
        folder,
        name,
        flags,
        Mode::RUSR | Mode::WUSR,
    )?);
    file.write_all(bytes)?;
    file.sync_all()
}

fn open_file(folder: &OwnedFd, name: &str) -> Result<File, BlobError> {
    if !is_hash(name) {
        // What stands on a line becomes a path here.
        return Err(BlobError::Missing);
    }
    // Opening a pipe of this name must not wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file =
        File::from(rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(from_errno)?);
    let found = file.metadata().map_err(BlobError::Io)?;
    if found.is_file() && found.len() <= BLOB_BYTES_MAX {
        Ok(file)
    } else {
        Err(BlobError::Altered)
    }
}

fn read_checked(folder: &OwnedFd, name: &str) -> Result<String, BlobError> {
    let mut bytes = Vec::new();
    open_file(folder, name)?
        .take(BLOB_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(BlobError::Io)?;
    if name_of(&bytes) != name {
        return Err(BlobError::Altered);
    }
    String::from_utf8(bytes).map_err(|_| BlobError::Altered)
}

fn from_errno(error: Errno) -> BlobError {
    match error {
        Errno::NOENT => BlobError::Missing,
        // A link, a folder or a file where the other should be.
        Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO => BlobError::Altered,
        error => BlobError::Io(error.into()),
    }
}

fn name_of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests;
