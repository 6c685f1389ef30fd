//! [`erase`]: deletes a sealed session for good, so that a secret that got into it really
//! disappears.
//!
//! The old bytes are not overwritten: on an SSD or a copy-on-write file system nobody could promise
//! the effect of that. Knows files; the rows of the queue belong to the queue.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, DirEntry};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blobs::Blobs;
use super::capsules::{Capsules, KeptCapsule};
use super::contextrelay3;
use super::dirs::{ProjectDirs, exists, if_there, listed};
use super::disk_space::DiskSpace;
use super::ledger;
use super::session;
use super::work_folders::WorkFolders;
use ctxrelay_core::entry::{EntryKind, Fate, Predecessor};
use ctxrelay_core::id::SessionId;

/// How many compacted segments are followed back. Each is a ledger that somebody compacted by
/// hand, so that more of them is a circle that somebody made.
const SEGMENTS_MAX: usize = 10_000;

/// Files of the state folder that hold what was in the ledger or was never masked, by how their names
/// begin. What is needed of them is rebuilt from the next session. The search index is not among them:
/// who has it open throws it away.
const DERIVED: [&str; 3] = ["checkpoint", "queue.db.bad-", contextrelay3::ASIDE];

/// What an erasure came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Files that are gone, long texts included.
    pub removed: u64,
    /// What is still there, and why.
    pub left: Vec<String>,
}

/// Whether there is a file of a session left that [`erase`] would remove, or may be one: it tells
/// which folder cannot be read.
pub fn is_there(dirs: &ProjectDirs, session: &SessionId) -> bool {
    let mut erased = Erased::default();
    let found = [dirs.sessions(), dirs.archives()].map(|dir| files_in(&dir, &mut erased));
    found.iter().flatten().any(|file| is_of(file, session)) || !erased.left.is_empty()
}

/// Deletes a session that no daemon has open: its ledger wherever it lies, the archived segments
/// that it was compacted from, what was set aside of them, the long texts that no other session
/// speaks of, the capsules that were kept of it, and what is derived from the current record.
///
/// Goes on past what cannot be deleted and reports it. Can be asked again after a crash: the
/// session's own file, which names the segments, goes last.
///
/// `keep` is the session that goes on.
pub fn erase(dirs: &ProjectDirs, session: &SessionId, keep: &SessionId) -> Erased {
    let left = WorkFolders::of(dirs).erase();
    let mut erased = erase_knowing(dirs, session, keep, texts_of_others(dirs, session), None);
    erased.left.extend(left);
    erased
}

/// The long texts and the kept capsules that stay when a session is deleted.
#[derive(Debug)]
pub struct KeptTexts {
    /// The session that is to be deleted.
    pub session: SessionId,
    /// Their names, or why they are not known: then all of them stay.
    names: Result<HashSet<String>, String>,
    /// The project's own capsules as they lay there then, and whether each is of other sessions.
    capsules: HashMap<KeptCapsule, bool>,
}

/// The long texts that sessions speak of which have ended before this one, and the capsules that were
/// kept in them. Reads all of their files, which may take long. As true when this session is
/// deleted, if no other one has ended meanwhile.
pub fn texts_of_others(dirs: &ProjectDirs, session: &SessionId) -> KeptTexts {
    let mut capsules = HashMap::new();
    let names = if SessionId::is_well_formed(session.as_str()) {
        // What is before one that cannot be read is not deleted, and counts as another one here.
        let (segments, _) = segments(dirs, session);
        let kept = Capsules::of(dirs);
        // A folder that cannot be read is told of when the capsules are deleted.
        let files = kept.own_files().unwrap_or_default().into_iter();
        capsules.extend(files.map(|file| {
            let stays = !kept.may_speak_of(&file, &segments);
            (file, stays)
        }));
        let names = spoken_of(dirs, &segments);
        names.map_err(|(path, error)| unreadable(&path, &error))
    } else {
        Err(format!("{session} is no session"))
    };
    KeptTexts {
        session: session.clone(),
        names,
        capsules,
    }
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!(
        "{} may speak of them and cannot be read: {error}",
        path.display()
    )
}

/// As [`erase`], with what is known of the other sessions. The files about the agents' work are the
/// caller's, before this: by the session's own file a start knows that there is something left to
/// delete.
///
/// `space`: of who records the session that goes on meanwhile. Its sweep began before that session,
/// and is ended here; where somebody else ends it first, what is still there stays for the next
/// start.
pub fn erase_knowing(
    dirs: &ProjectDirs,
    session: &SessionId,
    keep: &SessionId,
    texts: KeptTexts,
    space: Option<&Arc<DiskSpace>>,
) -> Erased {
    let erased = erase_swept(dirs, session, keep, texts, space);
    if let Some(space) = space {
        space.sweep().end();
        space.blobs_removed();
    }
    erased
}

