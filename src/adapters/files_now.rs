//! [`FilesNow`]: the files of a project as they are, as capsules tell of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::file_digest::{FileState, file_state, file_state_of};

/// The files of a project. Each look reads the file anew, but where they are asked to be remembered.
#[derive(Debug)]
pub(super) struct FilesNow {
    root: PathBuf,
    remembered: RefCell<Option<Remembered>>,
}

/// What was seen, by path.
#[derive(Debug, Default)]
struct Remembered {
    states: BTreeMap<String, FileState>,
    looked: BTreeMap<String, LookedFile>,
}

/// A file that was looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LookedFile {
    pub(super) state: FileState,
    /// Something in it would be masked.
    pub(super) is_masked: bool,
}

impl FilesNow {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            remembered: RefCell::default(),
        }
    }

    /// From now on each file is read once: for one listing, in which many tasks name the same.
    pub(super) fn remember(&self) {
        self.remembered
            .borrow_mut()
            .get_or_insert_with(Remembered::default);
    }

    /// What a file is now. Blocks for the disk.
    pub(super) fn state(&self, path: &str) -> FileState {
        let known = self.known(|seen| {
            let looked = || seen.looked.get(path).map(|looked| &looked.state);
            seen.states.get(path).or_else(looked).cloned()
        });
        let state = known.unwrap_or_else(|| file_state(&self.root, path));
        if let Some(seen) = self.remembered.borrow_mut().as_mut() {
            seen.states.insert(path.to_owned(), state.clone());
        }
        state
    }

    /// The same, with whether something in it would be masked, by `is_masked`. Blocks for the disk.
    pub(super) fn look(&self, path: &str, is_masked: impl Fn(&[u8]) -> bool) -> LookedFile {
        let known = self.known(|seen| seen.looked.get(path).cloned());
        let looked = known.unwrap_or_else(|| {
            let mut bytes = Vec::new();
            let state = file_state_of(&self.root, path, &mut bytes);
            LookedFile {
                is_masked: matches!(state, FileState::Plain(_)) && is_masked(&bytes),
                state,
            }
        });
        if let Some(seen) = self.remembered.borrow_mut().as_mut() {
            seen.looked.insert(path.to_owned(), looked.clone());
        }
        looked
    }

    fn known<T>(&self, find: impl Fn(&Remembered) -> Option<T>) -> Option<T> {
        self.remembered.borrow().as_ref().and_then(find)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::cell::Cell;
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_once_where_files_are_remembered_and_else_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (root, looks) = (folder.path(), Cell::new(0));
        let is_masked = |bytes: &[u8]| {
            looks.set(looks.get() + 1);
            bytes == b"secret"
        };
        let files = FilesNow::new(root.to_owned());
        fs::write(root.join("a"), "secret").unwrap();
        assert!(files.look("a", is_masked).is_masked);
        fs::write(root.join("a"), "plain").unwrap();
        let plain = files.look("a", is_masked);
        assert!(!plain.is_masked);
        assert_eq!(plain.state, file_state(root, "a"));
        files.remember();
        for text in ["secret", "another"] {
            let looked = files.look("a", is_masked);
            assert_eq!(looked.state, plain.state);
            assert_eq!(files.state("a"), plain.state);
            fs::write(root.join("a"), text).unwrap();
        }
        assert_eq!(looks.get(), 3);
        assert_eq!(files.state("gone"), FileState::Gone);
        fs::write(root.join("gone"), "").unwrap();
        assert_eq!(files.state("gone"), FileState::Gone);
        assert!(!files.look("folder", is_masked).is_masked);
        assert_eq!(looks.get(), 3);
    }
}
