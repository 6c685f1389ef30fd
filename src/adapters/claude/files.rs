//! [`write_tree`]: a folder of generated files, written only where they changed.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Generated files by their path in the folder.
pub type Tree = Vec<(&'static str, String)>;

/// Writes what is missing or differs, each file whole or not at all. Says whether anything was
/// written: a plugin that did not change keeps its times, and Claude its caches.
///
/// # Errors
///
/// When the folder cannot be written; what was written before stays.
pub fn write_tree(dir: &Path, tree: &Tree) -> io::Result<bool> {
    let mut wrote = false;
    for (name, content) in tree {
        let path = dir.join(name);
        if fs::read(&path).is_ok_and(|old| old == content.as_bytes()) {
            continue;
        }
        let parent = path.parent().unwrap_or(dir);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(parent)?;
        file.write_all(content.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| error.error)?;
        File::open(parent)?.sync_all()?;
        wrote = true;
    }
    Ok(wrote)
}

/// Whether the folder holds exactly these contents.
pub fn is_current(dir: &Path, tree: &Tree) -> bool {
    tree.iter().all(|(name, content)| {
        fs::read(dir.join(name)).is_ok_and(|found| found == content.as_bytes())
    })
}
