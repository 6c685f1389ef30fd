//! [`Freshness`]: whether what a capsule says of the work tree still holds.

use std::fmt;

use super::remote_address::{RemotesTell, remotes_tell};
use super::{Capsule, CapsuleSection, TreeNow, UncomparedFile, WhyUnknown};
use crate::agent::Agent;
use crate::id::Seq;
use crate::snapshot::Snapshot;
use crate::told_path::told_path;
use crate::word::words;

words! {
    /// How a capsule stands to the work tree of now.
    pub closed enum Freshness {
        /// The same tree, and each of its files as it was.
        Fresh = "fresh",
        /// Another tree, or no git, and none of the capsule's files differs.
        Moved = "moved",
        /// Files of the capsule differ.
        Touched = "touched",
        /// Each side has commits that the other one does not have.
        Diverged = "diverged",
        /// Nobody can tell: [`WhyUnknown`] says why.
        Unknown = "unknown",
        /// It is of another repository.
        Foreign = "foreign",
    }
}

/// Since when what an agent does was not yet so in a capsule.
#[derive(Debug, Clone, Copy)]
pub(super) enum Since {
    /// The entry of the record that says it was kept, or imported.
    Entry(Seq),
    /// Its own latest entry, in ms since the epoch: of this one the record tells no more.
    Ms(i64),
}

impl Since {
    pub(super) fn of(capsule: &Capsule, world: &Snapshot) -> Self {
        let kept = world.tasks.get(&capsule.id);
        let kept = kept.and_then(|task| task.kept.as_ref());
        let kept = kept.map(|kept| (kept.seq, &kept.digest));
        let imported = world.imported.get(&capsule.id);
        let imported = imported.map(|it| (it.seq, &it.digest));
        let told = kept.or(imported);
        match told.filter(|(_, digest)| **digest == capsule.digest) {
            Some((seq, _)) => Self::Entry(seq),
            None => Self::Ms(capsule.updated_at),
        }
    }
}

/// Who wrote a file since, where the record knows.
pub(super) fn changed_by(world: &Snapshot, path: &str, since: Since) -> Option<Agent> {
    let states = world.continuity.iter().flat_map(|(agent, pairs)| {
        let files = pairs.values().flat_map(|state| &state.files);
        files.map(move |file| (*agent, file))
    });
    let later = states.filter(|(_, file)| {
        file.path == path
            && match since {
                Since::Entry(seq) => file.seq > seq,
                Since::Ms(ms) => file.at_ms > ms,
            }
    });
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
            Some(by) => write!(f, "{} (by {by})", told_path(&self.path)),
            None => f.write_str(&told_path(&self.path)),
        }
    }
}

/// How a capsule stands to the work tree of now, as people and agents are told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandsNow {
    /// In one word.
    pub freshness: Freshness,
    /// Where that is [`Freshness::Unknown`], why.
    pub why_unknown: Option<WhyUnknown>,
    /// As [`TreeNow::distance`].
    pub distance: Option<(u64, u64)>,
    /// Its files that are not what they were.
    pub changed: Vec<ChangedFile>,
    /// Of an open task those that are not what they were when it went out last.
    pub changed_since_out: Vec<ChangedFile>,
    /// Its files that cannot be compared.
    pub uncompared: Vec<UncomparedFile>,
    /// How many of its files it lists, where it does not list all.
    pub listed: Option<u64>,
    /// It says where git stood.
    pub has_git: bool,
}

impl StandsNow {
    /// This, with nothing beside it.
    pub fn plain(freshness: Freshness) -> Self {
        Self {
            freshness,
            why_unknown: None,
            distance: None,
            changed: Vec::new(),
            changed_since_out: Vec::new(),
            uncompared: Vec::new(),
            listed: None,
            has_git: true,
        }
    }

    /// Of what was made just now, of the work tree of now.
    pub fn of_now(capsule: &Capsule) -> Self {
        let commit = capsule.git.as_ref().and_then(|git| git.commit.as_ref());
        Self {
            distance: commit.map(|_| (0, 0)),
            has_git: capsule.git.is_some(),
            ..Self::plain(Freshness::Fresh)
        }
    }

