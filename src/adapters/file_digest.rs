//! [`file_state`]: the current state of a file of the project.

use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::plain_file::open_plain;
use crate::core::capsule::is_within;
use crate::core::hex::hex;

/// The longest file that is looked at, in bytes.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// How much is read at once, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// A file of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// It is not there.
    Gone,
    /// A plain file, with its SHA-256 in lower-case hex.
    Plain(String),
    /// Something else is there: a link, a folder, or a file that is too long.
    Other,
    /// Nobody can tell.
    Unread,
}

/// What a file below `root` is now. Nothing outside of it is looked at, and no link is followed.
/// Blocks for the disk.
pub fn file_state(root: &Path, path: &str) -> FileState {
    told(state(root, path, |_| ()))
}

/// As [`file_state`], with the bytes of a plain file.
pub fn file_state_of(root: &Path, path: &str, bytes: &mut Vec<u8>) -> FileState {
    told(state(root, path, |piece| bytes.extend_from_slice(piece)))
}

fn told(state: io::Result<FileState>) -> FileState {
    match state {
        Ok(state) => state,
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileState::Gone,
            _ => FileState::Unread,
        },
    }
}

/// Its SHA-256, where it is a plain file that is not too long.
pub fn file_digest(root: &Path, path: &str) -> Option<String> {
    match file_state(root, path) {
        FileState::Plain(digest) => Some(digest),
        _ => None,
    }
}

fn state(root: &Path, path: &str, mut take: impl FnMut(&[u8])) -> io::Result<FileState> {
    if !is_within(path) {
        return Ok(FileState::Unread);
    }
    // The project itself is there.
    let Ok(root) = root.canonicalize() else {
        return Ok(FileState::Unread);
    };
    let path = root.join(path);
    let folder = path.parent().unwrap_or(&root).canonicalize()?;
    if !folder.starts_with(&root) {
        return Ok(FileState::Other);
    }
    let found = path.symlink_metadata()?;
    if !found.is_file() || found.len() > FILE_BYTES_MAX {
        return Ok(FileState::Other);
    }
    let (file, _) = open_plain(&path)?;
    let mut file = file.take(FILE_BYTES_MAX);
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(FileState::Plain(hex(&hasher.finalize()))),
            bytes => {
                hasher.update(&piece[..bytes]);
                take(&piece[..bytes]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_plain_files_below_the_project_are_looked_at() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("project");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a"), "abc").unwrap();
        fs::write(place.path().join("outside"), "abc").unwrap();
        let digest = file_digest(&root, "src/a");
        assert_eq!(
            digest.as_deref(),
            Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
        symlink(place.path(), root.join("up")).unwrap();
        symlink(root.join("src/a"), root.join("link")).unwrap();
        for path in [
            "../outside",
            "up/outside",
            "link",
            "src",
            "gone",
            "/etc/hosts",
        ] {
            assert_eq!(file_digest(&root, path), None, "{path}");
        }
        let mut bytes = Vec::new();
        let state = file_state_of(&root, "src/a", &mut bytes);
        assert_eq!(
            (state, bytes),
            (file_state(&root, "src/a"), b"abc".to_vec())
        );
        let state = |path: &str| file_state(&root, path);
        fs::write(root.join("long"), "").unwrap();
        let long = fs::File::options().write(true).open(root.join("long"));
        long.unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        for (path, expected) in [
            ("gone", FileState::Gone),
            ("src/a/below", FileState::Gone),
            ("link", FileState::Other),
            ("src", FileState::Other),
            ("long", FileState::Other),
            ("up/outside", FileState::Other),
            ("../outside", FileState::Unread),
        ] {
            assert_eq!(state(path), expected, "{path}");
        }
    }
}
