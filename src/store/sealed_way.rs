//! [`way_back`]: the sealed sessions that the record leads back to.
//!
//! Agents can write where archives lie, and a chain has no key. What a session was is known by the
//! hash that the one behind it names; so only what is reached like that from the current record
//! vouches for anything. What somebody else said before a record was ours leads nowhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use crate::dirs::{ProjectDirs, exists, open_private};
use crate::file_stamp::FileStamp;
use crate::ledger::{self, Stored};
use ctxrelay_core::agent::Party;
use ctxrelay_core::capsule::Capsule;
use ctxrelay_core::entry::{
    Entry, EntryKind, ErrorCode, LifecycleEvent, Predecessor, SealedSession,
};
use ctxrelay_core::fold::fold;
use ctxrelay_core::id::{CapsuleId, Seq, SessionId};
use ctxrelay_core::lock::lock;
use ctxrelay_core::snapshot::{Snapshot, TaskSnapshot};
use ctxrelay_core::wire::line;

/// How many sessions are followed back. More of them is a circle that somebody made.
const SESSIONS_MAX: usize = 10_000;

/// The most of its lines that is held at once of a session, in bytes; for what has no room it is read
/// again.
const LINES_BYTES_MAX: usize = 64 * 1024 * 1024;

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
    /// The hash of its last entry.
    head: String,
}

impl ReachedSession {
    pub(crate) fn head(&self) -> &str {
        &self.head
    }

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

/// What is asked of a session, all of it at once: a session is read whole for an answer, and may be
/// gigabytes long.
#[derive(Debug, Clone, Default)]
pub struct SessionWants {
    tasks: BTreeSet<(Seq, CapsuleId)>,
    lines: BTreeSet<Seq>,
}

impl SessionWants {
    /// Asks for what a capsule cites, and for its task as it stood then.
    pub fn add(&mut self, capsule: &Capsule) {
        let head = capsule.origin.head.seq;
        self.tasks.insert((head, capsule.id.clone()));
        self.lines.insert(head);
        self.lines.extend(capsule.refs().map(|(_, line)| line.seq));
    }
}

/// What a session says of what was asked.
#[derive(Debug, Default)]
pub struct SessionTold {
    /// Of this.
    wants: SessionWants,
    tasks: BTreeMap<(Seq, CapsuleId), TaskSnapshot>,
    lines: BTreeMap<Seq, Stored>,
    /// The digests of what was kept of each task, and where that was told.
    kept: BTreeMap<CapsuleId, BTreeMap<Seq, String>>,
    /// Lines that had no room.
    left: BTreeSet<Seq>,
}

impl SessionTold {
    /// Reads the ledger of the current session up to its end, as far as it is believed after an entry.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read(path: &Path, foreign_through: Seq, wants: SessionWants) -> io::Result<Self> {
        let mut telling = Telling::new(foreign_through, wants);
        ledger::read(path, |stored| {
            telling.hear(stored);
            ControlFlow::Continue(())
        })?;
        Ok(telling.told)
    }

    /// Reads a sealed session.
    ///
    /// # Errors
    ///
    /// As [`ReachedSession::read`].
    pub fn read_sealed(session: &ReachedSession, wants: SessionWants) -> io::Result<Self> {
        let mut telling = Telling::new(session.foreign_through, wants);
        session.read(|stored| telling.hear(stored))?;
        Ok(telling.told)
    }

    /// Whether all was asked that a capsule needs.
    pub fn was_asked(&self, capsule: &Capsule) -> bool {
        let (head, asked) = (capsule.origin.head.seq, &self.wants);
        let mut lines = capsule.refs().map(|(_, line)| line.seq);
        asked.tasks.contains(&(head, capsule.id.clone()))
            && lines.all(|seq| asked.lines.contains(&seq))
    }

    /// Whether one of a capsule's lines had no room.
    pub fn has_left(&self, capsule: &Capsule) -> bool {
        let mut lines = capsule.refs().map(|(_, line)| line.seq);
        self.left.contains(&capsule.origin.head.seq) || lines.any(|seq| self.left.contains(&seq))
    }

    /// A line.
    pub fn line(&self, seq: Seq) -> Option<&Stored> {
        self.lines.get(&seq)
    }

    /// Whether just this capsule was kept, where the session tells what was after all that the capsule
    /// is made of; earlier versions told nothing.
    pub fn has_kept(&self, capsule: &Capsule) -> Option<bool> {
        let told = self.kept.get(&capsule.id)?;
        let after = (Excluded(capsule.origin.head.seq), Unbounded);
        let mut after = told.range(after).map(|(_, digest)| digest).peekable();
        after.peek()?;
        Some(after.any(|digest| *digest == capsule.digest))
    }

    /// A task as it stood at an entry.
    pub fn task(&self, id: &CapsuleId, at: Seq) -> Option<&TaskSnapshot> {
        self.tasks.get(&(at, id.clone()))
    }
}

/// A session that is being read.
#[derive(Debug)]
struct Telling {
    world: Snapshot,
    told: SessionTold,
    room: usize,
}

