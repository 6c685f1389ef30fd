//! [`sweep_left`]: removes the files that a killed process left in a folder.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use super::plain_file::open_plain;

/// Removes the files of this user in a folder whose names have this prefix and for which `is_left`
/// holds, which is told how old one is. Blocks for the disk.
pub fn sweep_left(folder: &Path, prefix: &str, is_left: impl Fn(&File, Duration) -> bool) {
    let remove = |path: &Path| -> io::Result<()> {
        let (file, found) = open_plain(path)?;
        let age = found.modified()?.elapsed().unwrap_or_default();
        let is_own = found.uid() == rustix::process::geteuid().as_raw();
        match is_own && is_left(&file, age) {
            true => fs::remove_file(path),
            false => Ok(()),
        }
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_named_so = entry.file_name().to_string_lossy().starts_with(prefix);
        if is_named_so && let Err(error) = remove(&entry.path()) {
            tracing::info!(%error, prefix, "what was left in a folder is still there");
        }
    }
}
