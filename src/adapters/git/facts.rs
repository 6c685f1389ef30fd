//! [`git_facts`]: the state of the work tree, for an agent that has to find its way back.
//!
//! As in [`work_tree`](super::work_tree::work_tree), the repository is read through a throw-away
//! one, so that no program of the project's configuration runs. It gets a copy of the index, so
//! that files that nobody touched are not read.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use super::command::{git, line, said, short_line, text};
use super::deadline::GitDeadline;
use super::own::OwnRepository;
use super::place::GitPlace;
use crate::core::continuity::GitFacts;

/// How many changed files are named.
const CHANGED_MAX: usize = 30;

/// How many commits.
const COMMITS_MAX: &str = "-5";

/// The longest name or subject, in characters.
const CHARS_MAX: usize = 120;

/// A project's folder in its repository, `a/b`; none where it is the top, or there is no repository.
/// Blocking.
pub fn folder_in_repository(root: &Path) -> Option<String> {
    let prefix = line(git(root, GitDeadline::NONE).args(["rev-parse", "--show-prefix"]))?;
    let folder = prefix.trim_end_matches('/');
    (!folder.is_empty()).then(|| folder.to_owned())
}

/// The branch, the commit, changed files and the latest commits; `None` when this is no
/// repository, `git` is missing, or it does not tell all of it by the deadline. Blocks, for as long
/// as `git` takes.
pub fn git_facts(root: &Path, deadline: GitDeadline) -> Option<GitFacts> {
    // Each of these takes as long as a process does, and an agent waits for all of them.
    let place = GitPlace::of(root, deadline)?;
    let own = OwnRepository::empty(root, deadline)?.in_format(&place.object_format)?;
    own.borrow_objects(&place.common)?;
    // A repository without a commit may have none.
    let _ = std::fs::copy(&place.index, own.path().join("index"));
    let ours = |args: &[&str]| own.look_through(&place.top, args);
    let commit = place.commit.as_deref();
    let branch = place.branch_name(root, deadline);
    let (log, differing, others) = thread::scope(|scope| {
        let log = scope.spawn(|| {
            let format = ["log", COMMITS_MAX, "--no-color", "--format=%h %s"];
            text(&mut ours(&[&format[..], &[commit?]].concat()))
        });
        let differing = scope.spawn(|| {
            // Else git looks into each repository within by a `git status`, which runs what the
            // configuration there names.
            let within = "--ignore-submodules=dirty";
            let names = ["diff-index", within, "--name-only", "-z", commit?, "--"];
            text(&mut ours(&names))
        });
        let others = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = text(&mut ours(&others));
        (said(log), said(differing), others)
    });
    if deadline.is_over() {
        // What is missing would look like what is not there.
        return None;
    }
    let commits: Vec<String> = log
        .as_deref()
        .unwrap_or_default()
        .lines()
        .map(shown)
        .collect();
    let names = differing.into_iter().chain(others);
    let mut changed: Vec<String> = names.flat_map(|names| names_of(&names)).collect();
    let head = commits
        .first()
        .and_then(|first: &String| first.split(' ').next());
    let head = head.map(str::to_owned);
    let more = changed.len().saturating_sub(CHANGED_MAX);
    changed.truncate(CHANGED_MAX);
    if more > 0 {
        changed.push(format!("and {more} more"));
    }
    Some(GitFacts {
        branch: branch.as_deref().map(shown),
        head,
        changed,
        commits,
    })
}

/// Those of these files, named from `root`, that git tracks; none where it does not tell by the
/// deadline. Blocks, for as long as `git` takes.
pub fn tracked(root: &Path, files: &[String], deadline: GitDeadline) -> Option<BTreeSet<String>> {
    let place = GitPlace::of(root, deadline)?;
    let below = root.canonicalize().ok()?;
    let below = below.strip_prefix(&place.top).ok()?.to_owned();
    let own = OwnRepository::empty(root, deadline)?.in_format(&place.object_format)?;
    std::fs::copy(&place.index, own.path().join("index")).ok()?;
    let named = files.iter().filter_map(|file| {
        let file = below.join(file).to_str()?.to_owned();
        Some(format!(":(top,literal){file}"))
    });
    let named: Vec<String> = named.collect();
    let mut args = vec!["ls-files", "-z", "--"];
    args.extend(named.iter().map(String::as_str));
    let listed = text(&mut own.look_through(&place.top, &args))?;
    let listed = listed.split('\0').filter_map(|name| {
        let name = Path::new(name).strip_prefix(&below).ok()?.to_str()?;
        Some(name.to_owned())
    });
    Some(listed.filter(|name| files.contains(name)).collect())
}

