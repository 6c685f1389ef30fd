//! [`GitAnchor`]: where a work tree stands, in words that another clone understands.
//!
//! As in [`work_tree`](super::git::work_tree) the repository is looked at through a throw-away one:
//! nothing of the project's configuration is run, nothing is fetched, nothing is written.

mod ahead;
mod left;
mod line_counts;
mod patch;
mod put_in;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use self::ahead::open_with_diff;
use self::line_counts::LinesByFile;
use super::git::pin_nested;
use super::git_command::{GitCommand, bytes, bytes_with, git, line, line_or_empty, said, text};
use super::git_deadline::GitDeadline;
use super::git_own::OwnRepository;
use super::git_place::{GitPlace, is_hash};
use super::git_untracked::{Copies, WorkDiff, put_in_index};
use crate::core::capsule::{CapsuleGit, DiffStat};
pub use left::NotInPatch;
pub use patch::{ChangedContent, PatchFit, ToldChanges, TrackedChange};
pub use put_in::PutInFault;

/// The longest name of a branch or address, in characters.
const CHARS_MAX: usize = 300;

/// Where a work tree stands, and the lines that differ from the commit by file, relative to the
/// project.
pub type GitStand = (CapsuleGit, LinesByFile);

/// What a work tree has in it.
#[derive(Debug)]
pub struct GitLook {
    /// Its tree; none where a repository within cannot be read.
    pub tree: Option<String>,
    diff: WorkDiff,
    /// The lines that differ, where they were asked for.
    lines: Option<LinesByFile>,
}

/// Where a repository comes from, told without credentials.
#[derive(Debug, Default)]
pub struct GitOrigin {
    /// The commit without parents from which the history comes.
    pub root: Option<String>,
    /// The address of the upstream, or of the only remote.
    pub remote: Option<String>,
}

/// A repository, to be asked.
#[derive(Debug)]
pub struct GitAnchor {
    own: OwnRepository,
    root: PathBuf,
    place: GitPlace,
}

impl GitAnchor {
    /// The repository of a folder; none where there is none, or `git` is missing.
    pub fn open(root: &Path, deadline: GitDeadline) -> Option<Self> {
        thread::scope(|scope| {
            let place = scope.spawn(|| GitPlace::of(root, deadline));
            let own = OwnRepository::empty(deadline);
            Self::at(root, said(place)?, own?)
        })
    }

    fn at(root: &Path, place: GitPlace, own: OwnRepository) -> Option<Self> {
        let own = own.in_format(&place.object_format)?;
        own.borrow_objects(&place.common)?;
        Some(Self::of(root, place, own))
    }

    fn of(root: &Path, place: GitPlace, own: OwnRepository) -> Self {
        // Where the history of a shallow clone ends: without it git looks for what is not there.
        let _ = fs::copy(&place.shallow, own.path().join("shallow"));
        Self {
            own,
            root: root.to_owned(),
            place,
        }
    }

    /// The repository of a folder with what its work tree has in it, at a glance.
    pub fn open_with_look(root: &Path, deadline: GitDeadline) -> Option<(Self, Option<GitLook>)> {
        let take = WorkDiff::at_a_glance;
        let (git, diff, _) = open_with_diff(root, deadline, take, |_, _| None::<()>)?;
        let look = diff.and_then(|diff| git.look_at(diff, false));
        Some((git, look))
    }

    /// The repository of a folder with where it stands. Each question takes as long as a process does,
    /// and a person waits for all of them: what can be asked at once is.
    pub fn open_with_stand(root: &Path, deadline: GitDeadline) -> Option<(Self, Option<GitStand>)> {
        thread::scope(|scope| {
            let upstream = scope.spawn(|| beside_upstream(root, deadline));
            let remotes = scope.spawn(|| remotes(root, deadline));
            let (git, diff, first) = open_with_diff(root, deadline, WorkDiff::since, first_commit)?;
            let look = diff.and_then(|diff| git.look_at(diff, true));
            let remotes = said(remotes);
            let remote = git.remote(remotes.as_deref());
            let beside = git.beside(
                GitOrigin {
                    root: first,
                    remote,
                },
                said(upstream),
            );
            let stand = look.and_then(|look| git.stand_of(look.tree, look.lines?, beside));
            Some((git, stand))
        })
    }

    /// Where it stands, as [`Self::open_with_stand`] tells it.
    pub fn stand(&self) -> Option<GitStand> {
        let (beside, look) = self.with_beside(|| self.look_for(true));
        let look = look?;
        self.stand_of(look.tree, look.lines?, beside?)
    }

    /// As [`Self::stand`], of what was looked at already; as sure as that look was.
    pub fn stand_at(&self, look: &GitLook) -> Option<GitStand> {
        let (beside, known) = self.with_beside(|| self.known_lines(&look.diff));
        let lines = known.map(|known| self.with_new_lines(known, &look.diff));
        self.stand_of(look.tree.clone(), lines?, beside?)
    }

