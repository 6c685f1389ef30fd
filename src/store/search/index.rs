//! [`SearchIndex`]: the words of one ledger's entries, of the sessions before it and of the
//! capsules beside it, in `state/index.db`; and [`Mark`]: up to where the ledger is in it.
//!
//! It can be discarded: a file that is damaged, of another version or not of this ledger is removed
//! and rebuilt. It is still kept consistent (a write-ahead log, synced at each checkpoint), because
//! half an index would find nothing and not say so.

mod capsules;
mod sealed;

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, params};
use sha2::{Digest as _, Sha256};

use super::error::SearchError;
use super::query::Query;
use crate::dirs::{ProjectDirs, exists, remove_if_there};
use crate::ledger::Stored;
use ctxrelay_core::hex::hex;
use ctxrelay_core::id::SessionId;

pub(super) use capsules::{CapsuleMark, CapsuleWords};
pub(super) use sealed::{SealedMark, SealedRow};

/// The file in the state folder.
const NAME: &str = "index.db";

/// What SQLite puts beside it.
const BESIDE: [&str; 3] = ["index.db-wal", "index.db-shm", "index.db-journal"];

/// `user_version` of the files that this version writes and reads. There are no migrations: an
/// index of any other version is rebuilt.
const VERSION: i64 = 5;

/// How long another process may keep the file busy; only somebody who looks into it by hand does.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// How large the log may stay on the disk after it was folded in, in bytes.
const LOG_BYTES: u32 = 4 * 1024 * 1024;

/// Up to where a ledger is in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) session: SessionId,
    pub(super) seq: u64,
    /// The hash on that entry's line, or of it when it is of an unchained ledger.
    pub(super) hash: String,
}

impl Mark {
    pub(super) fn at(session: &SessionId, last: &Stored) -> Self {
        Self {
            session: session.clone(),
            seq: last.entry.seq.0,
            hash: hash_of(last),
        }
    }

    /// Whether it stands at this entry.
    pub(super) fn is_at(&self, stored: &Stored) -> bool {
        self.seq == stored.entry.seq.0 && self.hash == hash_of(stored)
    }
}

fn hash_of(stored: &Stored) -> String {
    if stored.hash.is_empty() {
        hex(&Sha256::digest(stored.line.as_bytes()))
    } else {
        stored.hash.clone()
    }
}

/// An entry's words, ready to be put in.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) folded: String,
}

/// What a look into the index found.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Numbers of entries, highest first.
    pub(super) seqs: Vec<u64>,
    /// How many there are in all; at most the number asked for.
    pub(super) total: u64,
    /// Below this number nothing was looked at; none where all was.
    pub(super) stopped_at: Option<u64>,
}

/// An open index.
#[derive(Debug)]
pub(super) struct SearchIndex {
    db: Connection,
    path: PathBuf,
}