fn shown(text: &str) -> String {
    short_line(text, CHARS_MAX)
}

fn names_of(text: &str) -> Vec<String> {
    let names = text.split('\0').filter(|name| !name.is_empty());
    names.map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn run(root: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(root);
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        assert!(command.args(args).output().unwrap().status.success());
    }

    #[test]
    fn a_work_tree_is_told_with_its_latest_commits_and_what_differs_from_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(git_facts(root, GitDeadline::NONE), None);
        run(root, &["init", "-q", "-b", "plums"]);
        let facts = git_facts(root, GitDeadline::NONE).unwrap();
        assert_eq!((facts.branch.as_deref(), facts.head), (Some("plums"), None));
        std::fs::write(root.join("a.rs"), "a").unwrap();
        run(root, &["add", "."]);
        run(root, &["commit", "-q", "-m", "Sort plums"]);
        std::fs::write(root.join("a.rs"), "changed").unwrap();
        std::fs::write(root.join("b.rs"), "new").unwrap();
        let facts = git_facts(root, GitDeadline::NONE).unwrap();
        assert_eq!(facts.changed, ["a.rs", "b.rs"]);
        assert!(facts.commits[0].ends_with(" Sort plums"));
        assert_eq!(facts.head.as_deref(), facts.commits[0].split(' ').next());
    }

    #[test]
    fn of_files_only_those_that_git_knows_are_tracked_also_below_a_folder_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let files = [
            "a.rs",
            "new.rs",
            "gone.rs",
            "*.rs",
            "/etc/passwd",
            "../top.rs",
        ];
        let files = files.map(str::to_owned);
        assert_eq!(tracked(root, &files, GitDeadline::NONE), None);
        run(root, &["init", "-q"]);
        std::fs::create_dir(root.join("pears")).unwrap();
        for name in ["top.rs", "a.rs", "pears/a.rs"] {
            std::fs::write(root.join(name), "a").unwrap();
        }
        run(root, &["add", "."]);
        std::fs::write(root.join("pears/new.rs"), "a").unwrap();
        let a: BTreeSet<String> = ["a.rs".to_owned()].into();
        assert_eq!(tracked(root, &files, GitDeadline::NONE), Some(a.clone()));
        assert_eq!(
            tracked(&root.join("pears"), &files, GitDeadline::NONE),
            Some(a)
        );
    }

    #[test]
    fn nothing_that_the_repository_names_is_run() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        run(root, &["init", "-q"]);
        std::fs::write(root.join("a.rs"), "a").unwrap();
        std::fs::write(root.join(".gitattributes"), "*.rs filter=evil\n").unwrap();
        run(root, &["add", "."]);
        run(root, &["commit", "-q", "-m", "x"]);
        let ran = root.join("ran");
        let evil = format!("touch {}; cat", ran.display());
        run(root, &["config", "filter.evil.clean", &evil]);
        run(root, &["config", "core.fsmonitor", &evil]);
        run(root, &["config", "log.showSignature", "true"]);
        run(root, &["config", "gpg.program", &evil]);
        std::fs::write(root.join("a.rs"), "b").unwrap();
        let within = root.join("lib");
        run(root, &["init", "-q", "lib"]);
        std::fs::write(within.join("f"), "one").unwrap();
        run(&within, &["add", "."]);
        run(&within, &["commit", "-q", "-m", "x"]);
        run(root, &["-c", "advice.addEmbeddedRepo=false", "add", "lib"]);
        run(root, &["commit", "-q", "-m", "lib"]);
        run(&within, &["config", "filter.evil.clean", &evil]);
        std::fs::write(within.join(".gitattributes"), "* filter=evil\n").unwrap();
        std::fs::write(within.join("f"), "two").unwrap();
        let _ = std::fs::remove_file(&ran);
        let facts = git_facts(root, GitDeadline::NONE).unwrap();
        assert!(!ran.exists());
        assert_eq!(facts.changed, ["a.rs"]);
    }
}
