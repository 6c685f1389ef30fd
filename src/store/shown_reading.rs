//! [`ShownReading`]: how far a starting daemon has read the record, published on the disk for the
//! process that waits for it at a terminal: its parent, or the command that replaces the previous
//! daemon. These have no other way to learn it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::dirs::{ProjectDirs, open_private, read_private, remove_if_there, write_fleeting};
use super::ledger::ReadSoFar;

/// In the state folder.
const FILE: &str = "reading.json";

/// More than the file is long.
const BYTES_MAX: u64 = 4 * 1024;

/// What has not changed for so long is of a process that died over it, or it is stuck. It is written
/// several times a second.
const OLD: Duration = Duration::from_secs(2);

/// The file, gone with this.
#[derive(Debug)]
pub struct ShownReading {
    path: PathBuf,
}

impl ShownReading {
    /// Nothing is shown yet.
    pub fn of(dirs: &ProjectDirs) -> Self {
        Self {
            path: dirs.state_file(FILE),
        }
    }

    /// It is so far. Nobody needs it to go on, so that an error is no fault.
    pub fn tell(&self, so_far: ReadSoFar) {
        let written = serde_json::to_vec(&so_far)
            .map_err(io::Error::from)
            .and_then(|bytes| write_fleeting(&self.path, &bytes));
        if let Err(error) = written {
            tracing::debug!(%error, "how far the reading is is not shown");
        }
    }

    /// What a daemon of this project shows at this moment.
    pub fn read(dirs: &ProjectDirs) -> Option<ReadSoFar> {
        let path = dirs.state_file(FILE);
        let written = open_private(&path).ok()?.metadata().ok()?.modified().ok()?;
        // A clock that jumps makes no reading old.
        let is_old = written.elapsed().is_ok_and(|age| age > OLD);
        let text = read_private(&path, BYTES_MAX).ok().filter(|_| !is_old)?;
        serde_json::from_slice(&text).ok()
    }
}

impl Drop for ShownReading {
    fn drop(&mut self) {
        if let Err(error) = remove_if_there(&self.path) {
            tracing::debug!(%error, "how far the reading was stays shown");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;
    use crate::testing::Place;

    #[test]
    fn a_reading_is_shown_while_it_goes_on_and_no_longer() {
        let place = Place::new();
        let dirs = &place.dirs;
        dirs.create().unwrap();
        assert_eq!(ShownReading::read(dirs), None);
        let shown = ShownReading::of(dirs);
        let so_far = ReadSoFar {
            bytes: 5,
            of: 10,
            entries: 1,
        };
        shown.tell(so_far);
        assert_eq!(ShownReading::read(dirs), Some(so_far));
        // As one that was killed leaves it.
        let file = File::options().write(true).open(&shown.path).unwrap();
        file.set_modified(SystemTime::now() - 2 * OLD).unwrap();
        assert_eq!(ShownReading::read(dirs), None);
        shown.tell(so_far);
        assert_eq!(ShownReading::read(dirs), Some(so_far));
        drop(shown);
        assert_eq!(ShownReading::read(dirs), None);
    }
}
