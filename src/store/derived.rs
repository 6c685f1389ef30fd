//! What is derived from the record and can be discarded at any time: the search index and the
//! checkpoint. The queue is not: it knows of attempts that the record does not.

use std::io;

use super::dirs::{ProjectDirs, listed, remove_if_there};

/// The search index, by its file in the state folder.
pub const INDEX: &str = "index.db";

/// How the names of everything begin that makes a start short.
const CHECKPOINT: &str = "checkpoint";

/// Removes the checkpoint, which is written again by itself. Returns the names of what was
/// removed, sorted.
///
/// # Errors
///
/// When the folder cannot be read or a file not removed.
pub fn discard_checkpoint(dirs: &ProjectDirs) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    for file in listed(&dirs.state) {
        let file = file?;
        let Ok(name) = file.file_name().into_string() else {
            continue;
        };
        // A folder of such a name is not ours; a link goes, and not what it points to.
        if !name.starts_with(CHECKPOINT) || file.file_type()?.is_dir() {
            continue;
        }
        remove_if_there(&file.path())?;
        removed.push(name);
    }
    removed.sort();
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::Place;

    #[test]
    fn only_checkpoints_go_and_links_are_not_followed() {
        let place = Place::new();
        let state = &place.dirs.state;
        let elsewhere = place.dir.path().join("elsewhere");
        fs::write(&elsewhere, "precious").unwrap();
        for name in [
            "checkpoint",
            "checkpoint.2",
            "queue.db",
            "token",
            "my-checkpoint",
        ] {
            fs::write(state.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, state.join("checkpoint-link")).unwrap();
        fs::create_dir(state.join("checkpoints")).unwrap();
        assert_eq!(
            discard_checkpoint(&place.dirs).unwrap(),
            ["checkpoint", "checkpoint-link", "checkpoint.2"]
        );
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
        let mut left: Vec<_> = fs::read_dir(state)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["checkpoints", "my-checkpoint", "queue.db", "token"]);
        assert!(discard_checkpoint(&place.dirs).unwrap().is_empty());
    }
}
