//! [`set_aside`]: moves the end of a ledger to a file of its own.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::hex::hex;

use super::file::{LedgerFile, sync_parent};
use crate::dirs::exists;

/// How much is copied at once, in bytes.
const PIECE: usize = 64 * 1024;

/// A copy of lines that were set aside.
#[derive(Debug)]
pub(super) struct Aside {
    /// Where the copy is.
    pub path: PathBuf,
    /// The number of lines, including a last one without its newline.
    pub lines: u64,
    pub bytes: u64,
    /// The digest of the bytes.
    pub sha256: String,
}

impl Aside {
    /// Whether it is still there, and is what stands from `offset` on.
    pub(super) fn is_of(&self, file: &File, offset: u64) -> io::Result<bool> {
        let (_, sha256) = measure(file, offset, |_| Ok(()))?;
        Ok(sha256 == self.sha256 && exists(&self.path))
    }

    /// The alarm about lines that are not ours.
    pub(super) fn alarm(&self) -> Alarm {
        let file = self.path.file_name().unwrap_or_default();
        Alarm::ForeignLines {
            file: file.to_string_lossy().into_owned(),
            lines: self.lines,
            sha256: self.sha256.clone(),
        }
    }
}

/// Moves the bytes from `offset` on to a file of their own, and only then cuts them off.
pub(super) fn set_aside(
    file: &mut dyn LedgerFile,
    path: &Path,
    what: &str,
    offset: u64,
) -> io::Result<Aside> {
    let aside = copy_aside(file, path, what, offset)?;
    file.truncate(offset)?;
    file.sync()?;
    Ok(aside)
}

/// Copies the bytes from `offset` on to a file of their own, durably. On an error there is none:
/// it is asked for again, perhaps every second on a disk that is full.
pub(super) fn copy_aside(
    file: &dyn LedgerFile,
    path: &Path,
    what: &str,
    offset: u64,
) -> io::Result<Aside> {
    let mut name = Timestamp::now().as_millisecond();
    let (aside, mut copy) = loop {
        let aside = path.with_extension(format!("{what}-{name}"));
        let copy = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&aside);
        match copy {
            Ok(copy) => break (aside, copy),
            // The second one of a millisecond.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => name += 1,
            Err(error) => return Err(error),
        }
    };
    let mut bytes = 0;
    let copied = measure(&file.reader(), offset, |piece| {
        bytes += piece.len() as u64;
        copy.write_all(piece)
    });
    let kept = copied.and_then(|measured| {
        copy.sync_all()?;
        sync_parent(&aside)?;
        Ok(measured)
    });
    let (lines, sha256) = kept.inspect_err(|_| {
        let _ = fs::remove_file(&aside);
    })?;
    Ok(Aside {
        path: aside,
        lines,
        bytes,
        sha256,
    })
}

/// How many lines stand from `offset` on, a last one without its newline too, and the digest of
/// their bytes, each piece of which is handed to `each`.
pub(super) fn measure(
    mut file: &File,
    offset: u64,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<(u64, String)> {
    file.seek(SeekFrom::Start(offset))?;
    let (mut digest, mut lines, mut last) = (Sha256::new(), 0, b'\n');
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece)?;
        let Some(end) = piece[..read].last() else {
            break;
        };
        last = *end;
        lines += piece[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        digest.update(&piece[..read]);
        each(&piece[..read])?;
    }
    Ok((lines + u64::from(last != b'\n'), hex(&digest.finalize())))
}
