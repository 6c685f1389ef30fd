//! [`Queue`]: the durable outbox, `state/queue.db`; and [`QueueWriter`]: the thread that writes it.
//!
//! The ledger holds the messages and their outcomes; this holds how far each is on its way. SQLite
//! with a write-ahead log, synced at each commit. It can be lost: a caller that finds
//! [`Queue::is_new`] rebuilds it from the ledger, and calls *ambiguous* what is unconfirmed there.

mod error;
mod generation;
mod row;
mod writer;

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use ctxrelay_core::delivery::Delivery;
use ctxrelay_core::id::{EntryId, Seq};

use super::dirs::{ProjectDirs, if_there, open_private};

pub use error::QueueError;
use error::damage;
pub use generation::Generation;
use row::{delivery, put, to_sql};
pub use writer::{QueueEvent, QueueWriter, RowsNotTaken, Scrubbing};

/// The steps that make the tables, oldest first; `user_version` counts those that were taken.
/// Steps are only ever added.
const MIGRATIONS: [&str; 7] = [
    include_str!("queue/0001_deliveries.sql"),
    include_str!("queue/0002_maybe_shown.sql"),
    include_str!("queue/0003_shown.sql"),
    include_str!("queue/0004_generation.sql"),
    include_str!("queue/0005_lost_turn.sql"),
    include_str!("queue/0006_thread.sql"),
    include_str!("queue/0007_withdrawn.sql"),
];

/// Where a file of SQLite's has its `user_version`.
const USER_VERSION_AT: u64 = 60;

/// How long another process may keep the file busy. Only one daemon writes it, so that this is
/// met by somebody who looks into it by hand.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The outbox of a project.
#[derive(Debug)]
pub struct Queue {
    db: Connection,
    path: PathBuf,
    is_new: bool,
    /// How often rows were written.
    generation: Cell<u64>,
    /// Where that is kept outside of the project; nowhere until [`Self::bound_to`].
    outside: Option<Generation>,
    /// Whether a commit is synced now.
    syncs: Cell<bool>,
}

impl Queue {
    /// Opens the queue, or makes an empty one. A file that is damaged or no database is moved to
    /// `queue.db.bad-<ms>` and an empty one made in its place.
    ///
    /// # Errors
    ///
    /// When it cannot be opened or written, is a link, lies on a file system without write-ahead
    /// logs, or was written by a newer version.
    pub fn open(dirs: &ProjectDirs) -> Result<Self, QueueError> {
        let name = dirs.state_file("queue.db");
        // SQLite refuses a link in any part of the path, and the folder may be reached by one.
        let state = dirs.state.canonicalize().map_err(|source| QueueError::Io {
            path: name.clone(),
            source,
        })?;
        let path = state.join("queue.db");
        match Self::open_at(&path) {
            Err(error) if error.is_damage() => {
                tracing::warn!(%error, "the queue is damaged and was set aside");
                set_aside(&path).map_err(|source| QueueError::Io {
                    path: path.clone(),
                    source,
                })?;
                Self::open_at(&path)
            }
            opened => opened,
        }
    }

    /// Moves the queue's files to `queue.db.bad-<ms>`. The next opening makes an empty one. Fine if
    /// there is none. A process that has it open goes on writing into the moved files.
    ///
    /// # Errors
    ///
    /// When a file of it cannot be moved.
    pub fn set_aside(dirs: &ProjectDirs) -> Result<(), QueueError> {
        let path = dirs.state_file("queue.db");
        set_aside(&path).map_err(|source| QueueError::Io { path, source })
    }

    /// Why this version does not open the file, if a later one wrote it. As far as the file tells
    /// without a look into its log, which would need to be written for that.
    pub fn newer(dirs: &ProjectDirs) -> Option<QueueError> {
        let path = dirs.state_file("queue.db");
        let file = open_private(&path).ok()?;
        // SQLite's file format: the `user_version`.
        let mut version = [0; 4];
        file.read_exact_at(&mut version, USER_VERSION_AT).ok()?;
        let version = usize::try_from(u32::from_be_bytes(version)).ok()?;
        (version > MIGRATIONS.len()).then_some(QueueError::Newer { path, version })
    }

