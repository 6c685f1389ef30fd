//! [`CapsuleOrigin`], [`CapsuleRedaction`], [`CapsuleLeftOut`]: what a capsule says of itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{CapsuleId, Seq, SessionId};
use crate::word::words;

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
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl CapsuleLeftOut {
    /// The command that shows what a task leaves out.
    pub fn command(task: &CapsuleId) -> String {
        format!("ctxrelay capsule log {task}")
    }

    /// For a reader. Of a capsule from elsewhere the command is its sender's word, to be run by nobody,
    /// and would show nothing here.
    pub fn told(&self, is_foreign: bool) -> String {
        let what = match &self.what {
            CapsuleSection::Other(_) if is_foreign => "another part",
            what => what.as_str(),
        };
        let how = if is_foreign {
            "its sender has them"
        } else {
            &self.how
        };
        format!("{} of {what}: {how}", self.count)
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
