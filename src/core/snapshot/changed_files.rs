//! [`ChangedFiles`]: the difference between the work tree that was approved last and a later one;
//! [`ChangedChecks`]: the part that the operator should look at before believing a green gate.

use super::{ProposalSnapshot, Snapshot};
use crate::check_file::CheckFile;
use crate::entry::WorkTree;
use crate::id::{EntryId, Seq};
use crate::told_path::told_path;

/// The files that differ between two work trees. Somebody who can ask git says it: the record
/// names trees, and not what is in them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedFiles {
    /// The tree that was approved.
    pub from: String,
    /// The later one.
    pub to: String,
    /// Their paths from the project's folder; what lies elsewhere in the repository begins with
    /// `:/`. A repository within, of which it is not known what changed in it, ends with `/`.
    pub paths: Vec<String>,
    /// These are all, and each of them has changed. Otherwise the approved tree is not there any
    /// more, and these are those that differ from the commit of then.
    pub is_exact: bool,
}

/// Tests, manifests and what runs elsewhere that changed since the last approval, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedChecks {
    /// Those that decide most first, each on one line and not a long one.
    pub named: Vec<String>,
    pub more: u64,
    /// What is to be said of the list, or in its place.
    pub note: Option<&'static str>,
}

/// How many of them are named.
const NAMED_MAX: usize = 12;

/// The most of a path that is told, in characters.
const PATH_CHARS: usize = 120;

impl ChangedChecks {
    fn of(changed: &ChangedFiles) -> Self {
        let found = changed.paths.iter();
        let found = found.filter_map(|path| {
            let depth = path.matches('/').count();
            Some((CheckFile::of(path)?, depth, path))
        });
        let mut found: Vec<(CheckFile, usize, &String)> = found.collect();
        // However many are changed, what decides most is never among those that are only counted.
        found.sort();
        let more = found.len().saturating_sub(NAMED_MAX) as u64;
        let named = found.into_iter().take(NAMED_MAX);
        let named: Vec<String> = named.map(|(_, _, path)| shown(path)).collect();
        Self {
            note: match (changed.is_exact, named.is_empty()) {
                (false, _) => {
                    Some("the approved files were never committed: compared with their commit")
                }
                (true, true) => Some("none changed since the last approval"),
                (true, false) => None,
            },
            named,
            more,
        }
    }

    /// Nothing is known of them.
    fn unknown(note: &'static str) -> Self {
        Self {
            named: Vec::new(),
            more: 0,
            note: Some(note),
        }
    }
}

/// Paths are whatever an agent called its files.
fn shown(path: &str) -> String {
    let mut shown: String = told_path(path).chars().take(PATH_CHARS + 1).collect();
    if let Some((end, _)) = shown.char_indices().nth(PATH_CHARS) {
        shown.truncate(end);
        shown.push('…');
    }
    shown
}

impl Snapshot {
    /// Where the proposal that was approved last stands, and its approval. None where something that
    /// it closed is open again: read once more it would close that.
    pub fn last_approval(&self) -> Option<[Seq; 2]> {
        let is_approved = |proposal: &&ProposalSnapshot| {
            let decision = proposal.decision.as_ref();
            decision.is_some_and(|(decision, _)| decision.approved)
        };
        let approved = self.decided_proposals.iter().rev().find(is_approved)?;
        let (decision, _) = approved.decision.as_ref()?;
        let is_open = |id: &EntryId| self.open_handoffs.contains_key(id);
        if decision.handles.iter().any(is_open) {
            return None;
        }
        (approved.seq < self.approved_through).then_some([approved.seq, self.approved_through])
    }

    /// The tests and manifests among what changed since the last approval.
    pub fn changed_checks(&self, changed: Option<&ChangedFiles>) -> ChangedChecks {
        let Some(approved) = &self.approved_tree else {
            return ChangedChecks::unknown(match self.approved_through {
                Seq(0) if self.predecessor.is_some() => {
                    "nothing was approved in this session yet: all of them count as new"
                }
                Seq(0) => "nothing was approved yet: all of them are new to you",
                _ => "what changed since the last approval cannot be told without git",
            });
        };
        match changed.filter(|changed| changed.from == approved.tree) {
            Some(changed) => ChangedChecks::of(changed),
            None => ChangedChecks::unknown("what changed since the last approval cannot be told"),
        }
    }

    /// All files that changed between the last approval and this tree; `None` when it is not known
    /// of them all.
    pub(super) fn all_changed<'a>(
        &self,
        changed: Option<&'a ChangedFiles>,
        tree: Option<&WorkTree>,
    ) -> Option<&'a [String]> {
        let (approved, tree) = (self.approved_tree.as_ref()?, tree?);
        let changed = changed.filter(|changed| changed.is_exact)?;
        let is_of_these = changed.from == approved.tree && changed.to == tree.tree;
        is_of_these.then_some(&changed.paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> Snapshot {
        Snapshot {
            approved_through: Seq(7),
            approved_tree: Some(WorkTree {
                commit: None,
                tree: "aa".to_owned(),
                changed: 0,
            }),
            ..Snapshot::default()
        }
    }

    fn changed(paths: &[String]) -> ChangedFiles {
        ChangedFiles {
            from: "aa".to_owned(),
            to: "bb".to_owned(),
            paths: paths.to_vec(),
            is_exact: true,
        }
    }

    #[test]
    fn a_flood_of_files_does_not_hide_what_decides_most() {
        let mut paths: Vec<String> = (0..500).map(|n| format!("a/b/{n}/package.json")).collect();
        paths.extend((0..500).map(|n| format!("a{n}.spec.ts")));
        paths.push("src/main.rs".to_owned());
        paths.push("package.json".to_owned());
        paths.push(format!("tests/\u{1b}[2J{}", "x".repeat(4_000)));
        let found = world().changed_checks(Some(&changed(&paths)));
        assert_eq!(found.named.len(), NAMED_MAX);
        assert_eq!(found.named[0], "package.json");
        assert_eq!((found.more, found.note), (1_002 - NAMED_MAX as u64, None));
        let hostile = world().changed_checks(Some(&changed(&paths[1_002..])));
        assert_eq!(hostile.named[0].chars().count(), PATH_CHARS + 1);
        assert!(!hostile.named[0].contains('\u{1b}'));
        let unseen = ["tests/a\tb.rs".to_owned(), "tests/ab.rs".to_owned()];
        let told = world().changed_checks(Some(&changed(&unseen)));
        assert_eq!(told.named, [r#""tests/a\tb.rs""#, "tests/ab.rs"]);
    }

    #[test]
    fn what_is_not_known_is_not_called_unchanged() {
        let known = changed(&["src/main.rs".to_owned()]);
        let note = |world: &Snapshot, changed: Option<&ChangedFiles>| {
            world.changed_checks(changed).note.unwrap_or_default()
        };
        assert!(note(&world(), Some(&known)).starts_with("none changed"));
        assert!(note(&world(), None).contains("cannot be told"));
        let mut other = known.clone();
        other.from = "cc".to_owned();
        assert!(note(&world(), Some(&other)).contains("cannot be told"));
        other = known.clone();
        other.is_exact = false;
        assert!(note(&world(), Some(&other)).contains("never committed"));
        assert!(note(&Snapshot::default(), Some(&known)).contains("nothing was approved"));
    }
}
