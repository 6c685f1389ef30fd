//! [`Killed`]: the mark that a project's daemon was ended on purpose and is not to restart by
//! itself.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::dirs::{ProjectDirs, exists, remove_if_there, write_private};

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
    remove_if_there(&path(dirs))
}

fn path(dirs: &ProjectDirs) -> PathBuf {
    dirs.state_file("killed")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::Place;

    #[test]
    fn the_mark_is_set_read_and_cleared() {
        let place = Place::new();
        assert!(!is_killed(&place.dirs));
        clear(&place.dirs).unwrap();
        write(&place.dirs, 42).unwrap();
        assert!(is_killed(&place.dirs));
        let text = fs::read(path(&place.dirs)).unwrap();
        let killed: Killed = serde_json::from_slice(&text).unwrap();
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
    }
}
