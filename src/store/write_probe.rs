//! [`write_probe`]: whether a folder can be written, where acknowledged data has to go; [`way_on`]:
//! what to do if not.

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use rustix::io::Errno;

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

/// What is to be done where the system refused to write at a place.
pub fn way_on(error: &io::Error, place: &Path) -> String {
    let place = place.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!(
            "make room on the disk of {place} (`df {place}`, `df -i {place}`), or raise your quota"
        ),
        ErrorKind::ReadOnlyFilesystem => {
            format!("mount the disk of {place} so that it can be written")
        }
        _ => match Errno::from_io_error(error) {
            Some(Errno::IO) => format!("see that the disk of {place} works (`dmesg`)"),
            Some(Errno::MFILE | Errno::NFILE) => {
                "end programs that nobody needs, or raise the limit of open files (`ulimit -n`)"
                    .to_owned()
            }
            _ => format!("make {place} writable for you"),
        },
    }
}
