//! [`git_facts`]: where the work tree stands, for an agent that has to find its way back.
//!
//! Agents can write a repository's configuration. Only what reads no content and starts no
//! program of the repository's is asked: a file counts as changed by its size and time, as the
//! index has them.

use std::path::Path;

use super::git::{git, line, text};
use crate::core::continuity::GitFacts;

/// How many changed files are named.
const CHANGED_MAX: usize = 30;

/// How many commits.
const COMMITS_MAX: &str = "-5";

/// The longest name or subject, in characters.
const CHARS_MAX: usize = 120;

/// The branch, the commit, changed files and the latest commits; `None` when this is no
/// repository or `git` is missing. Blocks, for as long as `git` takes.
pub fn git_facts(root: &Path) -> Option<GitFacts> {
    line(git(root).args(["rev-parse", "--git-dir"]))?;
    let branch = line(git(root).args(["symbolic-ref", "--quiet", "--short", "HEAD"]));
    let mut log = git(root);
    log.args(["-c", "log.showSignature=false", "log", COMMITS_MAX])
        .args(["--no-color", "--no-decorate", "--format=%h %s"]);
    let commits = text(&mut log).unwrap_or_default();
    let commits: Vec<String> = commits.lines().map(short).collect();
    let head = commits.first().and_then(|first| first.split(' ').next());
    let head = head.map(str::to_owned);
    let mut changed = Vec::new();
    if head.is_some() {
        let names = text(git(root).args(["diff-index", "--name-only", "-z", "HEAD", "--"]));
        changed.extend(names.as_deref().map(names_of).into_iter().flatten());
    }
    let others = ["ls-files", "--others", "--exclude-standard", "-z"];
    let others = text(git(root).args(others));
    changed.extend(others.as_deref().map(names_of).into_iter().flatten());
    let more = changed.len().saturating_sub(CHANGED_MAX);
    changed.truncate(CHANGED_MAX);
    if more > 0 {
        changed.push(format!("and {more} more"));
    }
    Some(GitFacts {
        branch: branch.as_deref().map(short),
        head,
        changed,
        commits,
    })
}

fn names_of(text: &str) -> Vec<String> {
    let names = text.split('\0').filter(|name| !name.is_empty());
    names.map(short).collect()
}

/// One line, and not a long one: names and subjects are whatever somebody committed.
fn short(text: &str) -> String {
    let seen = text.chars().filter(|c| !c.is_control());
    seen.take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
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
        assert_eq!(git_facts(root), None);
        run(root, &["init", "-q", "-b", "plums"]);
        let facts = git_facts(root).unwrap();
        assert_eq!((facts.branch.as_deref(), facts.head), (Some("plums"), None));
        std::fs::write(root.join("a.rs"), "a").unwrap();
        run(root, &["add", "."]);
        run(root, &["commit", "-q", "-m", "Sort plums"]);
        std::fs::write(root.join("a.rs"), "changed").unwrap();
        std::fs::write(root.join("b.rs"), "new").unwrap();
        let facts = git_facts(root).unwrap();
        assert_eq!(facts.changed, ["a.rs", "b.rs"]);
        assert!(facts.commits[0].ends_with(" Sort plums"));
        assert_eq!(facts.head.as_deref(), facts.commits[0].split(' ').next());
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
        git_facts(root).unwrap();
        assert!(!ran.exists());
    }
}