    /// Of a capsule that was compared; `world` knows who did what since.
    pub fn of(capsule: &Capsule, now: &TreeNow, world: &Snapshot) -> Self {
        let since = Since::of(capsule, world);
        let changed = now.differing.iter().map(|file| ChangedFile {
            path: file.path.clone(),
            by: changed_by(world, &file.place, since),
        });
        let told = capsule.told(now);
        let mut left = capsule.left_out.iter();
        let listed = capsule.touched.len() as u64;
        Self {
            freshness: told.unwrap_or(Freshness::Unknown),
            why_unknown: told.err(),
            distance: now.distance,
            changed: changed.collect(),
            changed_since_out: Vec::new(),
            uncompared: now.uncompared.clone(),
            listed: left
                .any(|left| left.what == CapsuleSection::Touched)
                .then_some(listed),
            has_git: capsule.git.is_some(),
        }
    }

    /// Why nobody can tell, as a fragment.
    pub fn why_unknown(&self) -> &'static str {
        self.why_unknown.unwrap_or(WhyUnknown::Commit).as_str()
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

impl Capsule {
    /// How it stands to the work tree of now.
    pub fn freshness(&self, now: &TreeNow) -> Freshness {
        self.told(now).unwrap_or(Freshness::Unknown)
    }

    /// As [`Self::freshness`], with the reason where nobody can tell.
    fn told(&self, now: &TreeNow) -> Result<Freshness, WhyUnknown> {
        let is_touched = !now.differing.is_empty();
        let by_files = || match (is_touched, now.uncompared.is_empty()) {
            (true, _) => Ok(Freshness::Touched),
            (false, true) => Ok(Freshness::Moved),
            (false, false) => Err(WhyUnknown::Files),
        };
        let Some(git) = &self.git else {
            // The files are all that there is.
            return match (now.has_repository, self.touched.is_empty()) {
                (true, _) => Err(WhyUnknown::NoAnchor),
                (false, true) => Err(WhyUnknown::NoFiles),
                (false, false) => by_files(),
            };
        };
        if !now.is_git {
            return Err(match now.has_repository {
                true => WhyUnknown::Git,
                false => WhyUnknown::NoRepository,
            });
        }
        if git.tree.is_some() && git.tree == now.tree {
            // What git ignores is in no tree.
            let has_all = now.uncompared.is_empty() || now.tree_has_uncompared;
            return match (is_touched, has_all) {
                (true, _) => Ok(Freshness::Touched),
                (false, true) => Ok(Freshness::Fresh),
                (false, false) => Err(WhyUnknown::Files),
            };
        }
        if git.commit.is_none() {
            return match (&git.remote, &now.remote) {
                _ if now.is_ours => by_files(),
                (Some(then), Some(here)) => match remotes_tell(then, here) {
                    RemotesTell::Same => by_files(),
                    // Without a commit nothing ties it to one of another name.
                    RemotesTell::Apart | RemotesTell::OtherName => Ok(Freshness::Foreign),
                    RemotesTell::Nothing => Err(WhyUnknown::NoTie),
                },
                _ => Err(WhyUnknown::NoTie),
            };
        }
        if !now.has_commit {
            return self.without_commit(now);
        }
        match now.distance {
            Some((since, before)) if since > 0 && before > 0 => match now.is_shallow {
                // What seems to be two histories may be one whose beginning is missing.
                true => Err(WhyUnknown::Shallow),
                false => Ok(Freshness::Diverged),
            },
            Some(_) => by_files(),
            None => Err(WhyUnknown::Git),
        }
    }

