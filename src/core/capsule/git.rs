//! [`CapsuleGit`]: the state of a task's work tree in git.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where the work tree stood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapsuleGit {
    /// The commit; none on a branch without one.
    #[serde(deserialize_with = "Option::deserialize")]
    pub commit: Option<String>,
    /// The branch; none on a detached head.
    #[serde(deserialize_with = "Option::deserialize")]
    pub branch: Option<String>,
    /// What names the tree as it was, its uncommitted changes included.
    #[serde(deserialize_with = "Option::deserialize")]
    pub tree: Option<String>,
    /// Files that differ from the commit.
    pub changed: u64,
    /// Commits that the upstream does not have; none without an upstream.
    #[serde(deserialize_with = "Option::deserialize")]
    pub ahead: Option<u64>,
    /// Commits that only the upstream has.
    #[serde(deserialize_with = "Option::deserialize")]
    pub behind: Option<u64>,
    /// How much differs from the commit.
    pub diff_stat: DiffStat,
    /// The address of the upstream, without credentials.
    #[serde(deserialize_with = "Option::deserialize")]
    pub remote: Option<String>,
    /// The first commit of the history, where there is one and all of it is there: the same in
    /// every clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The project's folder in the repository, with `/`, as
    /// [`told_path`](crate::told_path::told_path) has it; none where it is that of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// It was asked only after the task was closed: where it stood at the close nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<bool>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How much differs from a commit, in lines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DiffStat {
    /// Tracked files that differ.
    pub files: u64,
    /// Lines that were added in them.
    pub added: u64,
    /// Lines that were removed from them.
    pub removed: u64,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
