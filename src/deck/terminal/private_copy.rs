//! [`private_copy`]: a text in a file that only the person can read, outside the project.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::PathBuf;

use tempfile::TempDir;

/// Writes the text (0600) into a folder of its own (0700), which is removed when it is dropped.
///
/// # Errors
///
/// When it cannot be written; nothing stays then.
pub(in crate::deck) fn private_copy(name: &str, text: &str) -> io::Result<(TempDir, PathBuf)> {
    // What is in memory only, where there is such a place.
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let parent = runtime.filter(|dir| dir.is_dir());
    let parent = parent.unwrap_or_else(std::env::temp_dir);
    let folder = tempfile::Builder::new()
        .prefix("ctxrelay-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)?;
    let file = folder.path().join(name);
    let mut copy = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&file)?;
    copy.write_all(text.as_bytes())?;
    Ok((folder, file))
}
