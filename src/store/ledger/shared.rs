//! [`SharedLedger`]: what the writer and the readers of an open ledger share; [`LedgerHealth`]: the
//! state of the ledger; [`Stats`]: the part of it that is reported.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use super::Stored;
use super::check::Checker;
use super::index::EntryIndex;
use super::left_file::LeftFile;
use super::slots::Slot;
use crate::disk_space::DiskSpace;
use ctxrelay_core::id::{EntryId, Seq};
use ctxrelay_core::lock::lock;
use ctxrelay_core::wire::line::parse;

/// Figures of an open ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Entries in the file.
    pub entries: u64,
    /// Bytes in the file.
    pub bytes: u64,
    /// So many more of ours may follow them: a write that is under way, or that failed and was not
    /// undone yet.
    pub ahead: u64,
    /// Lines that are not entries.
    pub bad_lines: u64,
    /// Number and hash of the last chained entry.
    pub head: Option<(u64, String)>,
    /// Whether every chained line continued the one before it, when the file was opened and
    /// since then.
    pub chain_ok: bool,
    /// Bytes that somebody else wrote to the open file. They are not part of the record and were
    /// moved to `sessions/<id>.foreign-<ms>`.
    pub foreign_bytes: u64,
}

/// The state of an open ledger.
#[derive(Debug)]
pub(super) struct LedgerHealth {
    /// Checks what is in the file, our writes included.
    pub checker: Checker,
    /// The last acknowledged entry. The file may have lost it.
    pub head: Option<(u64, String)>,
    pub bytes: u64,
    /// See [`Stats::ahead`].
    pub ahead: u64,
    pub foreign_bytes: u64,
    /// The first entry that this run wrote.
    pub first_own: Option<u64>,
    /// Somebody else cut the file.
    pub was_cut: bool,
    /// Whether anybody else touched the file.
    pub left: LeftFile,
}

/// What the writer and the readers share. Lock order: the index, then the health.
#[derive(Debug)]
pub struct SharedLedger {
    pub(super) path: PathBuf,
    pub(super) index: RwLock<EntryIndex>,
    pub(super) file: RwLock<Arc<File>>,
    pub(super) health: Mutex<LedgerHealth>,
    pub(super) space: Option<Arc<DiskSpace>>,
}

impl SharedLedger {
    /// One entry by its number.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or no longer has the entry where it was.
    pub fn read(&self, seq: Seq) -> io::Result<Option<Stored>> {
        let slot = self.index().get(seq);
        slot.map(|slot| self.load(slot)).transpose()
    }

    /// The number of the entry with this id; of the first one if there are several, for that is
    /// the one others refer to. Reads that entry.
    ///
    /// # Errors
    ///
    /// As [`Self::read`], of an entry that may have the id.
    pub fn seq_of(&self, id: &EntryId) -> io::Result<Option<Seq>> {
        let found = self.stored_of(id, |_| None)?;
        Ok(found.map(|stored| stored.entry.seq))
    }

    /// The same with the entry itself. What `known` has need not be read.
    ///
    /// # Errors
    ///
    /// As [`Self::seq_of`].
    pub fn stored_of(
        &self,
        id: &EntryId,
        known: impl Fn(Seq) -> Option<Arc<Stored>>,
    ) -> io::Result<Option<Arc<Stored>>> {
        let candidates = self.index().candidates(id);
        for slot in candidates {
            let stored = match known(Seq(slot.seq.into())) {
                Some(stored) => stored,
                None => Arc::new(self.load(slot)?),
            };
            if stored.entry.id == *id {
                return Ok(Some(stored));
            }
        }
        Ok(None)
    }

    /// The figures at this moment.
    pub fn stats(&self) -> Stats {
        self.health().stats()
    }

    /// Whether this is the file that is written.
    ///
    /// # Errors
    ///
    /// When the system does not tell which file is written.
    pub fn is_in(&self, found: &Metadata) -> io::Result<bool> {
        let file = self.file().metadata()?;
        Ok((file.dev(), file.ino()) == (found.dev(), found.ino()))
    }

    /// How often others were at the file so far, as far as it can be told: not while a write of ours is
    /// under way, which looks itself.
    pub fn touches(&self) -> u64 {
        let file = self.file();
        let mut health = self.health();
        match health.ahead {
            0 => health.left.look(&file),
            _ => health.left.touches(),
        }
    }

    /// All of the file was read since [`Self::touches`] said this: whether it is as it was written.
    pub fn read_over(&self, touches: u64, is_whole: bool) {
        self.health().left.read_over(touches, is_whole);
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn index(&self) -> RwLockReadGuard<'_, EntryIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn health(&self) -> MutexGuard<'_, LedgerHealth> {
        lock(&self.health)
    }

    /// Reads a line of the index.
    pub(super) fn load(&self, slot: Slot) -> io::Result<Stored> {
        #[cfg(any(test, feature = "testing"))]
        crate::testing::gives(&self.path, slot.seq.into())?;
        load(&self.file(), slot).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "{} was changed by somebody else: entry {} {error}",
                    self.path.display(),
                    slot.seq
                ),
            ),
            _ => error,
        })
    }
}

impl LedgerHealth {
    pub(super) fn new(checker: Checker, bytes: u64) -> Self {
        Self {
            head: checker.head(),
            checker,
            bytes,
            ahead: 0,
            foreign_bytes: 0,
            first_own: None,
            was_cut: false,
            left: LeftFile::default(),
        }
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            entries: self.checker.entries(),
            bytes: self.bytes,
            ahead: self.ahead,
            bad_lines: self.checker.bad(),
            head: self.head.clone(),
            chain_ok: self.checker.fault().is_none() && !self.was_cut,
            foreign_bytes: self.foreign_bytes,
        }
    }
}

/// Reads a line at its place in a file. What is no entry is invalid data.
pub(super) fn load(file: &File, slot: Slot) -> io::Result<Stored> {
    let changed = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut line = vec![0; slot.len as usize];
    file.read_exact_at(&mut line, slot.offset)?;
    let mut parsed = parse(&line).map_err(|bad| changed(bad.to_string()))?;
    parsed.entry.seq = Seq(slot.seq.into());
    Ok(Stored {
        entry: parsed.entry,
        line: String::from_utf8(line).map_err(|_| changed("is not text".to_owned()))?,
        hash: parsed.link.map(|link| link.hash).unwrap_or_default(),
    })
}
