//! [`ProjectDirs`] and [`UserDirs`]: where files are, inside a project and outside of it.
//!
//! Anything inside a project may have been written by an agent or come with a clone: it is opened
//! without following links, and no name read there becomes a path unchecked.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use ctxrelay_core::hex::hex;
use ctxrelay_core::id::SessionId;

/// The folder in a project that holds everything of ours.
pub const RELAY_DIR: &str = ".contextrelay";

/// The project's configuration, in that folder.
const CONFIG_FILE: &str = "config.json";

/// How the name of a file begins that is to take the place of another.
pub(crate) const UNPLACED: &str = ".new-";

/// The writer of such a file has finished by then.
pub(crate) const UNPLACED_FOR: Duration = Duration::from_secs(3600);

/// Where things lie in one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectDirs {
    /// The project itself, absolute and without links.
    pub root: PathBuf,
    /// `.contextrelay`.
    pub relay: PathBuf,
    /// `.contextrelay/state`, or `CONTEXTRELAY_STATE_DIR`.
    pub state: PathBuf,
}

impl ProjectDirs {
    /// Takes a project root as it is.
    pub fn new(root: PathBuf, state: Option<PathBuf>) -> Self {
        let relay = root.join(RELAY_DIR);
        let state = state.unwrap_or_else(|| relay.join("state"));
        Self { root, relay, state }
    }

    /// The project of a folder: the nearest ancestor with `.contextrelay/`, else the git root,
    /// else the folder itself. `home`, `/` and folders above the git root hold many projects and
    /// are one only where somebody made them one, with a `config.json`.
    ///
    /// # Errors
    ///
    /// When the folder does not exist or cannot be reached.
    pub fn discover(from: &Path, home: Option<&Path>, state: Option<PathBuf>) -> io::Result<Self> {
        let from = from.canonicalize()?;
        let marked = |mark: &str| {
            from.ancestors()
                .filter(move |dir| exists(&dir.join(mark)))
                .collect::<Vec<_>>()
        };
        let git = marked(".git").first().copied();
        let counts = |dir: &&Path| {
            let is_above_git = git.is_some_and(|git| git != *dir && git.starts_with(dir));
            !(is_above_git || is_wide(dir, home)) || exists(&dir.join(RELAY_DIR).join(CONFIG_FILE))
        };
        let root = marked(RELAY_DIR).into_iter().find(counts);
        let root = root.or(git.filter(counts)).unwrap_or(&from).to_path_buf();
        Ok(Self::new(root, state))
    }

    /// The project that this one is a git worktree of, when it is one and that one has a record.
    pub fn main_of_worktree(&self) -> Option<PathBuf> {
        let link = read_private(&self.root.join(".git"), 4096).ok()?;
        let link = String::from_utf8(link).ok()?;
        let folder = self.root.join(link.trim().strip_prefix("gitdir: ")?);
        // `MAIN/.git/worktrees/NAME`
        let worktrees = folder.parent()?;
        let git = worktrees.parent()?;
        let is_worktree = worktrees.file_name()? == "worktrees" && git.file_name()? == ".git";
        let main = git.parent()?.canonicalize().ok()?;
        (is_worktree && exists(&main.join(RELAY_DIR))).then_some(main)
    }

    /// What is there once somebody has begun to work with us in a folder that [`Self::discover`]
    /// found.
    pub fn begun(&self, home: Option<&Path>) -> PathBuf {
        if is_wide(&self.root, home) {
            self.config()
        } else {
            self.relay.clone()
        }
    }

    /// `sessions/<id>.jsonl`.
    pub fn ledger(&self, session: &SessionId) -> PathBuf {
        self.sessions().join(format!("{session}.jsonl"))
    }

    /// `sessions`.
    pub fn sessions(&self) -> PathBuf {
        self.relay.join("sessions")
    }

    /// `archives`.
    pub fn archives(&self) -> PathBuf {
        self.relay.join("archives")
    }

    /// `current`: names the active session.
    pub fn current(&self) -> PathBuf {
        self.relay.join("current")
    }

    /// `config.json`.
    pub fn config(&self) -> PathBuf {
        self.relay.join(CONFIG_FILE)
    }

    /// A file in the state folder.
    pub fn state_file(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }

    /// The id that stands for this project outside of it: `ctx_` and twelve hex digits of the
    /// SHA-256 of its path.
    pub fn instance_id(&self) -> String {
        let digest = Sha256::digest(self.root.as_os_str().as_encoded_bytes());
        format!("ctx_{}", hex(&digest[..6]))
    }

