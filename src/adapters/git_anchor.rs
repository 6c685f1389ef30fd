//! [`GitAnchor`]: where a work tree stands, in words that another clone understands.
//!
//! As in [`work_tree`](super::git::work_tree) the repository is looked at through a throw-away one:
//! nothing of the project's configuration is run, nothing is fetched, nothing is written.

mod patch;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;

use super::git::{
    borrow_objects, bytes, bytes_with, empty_repository, git, line, line_or_empty, lines_of,
    look_through, pin_nested, said, text,
};
use super::git_untracked::{lines_in, put_in_index};
use crate::core::capsule::{CapsuleGit, DiffStat};
pub use patch::{ChangedContent, PatchFit, TrackedChange};

/// The longest name of a branch or address, in characters.
const CHARS_MAX: usize = 300;

/// Lines that were added and removed in a file.
type Lines = (u64, u64);

/// Those of each file that differs from the commit.
type LinesByFile = BTreeMap<String, Lines>;

/// Where a work tree stands, and the lines that differ from the commit by file, relative to the
/// project.
pub type GitStand = (CapsuleGit, LinesByFile);

/// A repository, to be asked.
#[derive(Debug)]
pub struct GitAnchor {
    own: TempDir,
    root: PathBuf,
    top: PathBuf,
    /// The project's folder in the repository, `a/b/` or empty.
    prefix: String,
    commit: Option<String>,
    is_shallow: bool,
}

impl GitAnchor {
    /// The repository of a folder; none where there is none, or `git` is missing.
    pub fn open(root: &Path) -> Option<Self> {
        // Each of these takes as long as a process does, and a person waits for all of them.
        let (places, commit) = thread::scope(|scope| {
            let commit = ["rev-parse", "--verify", "--quiet", "HEAD"];
            let commit = scope.spawn(move || line(git(root).args(commit)));
            (lines_of::<5>(git(root).args(PLACES)), said(commit))
        });
        let [top, prefix, common, shallow, is_shallow] = places?;
        let own = empty_repository()?;
        borrow_objects(own.path(), Path::new(&common))?;
        // Where the history of a shallow clone ends: without it git looks for what is not there.
        let _ = std::fs::copy(shallow, own.path().join("shallow"));
        Some(Self {
            is_shallow: is_shallow == "true",
            own,
            root: root.to_owned(),
            top: PathBuf::from(top),
            prefix,
            commit,
        })
    }

    /// Where it stands.
    pub fn stand(&self) -> Option<GitStand> {
        let (beside, tree) = thread::scope(|scope| {
            let beside = scope.spawn(|| Some(self.beside()));
            let tree = self.tree();
            (said(beside), tree)
        });
        let (tree, changed, lines) = tree?;
        let mut diff_stat = DiffStat::default();
        for (added, removed) in lines.values() {
            diff_stat.files += 1;
            diff_stat.added += added;
            diff_stat.removed += removed;
        }
        let stand = CapsuleGit {
            commit: self.commit.clone(),
            tree,
            changed,
            diff_stat,
            ..beside?
        };
        let of_project = lines.into_iter().filter_map(|(path, lines)| {
            let path = self.in_project(&path)?.to_owned();
            Some((path, lines))
        });
        Some((stand, of_project.collect()))
    }

    /// The tree of now, how many files differ from the commit, and their lines; without a commit how
    /// many files there are.
    fn tree(&self) -> Option<(Option<String>, u64, LinesByFile)> {
        let mut lines = match self.commit {
            Some(_) => self.tracked_lines()?,
            None => {
                line_or_empty(&mut self.ours(&["read-tree", "--empty"]))?;
                BTreeMap::new()
            }
        };
        let has_new = put_in_index(&|args| self.ours(args), self.own.path(), &self.top)?;
        // As gates see the tree, which their results are held against.
        let nested = pin_nested(&|args| self.ours(args), &self.top, 0);
        let tree = nested.and_then(|_| line(&mut self.ours(&["write-tree", "--missing-ok"])));
        let changed = match &self.commit {
            Some(commit) => {
                if nested == Some(true) {
                    lines.extend(self.known_lines(commit)?);
                }
                if has_new {
                    lines.extend(self.new_lines(commit)?);
                }
                lines.len() as u64
            }
            None => {
                let names = text(&mut self.ours(&["ls-files", "-z"]))?;
                names.split('\0').filter(|name| !name.is_empty()).count() as u64
            }
        };
        Some((tree, changed, lines))
    }

    /// What is told of other commits, branches and clones; the rest is empty.
    fn beside(&self) -> CapsuleGit {
        let branch = line(git(&self.root).args(["symbolic-ref", "--quiet", "--short", "HEAD"]));
        let (ahead, behind) = self.beside_upstream().unzip();
        CapsuleGit {
            commit: None,
            tree: None,
            changed: 0,
            ahead,
            behind,
            diff_stat: DiffStat::default(),
            remote: self.remote(branch.as_deref()),
            branch: branch.as_deref().map(short),
            root: self.first_commit(),
            more: serde_json::Map::new(),
        }
    }

    /// The lines that differ in the files of the commit.
    fn tracked_lines(&self) -> Option<LinesByFile> {
        self.take_tracked()?;
        self.known_lines(self.commit.as_deref()?)
    }

