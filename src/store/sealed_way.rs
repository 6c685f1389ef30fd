//! [`way_back`]: the sealed sessions that the record leads back to.
//!
//! Agents can write where archives lie, and a chain has no key. What a session was is known by the
//! hash that the one behind it names; so only what is reached like that from the current record
//! vouches for anything. What somebody else said before a record was ours leads nowhere.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::dirs::{ProjectDirs, exists};
use crate::ledger;
use ctxrelay_core::agent::Party;
use ctxrelay_core::entry::{
    Entry, EntryKind, ErrorCode, LifecycleEvent, Predecessor, SealedSession,
};
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

/// None where the file is no whole chain that ends there.
type Verified = Option<VerifiedFile>;

/// A whole chain.
#[derive(Debug, Clone)]
struct VerifiedFile {
    /// The session that it follows, where that is ours to say.
    follows: Option<SealedSession>,
    /// As [`ReachedSession::foreign_through`].
    foreign_through: Seq,
}

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
    pub session_id: SessionId,
    /// Its file.
    pub path: PathBuf,
    /// Up to where it was somebody else's word when it was sealed.
    pub foreign_through: Seq,
}

/// The sealed sessions that the record leads back to, the youngest first. Ends before one that is
/// not there, or with the name of one that is not as it was sealed.
pub fn way_back(
    dirs: &ProjectDirs,
    world: &Snapshot,
) -> impl Iterator<Item = Result<ReachedSession, SessionId>> {
    let before = world.believed_predecessor();
    let mut next = before.and_then(Predecessor::next_back);
    let reached = std::iter::from_fn(move || {
        let SealedSession { session_id, head } = next.take()?;
        let path = file_of(dirs, &session_id)?;
        let Some(file) = verified(&path, head) else {
            return Some(Err(session_id));
        };
        next = file.follows;
        Some(Ok(ReachedSession {
            session_id,
            path,
            foreign_through: file.foreign_through,
        }))
    });
    reached.take(SESSIONS_MAX)
}

/// A sealed session, where the record leads back to it.
pub fn reached(
    dirs: &ProjectDirs,
    world: &Snapshot,
    session: &SessionId,
) -> Option<ReachedSession> {
    let mut way = way_back(dirs, world).flatten();
    way.find(|reached| reached.session_id == *session)
}

/// The tasks that a session ended with as closed, each as it stood then, of what is believed after
/// an entry. Reads all of the file.
///
/// # Errors
///
/// When the file cannot be read.
pub fn tasks_at_close(
    path: &Path,
    foreign_through: Seq,
) -> io::Result<BTreeMap<CapsuleId, TaskSnapshot>> {
    let mut world = Snapshot::believing_after(foreign_through);
    let mut closed = BTreeMap::new();
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

/// A task as it stood at an entry of a session, of what is believed after another entry. Reads the
/// file up to there.
///
/// # Errors
///
/// When the file cannot be read.
pub fn task_at(
    path: &Path,
    foreign_through: Seq,
    id: &CapsuleId,
    at: Seq,
) -> io::Result<Option<TaskSnapshot>> {
    let mut world = Snapshot::believing_after(foreign_through);
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
    let mut foreign_through = Seq(0);
    let report = ledger::verify_with(path, None, |_, entry| {
        let Some((seq, text)) = entry else {
            return;
        };
        if follows.is_none() {
            // The first entry says it.
            follows = Some(predecessor(text));
        }
        if ends_foreign_part(text) {
            foreign_through = foreign_through.max(seq);
        }
    });
    let report = report.ok()?;
    let is_its = report.head.is_some_and(|(_, hash)| hash == head);
    // Where anything in it is somebody else's word, its first entry is.
    let follows = follows.flatten().filter(|_| foreign_through == Seq(0));
    (is_its && report.first_bad.is_none()).then_some(VerifiedFile {
        follows,
        foreign_through,
    })
}

fn predecessor(text: &[u8]) -> Option<SealedSession> {
    match line::parse(text).ok()?.entry.kind {
        EntryKind::SessionStarted { predecessor } => predecessor?.next_back(),
        _ => None,
    }
}

/// Whether an entry says that what stands before it is somebody else's word. Nothing outside of the
/// project tells that of a session which has ended; whoever forges it is believed less.
fn ends_foreign_part(text: &[u8]) -> bool {
    // Few lines have the word, and parsing all of them takes long.
    let words = ["foreign_history", "contextrelay_3_adopted"];
    let has_word =
        str::from_utf8(text).is_ok_and(|text| words.iter().any(|word| text.contains(word)));
    has_word && line::parse(text).is_ok_and(|line| says_foreign(&line.entry))
}

fn says_foreign(entry: &Entry) -> bool {
    let is_said = matches!(
        &entry.kind,
        EntryKind::Error {
            code: ErrorCode::ForeignHistory
        } | EntryKind::Lifecycle {
            event: LifecycleEvent::ContextRelay3Adopted
        }
    );
    // One that was carried on told of another file.
    is_said && entry.source == Party::System && entry.carried.is_none()
}
