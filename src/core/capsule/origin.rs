//! [`CapsuleOrigin`], [`CapsuleRedaction`], [`CapsuleLeftOut`]: what a capsule says about itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{CapsuleId, Seq, SessionId};
use crate::snapshot::FINDINGS_MAX;
use crate::told_path::told_path;
use crate::word::words;

/// How many names of what is left out are told in one line.
const TOLD_NAMES_MAX: usize = 10;

/// The longest name among them, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// How many names are kept.
const NAMES_MAX: usize = 50;

/// The record that a capsule was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleOrigin {
    /// The name of the project's folder.
    pub project: String,
    /// The session of the task's latest entry.
    #[schemars(with = "String")]
    pub session: SessionId,
    /// The task's latest entry.
    pub head: OriginHead,
    /// The version of the program that made it.
    pub version: String,
    /// The cited ledger lines as they are.
    pub lines: Vec<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Default for CapsuleOrigin {
    fn default() -> Self {
        Self {
            project: String::new(),
            session: SessionId::new(""),
            head: OriginHead::default(),
            version: String::new(),
            lines: Vec::new(),
            more: Map::new(),
        }
    }
}

/// An entry that all of the task's others come before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OriginHead {
    /// Its number in its session.
    #[schemars(with = "u64")]
    pub seq: Seq,
    /// The hash on its line; empty on a line without a chain.
    pub hash: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

words! {
    /// A section of a capsule, by its member.
    pub enum CapsuleSection {
        Goal = "goal",
        AgentGoals = "agentGoals",
        Outcome = "outcome",
        Constraints = "constraints",
        Decisions = "decisions",
        Assumptions = "assumptions",
        Hypothesis = "hypothesis",
        Questions = "questions",
        Next = "next",
        Handoffs = "handoffs",
        Touched = "touched",
        Verification = "verification",
        NotRun = "notRun",
        Findings = "findings",
        Patch = "patch",
        Outputs = "outputs",
        /// They have a budget of their own.
        CitedLines = "origin.lines",
    }
}

/// What had no room, or may not be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleLeftOut {
    /// Of which section.
    #[schemars(with = "String")]
    pub what: CapsuleSection,
    /// How many.
    pub count: u64,
    /// The command that shows them, where the capsule was made.
    pub how: String,
    /// The files among them, as far as there is room; a name that shows otherwise than it is stands in
    /// quotation marks, as [`told_path`] has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Git did not tell all of it: there may be more or fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inexact: Option<bool>,
    /// A rule would mask something in each of them, and [`CapsuleRedaction::files`] has no room for
    /// their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masked: Option<bool>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl CapsuleLeftOut {
    /// So many of a section.
    pub fn new(what: CapsuleSection, count: u64, how: impl Into<String>) -> Self {
        Self {
            what,
            count,
            how: how.into(),
            names: Vec::new(),
            inexact: None,
            masked: None,
            more: Map::new(),
        }
    }

    /// The command that shows what a task leaves out of a section. `ID` stands for the id in the `ref`
    /// of each.
    pub fn command(task: &CapsuleId, what: &CapsuleSection) -> String {
        match what {
            CapsuleSection::NotRun => "ctxrelay gates list".to_owned(),
            // Those of the daemon, and those that an agent claims.
            CapsuleSection::Verification => {
                format!("ctxrelay gates list --json; {}", Self::log(task))
            }
            CapsuleSection::Findings => {
                format!("ctxrelay review list --json --limit {FINDINGS_MAX}")
            }
            CapsuleSection::CitedLines => "ctxrelay ledger show ID --json".to_owned(),
            _ => Self::log(task),
        }
    }

    /// The command that shows all that was recorded for a task, each text whole.
    pub fn log(task: &CapsuleId) -> String {
        format!("ctxrelay capsule log {task} --all --json")
    }

    /// Whether its command is ours, and nobody's words.
    pub(super) fn has_own_command(&self, task: &CapsuleId) -> bool {
        self.how == Self::command(task, &self.what)
    }

    /// Adds the name of a file among them, where that is short enough and few are there.
    pub fn push_name(&mut self, path: &str) {
        push_name(&mut self.names, path);
    }

    /// The first of its names and how many more there are, each name by `name`; none where it has none.
    pub fn told_names(&self, name: impl Fn(&str) -> String) -> Option<String> {
        let shown = self.names.iter().take(TOLD_NAMES_MAX);
        let mut told: Vec<String> = shown.map(|it| name(it)).collect();
        let shown = u64::try_from(told.len()).unwrap_or(u64::MAX);
        let rest = self.count.saturating_sub(shown);
        if told.is_empty() {
            return None;
        }
        if rest > 0 {
            told.push(format!("{rest} more"));
        }
        Some(told.join(", "))
    }

    /// For a reader, its names by `name`. Of a capsule from elsewhere the command is its sender's word,
    /// to be run by nobody, and would show nothing here.
    pub fn told(&self, is_foreign: bool, name: impl Fn(&str) -> String) -> String {
        let what = match &self.what {
            CapsuleSection::Other(_) if is_foreign => "another part",
            what => what.as_str(),
        };
        let how = if is_foreign {
            "its sender has them"
        } else {
            &self.how
        };
        let names = self.told_names(name);
        let names = names.map_or_else(String::new, |names| format!(" ({names})"));
        let why = match self.masked {
            Some(true) => ", something in each would be masked",
            _ => "",
        };
        let exact = match self.inexact {
            Some(true) => ", as far as git told",
            _ => "",
        };
        format!("{} of {what}{names}{why}{exact}: {how}", self.count)
    }
}

/// What was masked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleRedaction {
    /// How many marks there are, by the name in the mark.
    pub rules: BTreeMap<String, u64>,
    /// Files that were left out because a rule would mask something in them.
    pub files: Vec<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl CapsuleRedaction {
    /// Names a file. False where it has no room.
    pub fn push_file(&mut self, path: &str) -> bool {
        push_name(&mut self.files, path)
    }
}

/// A reader takes no file in which a letter shows as nothing.
fn push_name(names: &mut Vec<String>, path: &str) -> bool {
    let name = told_path(path);
    let has_room = names.len() < NAMES_MAX && name.len() <= NAME_BYTES_MAX;
    if has_room {
        names.push(name.into_owned());
    }
    has_room
}