    /// The same by the index as it is.
    fn known_lines(&self, commit: &str) -> Option<LinesByFile> {
        Some(numstat(&text(&mut self.ours(&[
            "diff-index",
            "--cached",
            "--no-renames",
            "--diff-filter=a",
            "--numstat",
            "-z",
            commit,
        ]))?))
    }

    /// The lines of the files that the commit does not have: git holds nothing of what is in them.
    fn new_lines(&self, commit: &str) -> Option<LinesByFile> {
        let listed = bytes(&mut self.ours(&[
            "diff-index",
            "--cached",
            "--no-renames",
            "--diff-filter=A",
            "--name-only",
            "-z",
            commit,
        ]))?;
        let paths = listed.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        let lines = paths.map(|path| {
            let added = lines_in(&self.top.join(OsStr::from_bytes(path)));
            (String::from_utf8_lossy(path).into_owned(), (added, 0))
        });
        Some(lines.collect())
    }

    /// The repository's folder.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The path of a file in the project, by its path in the repository; none of one outside.
    pub fn in_project<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&self.prefix)
            .filter(|path| !path.is_empty())
    }

    /// A file of a commit, by its path in the repository; none unless both are here.
    pub fn text_at(&self, commit: &str, path: &str) -> Option<String> {
        self.has(commit).then_some(())?;
        text(&mut self.ours(&["cat-file", "blob", &format!("{commit}:{path}")]))
    }

    /// The commit; none on a branch without one.
    pub fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// Whether a commit is here.
    pub fn has(&self, commit: &str) -> bool {
        // A name that is no hash could be an option, or a branch.
        let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let object = format!("{commit}^{{commit}}");
        let is_ours = self.commit() == Some(commit);
        let is_there = || line_or_empty(&mut self.ours(&["cat-file", "-e", &object])).is_some();
        is_hash && (is_ours || is_there())
    }

    /// How many commits only the first one has, and how many only the second one; both here.
    pub fn between(&self, one: &str, other: &str) -> Option<(u64, u64)> {
        if one == other {
            return Some((0, 0));
        }
        let range = format!("{one}...{other}");
        let counts = line(&mut self.ours(&["rev-list", "--left-right", "--count", &range]))?;
        let (left, right) = counts.split_once('\t')?;
        Some((left.parse().ok()?, right.parse().ok()?))
    }

    /// Whether the history ends before its beginning.
    pub fn is_shallow(&self) -> bool {
        self.is_shallow
    }

    /// The address of the upstream, or of the only remote, without credentials.
    fn remote(&self, branch: Option<&str>) -> Option<String> {
        let keys = r"^(branch\..*\.remote|remote\..*\.url)$";
        let said = text(git(&self.root).args(["config", "-z", "--get-regexp", keys]))?;
        let said = said.split('\0').filter_map(|said| said.split_once('\n'));
        let said: BTreeMap<&str, &str> = said.collect();
        let named = branch.and_then(|branch| said.get(&*format!("branch.{branch}.remote")));
        let names = said.keys().filter_map(|key| key.strip_prefix("remote."));
        let mut names = names.filter_map(|key| key.strip_suffix(".url"));
        let first = names.next();
        let only = first.filter(|first| *first == "origin" || names.next().is_none());
        let name = named.copied().or(only)?;
        let url = said.get(&*format!("remote.{name}.url"))?;
        Some(short(&without_credentials(url)))
    }

    /// The commit without parents from which the history comes, the same in every clone that has
    /// all of it. None where there are several, or the history ends before.
    fn first_commit(&self) -> Option<String> {
        let commit = self.commit.as_deref().filter(|_| !self.is_shallow)?;
        let roots = ["rev-list", "--max-parents=0", "--max-count=2", commit];
        let roots = text(&mut self.ours(&roots))?;
        let mut roots = roots.lines();
        match (roots.next(), roots.next()) {
            (Some(root), None) => Some(root.to_owned()),
            _ => None,
        }
    }

    /// Commits that the upstream does not have, and those that only it has.
    fn beside_upstream(&self) -> Option<(u64, u64)> {
        let upstream = ["rev-parse", "--verify", "--quiet", "@{upstream}^{commit}"];
        let upstream = line(git(&self.root).args(upstream))?;
        self.between(self.commit.as_deref()?, &upstream)
    }

    fn ours(&self, args: &[&str]) -> std::process::Command {
        look_through(self.own.path(), &self.top, args)
    }
}

/// Where the work tree and the repository lie, and at which commits a shallow clone ends.
const PLACES: [&str; 8] = [
    "rev-parse",
    "--path-format=absolute",
    "--show-toplevel",
    "--show-prefix",
    "--git-common-dir",
    "--git-path",
    "shallow",
    "--is-shallow-repository",
];

/// `added TAB removed TAB path NUL`, with `-` for what is no text.
fn numstat(text: &str) -> LinesByFile {
    let mut found = BTreeMap::new();
    for row in text.split('\0') {
        let mut parts = row.splitn(3, '\t');
        if let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next())
        {
            let lines = (added.parse().unwrap_or(0), removed.parse().unwrap_or(0));
            found.insert(path.to_owned(), lines);
        }
    }
    found
}

/// The address without user, password, query and fragment.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        // `user@host:path`, or a path.
        return match url.split_once('@') {
            Some((user, rest)) if !user.contains(['/', ':']) => rest.to_owned(),
            _ => url.to_owned(),
        };
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// One line, and not a long one: names are whatever somebody pushed.
fn short(text: &str) -> String {
    let seen = text.chars().filter(|c| !c.is_control());
    seen.take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
