//! [`RecoveredTree`]: the state of the work tree.

use std::path::Path;

use ctxrelay_ui::model::RecoveryPart;
use serde_json::{Value, json};

use super::parts::words;
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::facts::git_facts;
use crate::adapters::git::found::why_unreadable;
use crate::adapters::git::work_tree::TreeReading;
use crate::cli::text::words::{count, short};
use crate::core::continuity::GitFacts;

/// How many files that are not committed are named.
const FILES_MAX: usize = 20;

/// How much of a file's name is told, in characters.
const NAME_CHARS: usize = 200;

/// As git tells it; nothing where there is no repository.
pub(super) struct RecoveredTree {
    reading: Option<TreeReading>,
    /// What git says where there is a repository that it does not read.
    unreadable: Option<String>,
    pub(super) facts: Option<GitFacts>,
}

impl RecoveredTree {
    /// Of this project, as it lies there now.
    pub(super) fn read(root: &Path) -> Self {
        let reading = TreeReading::of(root);
        Self {
            unreadable: match reading {
                Some(_) => None,
                None => why_unreadable(root),
            },
            reading,
            facts: git_facts(root, GitDeadline::NONE),
        }
    }

    fn branch(&self) -> Option<&str> {
        self.facts.as_ref()?.branch.as_deref()
    }

    /// For a program; `null` where there is no repository, or none that can be read. `changed` counts also those that
    /// `files` does not name.
    pub(super) fn to_json(&self) -> Value {
        let Some(reading) = &self.reading else {
            return Value::Null;
        };
        let mut told = json!(reading.tree);
        told["branch"] = json!(self.branch());
        told["files"] = reading.files().collect();
        told
    }

    /// For people.
    pub(super) fn part(&self) -> RecoveryPart {
        let mut part = RecoveryPart {
            title: "Git".to_owned(),
            ..RecoveryPart::default()
        };
        let Some(reading) = &self.reading else {
            match &self.unreadable {
                Some(why) => {
                    part.note = "the repository cannot be read".to_owned();
                    let rows = (!why.is_empty()).then(|| words(short(why, NAME_CHARS)));
                    part.rows.extend(rows);
                }
                None => part.note = "no repository".to_owned(),
            }
            return part;
        };
        let branch = self.branch().unwrap_or("no branch");
        let commit = reading.tree.commit.as_deref().unwrap_or("no commit yet");
        let changed = count(reading.tree.changed, "file", "files");
        part.note = format!("{changed} changed");
        part.rows.push(words(format!("{branch} at {commit}")));
        part.rows.extend(reading.files().map(words));
        let more = reading.differing.len().saturating_sub(FILES_MAX);
        if more > 0 {
            part.rows.push(words(format!("and {more} more")));
        }
        part
    }
}

impl TreeReading {
    fn files(&self) -> impl Iterator<Item = String> {
        let named = self.differing.iter().take(FILES_MAX);
        named.map(|name| short(name, NAME_CHARS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_that_git_refuses_is_told_from_none() {
        let place = tempfile::tempdir().unwrap();
        let part = || RecoveredTree::read(place.path()).part();
        assert_eq!(part().note, "no repository");
        std::fs::write(place.path().join(".git"), "no pointer").unwrap();
        let part = part();
        assert_eq!(part.note, "the repository cannot be read");
        assert!(part.rows[0].text.starts_with("fatal: "), "{part:?}");
    }
}