    /// Its commit is not here: because it was not fetched, or because it never will be.
    fn without_commit(&self, now: &TreeNow) -> Result<Freshness, WhyUnknown> {
        let git = self.git.as_ref();
        let root = git.and_then(|git| git.root.as_ref());
        let remote = git.and_then(|git| git.remote.as_ref());
        if now.has_root {
            return Err(WhyUnknown::Commit);
        }
        match (root, &now.root, remote, &now.remote) {
            (Some(then), Some(here), ..) if then != here => Ok(Freshness::Foreign),
            (_, _, Some(then), Some(here)) if remotes_tell(then, here) == RemotesTell::Apart => {
                Ok(Freshness::Foreign)
            }
            _ => Err(WhyUnknown::Commit),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::capsule::{CapsuleGit, CapsuleTouched, DifferingFile, TouchOp};
    use crate::id::CapsuleId;

    fn anchored() -> Capsule {
        let mut capsule = Capsule::new(CapsuleId::new("cap_0123456789ab"), "t", 1);
        capsule.git = Some(CapsuleGit {
            commit: Some("c".to_owned()),
            tree: Some("t".to_owned()),
            remote: Some("https://a.example/x".to_owned()),
            root: Some("r".to_owned()),
            ..CapsuleGit::default()
        });
        capsule
    }

    fn differing() -> Vec<DifferingFile> {
        let (path, place) = ("a".to_owned(), "a".to_owned());
        vec![DifferingFile { path, place }]
    }

    fn here() -> TreeNow {
        TreeNow {
            has_repository: true,
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
            differing: differing(),
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
        // A shallow clone, or one of several beginnings, by another address.
        for remote in [
            "a.example:x.git",
            "https://a.example/x/",
            "https://b.example/X",
        ] {
            let same = TreeNow {
                remote: Some(remote.to_owned()),
                ..gone.clone()
            };
            assert_eq!(capsule.told(&same), Err(WhyUnknown::Commit), "{remote}");
        }
        let fork = TreeNow {
            has_root: true,
            ..elsewhere
        };
        assert_eq!(capsule.freshness(&fork), Freshness::Unknown);
        assert_eq!(capsule.freshness(&TreeNow::default()), Freshness::Unknown);
    }

    #[test]
    fn the_same_tree_is_not_fresh_where_a_file_that_git_ignores_differs_or_cannot_be_compared() {
        let capsule = anchored();
        let same = TreeNow {
            tree: Some("t".to_owned()),
            ..here()
        };
        let touched = TreeNow {
            differing: differing(),
            ..same.clone()
        };
        assert_eq!(capsule.freshness(&touched), Freshness::Touched);
        let uncompared = |now: TreeNow| TreeNow {
            uncompared: vec![UncomparedFile {
                path: "b".to_owned(),
                place: None,
                is_masked: false,
            }],
            ..now
        };
        let ignored = uncompared(same.clone());
        assert_eq!(capsule.told(&ignored), Err(WhyUnknown::Files));
        let known = TreeNow {
            tree_has_uncompared: true,
            ..ignored
        };
        assert_eq!(capsule.told(&known), Ok(Freshness::Fresh));
        assert_eq!(
            capsule.told(&uncompared(here())),
            Err(WhyUnknown::Files),
            "it may be one of those that the commits changed"
        );
        assert_eq!(capsule.freshness(&uncompared(touched)), Freshness::Touched);
    }

    #[test]
    fn a_capsule_without_a_commit_is_of_this_repository_only_where_something_says_so() {
        let mut capsule = anchored();
        let git = capsule.git.as_mut().unwrap();
        (git.commit, git.root) = (None, None);
        let at = |remote: &str| TreeNow {
            has_commit: false,
            distance: None,
            remote: Some(remote.to_owned()),
            ..here()
        };
        assert_eq!(
            capsule.told(&at("https://a.example/x")),
            Ok(Freshness::Moved)
        );
        let other = at("https://b.example/y");
        assert_eq!(capsule.told(&other), Ok(Freshness::Foreign));
        let ssh = at("a.example:x.git");
        assert_eq!(capsule.told(&ssh), Ok(Freshness::Moved));
        let alike = at("https://b.example/x");
        assert_eq!(capsule.told(&alike), Err(WhyUnknown::NoTie));
        let none = TreeNow {
            remote: None,
            ..other
        };
        assert_eq!(capsule.told(&none), Err(WhyUnknown::NoTie));
        let ours = TreeNow {
            is_ours: true,
            ..none
        };
        assert_eq!(capsule.told(&ours), Ok(Freshness::Moved));
    }

    #[test]
    fn without_git_only_the_files_tell_and_nothing_is_fresh() {
        let mut capsule = Capsule::new(CapsuleId::new("cap_0123456789ab"), "t", 1);
        let nowhere = TreeNow::default();
        assert_eq!(capsule.told(&nowhere), Err(WhyUnknown::NoFiles));
        capsule.touched.push(CapsuleTouched {
            path: "a".to_owned(),
            op: TouchOp::Write,
            sha256: None,
            unread: None,
            masked: None,
            by: "codex".to_owned(),
            added: None,
            removed: None,
            more: Map::new(),
        });
        assert_eq!(capsule.told(&nowhere), Ok(Freshness::Moved));
        let touched = TreeNow {
            differing: differing(),
            ..nowhere
        };
        assert_eq!(capsule.told(&touched), Ok(Freshness::Touched));
        let elsewhere = TreeNow {
            has_repository: true,
            ..touched
        };
        assert_eq!(capsule.told(&elsewhere), Err(WhyUnknown::NoAnchor));
    }
}
