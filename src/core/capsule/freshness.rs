//! [`Freshness`]: whether what a capsule says of the work tree is still so.

use std::fmt;

use super::Capsule;
use crate::agent::Agent;
use crate::snapshot::Snapshot;
use crate::word::words;

words! {
    /// How a capsule stands to the work tree of now.
    pub closed enum Freshness {
        /// The same tree.
        Fresh = "fresh",
        /// Another tree, and none of the capsule's files differs.
        Moved = "moved",
        /// Files of the capsule differ.
        Touched = "touched",
        /// Each side has commits that the other one does not have.
        Diverged = "diverged",
        /// Its commit is not here, so that nobody can tell.
        Unknown = "unknown",
        /// It is of another repository.
        Foreign = "foreign",
    }
}

/// Who touched a file since a time in ms since the epoch, where the record knows.
fn changed_by(world: &Snapshot, path: &str, since_ms: i64) -> Option<Agent> {
    let states = world.continuity.iter().flat_map(|(agent, pairs)| {
        let files = pairs.values().flat_map(|state| &state.files);
        files.map(move |file| (*agent, file))
    });
    let later = states.filter(|(_, file)| file.path == path && file.at_ms > since_ms);
    let last = later.max_by_key(|(_, file)| file.seq);
    last.map(|(agent, _)| agent)
}

/// A file of a capsule that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Where it is, relative to the project.
    pub path: String,
    /// Who touched it since, where the record knows.
    pub by: Option<Agent>,
}

impl fmt::Display for ChangedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.by {
            Some(by) => write!(f, "{} (by {by})", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// How a capsule stands to the work tree of now, as people and agents are told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandsNow {
    /// In one word.
    pub freshness: Freshness,
    /// As [`TreeNow::distance`].
    pub distance: Option<(u64, u64)>,
    /// Its files that are not what they were.
    pub changed: Vec<ChangedFile>,
    /// Of an open task those that are not what they were when it went out last.
    pub changed_since_out: Vec<ChangedFile>,
}

impl StandsNow {
    /// Of a capsule that was compared; `world` knows who did what since.
    pub fn of(capsule: &Capsule, freshness: Freshness, now: &TreeNow, world: &Snapshot) -> Self {
        let changed = now.differing.iter().map(|path| ChangedFile {
            path: path.clone(),
            by: changed_by(world, path, capsule.updated_at),
        });
        Self {
            freshness,
            distance: now.distance,
            changed: changed.collect(),
            changed_since_out: Vec::new(),
        }
    }

    /// The same of a task that is told as it is now, with how what went out of it last stands.
    #[must_use]
    pub fn since_out(mut self, out: Self) -> Self {
        if out.changed != self.changed {
            self.changed_since_out = out.changed;
        }
        self
    }
}

/// The repository of now, as far as it matters for a capsule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeNow {
    /// There is a repository.
    pub is_git: bool,
    /// The tree of now.
    pub tree: Option<String>,
    /// Whether the capsule's commit is here.
    pub has_commit: bool,
    /// Commits since the capsule's commit, and commits of it that are not in the history of now;
    /// none where git cannot tell.
    pub distance: Option<(u64, u64)>,
    /// The history ends before its beginning.
    pub is_shallow: bool,
    /// The first commit of the history, and the address of the upstream.
    pub root: Option<String>,
    /// Where the upstream is.
    pub remote: Option<String>,
    /// Whether the first commit of the capsule's history is here.
    pub has_root: bool,
    /// The capsule's files that differ from what they were, by path.
    pub differing: Vec<String>,
}

impl Capsule {
    /// How it stands to the work tree of now.
    pub fn freshness(&self, now: &TreeNow) -> Freshness {
        let by_files = match now.differing.is_empty() {
            true => Freshness::Moved,
            false => Freshness::Touched,
        };
        let Some(git) = &self.git else {
            // Without git the files are all that there is.
            return match now.differing.is_empty() {
                true => Freshness::Fresh,
                false => Freshness::Touched,
            };
        };
        if !now.is_git {
            return Freshness::Unknown;
        }
        if git.tree.is_some() && git.tree == now.tree {
            return Freshness::Fresh;
        }
        if git.commit.is_none() {
            return by_files;
        }
        if !now.has_commit {
            return self.without_commit(now);
        }
        match now.distance {
            Some((since, before)) if since > 0 && before > 0 => match now.is_shallow {
                // What seems to be two histories may be one whose beginning is missing.
                true => Freshness::Unknown,
                false => Freshness::Diverged,
            },
            Some(_) => by_files,
            None => Freshness::Unknown,
        }
    }