fn erase_swept(
    dirs: &ProjectDirs,
    session: &SessionId,
    keep: &SessionId,
    texts: KeptTexts,
    space: Option<&Arc<DiskSpace>>,
) -> Erased {
    let mut erased = Erased::default();
    if session == keep || !SessionId::is_well_formed(session.as_str()) {
        erased
            .left
            .push(format!("{session} is no session that can be deleted"));
        return erased;
    }
    let (mut segments, unread) = segments(dirs, session);
    segments.retain(|segment| segment != keep);
    erased.left.extend(unread.map(|(path, error)| {
        format!(
            "what was compacted into {}, which cannot be read: {error}",
            path.display()
        )
    }));
    erase_texts(dirs, keep, texts.names, space, &mut erased);
    if space.is_some_and(|space| space.sweep().is_over()) {
        return erased;
    }
    erase_capsules(dirs, &segments, &texts.capsules, &mut erased);
    for file in files_in(&dirs.state, &mut erased) {
        let name = name_of(&file);
        if DERIVED.iter().any(|begin| name.starts_with(begin)) {
            remove(&file.path(), &mut erased);
        }
    }
    let sessions = files_in(&dirs.sessions(), &mut erased);
    erase_aborted(&sessions, &segments, &mut erased);
    let archives = files_in(&dirs.archives(), &mut erased);
    let mut folders = vec![dirs.archives(), dirs.state.clone()];
    folders.extend(Some(dirs.relay.join("capsules")).filter(|folder| exists(folder)));
    // The oldest first: a later one names those before it.
    for segment in segments.iter().rev() {
        if segment == session {
            sync(&folders, &mut erased);
        }
        for files in [&sessions, &archives] {
            let its = files.iter().filter(|file| is_of(file, segment));
            let mut its: Vec<PathBuf> = its.map(DirEntry::path).collect();
            its.sort_by_key(|path| path.extension().is_some_and(|end| end == "jsonl"));
            for path in its {
                remove(&path, &mut erased);
            }
        }
    }
    sync(&[dirs.sessions(), dirs.archives()], &mut erased);
    erased
}

/// Has the disk know what was removed from these folders.
fn sync(folders: &[PathBuf], erased: &mut Erased) {
    for folder in folders {
        if let Err(error) = fs::File::open(folder).and_then(|folder| folder.sync_all()) {
            let why = format!("{} was not synced: {error}", folder.display());
            erased.left.push(why);
        }
    }
}

/// The session and what it was compacted from, the youngest first; and the file that cannot be read,
/// where one is in the way: what was compacted into that is not known.
fn segments(
    dirs: &ProjectDirs,
    session: &SessionId,
) -> (Vec<SessionId>, Option<(PathBuf, io::Error)>) {
    let mut segments = vec![session.clone()];
    while segments.len() < SEGMENTS_MAX
        && let Some(last) = segments.last()
    {
        let before = match predecessor(dirs, last) {
            Ok(before) => before,
            Err(unread) => return (segments, Some(unread)),
        };
        let before = before.filter(|before| {
            before.fate == Fate::Compacted
                && SessionId::is_well_formed(before.session_id.as_str())
                && !segments.contains(&before.session_id)
        });
        let Some(before) = before else { break };
        segments.push(before.session_id);
    }
    (segments, None)
}

/// Every session but the current one, youngest first, with its file; without those that are being
/// deleted for good: nobody is to find anything in them any more.
///
/// # Errors
///
/// As [`session::all`].
pub(super) fn sealed_sessions(
    dirs: &ProjectDirs,
    current: &SessionId,
) -> Result<Vec<(SessionId, PathBuf)>, (PathBuf, io::Error)> {
    let before = predecessor(dirs, current).unwrap_or_default();
    let doomed = before
        .filter(|before| before.fate == Fate::Discarded)
        .map(|before| segments(dirs, &before.session_id).0)
        .unwrap_or_default();
    let mut sessions = session::all(dirs)?;
    sessions.retain(|(session, _)| session != current && !doomed.contains(session));
    Ok(sessions)
}

/// What the first entry of a session says that it follows.
fn predecessor(
    dirs: &ProjectDirs,
    session: &SessionId,
) -> Result<Option<Predecessor>, (PathBuf, io::Error)> {
    let archived = dirs.archives().join(format!("{session}.jsonl"));
    let mut places = [dirs.ledger(session), archived].into_iter();
    let Some(path) = places.find(|path| exists(path)) else {
        return Ok(None);
    };
    predecessor_of(&path).map_err(|error| (path, error))
}

/// What the first entry of a ledger says that it follows; nothing where there is no such file.
///
/// # Errors
///
/// When it cannot be read.
pub(super) fn predecessor_of(path: &Path) -> io::Result<Option<Predecessor>> {
    let mut found = None;
    let read = ledger::read(path, |stored| {
        if let EntryKind::SessionStarted { predecessor } = stored.entry.kind {
            found = predecessor;
        }
        ControlFlow::Break(())
    });
    if_there(read)?;
    Ok(found)
}

