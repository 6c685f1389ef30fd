//! [`WayBack`]: the sealed sessions that the record leads back to.
//!
//! Agents can write where archives are, and a chain has no key. A session is identified by the hash
//! that its successor names, so only what is reached that way from the current record vouches for
//! anything. Entries that somebody else wrote before a record was ours lead nowhere.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use crate::dirs::{ProjectDirs, exists, open_private};
use crate::file_stamp::FileStamp;
use crate::ledger::{self, Stored};
use ctxrelay_core::agent::Party;
use ctxrelay_core::capsule::Capsule;
use ctxrelay_core::entry::{
    Entry, EntryKind, ErrorCode, LifecycleEvent, Predecessor, SealedSession, ToldDigest,
};
use ctxrelay_core::fold::fold;
use ctxrelay_core::id::{CapsuleId, Seq, SessionId};
use ctxrelay_core::lock::lock;
use ctxrelay_core::snapshot::{Snapshot, TaskSnapshot};
use ctxrelay_core::wire::line;

/// How many sessions are followed back. More of them is a circle that somebody made.
const SESSIONS_MAX: usize = 10_000;

/// More than a project has archives; beyond that they are all read again.
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
    kept: Arc<KeptDigests>,
}

/// A file as it stands on the disk, and the hash of the last entry that it should have.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FileWithHead {
    file: FileStamp,
    head: String,
}

/// A session that the record leads back to, and that is as it was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedSession {
    pub session_id: SessionId,
    /// Its file.
    pub path: PathBuf,
    /// Up to where it was somebody else's word when it was sealed.
    pub foreign_through: Seq,
    /// What it says was kept.
    pub(crate) kept: Arc<KeptDigests>,
    /// The hash of its last entry.
    head: String,
}

impl ReachedSession {
    /// Reads all of it, and hands every entry to `each`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is another one than was verified: then what was handed over is
    /// nobody's word.
    pub fn read(&self, mut each: impl FnMut(Stored)) -> io::Result<()> {
        let stats = ledger::read(&self.path, |stored| {
            each(stored);
            ControlFlow::Continue(())
        })?;
        let is_its = stats.head.is_some_and(|(_, hash)| hash == self.head);
        match is_its && stats.chain_ok {
            true => Ok(()),
            false => Err(io::Error::other("the session is not as it was sealed")),
        }
    }
}

/// The digests of the capsules that a session says were kept, of a closed task since its close. What
/// has one of them is, to the byte, what this program kept then: agents can write where it lies, and
/// cannot record this.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeptDigests(BTreeMap<(CapsuleId, String), Seq>);

impl KeptDigests {
    /// Takes an entry of the session in.
    pub(crate) fn hear(&mut self, entry: &Entry) {
        if let Some(task) = entry.closed_task() {
            // What went out before does not say how it ended.
            self.0.retain(|(of, _), _| of != task);
        }
        if let Some((task, digest)) = entry.kept_capsule() {
            self.0.insert((task.clone(), digest.to_owned()), entry.seq);
        }
    }

    /// Leaves out what somebody else said.
    pub(crate) fn believe_after(&mut self, foreign_through: Seq) {
        self.0.retain(|_, seq| *seq > foreign_through);
    }

    /// Whether just this capsule was kept.
    pub(crate) fn has(&self, capsule: &Capsule) -> bool {
        let kept = (capsule.id.clone(), capsule.digest.clone());
        self.0.contains_key(&kept)
    }
}

/// The way back through the sealed sessions that the record leads back to, the youngest first. Ends
/// before one that is not there, or with the name of one that is not as it was sealed.
#[derive(Debug)]
pub struct WayBack {
    dirs: ProjectDirs,
    next: Option<SealedSession>,
    left: usize,
}

impl WayBack {
    /// From a record's session.
    pub fn new(dirs: &ProjectDirs, world: &Snapshot) -> Self {
        let before = world.believed_predecessor();
        Self {
            dirs: dirs.clone(),
            next: before.and_then(Predecessor::next_back),
            left: SESSIONS_MAX,
        }
    }
}

