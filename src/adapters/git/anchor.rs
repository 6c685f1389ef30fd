//! [`GitAnchor`]: the state of a work tree in terms that another clone understands.
//!
//! As in [`work_tree`](super::work_tree::work_tree), the repository is read through a throw-away
//! one: no program of the project's configuration runs, nothing is fetched, nothing is written.

mod ahead;
mod beside;
mod first_commit;
mod left;
mod line_counts;
mod patch;
mod put_in;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use self::ahead::open_with_diff;
use self::beside::{Beside, Remotes, two_counts};
use self::first_commit::first_commit;
use self::line_counts::LinesByFile;
use super::command::{GitCommand, bytes, bytes_with, git, line, said, text};
use super::deadline::GitDeadline;
use super::own::OwnRepository;
use super::place::{GitPlace, is_hash};
use super::untracked::{Copies, WorkDiff, put_in_index};
use super::work_tree::pin_nested;
use crate::core::capsule::{CapsuleGit, DiffStat};
pub use left::NotInPatch;
pub use patch::{ChangedContent, PatchFit, ToldChanges, TrackedChange};
pub use put_in::PutInFault;

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
            let own = OwnRepository::empty(root, deadline);
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
        let remotes = Remotes::of(root, deadline);
        thread::scope(|scope| {
            scope.spawn(|| remotes.ask());
            let ask =
                |own: &OwnRepository, place: &GitPlace| Some(Beside::ask(own, place, &remotes));
            let (git, diff, beside) = open_with_diff(root, deadline, WorkDiff::since, ask)?;
            let look = diff.and_then(|diff| git.look_at(diff, true));
            let stand = look.and_then(|look| git.stand_of(look.tree, look.lines?, beside?));
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
    fn with_beside<T>(&self, ask: impl FnOnce() -> T) -> (Option<Beside>, T) {
        let remotes = Remotes::of(&self.root, self.deadline());
        thread::scope(|scope| {
            let beside = scope.spawn(|| Some(Beside::ask(&self.own, &self.place, &remotes)));
            let asked = ask();
            (said(beside), asked)
        })
    }

    fn stand_of(
        &self,
        tree: Option<String>,
        lines: LinesByFile,
        beside: Beside,
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
            ..beside.told(self.folder())
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
        let remotes = Remotes::of(&self.root, self.deadline());
        thread::scope(|scope| {
            let root = scope.spawn(|| first_commit(&self.own, &self.place));
            let branch = self.place.branch_name(&self.root, self.deadline());
            GitOrigin {
                remote: remotes.address(branch.as_deref()),
                root: said(root),
            }
        })
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
        let is_there = || text(&mut self.ours(&["cat-file", "-e", &object])).is_some();
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

    fn ours(&self, args: &[&str]) -> GitCommand {
        self.own.look_through(&self.place.top, args)
    }
}

#[cfg(test)]
mod tests;