    fn open_at(path: &Path) -> Result<Self, QueueError> {
        // Made here, because SQLite would make it readable by everybody.
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        match made {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => {
                let path = path.to_path_buf();
                return Err(QueueError::Io { path, source });
            }
        }
        let failed = |source| QueueError::Sqlite {
            path: path.to_path_buf(),
            source,
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut db = Connection::open_with_flags(path, flags).map_err(failed)?;
        db.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        let mode: String = db
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .map_err(failed)?;
        if mode != "wal" {
            let path = path.to_path_buf();
            return Err(QueueError::NotWal { path, mode });
        }
        // What is deleted here is to be gone, and not to lie in a free page.
        db.execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;",
        )
        .map_err(failed)?;
        let health: String = db
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(failed)?;
        if health != "ok" {
            return Err(failed(damage(&health)));
        }
        let is_new = migrate(&mut db, path)?;
        let queue = Self {
            db,
            path: path.to_path_buf(),
            is_new,
            generation: Cell::new(0),
            outside: None,
            syncs: Cell::new(true),
        };
        // A database of the right version that lacks its tables shows itself here, and not when
        // the first message is sent.
        queue.high_water()?;
        queue.load()?;
        let generation: rusqlite::Result<i64> =
            queue
                .db
                .query_row("SELECT generation FROM marks", [], |row| row.get(0));
        let generation = generation.map_err(|error| queue.failed(error))?;
        queue.generation.set(generation.unsigned_abs());
        Ok(queue)
    }

    /// The same queue, whose number of writes is kept outside of the project from now on; and
    /// whether the one that is kept there is higher, so that this file is an older one. A new file
    /// is none.
    pub fn bound_to(mut self, outside: Generation) -> (Self, bool) {
        let kept = outside.read();
        let is_older = kept > self.generation.get() && !self.is_new;
        self.generation.set(self.generation.get().max(kept));
        self.outside = Some(outside);
        (self, is_older)
    }

    /// Where the number of writes is kept.
    pub fn outside(&self) -> Option<&Generation> {
        self.outside.as_ref()
    }

