//! [`tree_found`]: reads the work tree, and tells a missing one from one that git cannot read.

use std::path::Path;

use super::command::{complaint, git, has_git};
use super::deadline::GitDeadline;
use super::mark::is_in_repository;
use super::place::top_of;
use super::work_tree::TreeReading;
use crate::core::entry::{TreeFound, WorkTree};
use crate::core::snapshot::ChangedFiles;

/// Why nothing is read of a repository of which git names another folder.
const ELSEWHERE: &str = "git looks at another folder (core.worktree)";

/// As [`work_tree`](super::work_tree::work_tree), and whether there is a repository where there is no tree. Blocking.
pub fn tree_found(root: &Path) -> TreeFound {
    tree_found_since(root, None).0
}

/// As [`tree_found`], and what of it differs from one that was approved. Blocking.
pub fn tree_found_since(
    root: &Path,
    approved: Option<&WorkTree>,
) -> (TreeFound, Option<ChangedFiles>) {
    tree_found_until(GitDeadline::NONE, root, approved)
}

/// As [`tree_found_since`]; a tree that is not told by then is one that git cannot read. Blocking.
pub fn tree_found_until(
    deadline: GitDeadline,
    root: &Path,
    approved: Option<&WorkTree>,
) -> (TreeFound, Option<ChangedFiles>) {
    found(root, TreeReading::until(deadline, root, approved))
}

/// As [`tree_found_since`], at a glance: for what is looked at again and again, and nothing stands on.
/// Blocking.
pub fn tree_glanced_since(
    root: &Path,
    approved: Option<&WorkTree>,
) -> (TreeFound, Option<ChangedFiles>) {
    found(root, TreeReading::glance(root, approved))
}

fn found(root: &Path, reading: Option<TreeReading>) -> (TreeFound, Option<ChangedFiles>) {
    match reading {
        Some(reading) => (TreeFound::Read(reading.tree), reading.changed),
        None if is_unreadable(root, None) => (TreeFound::Unreadable, None),
        None => (TreeFound::NoRepository, None),
    }
}

/// Whether git read nothing of a folder that lies in a repository.
pub fn is_unreadable(root: &Path, reading: Option<&TreeReading>) -> bool {
    reading.is_none() && is_in_repository(root) && has_git()
}

/// What git says of a repository that it does not read, in its first line; empty where it says nothing.
/// None where there is no repository. Blocking.
pub fn why_unreadable(root: &Path) -> Option<String> {
    if !is_unreadable(root, None) {
        return None;
    }
    let said = complaint(git(root, GitDeadline::NONE).args(["rev-parse", "--show-toplevel"]));
    let said = said.unwrap_or_default();
    Some(match said.lines().next() {
        Some(line) => line.to_owned(),
        None if top_of(root, GitDeadline::NONE).is_none() => ELSEWHERE.to_owned(),
        None => String::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::adapters::git::command::{plain_git, text};
    use crate::adapters::git::place::GitPlace;

    fn init(root: &Path) {
        let git = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["init", "--quiet"])
            .stdout(Stdio::null())
            .status();
        assert!(git.unwrap().success());
    }

    #[test]
    fn a_repository_that_git_refuses_is_not_none() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("in");
        std::fs::create_dir(&root).unwrap();
        assert_eq!(tree_found(&root), TreeFound::NoRepository);
        // What a sandbox puts there, which git passes over.
        std::fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(tree_found(&root), TreeFound::NoRepository);
        init(place.path());
        assert!(matches!(tree_found(&root), TreeFound::Read(_)));
        std::fs::write(place.path().join(".git/config"), "no configuration").unwrap();
        assert_eq!(tree_found(&root), TreeFound::Unreadable);
        std::fs::remove_dir_all(place.path().join(".git")).unwrap();
        std::fs::write(place.path().join(".git"), "no pointer").unwrap();
        assert_eq!(tree_found(&root), TreeFound::Unreadable);
        let why = why_unreadable(&root).unwrap();
        assert!(why.starts_with("fatal: ") && !why.contains('\n'), "{why}");
        std::fs::remove_file(place.path().join(".git")).unwrap();
        assert_eq!(why_unreadable(&root), None);
    }

    #[test]
    fn a_repository_whose_git_looks_at_another_folder_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("in");
        let within = root.join("sub");
        let copy = place.path().join("copy");
        for folder in [&within, &copy] {
            std::fs::create_dir_all(folder).unwrap();
        }
        init(&root);
        let look_at = |folder: &Path| {
            let mut set = git(&root, GitDeadline::NONE);
            set.args(["config", "core.worktree"]).arg(folder);
            assert!(text(&mut set).is_some());
        };
        // One above that ignores this one says nothing of it either.
        for folder in [copy.as_path(), place.path()] {
            look_at(folder);
            for asked in [&root, &within] {
                assert_eq!(tree_found(asked), TreeFound::Unreadable);
                assert_eq!(why_unreadable(asked).as_deref(), Some(ELSEWHERE));
                assert!(GitPlace::of(asked, GitDeadline::NONE).is_none());
            }
        }
        look_at(&root);
        for asked in [&root, &within] {
            assert!(matches!(tree_found(asked), TreeFound::Read(_)));
        }
    }

    #[test]
    fn a_linked_work_tree_and_a_submodule_are_read() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let run = |root: &Path, args: &[&str]| {
            let mut command = git(root, GitDeadline::NONE);
            command.args(["-c", "user.name=t", "-c", "user.email=t@example.invalid"]);
            assert!(text(command.args(args)).is_some(), "git {args:?}");
        };
        for name in ["main", "module"] {
            std::fs::create_dir(at(name)).unwrap();
            init(&at(name));
            run(
                &at(name),
                &["commit", "--quiet", "--allow-empty", "-m", "x"],
            );
        }
        run(&at("main"), &["worktree", "add", "--quiet", "linked"]);
        let url = at("module").display().to_string();
        let add = ["submodule", "--quiet", "add", &url, "sub"];
        let mut command = plain_git(GitDeadline::NONE);
        command
            .arg("-C")
            .arg(at("main"))
            .env("GIT_ALLOW_PROTOCOL", "file");
        assert!(text(command.args(add)).is_some());
        for name in ["main/linked", "main/sub"] {
            assert!(
                matches!(tree_found(&at(name)), TreeFound::Read(_)),
                "{name}"
            );
            assert!(
                GitPlace::of(&at(name), GitDeadline::NONE).is_some(),
                "{name}"
            );
        }
    }
}
