//! Reads the state of a work tree through the `git` program.
//!
//! Agents can write a repository's own configuration, and git runs programs that it names (file
//! monitors, clean filters). So the tree is made in our own throw-away repository that only borrows
//! the objects: no program of the project's configuration runs, and nothing is written into the
//! project.

use std::path::Path;

use super::command::{GitCommand, bytes, git, line, text};
use super::deadline::GitDeadline;
use super::own::OwnRepository;
use super::place::top_of;
use super::untracked::{Copies, GITLINK, WorkDiff, put_in_index};
use crate::adapters::commit_index::TakeDiff;
use crate::core::entry::WorkTree;
use crate::core::snapshot::ChangedFiles;

/// How many of them are read in one repository, and how deep: with more the tree has no state.
const NESTED_MAX: usize = 64;
const NESTED_DEPTH_MAX: usize = 4;

/// The commit and the tree of everything that lies in the work tree and is not ignored, or
/// `None` when this is no repository, `git` is missing or takes too long. Blocking.
pub fn work_tree(root: &Path) -> Option<WorkTree> {
    TreeReading::of(root).map(|reading| reading.tree)
}

/// A work tree that was read.
#[derive(Debug)]
pub struct TreeReading {
    /// What lay there.
    pub tree: WorkTree,
    /// The files that differ from the commit, relative to the repository: all of them where there
    /// is none.
    pub differing: Vec<String>,
    /// What differs from the work tree that it was compared with, if that could be told.
    pub changed: Option<ChangedFiles>,
}

impl TreeReading {
    /// As [`work_tree`].
    pub fn of(root: &Path) -> Option<Self> {
        Self::since(root, None)
    }

    /// As [`work_tree`], compared with one that was approved.
    pub fn since(root: &Path, approved: Option<&WorkTree>) -> Option<Self> {
        Self::until(GitDeadline::NONE, root, approved)
    }

    /// As [`Self::since`]; none where that is not told by then.
    pub fn until(deadline: GitDeadline, root: &Path, approved: Option<&WorkTree>) -> Option<Self> {
        let own = OwnRepository::of(root, deadline)?;
        Self::at_depth(&own, root, approved, 0, WorkDiff::since)
    }

    /// As [`Self::of`], of a copy of a project: git knows files again as it does in the project.
    pub(in crate::adapters) fn of_copy(root: &Path, project: &Path) -> Option<Self> {
        let own = OwnRepository::of_copy(root, project, GitDeadline::NONE)?;
        Self::at_depth(&own, root, None, 0, WorkDiff::since)
    }

    /// As [`Self::of`], with the names of all files of the tree from `root`, each ending in a zero byte.
    pub(in crate::adapters) fn with_names(root: &Path) -> Option<(Self, Vec<u8>)> {
        let own = OwnRepository::of(root, GitDeadline::NONE)?;
        let reading = Self::at_depth(&own, root, None, 0, WorkDiff::since)?;
        let top = top_of(root, GitDeadline::NONE)?;
        let mut ours = own.look_through(&top, &[]);
        let list = ["ls-files", "-z", "--cached", "--", ":/"];
        let names = bytes(ours.arg("-C").arg(root).args(list))?;
        Some((reading, names))
    }

    /// As [`Self::since`], at a glance: as sure as `git status`, and quick where the project is large.
    pub fn glance(root: &Path, approved: Option<&WorkTree>) -> Option<Self> {
        let own = OwnRepository::of(root, GitDeadline::NONE)?;
        Self::at_depth(&own, root, approved, 0, WorkDiff::at_a_glance)
    }