    /// Makes the folders: `.contextrelay/.gitignore` with `*` first, so that nothing of ours is
    /// ever committed by accident; folders 0700.
    ///
    /// # Errors
    ///
    /// When the project cannot be written, or one of the folders is a link.
    pub fn create(&self) -> io::Result<()> {
        make_private_dir(&self.relay)?;
        let ignore = self.relay.join(".gitignore");
        if ignore.symlink_metadata().is_err() {
            write_private(&ignore, b"*\n")?;
        }
        for dir in [
            self.sessions(),
            self.archives(),
            self.relay.join("blobs"),
            self.state.clone(),
        ] {
            make_private_dir(&dir)?;
        }
        Ok(())
    }
}

/// Where things lie outside the projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDirs {
    /// `${CONTEXTRELAY_REGISTRY_DIR:-${XDG_STATE_HOME:-~/.local/state}/contextrelay}`.
    pub registry: PathBuf,
    /// `${XDG_DATA_HOME:-~/.local/share}/contextrelay`; below a registry that is named where there is
    /// no home folder.
    pub data: PathBuf,
    /// `$XDG_RUNTIME_DIR`: private and short.
    pub runtime: Option<PathBuf>,
}

impl UserDirs {
    /// Reads the environment through `var`.
    ///
    /// Returns `None` when there is neither an override nor a home folder.
    pub fn from_env(var: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let home = || var("HOME").filter(|home| home.is_absolute());
        let base = |name: &str, fallback: &str| {
            var(name)
                .filter(|dir| dir.is_absolute())
                .or_else(|| home().map(|home| home.join(fallback)))
        };
        let named = var("CONTEXTRELAY_REGISTRY_DIR").filter(|dir| dir.is_absolute());
        let registry = match named.clone() {
            Some(dir) => dir,
            None if cfg!(target_os = "macos") => {
                home()?.join("Library/Application Support/ContextRelay")
            }
            None => base("XDG_STATE_HOME", ".local/state")?.join("contextrelay"),
        };
        let data = base("XDG_DATA_HOME", ".local/share").map(|dir| dir.join("contextrelay"));
        // A hook needs no such folder, and is told the registry: without a home it judges as well.
        let data = data.or_else(|| named.map(|dir| dir.join("data")))?;
        let runtime = var("XDG_RUNTIME_DIR").filter(|dir| dir.is_absolute());
        Some(Self {
            registry,
            data,
            runtime,
        })
    }

    /// `instances.json`.
    pub fn instances(&self) -> PathBuf {
        self.registry.join("instances.json")
    }

    /// `heads/<instanceId>.json`.
    pub fn head(&self, instance_id: &str) -> PathBuf {
        self.registry.join(format!("heads/{instance_id}.json"))
    }

    /// `heads/<instanceId>.coming`.
    pub fn coming(&self, instance_id: &str) -> PathBuf {
        self.registry.join(format!("heads/{instance_id}.coming"))
    }

    /// `heads/<instanceId>.queue`.
    pub fn queue_generation(&self, instance_id: &str) -> PathBuf {
        self.registry.join(format!("heads/{instance_id}.queue"))
    }

    /// `heads/<instanceId>.checkpoint`.
    pub fn checkpoint(&self, instance_id: &str) -> PathBuf {
        self.registry
            .join(format!("heads/{instance_id}.checkpoint"))
    }

    /// `trust/<instanceId>.json`.
    pub fn trust(&self, instance_id: &str) -> PathBuf {
        self.registry.join(format!("trust/{instance_id}.json"))
    }

    /// `unsent`: what was written in decks and could not be sent.
    pub fn unsent(&self) -> PathBuf {
        self.registry.join("unsent")
    }

    /// `operator.key`: the key that signs decisions, one for all projects.
    pub fn operator_key(&self) -> PathBuf {
        self.registry.join("operator.key")
    }

    /// `signing/<instanceId>.json`: the key that signs a project's decisions.
    pub fn signer(&self, instance_id: &str) -> PathBuf {
        self.registry.join(format!("signing/{instance_id}.json"))
    }

    /// `inference/<instanceId>`: where a model that reads an agent's words is asked.
    pub fn inference(&self, instance_id: &str) -> PathBuf {
        self.registry.join("inference").join(instance_id)
    }

    /// `worktrees/<instanceId>`: work trees that were made for a project.
    pub fn worktrees(&self, instance_id: &str) -> PathBuf {
        self.registry.join("worktrees").join(instance_id)
    }
}

/// Makes a folder that only its owner can enter. An existing one is taken, a link is refused.
///
/// # Errors
///
/// When it cannot be made, or something else has its name.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{} is in the way: not a folder, or a link", path.display()),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(path)
        }
        Err(error) => Err(error),
    }
}

