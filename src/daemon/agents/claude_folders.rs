//! [`ClaudeFolders`]: in which folders the Claudes that are here were started. The loop says it, and
//! the watch over Claude's settings looks there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use crate::core::lock::lock;
use crate::daemon::attach::ConnId;

/// The longest folder that is looked at, in bytes: the kernel takes no longer path.
const FOLDER_BYTES_MAX: usize = 4_096;

/// In how many folders is looked. Somebody works in a few at a time.
const FOLDERS_MAX: usize = 64;

/// The folder of each bridge that said it.
#[derive(Debug, Default)]
pub(in crate::daemon) struct ClaudeFolders {
    of: Mutex<BTreeMap<ConnId, PathBuf>>,
}

impl ClaudeFolders {
    /// A bridge came, whose Claude was started there. Any program of an agent's can say so: only
    /// what can be a folder is looked at, and not more of them than there is time for.
    pub(in crate::daemon) fn came(&self, conn: ConnId, folder: &str) {
        let path = Path::new(folder);
        let has_parents = || path.components().any(|it| it == Component::ParentDir);
        if folder.len() > FOLDER_BYTES_MAX || !path.is_absolute() || has_parents() {
            return;
        }
        let mut of = lock(&self.of);
        let is_new = of.values().all(|it| it != path);
        if is_new && of.values().collect::<BTreeSet<_>>().len() >= FOLDERS_MAX {
            tracing::warn!(
                FOLDERS_MAX,
                "Claude's settings are looked at in no more folders"
            );
            return;
        }
        of.insert(conn, path.to_owned());
    }

    pub(in crate::daemon) fn left(&self, conn: ConnId) {
        lock(&self.of).remove(&conn);
    }

    /// Whether a bridge said this folder, and it was not refused.
    pub(in crate::daemon) fn looks_in(&self, folder: &str) -> bool {
        lock(&self.of).values().any(|it| it == Path::new(folder))
    }

    /// Each folder once.
    pub(in crate::daemon) fn all(&self) -> BTreeSet<PathBuf> {
        lock(&self.of).values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_a_folder_is_looked_at_and_not_more_of_them_than_there_is_time_for() {
        let folders = ClaudeFolders::default();
        let came = |folder: &str| {
            let conn = ConnId::next();
            folders.came(conn, folder);
            conn
        };
        for folder in ["", "p/web", "/p/../q", &"/a".repeat(2_049)] {
            came(folder);
        }
        assert_eq!(folders.all(), BTreeSet::new());
        let longest = "/a".repeat(2_048);
        let first = came(&longest);
        for n in 1..80 {
            came(&format!("/p/{n}"));
        }
        assert_eq!(folders.all().len(), 64);
        assert!(folders.looks_in("/p/1") && !folders.looks_in("/p/79"));
        came("/p/80");
        assert_eq!(folders.all().len(), 64);
        // One that is looked at already takes no place.
        came(&longest);
        folders.left(first);
        assert!(folders.all().contains(Path::new(&longest)));
    }
}
