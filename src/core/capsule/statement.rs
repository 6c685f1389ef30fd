//! [`CapsuleStatement`]: something that was said of the task, by whom and where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::{Agent, Party};
use crate::continuity_state::StatedText;
use crate::entry::{Entry, EntryKind, NoteKind, TaskStep};
use crate::id::{CapsuleId, EntryId, Seq, SessionId};
use crate::kept_text::cut;
use crate::word::words;

/// How such a text ends.
const CUT_MARK: &str = " …";

words! {
    /// Who said it.
    pub enum StatementAuthor {
        Claude = "claude",
        Codex = "codex",
        /// The operator.
        Human = "human",
        /// A capsule from elsewhere.
        Import = "import",
    }
}

impl From<&Party> for StatementAuthor {
    fn from(party: &Party) -> Self {
        match party {
            Party::Agent(Agent::Claude) => Self::Claude,
            Party::Agent(Agent::Codex) => Self::Codex,
            Party::Human => Self::Human,
            // Somebody outside of this pair.
            _ => Self::Import,
        }
    }
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleStatement {
    pub text: String,
    /// By whom.
    #[schemars(with = "String")]
    pub by: StatementAuthor,
    /// When, ms since the epoch.
    pub at: i64,
    /// The text is a beginning, which ends in ` …`; the entry has all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<bool>,
    /// The entry that says so.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineRef>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineRef {
    /// The session that it stands in.
    #[schemars(with = "String")]
    pub session: SessionId,
    /// Its number there.
    #[schemars(with = "u64")]
    pub seq: Seq,
    /// The id of its entry.
    #[schemars(with = "String")]
    pub id: EntryId,
    /// The hash on it, 64 lower-case hex digits; empty on a line without a chain.
    pub hash: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl CapsuleStatement {
    /// What the record holds as said, without its line.
    pub fn of(said: &StatedText) -> Self {
        Self {
            text: said.text.clone(),
            by: StatementAuthor::from(&said.by),
            at: said.at_ms,
            cut: None,
            line: None,
            more: Map::new(),
        }
    }

    /// What a task's capsule says of this entry below the heading for `kind`, without its line: by
    /// whom, when, and all that is kept of the text. None where it says nothing of it.
    pub fn filled(entry: &Entry, task: &CapsuleId, kind: NoteKind) -> Option<Self> {
        let EntryKind::Note { note, .. } = &entry.kind else {
            return None;
        };
        let is_its = *note == kind && entry.task().as_ref() == Some(task);
        is_its.then(|| Self::of(&StatedText::of(entry, 0)))
    }

    /// Whether it is just that, in the form that this has: earlier versions did not mark what they cut.
    pub fn is_of(&self, entry: &Entry, task: &CapsuleId, kind: NoteKind) -> bool {
        Self::filled(entry, task, kind).is_some_and(|mut filled| {
            if self.is_cut() {
                filled.mark_cut(entry);
            }
            self.is_as(&filled)
        })
    }

    /// Whether it says itself that it is a beginning.
    pub fn is_cut(&self) -> bool {
        self.cut == Some(true)
    }

    /// Has it say so, where its entry says more.
    pub fn mark_cut(&mut self, entry: &Entry) {
        if StatedText::is_beginning_of(entry) && !self.is_cut() {
            self.text.push_str(CUT_MARK);
            self.cut = Some(true);
        }
    }

    /// Whether it is what this entry says came of the task.
    pub fn is_outcome_of(&self, entry: &Entry, task: &CapsuleId) -> bool {
        let EntryKind::Task(record) = &entry.kind else {
            return false;
        };
        let is_end = record.step == TaskStep::Closed && record.task == *task;
        is_end
            && self.is_as(&Self {
                text: cut(&entry.content),
                by: StatementAuthor::from(&entry.source),
                at: entry.timestamp_ms,
                cut: None,
                line: None,
                more: Map::new(),
            })
    }

    fn is_as(&self, filled: &Self) -> bool {
        filled.text == self.text && filled.by == self.by && filled.at == self.at
    }
}
