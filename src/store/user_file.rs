//! A user's file in a project: resolved [`behind`] a link, and [`replace`]d whole.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::dirs::{write_open, write_private};

/// The file behind a path, if it lies in the project: `AGENTS.md` is often a link to `CLAUDE.md`. A
/// path at which nothing is stays as it is.
///
/// # Errors
///
/// Why it is not one to write to.
pub fn behind(root: &Path, path: &Path) -> Result<PathBuf, &'static str> {
    match path.symlink_metadata() {
        Err(_) => Ok(path.to_path_buf()),
        Ok(_) => match path.canonicalize() {
            Ok(real) if !real.is_file() => Err("it is not a file"),
            Ok(real) if real.starts_with(root) => Ok(real),
            Ok(_) => Err("it is a link that leaves the project"),
            Err(_) => Err("it is a link to nothing"),
        },
    }
}

/// Replaces the file whole and keeps its mode; a new one gets the one that the umask leaves.
///
/// # Errors
///
/// When it cannot be written; the old one is then still there.
pub fn replace(path: &Path, text: &str, exists: bool) -> io::Result<()> {
    if !exists {
        return write_open(path, text.as_bytes());
    }
    let mode = path.metadata()?.permissions().mode() & 0o777;
    write_private(path, text.as_bytes())?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}