    /// What stands beside it, asked at once with something else.
    fn with_beside<T>(&self, ask: impl FnOnce() -> T) -> (Option<CapsuleGit>, T) {
        thread::scope(|scope| {
            let upstream = scope.spawn(|| beside_upstream(&self.root, self.deadline()));
            let origin = scope.spawn(|| Some(self.origin()));
            let asked = ask();
            let upstream = said(upstream);
            (
                said(origin).map(|origin| self.beside(origin, upstream)),
                asked,
            )
        })
    }

    fn stand_of(
        &self,
        tree: Option<String>,
        lines: LinesByFile,
        beside: CapsuleGit,
    ) -> Option<GitStand> {
        let changed = match self.commit() {
            Some(_) => lines.len(),
            None => {
                let names = text(&mut self.ours(&["ls-files", "-z"]))?;
                names.split('\0').filter(|name| !name.is_empty()).count()
            }
        };
        let mut diff_stat = DiffStat::default();
        for (added, removed) in lines.values() {
            diff_stat.files += 1;
            diff_stat.added += added;
            diff_stat.removed += removed;
        }
        let stand = CapsuleGit {
            commit: self.place.commit.clone(),
            tree,
            changed: changed as u64,
            diff_stat,
            ..beside
        };
        let of_project = lines.into_iter().filter_map(|(path, lines)| {
            let path = self.in_project(&path)?.to_owned();
            Some((path, lines))
        });
        Some((stand, of_project.collect()))
    }

    /// The tree of now, as gates see it, which their results are held against.
    pub fn look(&self) -> Option<GitLook> {
        self.look_for(false)
    }

    fn look_for(&self, wants_lines: bool) -> Option<GitLook> {
        self.look_at(self.take_tracked(Copies::WhereNeeded)?, wants_lines)
    }

    fn look_at(&self, diff: WorkDiff, wants_lines: bool) -> Option<GitLook> {
        let ours = |args: &[&str]| self.ours(args);
        let known_lines = || wants_lines.then(|| self.known_lines(&diff)).flatten();
        let put_in = || put_in_index(&diff, &ours, &self.own, &self.place.top);
        let write_tree = || line(&mut self.ours(&["write-tree", "--missing-ok"]));
        let (tree, known) = match &self.place.tree {
            // It is the one of the commit.
            Some(tree) if diff.is_empty() => (Some(tree.clone()), known_lines()),
            // What is done in a repository within is a change of one line.
            _ if diff.has_nested => {
                put_in()?;
                let tree = pin_nested(&self.own, &self.place.top, 0).and_then(|_| write_tree());
                (tree, known_lines())
            }
            _ => thread::scope(|scope| {
                let known = scope.spawn(known_lines);
                let is_in = put_in().is_some();
                Some((is_in.then(write_tree)?, said(known)))
            })?,
        };
        let lines = known.map(|known| self.with_new_lines(known, &diff));
        Some(GitLook { tree, diff, lines })
    }

    /// The index of the throw-away repository holds the tracked files as they are now; what else
    /// differs from the commit.
    fn take_tracked(&self, copies: Copies) -> Option<WorkDiff> {
        WorkDiff::since(&self.own, &self.place.top, self.commit(), copies)
    }

    /// Where it comes from. The history is walked for that.
    pub fn origin(&self) -> GitOrigin {
        let (remotes, root) = thread::scope(|scope| {
            let root = scope.spawn(|| first_commit(&self.own, &self.place));
            (remotes(&self.root, self.deadline()), said(root))
        });
        let remote = self.remote(remotes.as_deref());
        GitOrigin { root, remote }
    }

    /// What is told of other commits, branches and clones; the rest is empty.
    fn beside(&self, origin: GitOrigin, upstream: Option<(u64, u64)>) -> CapsuleGit {
        let (ahead, behind) = upstream.unzip();
        CapsuleGit {
            commit: None,
            tree: None,
            changed: 0,
            ahead,
            behind,
            diff_stat: DiffStat::default(),
            remote: origin.remote,
            branch: self.branch().as_deref().map(short),
            root: origin.root,
            folder: self.folder().map(str::to_owned),
            late: None,
            more: serde_json::Map::new(),
        }
    }

    /// The branch, which may have no commit yet.
    fn branch(&self) -> Option<String> {
        self.place.branch_name(&self.root, self.deadline())
    }

    /// Until when it may take to tell; what it does not tell from then on is not known.
    pub fn deadline(&self) -> GitDeadline {
        self.own.deadline()
    }

    /// `git` in the repository itself.
    fn theirs(&self) -> GitCommand {
        git(self.top(), self.deadline())
    }

    /// The repository's folder.
    pub fn top(&self) -> &Path {
        &self.place.top
    }

    /// The project's folder in the repository; none where it is that of the repository.
    pub fn folder(&self) -> Option<&str> {
        let folder = self.place.prefix.trim_end_matches('/');
        (!folder.is_empty()).then_some(folder)
    }

