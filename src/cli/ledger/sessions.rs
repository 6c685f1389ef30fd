//! [`all`]: every session of the project that has a record, current, earlier and archived.

use std::path::PathBuf;

use crate::cli::disk;
use crate::cli::exit::Failure;
use crate::core::id::SessionId;
use crate::store::dirs::ProjectDirs;

/// The sessions and their files, youngest first: their names begin with their time. One that lies
/// in both folders is the one that was not archived.
///
/// # Errors
///
/// When a folder cannot be read.
pub(super) fn all(dirs: &ProjectDirs) -> Result<Vec<(SessionId, PathBuf)>, Failure> {
    let mut sessions: Vec<(SessionId, PathBuf)> = Vec::new();
    for dir in [dirs.sessions(), dirs.archives()] {
        let Ok(found) = std::fs::read_dir(&dir) else {
            continue;
        };
        for file in found {
            let file = file.map_err(|error| disk::unreadable(&dir, &error))?;
            let name = file.file_name();
            let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) else {
                continue;
            };
            let is_new = sessions.iter().all(|(other, _)| other.as_str() != id);
            if SessionId::is_well_formed(id) && is_new {
                sessions.push((SessionId::new(id), file.path()));
            }
        }
    }
    sessions.sort_by(|(a, _), (b, _)| b.as_str().cmp(a.as_str()));
    Ok(sessions)
}