    /// `own`: one that borrows its objects. `depth`: in how many other repositories this one lies.
    fn at_depth(
        own: &OwnRepository,
        root: &Path,
        approved: Option<&WorkTree>,
        depth: usize,
        take: TakeDiff,
    ) -> Option<Self> {
        let deadline = own.deadline();
        let git = || git(root, deadline);
        let top = top_of(root, deadline)?;
        let commit = line(git().args(["rev-parse", "--verify", "--quiet", "HEAD"]));
        let ours = |args: &[&str]| own.look_through(&top, args);
        let diff = take(own, &top, commit.as_deref(), Copies::Never)?;
        put_in_index(&diff, &ours, own, &top)?;
        if diff.has_nested {
            pin_nested(own, &top, depth)?;
        }
        let tree = line(&mut ours(&["write-tree", "--missing-ok"]))?;
        let differing = match &commit {
            Some(commit) => text(&mut ours(&[
                "diff-index",
                "--cached",
                "--name-only",
                "-z",
                commit,
            ]))?,
            None => text(&mut ours(&["ls-files", "-z"]))?,
        };
        let differing: Vec<String> = names(&differing);
        let in_project = || {
            let prefix = line(git().args(["rev-parse", "--show-prefix"])).unwrap_or_default();
            move |path: String| match path.strip_prefix(&prefix) {
                Some(path) => path.to_owned(),
                None => format!(":/{path}"),
            }
        };
        let changed_files = approved.and_then(|approved| {
            let (paths, is_exact) = compare(&ours, approved, &tree)?;
            Some(ChangedFiles {
                from: approved.tree.clone(),
                to: tree.clone(),
                paths: paths.into_iter().map(in_project()).collect(),
                is_exact,
            })
        });
        let changed = differing.len() as u64;
        Some(Self {
            tree: WorkTree {
                commit,
                tree,
                changed,
            },
            differing,
            changed: changed_files,
        })
    }
}

/// A repository within the work tree (a submodule, or one that somebody made there) stands in the
/// index as its commit alone, so that what changes in it would change nothing. Where it differs from
/// its commit, its own tree stands there instead; says whether one does. `None`: one of them cannot be
/// read.
pub(in crate::adapters) fn pin_nested(
    own: &OwnRepository,
    top: &Path,
    depth: usize,
) -> Option<bool> {
    let (mut differs, deadline) = (false, own.deadline());
    let ours = |args: &[&str]| own.look_through(top, args);
    let listed = text(&mut ours(&["ls-files", "--stage", "-z"]))?;
    let entries = listed.split('\0').filter(|it| it.starts_with(GITLINK));
    for (count, entry) in entries.enumerate() {
        let (_, path) = entry.split_once('\t')?;
        let folder = top.join(path);
        if folder.join(".git").symlink_metadata().is_err() {
            // Not checked out: nothing lies there.
            continue;
        }
        if depth == NESTED_DEPTH_MAX || count == NESTED_MAX {
            return None;
        }
        let found = line(git(&folder, deadline).args(["rev-parse", "--show-toplevel"]))?;
        if Path::new(&found) != folder {
            return None;
        }
        let its_own = OwnRepository::of(&folder, deadline)?;
        let nested = TreeReading::at_depth(&its_own, &folder, None, depth + 1, WorkDiff::since)?;
        if nested.tree.changed > 0 {
            let info = format!("{GITLINK},{},{path}", nested.tree.tree);
            text(&mut ours(&["update-index", "--cacheinfo", &info]))?;
            differs = true;
        }
    }
    Some(differs)
}

/// The files that differ between an approved tree and one of now, and whether they are exactly
/// these: a tree that was never committed is not there any more, and its commit has to do.
fn compare(
    ours: &dyn Fn(&[&str]) -> GitCommand,
    approved: &WorkTree,
    now: &str,
) -> Option<(Vec<String>, bool)> {
    let differ = |from: &str| {
        // What comes from the record is no option and no branch.
        let is_hash = from.len() >= 40 && from.bytes().all(|byte| byte.is_ascii_hexdigit());
        let from = format!("{from}^{{tree}}");
        let args = ["diff-tree", "-r", "--raw", "--no-renames", "-z", &from, now];
        is_hash.then(|| text(&mut ours(&args))).flatten()
    };
    if let Some(found) = differ(&approved.tree) {
        return Some((differing(&found), true));
    }
    let found = differ(approved.commit.as_deref()?)?;
    Some((differing(&found), false))
}