impl SearchIndex {
    /// Opens the index for writing, or makes an empty one, 0600.
    pub(super) fn open(dirs: &ProjectDirs) -> Result<Self, SearchError> {
        let path = path_of(dirs)?;
        // Made here, because SQLite would make it readable by everybody.
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match made {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                return Err(SearchError::Io { path, source });
            }
            _ => {}
        }
        let mut index = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let mode: String = index
            .db
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .map_err(|source| index.failed(source))?;
        if mode != "wal" {
            let path = index.path;
            return Err(SearchError::NotWal { path, mode });
        }
        let set = format!("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = {LOG_BYTES};");
        index.run(|db| {
            db.execute_batch(&set)?;
            if version(db)? == 0 {
                let tables: i64 =
                    db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
                if tables == 0 {
                    let made = db.transaction()?;
                    made.execute_batch(include_str!("index.sql"))?;
                    made.pragma_update(None, "user_version", VERSION)?;
                    made.commit()?;
                }
            }
            Ok(())
        })?;
        index.check()?;
        Ok(index)
    }

    /// Opens the index for reading; `None` when there is none.
    pub(super) fn open_to_read(dirs: &ProjectDirs) -> Result<Option<Self>, SearchError> {
        if !exists(&dirs.state_file(NAME)) {
            return Ok(None);
        }
        let index = Self::connect(path_of(dirs)?, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        index.check()?;
        Ok(Some(index))
    }

    fn connect(path: PathBuf, mode: OpenFlags) -> Result<Self, SearchError> {
        // SQLite follows a link in the place of its log, and would write where that points to.
        let is_link = |name: &str| {
            path.with_file_name(name)
                .symlink_metadata()
                .is_ok_and(|found| !found.is_file())
        };
        if let Some(name) = [NAME].into_iter().chain(BESIDE).find(|name| is_link(name)) {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "not a plain file");
            let path = path.with_file_name(name);
            return Err(SearchError::Io { path, source });
        }
        let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let db = Connection::open_with_flags(&path, flags).map_err(|source| {
            let path = path.clone();
            SearchError::Sqlite { path, source }
        })?;
        let mut index = Self { db, path };
        index.run(|db| {
            db.busy_timeout(BUSY_TIMEOUT)?;
            // The file lies where an agent can write it: nothing in its schema may do more than
            // a table does.
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            Ok(())
        })?;
        Ok(index)
    }

    fn check(&self) -> Result<(), SearchError> {
        let version = version(&self.db).map_err(|source| self.failed(source))?;
        if version == VERSION {
            // A file of the right version that lacks its tables shows itself here.
            self.mark()?;
            return Ok(());
        }
        let path = self.path.clone();
        Err(SearchError::Version { path, version })
    }

    /// Up to where the index goes; `None` when it is empty.
    pub(super) fn mark(&self) -> Result<Option<Mark>, SearchError> {
        self.db
            .query_row(
                "SELECT session, seq, hash FROM bound, (SELECT count(*) FROM words_config), \
                 (SELECT count(*) FROM capsule_words_config), \
                 (SELECT count(*) FROM sealed_words_config)",
                [],
                |row| {
                    Ok(Mark {
                        session: SessionId::new(row.get::<_, String>(0)?),
                        seq: row.get::<_, i64>(1)?.unsigned_abs(),
                        hash: row.get(2)?,
                    })
                },
            )
            .optional()
            .map_err(|source| self.failed(source))
    }

    /// Puts entries in, all or none; afterwards the index goes up to the mark. Numbers rise from
    /// row to row and from call to call.
    pub(super) fn add(&mut self, rows: &[Row], mark: &Mark) -> Result<(), SearchError> {
        self.run(|db| {
            let batch = db.transaction()?;
            insert(&batch, rows)?;
            batch.execute(
                "INSERT OR REPLACE INTO bound (one, session, seq, hash) VALUES (1, ?1, ?2, ?3)",
                params![mark.session.as_str(), number(mark.seq), mark.hash],
            )?;
            batch.commit()
        })
    }

    /// Takes the entries of its ledger out, and leaves all else in.
    pub(super) fn begin_anew(&mut self) -> Result<(), SearchError> {
        self.run(|db| {
            let change = db.transaction()?;
            change.execute("INSERT INTO words (words) VALUES ('delete-all')", [])?;
            change.execute("DELETE FROM bound", [])?;
            change.commit()
        })
    }

    /// Up to `limit` entries below `before`, and how many there are at all; counted up to
    /// `total_max`. Together with [`Self::mark`] in one [`Self::at_one_moment`] they speak of the
    /// same state.
    pub(super) fn find(
        &self,
        query: &Query,
        before: Option<u64>,
        limit: usize,
        total_max: u64,
    ) -> Result<Rows, SearchError> {
        let fts = query.to_fts();
        // Walked from the end of the lists of numbers, so that a word which is everywhere costs
        // no more than what is counted.
        let newest = |before: Option<u64>, max: u64| -> rusqlite::Result<Vec<u64>> {
            let mut newest = self.db.prepare_cached(
                "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 \
                 ORDER BY rowid DESC LIMIT ?3",
            )?;
            let before = before.map_or(i64::MAX, number);
            newest
                .query_map(params![fts, before, number(max)], |row| {
                    Ok(row.get::<_, i64>(0)?.unsigned_abs())
                })?
                .collect()
        };
        let find = || -> rusqlite::Result<Rows> {
            // One walk serves for both on a first page: SQLite gathers a long beginning of words
            // (`every*`) again for each.
            let mut seqs = newest(None, total_max.max(limit as u64))?;
            let total = (seqs.len() as u64).min(total_max);
            if before.is_some() {
                seqs = newest(before, limit as u64)?;
            }
            seqs.truncate(limit);
            Ok(Rows {
                seqs,
                total,
                stopped_at: None,
            })
        };
        find().map_err(|source| self.failed(source))
    }

    /// Gives the matches below `before`, highest first, in blocks of `size` until `take` has enough;
    /// whether these were all. One walk, since SQLite gathers a long beginning of words (`every*`)
    /// again for each.
    pub(super) fn walk(
        &self,
        query: &Query,
        before: Option<u64>,
        size: usize,
        mut take: impl FnMut(Vec<u64>) -> ControlFlow<()>,
    ) -> Result<bool, SearchError> {
        let mut walk = || -> rusqlite::Result<bool> {
            let mut newest = self.db.prepare_cached(
                "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC",
            )?;
            let before = before.map_or(i64::MAX, number);
            let mut rows = newest.query(params![query.to_fts(), before])?;
            let mut block = Vec::new();
            while let Some(row) = rows.next()? {
                block.push(row.get::<_, i64>(0)?.unsigned_abs());
                if block.len() == size && take(std::mem::take(&mut block)).is_break() {
                    return Ok(false);
                }
            }
            // Behind it there is nothing, whatever it says.
            let _ = take(block);
            Ok(true)
        };
        walk().map_err(|source| self.failed(source))
    }

    /// Has all that is read from now on see one state of the index.
    pub(super) fn stay_at_one_moment(&self) -> Result<(), SearchError> {
        let begun = self.db.execute_batch("BEGIN");
        begun.map_err(|source| self.failed(source))
    }

    /// Has everything in `look` see one state of the index.
    pub(super) fn at_one_moment<T>(
        &self,
        look: impl FnOnce(&Self) -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        let moment = self
            .db
            .unchecked_transaction()
            .map_err(|source| self.failed(source))?;
        let seen = look(self)?;
        moment.finish().map_err(|source| self.failed(source))?;
        Ok(seen)
    }

    fn run<T>(
        &mut self,
        action: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SearchError> {
        action(&mut self.db).map_err(|source| SearchError::Sqlite {
            path: self.path.clone(),
            source,
        })
    }

    fn failed(&self, source: rusqlite::Error) -> SearchError {
        let path = self.path.clone();
        SearchError::Sqlite { path, source }
    }
}

fn insert(batch: &Transaction<'_>, rows: &[Row]) -> rusqlite::Result<()> {
    let mut insert = batch.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
    for row in rows.iter().filter(|row| !row.folded.is_empty()) {
        insert.execute(params![number(row.seq), row.folded])?;
    }
    Ok(())
}

/// A number as SQLite has them. Those of entries fit: the ledger gives none above 32 bits.
fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// SQLite refuses a link in any part of the path, and the folder may be reached by one.
fn path_of(dirs: &ProjectDirs) -> Result<PathBuf, SearchError> {
    let state = dirs
        .state
        .canonicalize()
        .map_err(|source| SearchError::Io {
            path: dirs.state_file(NAME),
            source,
        })?;
    Ok(state.join(NAME))
}

/// Throws the index of a project away. Only for the holder of the owner's lock, and not while the
/// same process has it open.
///
/// # Errors
///
/// When a file of it cannot be removed, or that not be made to last.
pub fn discard(dirs: &ProjectDirs) -> io::Result<()> {
    for name in BESIDE.into_iter().chain([NAME]) {
        remove_if_there(&dirs.state_file(name))?;
    }
    // It may hold what was deleted for good, and must not come back with a loss of power.
    File::open(&dirs.state)?.sync_all()
}
