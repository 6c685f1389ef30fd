//! [`Killed`]: the mark that a project's daemon was ended on purpose and is not to come back by
//! itself.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::dirs::{ProjectDirs, exists, read_private, write_private};

/// More than any sentinel is long.
const KILLED_BYTES_MAX: u64 = 64 * 1024;

/// What the mark says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Killed {
    /// When, ms since the epoch.
    pub killed_at: i64,
    /// What was ended; always one project's daemon.
    pub scope: String,
    pub instance_id: String,
    /// Where.
    pub project_root: PathBuf,
}

/// Whether the daemon was ended on purpose. The file alone says so, whatever is in it.
pub fn is_killed(dirs: &ProjectDirs) -> bool {
    exists(&path(dirs))
}

/// What the mark says, when there is one that can be read.
pub fn read(dirs: &ProjectDirs) -> Option<Killed> {
    let text = read_private(&path(dirs), KILLED_BYTES_MAX).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Sets the mark.
///
/// # Errors
///
/// When the state folder cannot be written.
pub fn write(dirs: &ProjectDirs, now_ms: i64) -> io::Result<()> {
    let killed = Killed {
        killed_at: now_ms,
        scope: "instance".to_owned(),
        instance_id: dirs.instance_id(),
        project_root: dirs.root.clone(),
    };
    let mut text = serde_json::to_vec(&killed)?;
    text.push(b'\n');
    write_private(&path(dirs), &text)
}

/// Takes the mark away. Fine if there is none.
///
/// # Errors
///
/// When the state folder cannot be written.
pub fn clear(dirs: &ProjectDirs) -> io::Result<()> {
    match fs::remove_file(path(dirs)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn path(dirs: &ProjectDirs) -> PathBuf {
    dirs.state_file("killed")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::testing::Place;

    #[test]
    fn the_mark_is_set_read_and_cleared() {
        let place = Place::new();
        assert!(!is_killed(&place.dirs));
        clear(&place.dirs).unwrap();
        write(&place.dirs, 42).unwrap();
        assert!(is_killed(&place.dirs));
        let killed = read(&place.dirs).unwrap();
        assert_eq!((killed.killed_at, killed.scope.as_str()), (42, "instance"));
        assert_eq!(killed.instance_id, place.dirs.instance_id());
        clear(&place.dirs).unwrap();
        assert!(!is_killed(&place.dirs));
    }

    #[test]
    fn an_unreadable_mark_still_counts() {
        let place = Place::new();
        fs::write(place.dirs.state_file("killed"), "?").unwrap();
        assert!(is_killed(&place.dirs));
        assert_eq!(read(&place.dirs), None);
    }
}