/// Opens a file of ours for reading, never through a link.
///
/// # Errors
///
/// As [`File::open`]; a link is an error, and so is what is no plain file.
pub fn open_private(path: &Path) -> io::Result<File> {
    use rustix::fs::OFlags;
    // Who opens a pipe waits for its other end, and anybody who can write the project can put one
    // there. On a plain file the flag does nothing.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a plain file",
        ))
    }
}

/// Reads a file of ours that should be small.
///
/// # Errors
///
/// As [`open_private`], and when it is longer than `max` bytes.
pub fn read_private(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_private(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{} is larger than {max} bytes", path.display()),
        ));
    }
    Ok(bytes)
}

/// Replaces a file whole, 0600: readers see the old or the new one, and after a crash as well.
///
/// # Errors
///
/// When the folder cannot be written or the disk fails; the old file is then still there, or the new
/// one where only its name could not be made to last.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    crate::testing::room_for(path)?;
    let mut file = beside(path)?;
    file.write_all(bytes)?;
    take_place(file, path)
}

/// As [`write_private`], of a file that others may have as well: its mode is what the umask leaves.
///
/// # Errors
///
/// As [`write_private`].
pub(crate) fn write_open(path: &Path, bytes: &[u8]) -> io::Result<()> {
    #[cfg(any(test, feature = "testing"))]
    crate::testing::room_for(path)?;
    let mut builder = tempfile::Builder::new();
    let mode = fs::Permissions::from_mode(0o666);
    let builder = builder.prefix(UNPLACED).permissions(mode);
    let mut file = builder.tempfile_in(folder_of(path))?;
    file.write_all(bytes)?;
    take_place(file, path)
}

/// As [`write_private`] for what means nothing after the machine has stopped: nobody waits for the
/// disk.
///
/// # Errors
///
/// When the folder cannot be written; the old file is then still there.
pub fn write_fleeting(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = beside(path)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// An empty file, 0600, that can take the place of the one at the path.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNPLACED).tempfile_in(folder_of(path))
}

/// Removes what was to take a place in a folder and never did, because its writer was killed.
pub fn sweep_unplaced(folder: &Path) {
    for path in unplaced(folder).unwrap_or_default() {
        let written = fs::symlink_metadata(&path).and_then(|found| found.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if age.is_some_and(|age| age > UNPLACED_FOR)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::info!(%error, "an unfinished file is still there");
        }
    }
}

/// What was to take a place in a folder, and has not yet; nothing where there is no folder.
///
/// # Errors
///
/// When it cannot be read.
pub(crate) fn unplaced(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut unplaced = Vec::new();
    for entry in listed(folder) {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(UNPLACED) {
            unplaced.push(entry.path());
        }
    }
    Ok(unplaced)
}

/// What lies in a folder; nothing where there is none.
pub(crate) fn listed(folder: &Path) -> impl Iterator<Item = io::Result<fs::DirEntry>> + use<> {
    let (found, unread) = match fs::read_dir(folder) {
        Ok(found) => (Some(found), None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (None, None),
        Err(error) => (None, Some(Err(error))),
    };
    found.into_iter().flatten().chain(unread)
}

/// It does, and is there after a crash as well.
pub(crate) fn take_place(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    let folder = folder_of(path);
    #[cfg(any(test, feature = "testing"))]
    crate::testing::room_for(folder)?;
    File::open(folder)?.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Whether a folder is the user's home or the root of all: many projects lie below it.
fn is_wide(dir: &Path, home: Option<&Path>) -> bool {
    let is_home = || home?.canonicalize().ok().filter(|home| home == dir);
    dir.parent().is_none() || is_home().is_some()
}

/// Removes a file. Fine if there is none.
///
/// # Errors
///
/// When it is there and cannot be removed.
pub fn remove_if_there(path: &Path) -> io::Result<()> {
    if_there(fs::remove_file(path)).map(|_| ())
}

/// What was done with a file; `None` where there is no such file.
///
/// # Errors
///
/// When it is there and that failed.
pub fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a path exists, links not followed.
pub fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// A name in a folder that takes no earlier one's place: this one, or with the first free number.
pub fn free_name(folder: &Path, name: &str) -> PathBuf {
    let mut path = folder.join(name);
    let mut number = 2;
    while exists(&path) {
        path = folder.join(format!("{name}-{number}"));
        number += 1;
    }
    path
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_a_killed_writer_left_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * UNPLACED_FOR;
        for (name, is_old) in [(".new-a", true), (".new-b", false), ("checkpoint", true)] {
            let file = File::create(folder.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        sweep_unplaced(folder.path());
        let left = [".new-a", ".new-b", "checkpoint"].map(|name| exists(&folder.path().join(name)));
        assert_eq!(left, [false, true, true]);
        sweep_unplaced(&folder.path().join("nowhere"));
    }
}