/// Removes the kept capsules that tell of the deleted session, and those that nobody can read. Few
/// were written since all were looked at.
fn erase_capsules(
    dirs: &ProjectDirs,
    segments: &[SessionId],
    known: &HashMap<KeptCapsule, bool>,
    erased: &mut Erased,
) {
    let kept = Capsules::of(dirs);
    // All of them, without a look at what stands in them.
    match kept.unfinished() {
        Ok(paths) => paths.iter().for_each(|path| remove(path, erased)),
        Err(error) => {
            let why = format!("capsules that were not written to their end: {error}");
            erased.left.push(why);
        }
    }
    let files = kept.own_files().unwrap_or_else(|error| {
        let why = format!("the capsules, which cannot be listed: {error}");
        erased.left.push(why);
        Vec::new()
    });
    for file in files {
        let stays = known.get(&file).copied();
        if stays.unwrap_or_else(|| !kept.may_speak_of(&file, segments)) {
            continue;
        }
        match kept.remove(file.owner, &file.id) {
            Ok(()) => erased.removed += 1,
            Err(error) => erased.left.push(format!(
                "the capsule {} could not be deleted: {error}",
                file.id
            )),
        }
    }
}

/// Removes the long texts that only the deleted session speaks of, and those that nobody does: they
/// are of entries that were never recorded.
fn erase_texts(
    dirs: &ProjectDirs,
    keep: &SessionId,
    of_others: Result<HashSet<String>, String>,
    space: Option<&Arc<DiskSpace>>,
    erased: &mut Erased,
) {
    let path = dirs.ledger(keep);
    let blobs = Blobs::of_ledger(&path).within(space.cloned());
    let names = of_others.and_then(|mut names| {
        if exists(&path) {
            let name = |name| {
                names.insert(name);
            };
            ledger::whole_texts(&path, name).map_err(|error| unreadable(&path, &error))?;
        }
        Ok(names)
    });
    match names {
        Ok(names) => match blobs.retain(|name| names.contains(name)) {
            Ok(removed) => erased.removed += removed,
            Err(error) => erased.left.push(format!(
                "a long text in {} could not be deleted: {error}",
                blobs.dir().display()
            )),
        },
        Err(why) => erased.left.push(format!(
            "the long texts in {} are all kept: {why}",
            blobs.dir().display(),
        )),
    }
}

/// The long texts that the other sessions of the project speak of.
fn spoken_of(
    dirs: &ProjectDirs,
    doomed: &[SessionId],
) -> Result<HashSet<String>, (PathBuf, io::Error)> {
    let doomed: BTreeSet<String> = doomed.iter().map(|id| format!("{id}.jsonl")).collect();
    let mut names = HashSet::new();
    for dir in [dirs.sessions(), dirs.archives()] {
        let found = fs::read_dir(&dir).map_err(|error| (dir.clone(), error))?;
        for file in found {
            let path = file.map_err(|error| (dir.clone(), error))?.path();
            let is_other = path
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.ends_with(".jsonl") && !doomed.contains(name));
            // A link is no ledger of ours, and nobody reads a text through it.
            let is_file = path
                .symlink_metadata()
                .is_ok_and(|found| found.file_type().is_file());
            if is_other && is_file {
                ledger::whole_texts(&path, |name| {
                    names.insert(name);
                })
                .map_err(|error| (path.clone(), error))?;
            }
        }
    }
    Ok(names)
}

/// Removes what was begun to follow these sessions and never taken over: it may hold what was
/// carried from them.
fn erase_aborted(files: &[DirEntry], segments: &[SessionId], erased: &mut Erased) {
    for file in files {
        if !name_of(file).contains(".aborted-") {
            continue;
        }
        let path = file.path();
        match predecessor_of(&path) {
            Ok(Some(before)) if segments.contains(&before.session_id) => remove(&path, erased),
            Ok(_) => {}
            Err(error) => erased.left.push(format!(
                "{}, which may hold what was carried from it, cannot be read: {error}",
                path.display()
            )),
        }
    }
}

/// What lies in a folder. What cannot be listed is left.
fn files_in(dir: &Path, erased: &mut Erased) -> Vec<DirEntry> {
    let mut files = Vec::new();
    for file in listed(dir) {
        match file {
            Ok(file) => files.push(file),
            Err(error) => {
                let why = format!("{} cannot be read: {error}", dir.display());
                erased.left.push(why);
            }
        }
    }
    files
}

/// Whether it is a file of a session: its ledger, or what was set aside of it.
fn is_of(file: &DirEntry, session: &SessionId) -> bool {
    let is_dir = file.file_type().is_ok_and(|kind| kind.is_dir());
    !is_dir && name_of(file).starts_with(&format!("{session}."))
}

fn name_of(file: &DirEntry) -> String {
    file.file_name().to_string_lossy().into_owned()
}

fn remove(path: &Path, erased: &mut Erased) {
    match fs::remove_file(path) {
        Ok(()) => erased.removed += 1,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => erased
            .left
            .push(format!("{} could not be deleted: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests;
