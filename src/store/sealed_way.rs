//! [`way_back`]: the sealed sessions that the record leads back to.
//!
//! Agents can write where archives lie, and a chain has no key. What a session was is known by the
//! hash that the one behind it names; so only what is reached like that from the current record
//! vouches for anything.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::dirs::{ProjectDirs, exists};
use crate::ledger;
use ctxrelay_core::entry::{EntryKind, Predecessor, SealedSession};
use ctxrelay_core::fold::fold;
use ctxrelay_core::id::{CapsuleId, Seq, SessionId};
use ctxrelay_core::snapshot::{Snapshot, TaskSnapshot};
use ctxrelay_core::wire::line;

/// How many sessions are followed back. More of them is a circle that somebody made.
const SESSIONS_MAX: usize = 10_000;

/// More than a project has archives; beyond that they are all read anew.
const REMEMBERED_MAX: usize = 10_000;

/// Each is read whole, and the deck asks again and again.
static VERIFIED: LazyLock<Mutex<HashMap<FileWithHead, Verified>>> = LazyLock::new(Mutex::default);

/// None where the file is no whole chain that ends there; else the session that it follows.
type Verified = Option<Option<SealedSession>>;

/// A file as it stands on the disk, and the hash of the last entry that it should have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FileWithHead {
    file: FileStamp,
    head: String,
}

/// Tells a file from any other in its place, and from itself once it was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FileStamp {
    file: (u64, u64, u64),
    changed: (i64, i64),
}

impl From<&Metadata> for FileStamp {
    fn from(found: &Metadata) -> Self {
        Self {
            file: (found.dev(), found.ino(), found.len()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// A session that the record leads back to, and that is as it was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedSession {
    /// Its id.
    pub session_id: SessionId,
    /// Its file.
    pub path: PathBuf,
}

/// The sealed sessions that the record leads back to, the youngest first. Ends before one that is
/// not there, or with the name of one that is not as it was sealed.
pub fn way_back(
    dirs: &ProjectDirs,
    world: &Snapshot,
) -> impl Iterator<Item = Result<ReachedSession, SessionId>> {
    let before = world.predecessor.as_ref();
    let mut next = before.and_then(Predecessor::next_back);
    let reached = std::iter::from_fn(move || {
        let SealedSession { session_id, head } = next.take()?;
        let path = file_of(dirs, &session_id)?;
        let Some(follows) = verified(&path, head) else {
            return Some(Err(session_id));
        };
        next = follows;
        Some(Ok(ReachedSession { session_id, path }))
    });
    reached.take(SESSIONS_MAX)
}

/// The file of a sealed session, where the record leads back to it.
pub fn reached(dirs: &ProjectDirs, world: &Snapshot, session: &SessionId) -> Option<PathBuf> {
    let mut way = way_back(dirs, world).flatten();
    way.find(|reached| reached.session_id == *session)
        .map(|reached| reached.path)
}

/// The tasks that a session ended with as closed, each as it stood then. Reads all of the file.
///
/// # Errors
///
/// When the file cannot be read.
pub fn tasks_at_close(path: &Path) -> io::Result<BTreeMap<CapsuleId, TaskSnapshot>> {
    let (mut world, mut closed) = (Snapshot::default(), BTreeMap::new());
    ledger::read(path, |stored| {
        fold(&mut world, &stored.entry);
        if let EntryKind::Task(record) = &stored.entry.kind {
            let task = world.tasks.get(&record.task);
            match task.filter(|task| !task.is_open()) {
                Some(task) => {
                    closed.insert(task.id.clone(), task.clone());
                }
                None if task.is_some() => {
                    closed.remove(&record.task);
                }
                None => {}
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(closed)
}

/// A task as it stood at an entry of a session. Reads the file up to there.
///
/// # Errors
///
/// When the file cannot be read.
pub fn task_at(path: &Path, id: &CapsuleId, at: Seq) -> io::Result<Option<TaskSnapshot>> {
    let mut world = Snapshot::default();
    ledger::read(path, |stored| {
        fold(&mut world, &stored.entry);
        match stored.entry.seq < at {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    })?;
    Ok(world.tasks.get(id).cloned())
}

/// Where others look for it as well.
fn file_of(dirs: &ProjectDirs, session: &SessionId) -> Option<PathBuf> {
    if !SessionId::is_well_formed(session.as_str()) {
        return None;
    }
    let name = format!("{session}.jsonl");
    let mut folders = [dirs.sessions(), dirs.archives()].into_iter();
    folders.find_map(|folder| Some(folder.join(&name)).filter(|path| exists(path)))
}

fn verified(path: &Path, head: String) -> Verified {
    let file = FileStamp::from(&path.symlink_metadata().ok()?);
    let key = FileWithHead { file, head };
    let known = || VERIFIED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(verified) = known().get(&key) {
        return verified.clone();
    }
    let verified = verify(path, &key.head);
    let mut known = known();
    if known.len() >= REMEMBERED_MAX {
        known.clear();
    }
    known.insert(key, verified.clone());
    verified
}

fn verify(path: &Path, head: &str) -> Verified {
    let mut follows = None;
    let report = ledger::verify_with(path, None, |_, entry| {
        if let Some((_, text)) = entry
            && follows.is_none()
        {
            // The first entry says it.
            follows = Some(predecessor(text));
        }
    });
    let report = report.ok()?;
    let is_its = report.head.is_some_and(|(_, hash)| hash == head);
    (is_its && report.first_bad.is_none()).then(|| follows.flatten())
}

fn predecessor(text: &[u8]) -> Option<SealedSession> {
    match line::parse(text).ok()?.entry.kind {
        EntryKind::SessionStarted { predecessor } => predecessor?.next_back(),
        _ => None,
    }
}
