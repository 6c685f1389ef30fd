//! [`mend`]: finishes what a crash cut short between two sessions.
//!
//! `current` decides: the session that it names continues. The session that its first entry says it
//! follows is archived, if that has not happened yet; a session that says it follows *it* never
//! became current, and is set aside. Nothing is deleted here except what the first entry of the
//! current session says was to be deleted, and files without content.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::dirs::{ProjectDirs, exists, listed};
use super::erase::{Erased, erase, is_there, predecessor_of};
use super::ledger::seal;
use super::search;
use ctxrelay_core::entry::{Fate, Predecessor};
use ctxrelay_core::id::SessionId;

/// What was found and done.
#[derive(Debug, Default)]
pub struct Mended {
    /// The session that was to be archived, and where it lies now or why it could not be moved.
    pub archived: Option<(SessionId, io::Result<PathBuf>)>,
    /// The session that was to be deleted, and what came of it.
    pub erased: Option<(SessionId, Erased)>,
    /// Sessions that were begun and never taken over, with where their files lie now.
    pub aborted: Vec<(SessionId, PathBuf)>,
}

/// Looks at what lies around the current session and puts it right. To be called before its
/// ledger is opened.
pub fn mend(dirs: &ProjectDirs, current: &SessionId) -> Mended {
    let mut mended = Mended::default();
    let path = dirs.ledger(current);
    if let Some(before) = follows(&path)
        && SessionId::is_well_formed(before.session_id.as_str())
        && before.session_id != *current
    {
        let old = before.session_id;
        if before.fate == Fate::Discarded {
            if is_there(dirs, &old) {
                let mut erased = erase(dirs, &old, current);
                // Nobody has it open yet.
                if let Err(error) = search::discard(dirs) {
                    let why = format!("the search index could not be deleted: {error}");
                    erased.left.push(why);
                }
                mended.erased = Some((old, erased));
            }
        } else if exists(&dirs.ledger(&old)) {
            let sealed = seal(dirs, &old);
            mended.archived = Some((old, sealed));
        }
    }
    for file in listed(&dirs.sessions()) {
        let path = match file {
            Ok(file) => file.path(),
            Err(error) => {
                tracing::warn!(%error, "aborted sessions could not be looked for");
                break;
            }
        };
        let Some(id) = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".jsonl"))
            .filter(|id| SessionId::is_well_formed(id) && *id != current.as_str())
            .map(SessionId::new)
        else {
            continue;
        };
        // A crash came before its first entry.
        if fs::symlink_metadata(&path).is_ok_and(|file| file.is_file() && file.len() == 0) {
            if let Err(error) = fs::remove_file(&path) {
                tracing::warn!(%error, %id, "an empty session could not be removed");
            }
            continue;
        }
        let follows_current = follows(&path).is_some_and(|it| it.session_id == *current);
        if !follows_current {
            continue;
        }
        let now = Timestamp::now().as_millisecond();
        let aside = path.with_extension(format!("aborted-{now}"));
        match fs::rename(&path, &aside) {
            Ok(()) => mended.aborted.push((id, aside)),
            Err(error) => tracing::warn!(%error, %id, "an aborted session could not be set aside"),
        }
    }
    mended
}

/// What a ledger says that it follows. One that cannot be read is left as it is: who opens it tells
/// why.
fn follows(path: &Path) -> Option<Predecessor> {
    predecessor_of(path).unwrap_or_else(|error| {
        tracing::warn!(%error, path = %path.display(), "what it follows could not be read");
        None
    })
}

#[cfg(test)]
mod tests;
