//! [`IsolatedTree`]: a clean work tree of the project's commit, for one run of one gate.
//!
//! It lies outside the project, in a folder that only its owner can enter, and has its own
//! repository that borrows the project's objects: nothing is written into the project, no program
//! of its configuration runs, and no branch name is ever used. Submodules are empty folders, as git
//! leaves them. [`sweep`] removes what a crash leaves behind.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::not_covered::{not_covered, told_name};
use crate::adapters::git::command::{git, line};
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::kept::{IGNORE_USERS, kept_settings};
use crate::adapters::git::place::top_of;
use crate::adapters::git::work_tree::TreeReading;
use crate::core::entry::{IsolatedRun, WorkTree};

/// What the folder of a gate's work tree is named with; others may lie beside it.
const PREFIX: &str = "gate-";

/// How often it is looked whether `git` has ended, or somebody wants it to.
const LOOK: Duration = Duration::from_millis(5);

/// How much is kept of what `git` complains of, in bytes.
const COMPLAINT_BYTES: u64 = 4 * 1024;

/// The most of a complaint that is told, in characters.
const CHARS_MAX: usize = 200;

/// Until when somebody waits.
#[derive(Debug)]
pub(super) struct WaitLimit {
    until: Instant,
    is_over: AtomicBool,
}

impl WaitLimit {
    pub(super) fn until(until: Instant) -> Self {
        let is_over = AtomicBool::new(false);
        Self { until, is_over }
    }

    /// Nobody waits any more.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn has_ended(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// A clean work tree of its own. To be removed with [`Self::remove`].
#[derive(Debug)]
pub(super) struct IsolatedTree {
    /// The private folder of this run.
    folder: PathBuf,
    /// The project's folder in it.
    pub(super) root: PathBuf,
    /// As it was checked out.
    pub(super) tree: Option<WorkTree>,
    /// What it does not have of the project.
    pub(super) run: IsolatedRun,
}

impl IsolatedTree {
    /// Makes one of the commit that `project` stands on, under `under`. Blocking.
    ///
    /// # Errors
    ///
    /// Why there can be none, in a sentence; nothing is left of it then.
    pub(super) fn make(
        project: &Path,
        stands: Option<&TreeReading>,
        under: &Path,
        limit: &WaitLimit,
    ) -> Result<Self, String> {
        let stands = stands.ok_or("the project is no git repository that can be read")?;
        let commit = stands.tree.commit.as_deref();
        let commit = commit.ok_or("the repository has no commit yet")?;
        let source = Source::of(project).ok_or("the repository cannot be read")?;
        let failed = |error: io::Error| format!("{}: {error}", under.display());
        make_private(under).map_err(failed)?;
        let under = under.canonicalize().map_err(failed)?;
        if under.starts_with(&source.top) {
            return Err(format!("{} lies in the project itself", under.display()));
        }
        let folder = under.join(format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()));
        make_private(&folder).map_err(failed)?;
        let made = check_out(&folder.join("tree"), &source, commit, limit);
        let root = made.and_then(|top| inside(&top, &source.prefix));
        match root {
            Ok(root) => Ok(Self {
                tree: TreeReading::of_copy(&root, project).map(|reading| reading.tree),
                run: not_covered(&source.top, &source.settings, &stands.differing),
                folder,
                root,
            }),
            Err(why) => {
                remove(&folder);
                Err(why)
            }
        }
    }

    /// Removes it with all that was put into it. Blocking.
    pub(super) fn remove(self) {
        remove(&self.folder);
    }
}

/// Removes what runs of a daemon that is gone left behind: what is there now, by and by. None of
/// them may be under way.
pub fn sweep(under: &Path) {
    let left = left_behind(under);
    if !left.is_empty() {
        thread::spawn(move || left.iter().for_each(|folder| remove(folder)));
    }
}

fn left_behind(under: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(under).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    ours.map(|entry| entry.path()).collect()
}

/// Where the commit comes from.
struct Source {
    /// The project's work tree.
    top: PathBuf,
    /// The project's folder in it, `a/b/` or empty.
    prefix: String,
    /// Where its objects are.
    objects: PathBuf,
    /// Where git keeps at which commits a shallow clone ends.
    shallow: Option<PathBuf>,
    /// What of the user's own configuration of git holds for it.
    settings: String,
}

impl Source {
    fn of(project: &Path) -> Option<Self> {
        let ask = |what: &[&str]| {
            let absolute = ["rev-parse", "--path-format=absolute"];
            line(git(project, GitDeadline::NONE).args(absolute).args(what))
        };
        Some(Self {
            top: top_of(project, GitDeadline::NONE)?.canonicalize().ok()?,
            prefix: ask(&["--show-prefix"]).unwrap_or_default(),
            objects: PathBuf::from(ask(&["--git-path", "objects"])?),
            shallow: ask(&["--git-path", "shallow"]).map(PathBuf::from),
            settings: kept_settings(project, GitDeadline::NONE)?,
        })
    }
}

