//! [`OwnRepository`]: our own throw-away repository, through which a project's work tree is read.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;
use tempfile::TempDir;

use super::command::{GitCommand, git, line};
use super::deadline::GitDeadline;
use super::kept::{IGNORE_USERS, kept_settings};

/// What stands in its configuration: what a user's own says of how git knows files again does not hold.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\t\
     trustctime = true\n\tcheckstat = default\n\tignorestat = false\n\tsplitindex = false\n\t\
     untrackedcache = false\n";

/// What the disks of a system want beside it.
const CONFIG_OF_SYSTEM: &str = if cfg!(target_os = "macos") {
    "\tignorecase = true\n\tprecomposeunicode = true\n"
} else {
    ""
};

/// What stands behind it where objects are named by their SHA-256. The later version counts.
const CONFIG_SHA256: &str =
    "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n";

/// Asks git how objects are named. A git older than 2.28 prints the question itself, and knows
/// SHA-1 alone.
pub(in crate::adapters) const OBJECT_FORMAT: &str = "--show-object-format";

/// That by SHA-256, as git says it.
const SHA256: &str = "sha256";

/// Where they lie. Not `/tmp`, which sandboxed agents can write: git would run what they put into the
/// configuration of one.
pub(in crate::adapters) const PRIVATE_BASE: &str = "/var/tmp";

/// How they are named.
const PREFIX: &str = "ctxrelay-git-";

/// How old one is at least that counts as left behind: a new one has no lock for a moment.
const LEFT_FOR: Duration = Duration::from_secs(60);

/// How many names are looked at for such ones, and how many of those are removed. A person waits.
const LOOKED_AT_MAX: usize = 4096;
const REMOVED_MAX: usize = 16;

/// As `git init --bare` leaves it, which waits for the disk.
#[derive(Debug)]
pub(in crate::adapters) struct OwnRepository {
    /// Removed before the lock is given up.
    folder: TempDir,
    /// Locked while the process lives that made it.
    _in_use: File,
    /// How many hex digits the name of an object has.
    object_digits: usize,
    /// Until when what is looked at through it may take.
    deadline: GitDeadline,
}

impl OwnRepository {
    /// One that borrows the objects of the project's.
    pub(in crate::adapters) fn of(root: &Path, deadline: GitDeadline) -> Option<Self> {
        Self::of_copy(root, root, deadline)
    }

    /// As [`Self::of`], for a copy of a project: what a user says for the project holds.
    pub(in crate::adapters) fn of_copy(
        root: &Path,
        project: &Path,
        deadline: GitDeadline,
    ) -> Option<Self> {
        let common = ["--path-format=absolute", "--git-common-dir", OBJECT_FORMAT];
        let said = line(git(root, deadline).arg("rev-parse").args(common))?;
        let (common, format) = said.rsplit_once('\n')?;
        let own = Self::empty(project, deadline)?.in_format(format)?;
        own.borrow_objects(Path::new(common))?;
        Some(own)
    }

    /// One without objects, with what the user's configuration says for a project.
    pub(in crate::adapters) fn empty(project: &Path, deadline: GitDeadline) -> Option<Self> {
        let mut private = tempfile::Builder::new();
        private
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700));
        let folder = match private.tempdir_in(PRIVATE_BASE) {
            Ok(folder) => {
                remove_left(Path::new(PRIVATE_BASE));
                folder
            }
            // What is left there an agent may have put there, and the system empties it.
            Err(_) => private.tempdir().ok()?,
        };
        let in_use = open_folder(folder.path()).ok()?;
        // Where the disk has no locks, none is removed either.
        let _ = in_use.try_lock();
        for inner in ["objects", "objects/info", "refs", "refs/heads"] {
            fs::create_dir(folder.path().join(inner)).ok()?;
        }
        fs::write(folder.path().join("HEAD"), "ref: refs/heads/main\n").ok()?;
        let config = [CONFIG, CONFIG_OF_SYSTEM, &kept_settings(project, deadline)?].concat();
        fs::write(folder.path().join("config"), config).ok()?;
        Some(Self {
            folder,
            _in_use: in_use,
            object_digits: 40,
            deadline,
        })
    }

    /// One whose objects have names as git says it of the project's.
    pub(in crate::adapters) fn in_format(self, format: &str) -> Option<Self> {
        if format != SHA256 {
            return Some(self);
        }
        let mut config = OpenOptions::new()
            .append(true)
            .open(self.path().join("config"))
            .ok()?;
        config.write_all(CONFIG_SHA256.as_bytes()).ok()?;
        Some(Self {
            object_digits: 64,
            ..self
        })
    }

    /// One whose objects have names like this one.
    pub(in crate::adapters) fn in_format_of(self, object: &str) -> Option<Self> {
        match object.len() {
            64 => self.in_format(SHA256),
            _ => Some(self),
        }
    }

    /// Whether its objects have names as git says it of the project's.
    pub(in crate::adapters) fn is_in_format(&self, format: &str) -> bool {
        (self.object_digits == 64) == (format == SHA256)
    }

    /// How many hex digits the name of an object has.
    pub(in crate::adapters) fn object_digits(&self) -> usize {
        self.object_digits
    }

    /// Borrows the objects of another one, whose common folder this is.
    pub(in crate::adapters) fn borrow_objects(&self, common: &Path) -> Option<()> {
        let objects = format!("{}\n", common.join("objects").display());
        fs::write(self.path().join("objects/info/alternates"), objects).ok()
    }

    /// Until when what is looked at through it may take.
    pub(in crate::adapters) fn deadline(&self) -> GitDeadline {
        self.deadline
    }

    pub(in crate::adapters) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `git` with it and the project's work tree.
    pub(in crate::adapters) fn look_through(&self, top: &Path, args: &[&str]) -> GitCommand {
        let mut command = git(top, self.deadline);
        command.arg("--git-dir").arg(self.path());
        command.arg("--work-tree").arg(top).args(args);
        let (name, value) = IGNORE_USERS;
        command.env(name, value);
        command
    }
}

