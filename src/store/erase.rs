//! [`erase`]: deletes a sealed session for good, so that a secret that got into it can really go.
//!
//! What was written before is not written over: on an SSD or a file system that copies on write
//! nobody could promise what that does. Knows files; the rows of the queue are the queue's.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::blobs::Blobs;
use super::capsules::{Capsules, KeptCapsule};
use super::dirs::{ProjectDirs, exists, remove_if_there};
use super::ledger;
use super::work_folders::WorkFolders;
use ctxrelay_core::entry::{EntryKind, Fate, Predecessor};
use ctxrelay_core::id::SessionId;

/// How many compacted segments are followed back. Each is a ledger that somebody compacted by
/// hand, so that more of them is a circle that somebody made.
const SEGMENTS_MAX: usize = 10_000;

/// Files of the state folder that hold what was in the ledger, by how their names begin. They are
/// rebuilt from the next session. The search index is not among them: who has it open
/// throws it away.
const DERIVED: [&str; 2] = ["checkpoint", "queue.db.bad-"];

/// What an erasure came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Files that are gone, long texts included.
    pub removed: u64,
    /// What is still there, and why.
    pub left: Vec<String>,
}

/// Whether there is a file of a session left that [`erase`] would remove.
pub fn is_there(dirs: &ProjectDirs, session: &SessionId) -> bool {
    [dirs.sessions(), dirs.archives()]
        .iter()
        .any(|dir| !named(dir, session).is_empty())
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
    erase_knowing(dirs, session, keep, texts_of_others(dirs, session))
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
        let segments = segments(dirs, session);
        let kept = Capsules::of(dirs);
        let files = kept.own_files().into_iter();
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

/// As [`erase`], with what is known of the other sessions; of the one that goes on it is read here.
pub fn erase_knowing(
    dirs: &ProjectDirs,
    session: &SessionId,
    keep: &SessionId,
    texts: KeptTexts,
) -> Erased {
    let mut erased = Erased::default();
    if session == keep || !SessionId::is_well_formed(session.as_str()) {
        erased
            .left
            .push(format!("{session} is no session that can be deleted"));
        return erased;
    }
    let segments: Vec<SessionId> = segments(dirs, session)
        .into_iter()
        .filter(|segment| segment != keep)
        .collect();
    erase_capsules(dirs, &segments, &texts, &mut erased);
    erase_texts(dirs, keep, texts, &mut erased);
    if let Ok(found) = fs::read_dir(&dirs.state) {
        for file in found.flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if DERIVED.iter().any(|begin| name.starts_with(begin)) {
                remove(&file.path(), &mut erased);
            }
        }
    }
    match WorkFolders::of(dirs).remove() {
        Ok(removed) => erased.removed += removed,
        Err(error) => erased
            .left
            .push(format!("the files about the agents' work: {error}")),
    }
    erase_aborted(dirs, &segments, &mut erased);
    // The oldest first: a later one names those before it.
    for segment in segments.iter().rev() {
        for dir in [dirs.sessions(), dirs.archives()] {
            let mut files = named(&dir, segment);
            files.sort_by_key(|path| path.extension().is_some_and(|end| end == "jsonl"));
            for file in files {
                remove(&file, &mut erased);
            }
        }
    }
    let folders = [dirs.sessions(), dirs.archives(), dirs.state.clone()];
    let capsules = Some(dirs.relay.join("capsules")).filter(|folder| exists(folder));
    for dir in folders.into_iter().chain(capsules) {
        if let Err(error) = fs::File::open(&dir).and_then(|dir| dir.sync_all()) {
            let why = format!("{} was not synced: {error}", dir.display());
            erased.left.push(why);
        }
    }
    erased
}

/// The session and what it was compacted from, the youngest first.
fn segments(dirs: &ProjectDirs, session: &SessionId) -> Vec<SessionId> {
    let mut segments = vec![session.clone()];
    while segments.len() < SEGMENTS_MAX
        && let Some(last) = segments.last()
        && let Some(before) = predecessor(dirs, last)
        && before.fate == Fate::Compacted
        && SessionId::is_well_formed(before.session_id.as_str())
        && !segments.contains(&before.session_id)
    {
        segments.push(before.session_id);
    }
    segments
}

/// What the first entry of a session says that it follows.
fn predecessor(dirs: &ProjectDirs, session: &SessionId) -> Option<Predecessor> {
    [
        dirs.ledger(session),
        dirs.archives().join(format!("{session}.jsonl")),
    ]
    .iter()
    .find(|path| exists(path))
    .and_then(|path| predecessor_of(path))
}

/// What the first entry of a ledger says that it follows; nothing when it cannot be read.
pub(super) fn predecessor_of(path: &Path) -> Option<Predecessor> {
    let mut found = None;
    let _ = ledger::read(path, |stored| {
        if let EntryKind::SessionStarted { predecessor } = stored.entry.kind {
            found = predecessor;
        }
        ControlFlow::Break(())
    });
    found
}

/// Removes the kept capsules that tell of the deleted session, and those that nobody can read. Few
/// were written since all were looked at.
fn erase_capsules(
    dirs: &ProjectDirs,
    segments: &[SessionId],
    texts: &KeptTexts,
    erased: &mut Erased,
) {
    let kept = Capsules::of(dirs);
    // Whatever stands in it.
    for path in kept.unfinished() {
        match remove_if_there(&path) {
            Ok(()) => erased.removed += 1,
            Err(error) => erased
                .left
                .push(format!("{} could not be deleted: {error}", path.display())),
        }
    }
    for file in kept.own_files() {
        let known = texts.capsules.get(&file).copied();
        if known.unwrap_or_else(|| !kept.may_speak_of(&file, segments)) {
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
fn erase_texts(dirs: &ProjectDirs, keep: &SessionId, texts: KeptTexts, erased: &mut Erased) {
    let path = dirs.ledger(keep);
    let blobs = Blobs::of_ledger(&path);
    let names = texts.names.and_then(|mut names| {
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
fn erase_aborted(dirs: &ProjectDirs, segments: &[SessionId], erased: &mut Erased) {
    let Ok(found) = fs::read_dir(dirs.sessions()) else {
        return;
    };
    for file in found.flatten() {
        let is_aborted = file.file_name().to_string_lossy().contains(".aborted-");
        let path = file.path();
        if is_aborted
            && predecessor_of(&path).is_some_and(|before| segments.contains(&before.session_id))
        {
            remove(&path, erased);
        }
    }
}

/// The files of a session in a folder: its ledger, and what was set aside of it.
fn named(dir: &Path, session: &SessionId) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let begin = format!("{session}.");
    found
        .flatten()
        .filter(|file| file.file_name().to_string_lossy().starts_with(&begin))
        .filter(|file| file.file_type().is_ok_and(|kind| !kind.is_dir()))
        .map(|file| file.path())
        .collect()
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