/// The paths that git lists with `--raw -z`. A repository within is one name there, whatever changed
/// in it: it ends with `/`.
fn differing(raw: &str) -> Vec<String> {
    let (mut tokens, mut paths) = (raw.split('\0'), Vec::new());
    while let (Some(modes), Some(path)) = (tokens.next(), tokens.next()) {
        let mut modes = modes.trim_start_matches(':').split(' ').take(2);
        let end = if modes.any(|mode| mode == GITLINK) {
            "/"
        } else {
            ""
        };
        paths.push(format!("{path}{end}"));
    }
    paths
}

/// What git lists with `-z`.
fn names(text: &str) -> Vec<String> {
    let names = text.split('\0').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn run(root: &Path, args: &[&str]) {
        let status = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"])
            .args(args)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "git {args:?}");
    }

    #[test]
    fn the_tree_follows_the_files_and_not_the_index() {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), &["init", "-q"]);
        std::fs::write(dir.path().join("a"), "1").unwrap();
        let first = work_tree(dir.path()).unwrap();
        assert_eq!((first.commit.clone(), first.changed), (None, 1));

        run(dir.path(), &["add", "."]);
        run(dir.path(), &["commit", "-qm", "a"]);
        let committed = work_tree(dir.path()).unwrap();
        assert_eq!(committed.tree, first.tree);
        assert_eq!(committed.changed, 0);
        assert!(committed.commit.is_some());

        std::fs::write(dir.path().join("b"), "2").unwrap();
        let changed = work_tree(dir.path()).unwrap();
        assert_ne!(changed.tree, committed.tree);
        assert_eq!(changed.changed, 1);
    }

    #[test]
    fn a_filter_in_the_projects_configuration_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("ran");
        run(dir.path(), &["init", "-q"]);
        run(
            dir.path(),
            &[
                "config",
                "filter.x.clean",
                &format!("touch {}; cat", mark.display()),
            ],
        );
        std::fs::write(dir.path().join(".gitattributes"), "* filter=x\n").unwrap();
        std::fs::write(dir.path().join("a"), "1").unwrap();
        assert!(work_tree(dir.path()).is_some());
        assert!(!mark.exists());
    }

    #[test]
    fn what_changes_in_a_repository_within_changes_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), &["init", "--quiet"]);
        std::fs::write(dir.path().join("a"), "1").unwrap();
        let within = dir.path().join("vendor, own");
        std::fs::create_dir(&within).unwrap();
        run(&within, &["init", "--quiet"]);
        std::fs::write(within.join("b"), "1").unwrap();
        run(&within, &["add", "b"]);
        run(&within, &["commit", "--quiet", "-m", "one"]);
        run(dir.path(), &["add", "--all"]);
        run(dir.path(), &["commit", "--quiet", "-m", "one"]);
        let tree = || work_tree(dir.path()).unwrap();
        let clean = tree();
        assert_eq!(clean.changed, 0);
        std::fs::write(within.join("b"), "2").unwrap();
        let (dirty, again) = (tree(), tree());
        assert_eq!(dirty.changed, 1);
        assert_ne!(dirty.tree, clean.tree);
        assert_eq!(dirty, again);
        std::fs::write(within.join("hidden"), "").unwrap();
        assert_ne!(tree().tree, dirty.tree);
        // One that is not checked out is as its commit says.
        std::fs::remove_dir_all(&within).unwrap();
        std::fs::create_dir(&within).unwrap();
        assert!(work_tree(dir.path()).is_some());
    }

    #[test]
    fn a_large_file_that_git_does_not_know_is_told_apart_and_copied_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        run(dir.path(), &["init", "--quiet"]);
        std::fs::write(dir.path().join("a"), "1").unwrap();
        let path = dir.path().join("dump \u{1b}\n");
        // It takes no room on the disk.
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(1 << 27).unwrap();
        let tree = || work_tree(dir.path()).unwrap();
        let first = tree();
        assert_eq!(first.changed, 2);
        assert_eq!(tree(), first);
        std::os::unix::fs::FileExt::write_at(&file, b"x", (1 << 27) - 1).unwrap();
        let second = tree();
        assert_ne!(second.tree, first.tree);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
        assert_ne!(tree().tree, second.tree);

        let own = OwnRepository::of(dir.path(), GitDeadline::NONE).unwrap();
        let ours = |args: &[&str]| own.look_through(dir.path(), args);
        let diff = WorkDiff::take(&ours, own.path(), dir.path(), Copies::Never).unwrap();
        put_in_index(&diff, &ours, &own, dir.path()).unwrap();
        let index = own.path().join("index").metadata().unwrap().len();
        let objects = text(&mut ours(&["count-objects", "-v"])).unwrap();
        assert!(index < 4096 && objects.contains("size: 0\n"), "{objects}");
    }

    #[test]
    fn a_folder_that_became_a_link_and_names_that_are_no_text_have_a_tree() {
        use std::os::unix::ffi::OsStrExt as _;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        run(dir.path(), &["init", "--quiet"]);
        std::fs::create_dir_all(at("folder/deep")).unwrap();
        std::fs::write(at("folder/deep/a"), "1").unwrap();
        run(dir.path(), &["add", "."]);
        run(dir.path(), &["commit", "--quiet", "-m", "a"]);
        let committed = work_tree(dir.path()).unwrap();
        std::fs::rename(at("folder"), at("other")).unwrap();
        std::os::unix::fs::symlink("other", at("folder")).unwrap();
        std::fs::write(
            dir.path().join(std::ffi::OsStr::from_bytes(b"\xff\xfe")),
            "2",
        )
        .unwrap();
        let now = work_tree(dir.path()).unwrap();
        assert_ne!(now.tree, committed.tree);
        // A file less, a link, the file at its other place, and the one without a name.
        assert_eq!(now.changed, 4);
        // As git itself has it, once all that is committed.
        run(dir.path(), &["add", "--all"]);
        run(dir.path(), &["commit", "--quiet", "-m", "b"]);
        let committed = work_tree(dir.path()).unwrap();
        assert_eq!((committed.tree, committed.changed), (now.tree, 0));
    }

    #[test]
    fn a_folder_that_became_a_link_which_is_ignored_and_a_file_that_became_a_repository_are_gone() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        run(dir.path(), &["init", "--quiet"]);
        std::fs::create_dir_all(at("folder/deep")).unwrap();
        for name in ["folder/deep/a", "file", "same"] {
            std::fs::write(at(name), "1").unwrap();
        }
        std::fs::write(at(".gitignore"), "/folder\n/other\n").unwrap();
        run(dir.path(), &["add", "--force", "."]);
        run(dir.path(), &["commit", "--quiet", "-m", "a"]);
        std::fs::rename(at("folder"), at("other")).unwrap();
        std::os::unix::fs::symlink("other", at("folder")).unwrap();
        std::fs::remove_file(at("file")).unwrap();
        std::fs::create_dir(at("file")).unwrap();
        run(&at("file"), &["init", "--quiet"]);
        run(
            &at("file"),
            &["commit", "--quiet", "--allow-empty", "-m", "a"],
        );
        let now = work_tree(dir.path()).unwrap();
        // Two are gone as files, and the one is a repository now.
        assert_eq!(now.changed, 2);
        run(
            dir.path(),
            &["-c", "advice.addEmbeddedRepo=false", "add", "--all"],
        );
        run(dir.path(), &["commit", "--quiet", "-m", "b"]);
        let committed = work_tree(dir.path()).unwrap();
        assert_eq!((committed.tree, committed.changed), (now.tree, 0));
    }

    #[test]
    fn a_folder_without_git_has_no_tree() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(work_tree(dir.path()), None);
    }
}