    /// The queue was made by this very opening: what the ledger says of messages has to be put
    /// in.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// All deliveries, in the order of the ledger.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn load(&self) -> Result<Vec<Delivery>, QueueError> {
        let read = || {
            let mut rows = self.db.prepare_cached(
                "SELECT id, seq, receiver, runtime_session, on_busy, state, attempts, attempt,
                        changed_ms, shown, lost_turn, thread, withdrawn
                 FROM deliveries ORDER BY seq, id",
            )?;
            rows.query_map([], delivery)?.collect::<Result<Vec<_>, _>>()
        };
        read().map_err(|error| self.failed(error))
    }

    /// Writes deliveries, new or changed, and the high water mark in one step, all or nothing. With
    /// neither, what was done before is on the disk.
    ///
    /// # Errors
    ///
    /// When the disk fails; nothing is changed then.
    pub fn upsert(
        &self,
        deliveries: &[Delivery],
        high_water: Option<Seq>,
    ) -> Result<(), QueueError> {
        let changes: Vec<Change> = deliveries.iter().cloned().map(Change::Put).collect();
        self.write(&changes, high_water, true)
    }

    /// Makes changes in one step, in their order, all or none.
    ///
    /// One that is not synced may be lost with the power. What is written later stands behind it in
    /// the log, so that it is on the disk with the next that is.
    fn write(
        &self,
        changes: &[Change],
        high_water: Option<Seq>,
        is_synced: bool,
    ) -> Result<(), QueueError> {
        // Only what is synced counts: a loss of power must not make the file an older one.
        let generation = self.generation.get() + u64::from(is_synced);
        let write = || {
            self.sync_commits(is_synced)?;
            // Unchecked only in that the compiler does not see that there is no other one: a
            // connection is used by one thread, and no call here leaves a transaction open.
            let step = self.db.unchecked_transaction()?;
            for change in changes {
                match change {
                    Change::Put(delivery) => put(&step, delivery)?,
                    Change::Remove(id) => {
                        let sql = "DELETE FROM deliveries WHERE id = ?1";
                        step.prepare_cached(sql)?.execute([id.as_str()])?;
                    }
                }
            }
            if let Some(seq) = high_water {
                step.execute("UPDATE marks SET high_water = ?1", [to_sql(seq.0)])?;
            }
            if is_synced {
                let sql = "UPDATE marks SET generation = ?1";
                step.prepare_cached(sql)?.execute([to_sql(generation)])?;
            }
            step.commit()
        };
        write().map_err(|error| self.failed(error))?;
        self.generation.set(generation);
        if let (true, Some(outside)) = (is_synced, &self.outside) {
            outside.write(generation);
        }
        Ok(())
    }

    /// Forgets a delivery that is settled. Fine if there is none.
    ///
    /// Not synced: a loss of power may bring the row back, and the next start drops it because the
    /// ledger has settled its message. It is
    /// on the disk with the next [`Self::upsert`].
    ///
    /// # Errors
    ///
    /// As [`Self::upsert`].
    pub fn remove(&self, id: &EntryId) -> Result<(), QueueError> {
        self.write(&[Change::Remove(id.clone())], None, false)
    }

    /// Sets whether commits are synced from now on.
    fn sync_commits(&self, syncs: bool) -> rusqlite::Result<()> {
        if self.syncs.get() != syncs {
            let level = if syncs { "FULL" } else { "NORMAL" };
            self.db.pragma_update(None, "synchronous", level)?;
            self.syncs.set(syncs);
        }
        Ok(())
    }

    /// Forgets every delivery, and leaves nothing of them in the files: neither in free pages nor
    /// in the write-ahead log.
    ///
    /// # Errors
    ///
    /// As [`Self::upsert`]; the log can also be held by somebody else who reads it.
    pub fn erase(&self) -> Result<(), QueueError> {
        self.sync_commits(true)
            .and_then(|()| self.db.execute("DELETE FROM deliveries", []))
            .map_err(|error| self.failed(error))?;
        self.scrub()
    }

    /// Leaves nothing in the files of what was deleted from them.
    ///
    /// # Errors
    ///
    /// As [`Self::erase`].
    pub fn scrub(&self) -> Result<(), QueueError> {
        let scrub = || {
            self.sync_commits(true)?;
            self.db.execute_batch("VACUUM")?;
            let busy: i64 = self
                .db
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
            if busy == 0 {
                return Ok(());
            }
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
            let why = "somebody else reads its log".to_owned();
            Err(rusqlite::Error::SqliteFailure(code, Some(why)))
        };
        scrub().map_err(|error| self.failed(error))
    }

    /// Every message of the ledger up to this one has had its row.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn high_water(&self) -> Result<Seq, QueueError> {
        let read: rusqlite::Result<i64> =
            self.db
                .query_row("SELECT high_water FROM marks", [], |row| row.get(0));
        read.map(|seq| Seq(u64::try_from(seq).unwrap_or(0)))
            .map_err(|error| self.failed(error))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, source: rusqlite::Error) -> QueueError {
        QueueError::Sqlite {
            path: self.path.clone(),
            source,
        }
    }
}

/// What is done to one row.
#[derive(Debug)]
enum Change {
    /// It is so, new or changed.
    Put(Delivery),
    /// There is none.
    Remove(EntryId),
}

/// Brings the tables to this version. Returns whether there were none.
fn migrate(db: &mut Connection, path: &Path) -> Result<bool, QueueError> {
    let failed = |source| QueueError::Sqlite {
        path: path.to_path_buf(),
        source,
    };
    let version: i64 = db
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(failed)?;
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > MIGRATIONS.len() {
        let path = path.to_path_buf();
        return Err(QueueError::Newer { path, version });
    }
    for (step, sql) in MIGRATIONS.iter().enumerate().skip(version) {
        let transaction = db.transaction().map_err(failed)?;
        transaction.execute_batch(sql).map_err(failed)?;
        transaction
            .pragma_update(None, "user_version", to_sql(step as u64 + 1))
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(version == 0)
}

/// Moves the database and its logs away.
fn set_aside(path: &Path) -> io::Result<()> {
    let now = Timestamp::now().as_millisecond();
    for log in ["", "-wal", "-shm"] {
        let with = |tail: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(tail);
            PathBuf::from(name)
        };
        let aside = with(&format!(".bad-{now}{log}"));
        if_there(fs::rename(with(log), aside))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
