//! The mark of a daemon that failed by a fault of our own, for the next start.

use std::io;
use std::path::PathBuf;

use super::dirs::{ProjectDirs, read_private, write_private};

/// Longer than any word that is written here.
const BYTES_MAX: u64 = 64;

/// Sets the mark: the stable word of what failed.
///
/// # Errors
///
/// When the state folder cannot be written.
pub fn write(dirs: &ProjectDirs, code: &str) -> io::Result<()> {
    write_private(&path(dirs), code.as_bytes())
}

/// Takes the mark away, and returns what it says; one that cannot be read says nothing.
pub fn take(dirs: &ProjectDirs) -> Option<String> {
    let said = read_private(&path(dirs), BYTES_MAX);
    if said
        .as_ref()
        .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    {
        return None;
    }
    if let Err(error) = std::fs::remove_file(path(dirs)) {
        tracing::warn!(%error, "the mark of a daemon that failed could not be removed");
    }
    Some(String::from_utf8(said.unwrap_or_default()).unwrap_or_default())
}

fn path(dirs: &ProjectDirs) -> PathBuf {
    dirs.state_file("failed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Place;

    #[test]
    fn the_mark_is_taken_once_whatever_is_in_it() {
        let place = Place::new();
        assert_eq!(take(&place.dirs), None);
        write(&place.dirs, "writer_gone").unwrap();
        assert_eq!(take(&place.dirs), Some("writer_gone".to_owned()));
        assert_eq!(take(&place.dirs), None);
        std::fs::write(path(&place.dirs), [0xFF; 1000]).unwrap();
        assert_eq!(take(&place.dirs), Some(String::new()));
        assert_eq!(take(&place.dirs), None);
    }
}