    /// The path of a file in the project, by its path in the repository; none of one outside.
    pub fn in_project<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&self.place.prefix)
            .filter(|path| !path.is_empty())
    }

    /// A file of a commit, by its path in the repository; none unless both are here, and of one that is
    /// longer than so many bytes.
    pub fn text_at(&self, commit: &str, path: &str, max: u64) -> Option<String> {
        is_hash(commit).then_some(())?;
        // A tag or a tree is none.
        let object = format!("{commit}^{{commit}}:{path}");
        let size = line(&mut self.ours(&["cat-file", "-s", &object]))?;
        (size.parse::<u64>().ok()? <= max).then_some(())?;
        text(&mut self.ours(&["cat-file", "blob", &object]))
    }

    /// Whether what was looked at last has something of the project's at this path.
    pub fn has_now(&self, path: &str) -> bool {
        let path = format!(":(top,literal){}{path}", self.place.prefix);
        let listed = bytes(&mut self.ours(&["ls-files", "-z", "--", &path]));
        listed.is_some_and(|listed| !listed.is_empty())
    }

    /// The commit; none on a branch without one.
    pub fn commit(&self) -> Option<&str> {
        self.place.commit.as_deref()
    }

    /// Whether a commit is here.
    pub fn has(&self, commit: &str) -> bool {
        let object = format!("{commit}^{{commit}}");
        let is_ours = self.commit() == Some(commit);
        let is_there = || line_or_empty(&mut self.ours(&["cat-file", "-e", &object])).is_some();
        is_hash(commit) && (is_ours || is_there())
    }

    /// How many commits only the first one has, and how many only the second one; none unless both
    /// are here.
    pub fn between(&self, one: &str, other: &str) -> Option<(u64, u64)> {
        (is_hash(one) && is_hash(other)).then_some(())?;
        if one == other {
            return Some((0, 0)).filter(|_| self.has(one));
        }
        let range = format!("{one}...{other}");
        two_counts(&line(&mut self.ours(&[
            "rev-list",
            "--left-right",
            "--count",
            &range,
            "--",
        ]))?)
    }

    /// Whether the history ends before its beginning.
    pub fn is_shallow(&self) -> bool {
        self.place.is_shallow
    }

    /// The address of the upstream, or of the only remote, without credentials, from what
    /// [`remotes`] tells.
    fn remote(&self, remotes: Option<&str>) -> Option<String> {
        let (said, branch) = (remotes?, self.branch());
        let pairs = said.split('\0').filter_map(|said| said.split_once('\n'));
        let (mut said, mut urls) = <(BTreeMap<&str, &str>, BTreeMap<&str, &str>)>::default();
        for (key, value) in pairs {
            let name = key.strip_prefix("remote.");
            match name.and_then(|name| name.strip_suffix(".url")) {
                // From the first of several it is fetched.
                Some(name) => _ = urls.entry(name).or_insert(value),
                None => _ = said.insert(key, value),
            }
        }
        let named = branch.and_then(|branch| said.get(&*format!("branch.{branch}.remote")));
        let url = match named.and_then(|name| urls.get(name)) {
            Some(url) => url,
            None => urls
                .get("origin")
                .or(urls.values().next().filter(|_| urls.len() == 1))?,
        };
        Some(short(&without_credentials(url)))
    }

    fn ours(&self, args: &[&str]) -> GitCommand {
        self.own.look_through(&self.place.top, args)
    }
}

/// The commit without parents from which the history comes, the same in every clone that has
/// all of it. None where there are several, or the history ends before.
fn first_commit(own: &OwnRepository, place: &GitPlace) -> Option<String> {
    let commit = place.commit.as_ref().filter(|_| !place.is_shallow)?;
    let roots = ["rev-list", "--max-parents=0", "--max-count=2", commit];
    let roots = text(&mut own.look_through(&place.top, &roots))?;
    let mut roots = roots.lines();
    match (roots.next(), roots.next()) {
        (Some(root), None) => Some(root.to_owned()),
        _ => None,
    }
}

/// Commits that the upstream does not have, and those that only it has. None without a branch, a commit
/// or an upstream that is here.
fn beside_upstream(root: &Path, deadline: GitDeadline) -> Option<(u64, u64)> {
    let range = "HEAD...@{upstream}";
    let counts = ["rev-list", "--left-right", "--count", range, "--"];
    two_counts(&line(git(root, deadline).args(counts))?)
}

/// The remotes of the branches, and the addresses of the remotes.
fn remotes(root: &Path, deadline: GitDeadline) -> Option<String> {
    let keys = r"^(branch\..*\.remote|remote\..*\.url)$";
    text(git(root, deadline).args(["config", "-z", "--get-regexp", keys]))
}

/// `1 TAB 2`.
fn two_counts(said: &str) -> Option<(u64, u64)> {
    let (left, right) = said.split_once('\t')?;
    Some((left.parse().ok()?, right.parse().ok()?))
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
