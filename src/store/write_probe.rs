//! [`write_probe`]: whether what is acknowledged can be written in a folder.

use std::io::{self, Write as _};
use std::path::Path;

/// What is written, in bytes: more than a file keeps in its own entry, and what a long message takes.
const PROBE_BYTES: usize = 64 * 1024;

/// Writes a file without a name where the system has such, which is gone with its end; a watch of
/// the folder sees nothing of it.
///
/// # Errors
///
/// As any other file would fail there: for want of room or of inodes, by a quota or permissions.
pub fn write_probe(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&[0; PROBE_BYTES])?;
    // A disk may find out that it is full when it has to have it.
    file.sync_data()
}