/// Checks the commit out into a new repository, and returns its top.
fn check_out(
    top: &Path,
    source: &Source,
    commit: &str,
    limit: &WaitLimit,
) -> Result<PathBuf, String> {
    // What is no hash could be an option, or a branch.
    let is_hash = matches!(commit.len(), 40 | 64) && commit.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_hash {
        return Err("the repository does not say which commit it stands on".to_owned());
    }
    let failed = |error: io::Error| format!("{}: {error}", top.display());
    make_private(top).map_err(failed)?;
    let format = if commit.len() == 64 { "sha256" } else { "sha1" };
    let format = format!("--object-format={format}");
    run(
        &mut ours(top, &["init", "--quiet", "--template=", &format]),
        limit,
    )?;
    let repository = top.join(".git");
    let alternates = repository.join("objects/info/alternates");
    fs::write(alternates, format!("{}\n", source.objects.display())).map_err(failed)?;
    let settings = OpenOptions::new()
        .append(true)
        .open(repository.join("config"))
        .and_then(|mut config| config.write_all(source.settings.as_bytes()));
    settings.map_err(failed)?;
    if let Some(shallow) = &source.shallow {
        // Only a shallow clone has it; without it git looks for what is not there.
        let _ = fs::copy(shallow, repository.join("shallow"));
    }
    run(
        &mut ours(top, &["update-ref", "--no-deref", "HEAD", commit]),
        limit,
    )?;
    let checked_out = run(
        &mut ours(top, &["read-tree", "--reset", "-u", commit]),
        limit,
    );
    checked_out.map_err(|why| format!("commit {commit} could not be checked out: {why}"))?;
    top.canonicalize().map_err(failed)
}

/// `git` in a repository of our own. It fetches nothing: neither what a partial clone left out nor
/// large files.
fn ours(top: &Path, args: &[&str]) -> Command {
    let mut command = git(top, GitDeadline::NONE).into_command();
    command.args(args);
    command
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_LFS_SKIP_SMUDGE", "1");
    command.env("GIT_TERMINAL_PROMPT", "0");
    let (name, value) = IGNORE_USERS;
    command.env(name, value);
    command
}

/// The project's folder below the top, when the commit has it and no link leads out.
fn inside(top: &Path, prefix: &str) -> Result<PathBuf, String> {
    let folder = top.join(prefix).canonicalize();
    match folder {
        Ok(folder) if folder.starts_with(top) && folder.is_dir() => Ok(folder),
        _ => Err(format!("the commit has no folder {}", told_name(prefix))),
    }
}

/// Runs `git` to its end.
fn run(command: &mut Command, limit: &WaitLimit) -> Result<(), String> {
    let started = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| format!("git: {error}"))?;
    let complaint = child.stderr.take().map(|mut stderr| {
        thread::spawn(move || {
            let mut kept = Vec::new();
            let _ = (&mut stderr).take(COMPLAINT_BYTES).read_to_end(&mut kept);
            let _ = io::copy(&mut stderr, &mut io::sink());
            kept
        })
    });
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if limit.has_ended() => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("it took too long, or was stopped".to_owned());
            }
            Ok(None) => thread::sleep(LOOK),
            Err(error) => return Err(format!("git: {error}")),
        }
    };
    if status.success() {
        return Ok(());
    }
    let complaint = complaint.and_then(|reader| reader.join().ok());
    let complaint = complaint.unwrap_or_default();
    let text = String::from_utf8_lossy(&complaint);
    let mut said = text.lines().filter(|line| !line.trim().is_empty());
    Err(shown(said.next_back().unwrap_or("git failed")))
}

/// One line, and not a long one.
fn shown(text: &str) -> String {
    let seen = text.chars().filter(|c| !c.is_control());
    seen.take(CHARS_MAX).collect()
}

/// Makes a folder that only its owner can enter, with those above it.
fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Removes a folder; links are removed and not followed.
fn remove(folder: &Path) {
    let Err(first) = fs::remove_dir_all(folder) else {
        return;
    };
    if first.kind() == io::ErrorKind::NotFound {
        return;
    }
    // Tools make folders that nobody may write, Go's among them.
    open_folders(folder);
    if let Err(error) = fs::remove_dir_all(folder) {
        let path = folder.display();
        tracing::warn!(%path, %error, "a gate's work tree could not be removed");
    }
}

/// Lets the owner write in a folder and all below it.
fn open_folders(folder: &Path) {
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
        if !is_folder {
            continue;
        }
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        waiting.extend(entries.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests;