    /// Its commit is not here: because it was not fetched, or because it never will be.
    fn without_commit(&self, now: &TreeNow) -> Freshness {
        let git = self.git.as_ref();
        let root = git.and_then(|git| git.root.as_ref());
        let remote = git.and_then(|git| git.remote.as_ref());
        if now.has_root {
            return Freshness::Unknown;
        }
        match (root, &now.root, remote, &now.remote) {
            (Some(then), Some(here), ..) if then != here => Freshness::Foreign,
            (_, _, Some(then), Some(here)) if then != here => Freshness::Foreign,
            _ => Freshness::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::capsule::{CapsuleGit, DiffStat};
    use crate::id::CapsuleId;

    fn anchored() -> Capsule {
        let mut capsule = Capsule::new(CapsuleId::new("cap_0123456789ab"), "t", 1);
        capsule.git = Some(CapsuleGit {
            commit: Some("c".to_owned()),
            branch: None,
            tree: Some("t".to_owned()),
            changed: 0,
            ahead: None,
            behind: None,
            diff_stat: DiffStat::default(),
            remote: Some("https://a.example/x".to_owned()),
            root: Some("r".to_owned()),
            late: None,
            more: Map::new(),
        });
        capsule
    }

    fn here() -> TreeNow {
        TreeNow {
            is_git: true,
            tree: Some("other".to_owned()),
            has_commit: true,
            distance: Some((2, 0)),
            ..TreeNow::default()
        }
    }

    #[test]
    fn each_state_has_what_makes_it() {
        let capsule = anchored();
        let same = TreeNow {
            tree: Some("t".to_owned()),
            ..here()
        };
        assert_eq!(capsule.freshness(&same), Freshness::Fresh);
        assert_eq!(capsule.freshness(&here()), Freshness::Moved);
        let touched = TreeNow {
            differing: vec!["a".to_owned()],
            ..here()
        };
        assert_eq!(capsule.freshness(&touched), Freshness::Touched);
        let diverged = TreeNow {
            distance: Some((1, 1)),
            ..here()
        };
        assert_eq!(capsule.freshness(&diverged), Freshness::Diverged);
        let shallow = TreeNow {
            is_shallow: true,
            ..diverged
        };
        assert_eq!(capsule.freshness(&shallow), Freshness::Unknown);
        let gone = TreeNow {
            has_commit: false,
            distance: None,
            ..here()
        };
        assert_eq!(capsule.freshness(&gone), Freshness::Unknown);
        let foreign = TreeNow {
            root: Some("another".to_owned()),
            ..gone.clone()
        };
        assert_eq!(capsule.freshness(&foreign), Freshness::Foreign);
        let elsewhere = TreeNow {
            remote: Some("https://b.example/y".to_owned()),
            ..gone.clone()
        };
        assert_eq!(capsule.freshness(&elsewhere), Freshness::Foreign);
        let fork = TreeNow {
            has_root: true,
            ..elsewhere
        };
        assert_eq!(capsule.freshness(&fork), Freshness::Unknown);
        assert_eq!(capsule.freshness(&TreeNow::default()), Freshness::Unknown);
    }

    #[test]
    fn without_git_the_files_tell() {
        let capsule = Capsule::new(CapsuleId::new("cap_0123456789ab"), "t", 1);
        assert_eq!(capsule.freshness(&TreeNow::default()), Freshness::Fresh);
        let touched = TreeNow {
            differing: vec!["a".to_owned()],
            ..TreeNow::default()
        };
        assert_eq!(capsule.freshness(&touched), Freshness::Touched);
    }
}
