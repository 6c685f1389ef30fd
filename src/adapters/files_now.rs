//! [`FilesNow`]: the current files of a project, as capsules describe them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::file_digest::{FileState, file_state, file_state_of};

/// The files of a project in one moment: each is read once, however many tasks name it.
#[derive(Debug)]
pub(super) struct FilesNow {
    root: PathBuf,
    states: RefCell<BTreeMap<String, FileState>>,
    looked: RefCell<BTreeMap<String, LookedFile>>,
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
            states: RefCell::default(),
            looked: RefCell::default(),
        }
    }

    /// What a file is now. Blocks for the disk.
    pub(super) fn state(&self, path: &str) -> FileState {
        if let Some(looked) = self.looked.borrow().get(path) {
            return looked.state.clone();
        }
        let mut states = self.states.borrow_mut();
        let state = states.entry(path.to_owned());
        state
            .or_insert_with(|| file_state(&self.root, path))
            .clone()
    }

    /// The same, with whether something in it would be masked, by `is_masked`. Blocks for the disk.
    pub(super) fn look(&self, path: &str, is_masked: impl Fn(&[u8]) -> bool) -> LookedFile {
        let mut seen = self.looked.borrow_mut();
        let looked = seen.entry(path.to_owned()).or_insert_with(|| {
            let mut bytes = Vec::new();
            let state = file_state_of(&self.root, path, &mut bytes);
            LookedFile {
                is_masked: matches!(state, FileState::Plain(_)) && is_masked(&bytes),
                state,
            }
        });
        looked.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let (root, looks) = (folder.path(), Cell::new(0));
        let is_masked = |bytes: &[u8]| {
            looks.set(looks.get() + 1);
            bytes == b"secret"
        };
        let files = FilesNow::new(root.to_owned());
        fs::write(root.join("a"), "secret").unwrap();
        let state = file_state(root, "a");
        for text in ["plain", "another"] {
            let looked = files.look("a", is_masked);
            assert!(looked.is_masked);
            assert_eq!(looked.state, state);
            assert_eq!(files.state("a"), state);
            fs::write(root.join("a"), text).unwrap();
        }
        assert_eq!(looks.get(), 1);
        assert_eq!(files.state("gone"), FileState::Gone);
        fs::write(root.join("gone"), "").unwrap();
        assert_eq!(files.state("gone"), FileState::Gone);
        assert!(!files.look("folder", is_masked).is_masked);
        assert_eq!(looks.get(), 1);
    }
}
