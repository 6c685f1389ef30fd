//! [`TaskRecord`]: what the operator does with a task that can travel.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Entry, EntryKind};
use crate::agent::Party;
use crate::id::{CapsuleId, EntryId};
use crate::word::words;

/// The key in the `meta` of an entry that was recorded while a task was current: its id.
pub const TASK: &str = "task";

/// The key in the `meta` of a note that says something of its task alone, and nothing of what the
/// agents are at now.
pub const TASK_ONLY: &str = "taskOnly";

/// What stands before the title in the text by which a task is handed to Codex.
pub const TASK_HEADING: &str = "# Task: ";

/// What a handoff asks, for a row or a question: of one by which the operator hands a task over its
/// title alone, because all of these begin with the same words.
pub fn handoff_words<'a>(from: &Party, ask: &'a str) -> &'a str {
    let first = ask.lines().next().unwrap_or_default();
    // As Claude is told it.
    let behind_id = || {
        let (id, title) = first.strip_prefix("Task ")?.split_once(": ")?;
        CapsuleId::is_well_formed(id).then_some(title)
    };
    match first.strip_prefix(TASK_HEADING).or_else(behind_id) {
        Some(title) if *from == Party::Human && !title.trim().is_empty() => title,
        _ => ask,
    }
}

words! {
    /// A step in the life of a task.
    pub enum TaskStep {
        /// It begins. The content is its title.
        Opened = "opened",
        /// What is recorded in the runtime session from now on belongs to it. The content is its
        /// title, as of all further steps where nothing else is said.
        Used = "used",
        /// It is over, and stays as it is. The content is what came of it, where the operator said.
        Closed = "closed",
        /// It goes on.
        Reopened = "reopened",
        /// It has another title, which is the content.
        Renamed = "renamed",
        /// A capsule from elsewhere was kept. It is none of this record's tasks.
        Imported = "imported",
        /// Its capsule went out as a file: [`exported_words`](super::exported_words). It goes on as
        /// it was, so that going out once more is the same file.
        Exported = "exported",
        /// Its capsule is kept as it stands: [`ToldDigest`](super::ToldDigest).
        Kept = "kept",
    }
}

/// A step in the life of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    pub task: CapsuleId,
    pub step: TaskStep,
    /// The handoff that it began with.
    pub handoff: Option<EntryId>,
    /// Of one that is carried on: how many of each list had no room where it was before, by its name
    /// in a capsule.
    #[serde(default)]
    pub dropped: BTreeMap<String, u64>,
    /// And which those are, as [`TaskSnapshot`](crate::snapshot::TaskSnapshot) has them.
    #[serde(default)]
    pub forgotten: BTreeSet<u64>,
}

impl TaskStep {
    /// The step as an entry's kind.
    pub fn of(self, task: CapsuleId) -> EntryKind {
        EntryKind::Task(TaskRecord {
            task,
            step: self,
            handoff: None,
            dropped: BTreeMap::new(),
            forgotten: BTreeSet::new(),
        })
    }
}

impl Entry {
    /// Whether it says something of a task alone that nobody is at now.
    pub fn is_of_task_only(&self) -> bool {
        self.meta.get(TASK_ONLY).and_then(Value::as_bool) == Some(true)
    }

    /// Whether it stands here for its task alone, which was over and was opened again, or which alone
    /// goes on. What no task is made of is taken in whole, whatever it says of itself.
    pub fn only_rebuilds_task(&self) -> bool {
        let is_of_task = match &self.kind {
            EntryKind::Artifact(_) => self.source.agent().is_some(),
            EntryKind::Note { .. }
            | EntryKind::Handoff(_)
            | EntryKind::Continuity(_)
            | EntryKind::Task(_) => true,
            _ => false,
        };
        is_of_task
            && self
                .carried
                .as_ref()
                .is_some_and(|carried| carried.task_only)
    }

    /// The task that the operator closed by it.
    pub fn closed_task(&self) -> Option<&CapsuleId> {
        match &self.kind {
            EntryKind::Task(record) if record.step == TaskStep::Closed => {
                (self.source == Party::Human).then_some(&record.task)
            }
            _ => None,
        }
    }

    /// The task that it belongs to: the one that was current, or that it is about.
    pub fn task(&self) -> Option<CapsuleId> {
        if let EntryKind::Task(record) = &self.kind {
            return Some(record.task.clone());
        }
        let id = self.meta.get(TASK).and_then(Value::as_str)?;
        CapsuleId::is_well_formed(id).then(|| CapsuleId::new(id))
    }

    /// Whether the operator handed a task over by it. Such handoffs of earlier versions, and those of
    /// a task from elsewhere, belong to another task or to none.
    pub fn hands_over(&self, task: &CapsuleId) -> bool {
        self.handed_task() == Some(task.as_str())
    }

    /// Whether its text tells a task, which the operator handed over by it.
    pub fn tells_task(&self) -> bool {
        self.handed_task().is_some_and(CapsuleId::is_well_formed)
    }

    fn handed_task(&self) -> Option<&str> {
        match &self.kind {
            EntryKind::Handoff(handoff) if self.source == Party::Human => {
                match &handoff.context_refs[..] {
                    [id] => Some(id),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

impl EntryKind {
    /// Whether an entry of this kind belongs to the task that is current when it is recorded.
    pub fn is_work(&self) -> bool {
        match self {
            Self::Note { .. } | Self::Handoff(_) | Self::Artifact(_) | Self::Turn(_) => true,
            Self::Finding(record) => record.step == super::FindingStep::Imported,
            Self::Continuity(record) => {
                matches!(record.fact, super::ContinuityFact::TurnFiles(_))
            }
            _ => false,
        }
    }
}