impl Iterator for WayBack {
    type Item = Result<ReachedSession, SessionId>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let SealedSession { session_id, head } = self.next.take()?;
        let path = file_of(&self.dirs, &session_id)?;
        let Some(file) = verified(&path, &head) else {
            return Some(Err(session_id));
        };
        self.next = file.follows;
        Some(Ok(ReachedSession {
            session_id,
            path,
            foreign_through: file.foreign_through,
            kept: file.kept,
            head,
        }))
    }
}

/// A sealed session, where the record leads back to it.
pub fn reached(
    dirs: &ProjectDirs,
    world: &Snapshot,
    session: &SessionId,
) -> Option<ReachedSession> {
    let mut way = WayBack::new(dirs, world).flatten();
    way.find(|reached| reached.session_id == *session)
}

/// The tasks that a session ended with as closed, each as it stood then.
///
/// # Errors
///
/// As [`ReachedSession::read`].
pub fn tasks_at_close(session: &ReachedSession) -> io::Result<BTreeMap<CapsuleId, TaskSnapshot>> {
    let mut world = Snapshot::believing_after(session.foreign_through);
    let mut closed = BTreeMap::new();
    session.read(|stored| {
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
    })?;
    Ok(closed)
}

/// Where others look for it as well.
pub(crate) fn file_of(dirs: &ProjectDirs, session: &SessionId) -> Option<PathBuf> {
    if !SessionId::is_well_formed(session.as_str()) {
        return None;
    }
    let name = format!("{session}.jsonl");
    let mut folders = [dirs.sessions(), dirs.archives()].into_iter();
    folders.find_map(|folder| Some(folder.join(&name)).filter(|path| exists(path)))
}

fn verified(path: &Path, head: &str) -> Verified {
    let stamp = |file: &File| file.metadata().map(|found| FileStamp::from(&found));
    // What lies at the path may be exchanged meanwhile: the open file is told by its stamp, and read.
    let file = open_private(path).ok()?;
    let before = stamp(&file).ok()?;
    let key = FileWithHead {
        file: before,
        head: head.to_owned(),
    };
    let known = || lock(&VERIFIED);
    if let Some(verified) = known().get(&key) {
        return verified.clone();
    }
    let verified = verify(&file, path, head);
    if stamp(&file).is_ok_and(|after| after == before) {
        let mut known = known();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(key, verified.clone());
    }
    verified
}

/// Whether a file is a whole chain, and what it says.
fn verify(file: &File, path: &Path, head: &str) -> Verified {
    let mut follows = None;
    let mut foreign_through = Seq(0);
    let mut kept = KeptDigests::default();
    let report = ledger::verify_chain(file, path, |_, entry| {
        let Some((seq, text)) = entry else {
            return;
        };
        if follows.is_none() {
            // The first entry says it.
            follows = Some(sealed_before(text));
        }
        if ends_foreign_part(text) {
            foreign_through = foreign_through.max(seq);
        }
        if str::from_utf8(text).is_ok_and(ToldDigest::may_tell_kept)
            && let Ok(parsed) = line::parse(text)
        {
            kept.hear(&Entry {
                seq,
                ..parsed.entry
            });
        }
    });
    let report = report.ok()?;
    let is_its = report.head.is_some_and(|(_, hash)| hash == head);
    if !is_its || !report.is_whole {
        return None;
    }
    kept.believe_after(foreign_through);
    // Where anything in it is somebody else's word, its first entry is.
    let follows = follows.flatten().filter(|_| foreign_through == Seq(0));
    Some(VerifiedFile {
        follows,
        foreign_through,
        kept: Arc::new(kept),
    })
}

/// The session whose file is next on the way back from here, as the line of a session's first entry
/// says it.
pub fn sealed_before(text: &[u8]) -> Option<SealedSession> {
    match line::parse(text).ok()?.entry.kind {
        EntryKind::SessionStarted { predecessor } => predecessor?.next_back(),
        _ => None,
    }
}

/// Whether an entry says that what stands before it is somebody else's word. Nothing outside of the
/// project tells that of a session which has ended; forging it only makes a record believed less.
pub fn ends_foreign_part(text: &[u8]) -> bool {
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
