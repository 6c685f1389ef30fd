//! [`GitNow`]: the current repository, read once for all capsules, and only as far as needed.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use super::anchor::{GitAnchor, GitLook, GitOrigin, GitStand};
use super::deadline::GitDeadline;

/// How much of a repository is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitNeed {
    /// The tree of now, at a glance: enough to hold a capsule against it, and for what is only shown.
    Tree,
    /// All that a capsule tells of it.
    Stand,
}

/// A repository with what was asked of it. Blocks, for as long as git takes.
#[derive(Debug)]
pub struct GitNow {
    anchor: GitAnchor,
    look: OnceCell<Option<GitLook>>,
    stand: OnceCell<Option<GitStand>>,
    origin: OnceCell<GitOrigin>,
    distances: RefCell<BTreeMap<String, Option<(u64, u64)>>>,
}

impl GitNow {
    /// That of a folder; none where there is none, or `git` is missing.
    pub fn open(root: &Path, deadline: GitDeadline) -> Option<Self> {
        let anchor = GitAnchor::open(root, deadline)?;
        Some(Self::of(anchor, OnceCell::new()))
    }

    fn of(anchor: GitAnchor, stand: OnceCell<Option<GitStand>>) -> Self {
        Self {
            anchor,
            look: OnceCell::new(),
            stand,
            origin: OnceCell::new(),
            distances: RefCell::default(),
        }
    }

    /// That of a folder, with what is needed of it; none where git does not tell that.
    pub fn with(root: &Path, need: GitNeed, deadline: GitDeadline) -> Option<Self> {
        match need {
            GitNeed::Tree => {
                let (anchor, look) = GitAnchor::open_with_look(root, deadline)?;
                let now = Self::of(anchor, OnceCell::new());
                now.look.set(Some(look?)).ok()?;
                Some(now)
            }
            GitNeed::Stand => {
                let (anchor, stand) = GitAnchor::open_with_stand(root, deadline)?;
                stand.is_some().then(|| Self::of(anchor, stand.into()))
            }
        }
    }

    /// The repository itself.
    pub(in crate::adapters) fn anchor(&self) -> &GitAnchor {
        &self.anchor
    }

    /// Where it stands; none where git does not tell.
    pub(in crate::adapters) fn stand(&self) -> Option<&GitStand> {
        let ask = || match self.look.get() {
            Some(Some(look)) => self.anchor.stand_at(look),
            Some(None) => None,
            None => self.anchor.stand(),
        };
        self.stand.get_or_init(ask).as_ref()
    }

    /// Its tree, if that has one; none where git does not tell.
    pub(in crate::adapters) fn tree(&self) -> Option<Option<&str>> {
        if let Some(Some((stand, _))) = self.stand.get() {
            return Some(stand.tree.as_deref());
        }
        let look = self.look.get_or_init(|| self.anchor.look());
        look.as_ref().map(|look| look.tree.as_deref())
    }

    /// How many commits only its history has, and how many only that of another commit; none unless
    /// both are here. Many tasks stand on one commit.
    pub(in crate::adapters) fn distance(&self, commit: &str) -> Option<(u64, u64)> {
        let here = self.anchor.commit()?;
        let mut distances = self.distances.borrow_mut();
        let distance = distances.entry(commit.to_owned());
        *distance.or_insert_with(|| self.anchor.between(here, commit))
    }

    /// The first commit of its history, and the address of its upstream.
    pub(in crate::adapters) fn origin(&self) -> (Option<&str>, Option<&str>) {
        if let Some(Some((stand, _))) = self.stand.get() {
            return (stand.root.as_deref(), stand.remote.as_deref());
        }
        let origin = self.origin.get_or_init(|| self.anchor.origin());
        (origin.root.as_deref(), origin.remote.as_deref())
    }
}

/// A repository that is asked while something else is done.
#[derive(Debug)]
pub struct GitAhead(Option<JoinHandle<Option<GitNow>>>);

impl GitAhead {
    /// Begins to ask.
    pub fn start(root: PathBuf, need: GitNeed, deadline: GitDeadline) -> Self {
        let ask = move || GitNow::with(&root, need, deadline);
        Self(Some(thread::spawn(ask)))
    }

    /// Takes back what asking needed, beside what is done meanwhile.
    pub(in crate::adapters) fn end(git: GitNow) -> Self {
        Self(Some(thread::spawn(move || {
            drop(git);
            None
        })))
    }

    /// What was asked.
    pub(in crate::adapters) fn wait(mut self) -> Option<GitNow> {
        self.0.take()?.join().ok().flatten()
    }
}

impl Drop for GitAhead {
    /// The process may end now, and would leave a folder of ours behind.
    fn drop(&mut self) {
        if let Some(asked) = self.0.take() {
            let _ = asked.join();
        }
    }
}
