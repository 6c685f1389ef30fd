//! [`file_digest`]: what a file of the project is now.

use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::plain_file::open_plain;
use crate::core::capsule::is_within;
use crate::core::hex::hex;

/// The longest file that is looked at, in bytes.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// How much is read at once, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// The SHA-256 of a file below `root`, in lower-case hex. None where it is not there, no plain file,
/// too long, or somewhere else by a link. Blocks for the disk.
pub fn file_digest(root: &Path, path: &str) -> Option<String> {
    if !is_within(path) {
        return None;
    }
    let root = root.canonicalize().ok()?;
    let path = root.join(path);
    let folder = path.parent()?.canonicalize().ok()?;
    if !folder.starts_with(&root) {
        return None;
    }
    let (file, found) = open_plain(&path).ok()?;
    if found.len() > FILE_BYTES_MAX {
        return None;
    }
    let mut file = file.take(FILE_BYTES_MAX);
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE_BYTES]);
    loop {
        match file.read(&mut piece).ok()? {
            0 => return Some(hex(&hasher.finalize())),
            bytes => hasher.update(&piece[..bytes]),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
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
    }
}