impl Telling {
    fn new(foreign_through: Seq, wants: SessionWants) -> Self {
        let told = SessionTold {
            wants,
            ..SessionTold::default()
        };
        Self {
            world: Snapshot::believing_after(foreign_through),
            told,
            room: LINES_BYTES_MAX,
        }
    }

    fn hear(&mut self, stored: Stored) {
        fold(&mut self.world, &stored.entry);
        let (seq, told) = (stored.entry.seq, &mut self.told);
        if let EntryKind::Task(record) = &stored.entry.kind
            && let Some(task) = self.world.tasks.get(&record.task)
            && let Some(kept) = task.kept.as_ref().filter(|kept| kept.seq == seq)
        {
            let told = told.kept.entry(task.id.clone()).or_default();
            told.insert(seq, kept.digest.clone());
        }
        let asked = told.wants.tasks.range((seq, CapsuleId::new(""))..);
        for (at, id) in asked.take_while(|(at, _)| *at == seq) {
            if let Some(task) = self.world.tasks.get(id) {
                told.tasks.insert((*at, id.clone()), task.clone());
            }
        }
        if !told.wants.lines.contains(&seq) {
            return;
        }
        match self.room.checked_sub(stored.line.len()) {
            Some(room) => {
                self.room = room;
                told.lines.insert(seq, stored);
            }
            None => {
                told.left.insert(seq);
            }
        }
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

    /// The next one; with what it says of what is wanted of it, where it has to be read in any case.
    pub fn step(
        &mut self,
        wants: impl FnOnce(&SessionId) -> Option<SessionWants>,
    ) -> Option<Result<(ReachedSession, Option<SessionTold>), SessionId>> {
        self.left = self.left.checked_sub(1)?;
        let SealedSession { session_id, head } = self.next.take()?;
        let path = file_of(&self.dirs, &session_id)?;
        let (verified, told) = verified(&path, &head, || wants(&session_id));
        let Some(file) = verified else {
            return Some(Err(session_id));
        };
        self.next = file.follows;
        let reached = ReachedSession {
            session_id,
            path,
            foreign_through: file.foreign_through,
            head,
        };
        Some(Ok((reached, told)))
    }
}

/// As [`WayBack`], without a question.
pub fn way_back(
    dirs: &ProjectDirs,
    world: &Snapshot,
) -> impl Iterator<Item = Result<ReachedSession, SessionId>> + use<> {
    let mut way = WayBack::new(dirs, world);
    std::iter::from_fn(move || Some(way.step(|_| None)?.map(|(reached, _)| reached)))
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

fn verified(
    path: &Path,
    head: &str,
    wants: impl FnOnce() -> Option<SessionWants>,
) -> (Verified, Option<SessionTold>) {
    let stamp = |file: &File| file.metadata().map(|found| FileStamp::from(&found));
    // What lies at the path may be exchanged meanwhile: the open file is told by its stamp, and read.
    let file = open_private(path).and_then(|file| Ok((stamp(&file)?, file)));
    let Ok((before, file)) = file else {
        return (None, None);
    };
    let key = FileWithHead {
        file: before,
        head: head.to_owned(),
    };
    let known = || lock(&VERIFIED);
    if let Some(verified) = known().get(&key) {
        return (verified.clone(), None);
    }
    let (verified, told) = verify(&file, path, head, wants());
    if stamp(&file).is_ok_and(|after| after == before) {
        let mut known = known();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(key, verified.clone());
    }
    (verified, told)
}

/// Whether a file is a whole chain, and what it says of what is wanted of it. The second is missing
/// where a part of it is somebody else's word: that is known only at its end.
fn verify(
    file: &File,
    path: &Path,
    head: &str,
    wants: Option<SessionWants>,
) -> (Verified, Option<SessionTold>) {
    let mut follows = None;
    let mut foreign_through = Seq(0);
    let mut telling = wants.map(|wants| Telling::new(Seq(0), wants));
    let report = ledger::verify_file(file, path, None, |_, entry| {
        let Some((seq, text)) = entry else {
            return;
        };
        if follows.is_none() {
            // The first entry says it.
            follows = Some(sealed_before(text));
        }
        if ends_foreign_part(text) {
            foreign_through = foreign_through.max(seq);
            telling = None;
        }
        if let Some(telling) = &mut telling
            && let Some(stored) = stored(seq, text)
        {
            telling.hear(stored);
        }
    });
    let Ok(report) = report else {
        return (None, None);
    };
    let is_its = report.head.is_some_and(|(_, hash)| hash == head);
    if !is_its || report.first_bad.is_some() {
        return (None, None);
    }
    // Where anything in it is somebody else's word, its first entry is.
    let follows = follows.flatten().filter(|_| foreign_through == Seq(0));
    let verified = VerifiedFile {
        follows,
        foreign_through,
    };
    (Some(verified), telling.map(|telling| telling.told))
}

fn stored(seq: Seq, text: &[u8]) -> Option<Stored> {
    let mut parsed = line::parse(text).ok()?;
    parsed.entry.seq = seq;
    Some(Stored {
        entry: parsed.entry,
        line: String::from_utf8_lossy(text).into_owned(),
        hash: parsed.link.map(|link| link.hash).unwrap_or_default(),
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
