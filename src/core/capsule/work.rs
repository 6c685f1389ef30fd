//! What was done for a task: [`CapsuleHandoff`], [`CapsuleTouched`], [`CapsuleRun`] and what comes
//! with them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::LineRef;
use crate::entry::{ArtifactStatus, CommandRun, Entry, EntryKind, GateRun};
use crate::id::{CapsuleId, EntryId};
use crate::kept_text::brief;
use crate::told_path::told_lines;
use crate::word::{OpenWord, words};

words! {
    /// How far work is that was handed over.
    pub enum HandoffState {
        Open = "open",
        Blocked = "blocked",
        /// Its receiver answered it.
        Answered = "answered",
        /// It is over without that: it was closed, or taken back.
        Closed = "closed",
    }
}

words! {
    /// What was done with a file.
    pub enum TouchOp {
        Write = "write",
        Read = "read",
    }
}

/// Work that was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleHandoff {
    /// Its id.
    #[schemars(with = "String")]
    pub id: EntryId,
    /// Who handed over.
    pub from: String,
    /// To whom.
    pub to: String,
    /// What is asked.
    pub ask: String,
    /// That is a beginning; the entry has all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<bool>,
    /// `open`, `blocked`, `answered`, or `closed` where nobody answered it.
    #[schemars(with = "String")]
    pub state: HandoffState,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A file that was touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleTouched {
    /// Where it is, relative to the project, with `/`.
    pub path: String,
    /// `write` or `read`.
    #[schemars(with = "String")]
    pub op: TouchOp,
    /// The SHA-256 of its bytes then, in lower-case hex; none where it was not there.
    #[serde(deserialize_with = "Option::deserialize")]
    pub sha256: Option<String>,
    /// It was there, and has none all the same: too long, no plain file, or `masked`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<bool>,
    /// It was there as a plain file, and has none because something in it would be masked: what is
    /// short is guessed from a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked: Option<bool>,
    /// Who touched it last.
    pub by: String,
    /// Lines that were added since the commit, where git tells.
    #[serde(deserialize_with = "Option::deserialize")]
    pub added: Option<u64>,
    /// Lines that were removed.
    #[serde(deserialize_with = "Option::deserialize")]
    pub removed: Option<u64>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A gate or a command, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapsuleRun {
    /// The gate, or the title of what an agent claims.
    pub name: String,
    /// The command.
    #[serde(deserialize_with = "Option::deserialize")]
    pub cmd: Option<String>,
    /// `passed`, `failed`, `blocked`, `unknown`, `skipped` or `timed_out`.
    #[schemars(with = "String")]
    pub status: OpenWord<ArtifactStatus>,
    /// The daemon ran it itself; without, somebody claims it.
    pub verified: bool,
    /// How it ended.
    #[serde(deserialize_with = "Option::deserialize")]
    pub exit_code: Option<i64>,
    /// How long it took, in ms.
    #[serde(deserialize_with = "Option::deserialize")]
    pub duration_ms: Option<u64>,
    /// The git tree that it ran on.
    #[serde(deserialize_with = "Option::deserialize")]
    pub tree: Option<String>,
    /// It ran on the tree that the capsule was made on.
    pub current: bool,
    /// The same command came to something else on the same tree before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaky: Option<bool>,
    /// The SHA-256 of what it printed, in lower-case hex.
    #[serde(deserialize_with = "Option::deserialize")]
    pub output_sha256: Option<String>,
    /// The entry that says so.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineRef>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl HandoffState {
    /// Whether nobody owes an answer any more.
    pub fn is_over(&self) -> bool {
        matches!(self, Self::Answered | Self::Closed)
    }
}

impl CapsuleRun {
    /// Whether it came to what it should.
    pub fn passed(&self) -> bool {
        self.status == ArtifactStatus::Passed.into()
    }

    /// What an agent claims, or its program of a command that it ran. Of a title its beginning is
    /// kept, on one line.
    pub(super) fn claimed(title: &str, status: ArtifactStatus, ran: Option<&CommandRun>) -> Self {
        Self {
            name: brief(title),
            cmd: ran.map(|ran| ran.cut().cmd),
            status: status.into(),
            verified: false,
            exit_code: ran.and_then(|ran| ran.exit_code),
            duration_ms: ran.and_then(|ran| ran.duration_ms),
            tree: None,
            current: false,
            flaky: None,
            output_sha256: None,
            line: None,
            more: Map::new(),
        }
    }

    /// What the daemon ran itself. Of another tree than the one of now it is out of date.
    pub(super) fn verified(run: &GateRun, status: ArtifactStatus, now: Option<&str>) -> Self {
        let tree = run.tree.as_ref().map(|tree| tree.tree.clone());
        Self {
            name: run.gate.clone(),
            cmd: Some(run.cmd.clone()),
            status: status.into(),
            verified: true,
            exit_code: run.exit_code.map(i64::from),
            duration_ms: Some(run.duration_ms),
            current: !run.stale && tree.is_some() && tree.as_deref() == now,
            tree,
            flaky: None,
            output_sha256: Some(run.output_sha256.clone()),
            line: None,
            more: Map::new(),
        }
    }

    /// What a task's capsule says of this entry, made on the tree `now`, without its line. Only the
    /// daemon's own word is a verified run, and only an agent claims one.
    pub fn filled(entry: &Entry, task: &CapsuleId, now: Option<&str>) -> Option<Self> {
        let EntryKind::Artifact(artifact) = &entry.kind else {
            return None;
        };
        let is_claim = entry.source.agent().is_some() && entry.task().as_ref() == Some(task);
        match entry.gate_run() {
            Some(run) => Some(Self::verified(run, artifact.status, now)),
            None => is_claim
                .then(|| Self::claimed(&artifact.title, artifact.status, artifact.ran.as_ref())),
        }
    }

    /// Whether it is just that, wherever it is cited from, and whatever the runs before it came to.
    pub fn is_of(&self, entry: &Entry, task: &CapsuleId, now: Option<&str>) -> bool {
        Self::filled(entry, task, now).is_some_and(|filled| {
            let filled = Self {
                flaky: self.flaky,
                line: self.line.clone(),
                more: self.more.clone(),
                ..filled
            };
            *self == filled
        })
    }
}

/// What a review found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapsuleFinding {
    /// Its id where it comes from, such as `gh:rc:42`.
    pub external_id: String,
    /// How bad it is.
    pub severity: String,
    /// How far it is.
    pub state: String,
    /// The file, relative to the project.
    #[serde(deserialize_with = "Option::deserialize")]
    pub path: Option<String>,
    /// Where it speaks of several lines, the first of them, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// The line in it, of several the last, from 1.
    #[serde(deserialize_with = "Option::deserialize")]
    pub line: Option<u64>,
    /// One line of it.
    pub title: String,
    /// Where all of it is.
    #[serde(deserialize_with = "Option::deserialize")]
    pub url: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl CapsuleFinding {
    /// `src/a.rs:12` or `src/a.rs:12-15`, where it speaks of a file.
    pub fn place(&self) -> Option<String> {
        let path = self.path.as_deref()?;
        Some(told_lines(path, self.start_line, self.line))
    }
}

/// Changes that no commit has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapsulePatch {
    /// The commit that they are made on.
    pub base: String,
    /// The SHA-256 of the patch, in lower-case hex.
    pub sha256: String,
    /// The patch in base64.
    pub data: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// What a gate printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleOutput {
    /// The gate.
    pub name: String,
    /// The SHA-256 of it, in lower-case hex.
    pub sha256: String,
    /// All of it in base64.
    pub data: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}