/// Removes those of this user whose process was killed. What is still there is looked at next time.
fn remove_left(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten();
    let entries = entries.take(LOOKED_AT_MAX).flatten();
    let ours = entries.filter(|it| {
        let name = it.file_name();
        name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
    });
    let is_removed = |path: &Path| {
        remove_if_left(path).unwrap_or_else(|error| {
            tracing::debug!(%error, path = %path.display(), "what a look at git left stays");
            false
        })
    };
    ours.filter(|it| is_removed(&it.path()))
        .take(REMOVED_MAX)
        .for_each(drop);
}

/// Whether it was one that nobody uses any more.
fn remove_if_left(path: &Path) -> io::Result<bool> {
    let folder = open_folder(path)?;
    let found = folder.metadata()?;
    let age = found.modified()?.elapsed().unwrap_or_default();
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if !is_own || age < LEFT_FOR || folder.try_lock().is_err() {
        return Ok(false);
    }
    // Another process may have removed it just now.
    let now = path.symlink_metadata()?;
    let is_there = (now.dev(), now.ino()) == (found.dev(), found.ino());
    if is_there {
        // Follows no link within.
        fs::remove_dir_all(path)?;
    }
    Ok(is_there)
}

/// A folder, and no link to one.
pub(in crate::adapters) fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::time::{Instant, SystemTime};

    use super::*;

    fn folder(base: &Path, name: &str, age: Duration) -> PathBuf {
        let path = base.join(name);
        fs::create_dir_all(path.join("objects/ab")).unwrap();
        fs::write(path.join("config"), CONFIG).unwrap();
        let then = SystemTime::now() - age;
        File::open(&path).unwrap().set_modified(then).unwrap();
        path
    }

    #[test]
    fn what_killed_processes_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("base");
        let (old, young) = (LEFT_FOR * 2, LEFT_FOR / 2);
        let elsewhere = folder(place.path(), "elsewhere", old);
        let left = folder(&base, "ctxrelay-git-left", old);
        symlink(&elsewhere, left.join("objects/link")).unwrap();
        File::open(&left)
            .unwrap()
            .set_modified(SystemTime::now() - old)
            .unwrap();
        let in_use = folder(&base, "ctxrelay-git-used", old);
        let lock = open_folder(&in_use).unwrap();
        lock.try_lock().unwrap();
        let mut stay = vec![
            elsewhere.join("config"),
            in_use.clone(),
            folder(&base, "ctxrelay-git-new", young),
            folder(&base, "another", old),
        ];
        let link = base.join("ctxrelay-git-link");
        symlink(&elsewhere, &link).unwrap();
        stay.push(link);
        let file = base.join("ctxrelay-git-file");
        fs::write(&file, "").unwrap();
        stay.push(file);
        if rustix::process::geteuid().is_root() {
            let others = folder(&base, "ctxrelay-git-others", old);
            std::os::unix::fs::chown(&others, Some(1), None).unwrap();
            stay.push(others);
        }
        remove_left(&base);
        assert!(!left.exists());
        for path in &stay {
            assert!(path.symlink_metadata().is_ok(), "{}", path.display());
        }
        drop(lock);
        // A process that another test forks just now holds the lock until it is another program.
        let end = Instant::now() + Duration::from_secs(60);
        while in_use.exists() && Instant::now() < end {
            remove_left(&base);
        }
        assert!(!in_use.exists());
    }

    #[test]
    fn one_that_is_in_use_is_locked_until_it_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let own = OwnRepository::empty(place.path(), GitDeadline::NONE).unwrap();
        let path = own.path().to_owned();
        let then = SystemTime::now() - LEFT_FOR * 2;
        File::open(&path).unwrap().set_modified(then).unwrap();
        assert!(!remove_if_left(&path).unwrap());
        drop(own);
        assert!(!path.exists());
    }
}
