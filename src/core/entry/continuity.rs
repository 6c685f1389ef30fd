//! [`ContinuityRecord`]: what an agent touched, that its context was compacted, and what it was
//! given to continue.

use serde::{Deserialize, Serialize};

use super::{EntryKind, NoteKind};
use crate::agent::Agent;
use crate::id::EntryId;
use crate::word::words;

/// A fact about how an agent keeps the thread of its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuityRecord {
    pub agent: Agent,
    pub fact: ContinuityFact,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContinuityFact {
    /// What one turn touched.
    TurnFiles(TurnFiles),
    /// The vendor compacted the agent's context. The content is the vendor's summary, where it
    /// was told.
    Compacted(Compaction),
    /// The agent is given what the record holds of its work.
    Reloaded(Reload),
    /// The project's rules are not those that the agent was told when it began, or are again.
    RulesChanged(RulesChange),
    /// A model read the agent's own words, because it had marked nothing of its work for long.
    Inferred(Inference),
    /// The operator has something forgotten.
    Forgotten {
        /// A path, or the id of a note; none: all of it.
        what: Option<String>,
    },
}

impl ContinuityFact {
    /// The fact as an entry's kind.
    pub fn of(self, agent: Agent) -> EntryKind {
        EntryKind::Continuity(ContinuityRecord { agent, fact: self })
    }
}

/// What one turn touched: paths below the project's folder where they are, and commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TurnFiles {
    /// Files that it read, each once, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Files that it wrote, each once, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// Commands that it began and of which no end was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// Helpers of its own that came to an end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub helpers: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TurnFiles {
    /// Whether it touched nothing.
    pub fn is_empty(&self) -> bool {
        let has_files = !(self.read.is_empty() && self.written.is_empty());
        !has_files && self.unfinished.is_empty() && self.helpers == 0
    }
}

/// What a model took from an agent's own words, or that it could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inference {
    /// The model, by the name that it was asked for.
    pub model: String,
    /// What it takes to be so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<InferredValue>,
    /// What it cost, in millionths of a US dollar, as its program reckons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One value that a model took from an agent's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InferredValue {
    pub kind: NoteKind,
    pub text: String,
}

/// How the project's rules differ from those that an agent was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct RulesChange {
    /// The files that differ; none when the agent has the rules of now.
    #[serde(default)]
    pub files: Vec<ChangedRules>,
}

/// A file of rules that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedRules {
    /// Below the project's folder.
    pub file: String,
    /// The agents whose tools wrote it in the minutes before; none where it was somebody else.
    #[serde(default)]
    pub by: Vec<Agent>,
    /// The lines that went, with `-`, and those that came, with `+`; its beginning.
    #[serde(default)]
    pub lines: String,
}

words! {
    /// What made a vendor compact a context.
    pub enum CompactionTrigger {
        /// The person asked for it.
        Manual = "manual",
        /// The context was nearly full.
        Auto = "auto",
        /// Nobody said.
        Unknown = "unknown",
    }
}

/// A compaction, as far as its vendor tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// What made it.
    pub trigger: CompactionTrigger,
    /// The context before it, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// The context after it, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
}

words! {
    /// Why an agent is given a packet.
    pub enum ReloadCause {
        /// Its context was compacted.
        Compacted = "compacted",
        /// It began.
        Started = "started",
        /// It goes on with an earlier session.
        Resumed = "resumed",
        /// Its context was cleared.
        Cleared = "cleared",
        Asked = "asked",
    }
}

words! {
    /// The way by which an agent is given a packet.
    pub enum ReloadWay {
        /// Claude's hook at the beginning of a session, or after a compaction: the very next request
        /// holds it.
        Hook = "hook",
        /// An item put into Codex's thread.
        Inject = "inject",
        /// Our hook in Codex after a compaction.
        CodexHook = "codex_hook",
        /// It asked.
        Pull = "pull",
    }
}

/// A step in the life of a packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reload {
    /// What names the packet in all of its entries: the id of the first one.
    pub packet_id: EntryId,
    /// Why.
    pub cause: ReloadCause,
    pub way: ReloadWay,
    pub step: ReloadStep,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReloadStep {
    /// It is about to be given. The content is its text.
    Offered {
        /// The SHA-256 of the text as UTF-8, in lower-case hex.
        sha256: String,
    },
    /// The agent has it.
    Given,
    /// The agent does not have it.
    NotGiven { why: String },
    /// Nobody knows whether the agent has it.
    Unknown { why: String },
}

words! {
    /// How far a packet came: a [`ReloadStep`] without its details.
    pub closed enum PacketState {
        Offered = "offered",
        Given = "given",
        NotGiven = "not_given",
        Unknown = "unknown",
    }
}

impl ReloadStep {
    pub fn state(&self) -> PacketState {
        match self {
            Self::Offered { .. } => PacketState::Offered,
            Self::Given => PacketState::Given,
            Self::NotGiven { .. } => PacketState::NotGiven,
            Self::Unknown { .. } => PacketState::Unknown,
        }
    }
}
