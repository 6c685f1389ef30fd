//! The project that a state folder belongs to: `CONTEXTRELAY_STATE_DIR` may name the same folder
//! for two projects, which would then share daemon, queue and tokens.

use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::dirs::{
    ProjectDirs, RELAY_DIR, UNPLACED, exists, read_private, remove_if_there, write_private,
};

/// In a state folder that does not lie in its project: the project's root.
const MARKER: &str = "project";

/// More than any path is long.
const PATH_BYTES_MAX: u64 = 64 * 1024;

/// The other project whose state lies in the state folder of this one; `None` when that is gone.
pub fn state_of_another(dirs: &ProjectDirs) -> Option<PathBuf> {
    if is_within(dirs) {
        return None;
    }
    let root = within_another(dirs).or_else(|| marked(dirs))?;
    let is_another = root != dirs.root && exists(&root.join(RELAY_DIR));
    is_another.then_some(root)
}

/// The other project in whose own folder it lies: there nothing is marked.
fn within_another(dirs: &ProjectDirs) -> Option<PathBuf> {
    // By another way to it, too.
    let state = fs::canonicalize(&dirs.state);
    let state = state.as_deref().unwrap_or(&dirs.state);
    let own = fs::canonicalize(&dirs.root);
    let own = own.as_deref().unwrap_or(&dirs.root);
    let relay = state
        .ancestors()
        .find(|folder| folder.file_name() == Some(RELAY_DIR.as_ref()))?;
    let root = relay.parent()?;
    (root != own).then(|| root.to_owned())
}

/// The state folder of this project, where it does not lie in it and says that it is this one's. Not
/// one that the project itself lies in: that is more than state.
pub fn state_elsewhere(dirs: &ProjectDirs) -> Option<&Path> {
    let is_elsewhere = !is_within(dirs) && !dirs.root.starts_with(&dirs.state);
    let is_ours = is_elsewhere && marked(dirs)? == dirs.root;
    is_ours.then_some(&*dirs.state)
}

/// Removes the state from such a folder, and the folder when nothing else lies in it. What else does is
/// the person's: any folder may be named as the one for the state. Returns whether it is gone.
///
/// # Errors
///
/// When something of it cannot be removed.
pub fn remove_state(state: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(state)? {
        let entry = entry?;
        if !is_state(&entry.file_name().to_string_lossy()) {
            continue;
        }
        // Of a link it goes, and not what it points to.
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => remove_if_there(&entry.path())?,
        }
    }
    match fs::remove_dir(state) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// Whether a file or folder of this name is made by us.
fn is_state(name: &str) -> bool {
    const EXACT: [&str; 19] = [
        "claude-token",
        "codex-app-server.json",
        "codex-token",
        "continuity",
        "cost-today.json",
        "daemon-identity",
        "daemon.lock",
        "daemon.pid",
        "failed",
        "killed",
        "ports.json",
        "proxy-token",
        "reading.json",
        "redaction-rules.json",
        "runtime-sessions",
        "sessions.json",
        "status.json",
        "token",
        "viewer-token",
    ];
    // With what SQLite, a start and a rotation put beside them.
    const WITH_COPIES: [&str; 4] = ["checkpoint", "contextrelay.log", "index.db", "queue.db"];
    name == MARKER
        || EXACT.contains(&name)
        || name.starts_with(UNPLACED)
        || WITH_COPIES.iter().any(|of| name.starts_with(of))
}

/// Whose state it holds, where it says so.
fn marked(dirs: &ProjectDirs) -> Option<PathBuf> {
    let named = read_private(&dirs.state_file(MARKER), PATH_BYTES_MAX).ok()?;
    Some(PathBuf::from(std::ffi::OsString::from_vec(named)))
}

/// Says in the state folder whose it is. To be done as its owner.
///
/// # Errors
///
/// When it holds the state of another project, or cannot be written.
pub fn mark_state(dirs: &ProjectDirs) -> io::Result<()> {
    if is_within(dirs) {
        return Ok(());
    }
    if let Some(other) = state_of_another(dirs) {
        return Err(io::Error::other(shared(&other)));
    }
    write_private(
        &dirs.state_file(MARKER),
        dirs.root.as_os_str().as_encoded_bytes(),
    )
}

/// In words.
pub fn shared(other: &Path) -> String {
    format!("it holds the state of the project {}", other.display())
}

/// Whether it lies in its own project, where no other has it.
fn is_within(dirs: &ProjectDirs) -> bool {
    dirs.state.starts_with(&dirs.relay)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Place;

    #[test]
    fn a_state_folder_is_one_projects_until_that_is_gone() {
        let (first, second) = (Place::new(), Place::new());
        let state = first.dir.path().join("state");
        fs::create_dir(&state).unwrap();
        let of = |place: &Place| ProjectDirs::new(place.dirs.root.clone(), Some(state.clone()));
        assert_eq!(state_of_another(&of(&second)), None);
        assert_eq!(state_elsewhere(&of(&first)), None, "nobody said so");
        mark_state(&of(&first)).unwrap();
        assert_eq!(state_elsewhere(&of(&first)), Some(&*state));
        assert_eq!(state_elsewhere(&of(&second)), None);
        assert_eq!(state_elsewhere(&first.dirs), None);
        mark_state(&of(&first)).unwrap();
        assert_eq!(state_of_another(&of(&first)), None);
        let root = first.dirs.root.clone();
        assert_eq!(state_of_another(&of(&second)), Some(root));
        mark_state(&of(&second)).unwrap_err();
        fs::remove_dir_all(&first.dirs.relay).unwrap();
        mark_state(&of(&second)).unwrap();
        assert_eq!(state_of_another(&of(&second)), None);
        // That of another project itself, by its path and by a link.
        let link = first.dir.path().join("link");
        std::os::unix::fs::symlink(&second.dirs.state, &link).unwrap();
        for state in [second.dirs.state.clone(), link] {
            let dirs = ProjectDirs::new(first.dirs.root.clone(), Some(state));
            assert_eq!(state_of_another(&dirs), Some(second.dirs.root.clone()));
            mark_state(&dirs).unwrap_err();
        }
        // In the project itself nothing is marked.
        mark_state(&second.dirs).unwrap();
        assert!(!exists(&second.dirs.state_file(MARKER)));
    }
}
