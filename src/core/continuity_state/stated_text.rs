//! [`StatedText`]: something that was said of an agent's work, by whom and where.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{Agent, Party};
use crate::entry::{Entry, NoteKind};
use crate::id::{CapsuleId, EntryId, Seq};
use crate::word::words;

/// The key in a note's `meta` that says how it was said; without it the note was a call.
pub const STATE_TAG: &str = "stateTag";

/// The key in a note's `meta` of a value that only the operator replaces.
pub const PINNED: &str = "pinned";

/// For so many turns what was said stands against what is only inferred.
const AUTO_AFTER_TURNS: u64 = 5;

/// The most that is kept of one value, in characters.
const STATED_CHARS_MAX: usize = 2_000;

words! {
    /// How something was said.
    #[derive(PartialOrd, Ord)]
    pub closed enum StateTag {
        /// It was inferred, and nobody said it.
        Auto = "auto",
        /// A note of the agent's.
        Note = "note",
        /// The operator.
        You = "you",
        /// A marker in the agent's own words.
        Marker = "marker",
    }
}

impl StateTag {
    /// How the note of this entry was said.
    pub(crate) fn of(entry: &Entry) -> Self {
        if entry.source == Party::Human {
            return Self::You;
        }
        match entry.meta.get(STATE_TAG).and_then(Value::as_str) {
            Some("marker") => Self::Marker,
            Some("auto") => Self::Auto,
            _ => Self::Note,
        }
    }

    /// Within one turn: the higher one counts, and of two equal ones the later.
    fn rank(self) -> u8 {
        match self {
            Self::Auto => 0,
            Self::Note | Self::You => 1,
            Self::Marker => 2,
        }
    }
}

/// One value of an agent's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedText {
    /// What was said, its beginning where it is long.
    pub text: String,
    pub id: EntryId,
    /// Where its entry stands.
    pub seq: Seq,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// Who said it.
    pub by: Party,
    pub tag: StateTag,
    /// In which turn of the agent.
    pub turn: u64,
    /// Only the operator replaces it.
    #[serde(default)]
    pub pinned: bool,
    /// The task that was current then, or that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<CapsuleId>,
    /// It was said of that task alone: no agent's state took it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_task_only: bool,
}

impl StatedText {
    /// What a note says, in this turn of the agent.
    pub fn of(entry: &Entry, turn: u64) -> Self {
        let tag = StateTag::of(entry);
        let is_pinned = entry.meta.get(PINNED).and_then(Value::as_bool);
        Self {
            text: entry.content.chars().take(STATED_CHARS_MAX).collect(),
            id: entry.id.clone(),
            seq: entry.seq,
            at_ms: entry.timestamp_ms,
            by: entry.source.clone(),
            tag,
            turn,
            pinned: tag == StateTag::You && is_pinned == Some(true),
            task: entry.task(),
            is_of_task_only: entry.is_of_task_only() || entry.only_rebuilds_task(),
        }
    }

    /// Whether what is kept of a note is its beginning alone.
    pub fn is_beginning_of(entry: &Entry) -> bool {
        entry.content.chars().nth(STATED_CHARS_MAX).is_some()
    }

    /// Whether it may be the beginning of something longer.
    pub fn may_be_cut(text: &str) -> bool {
        text.chars().nth(STATED_CHARS_MAX - 1).is_some()
    }

    /// Whether it was said for a task, and this one for another one or for none.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        self.task.is_some() && self.task != other.task
    }

    /// Whether it stays as it is where this says the same words later: whose words they are is not
    /// changed by who repeats them, nor what holds for every task by who says it for one.
    pub(super) fn outlasts(&self, later: &Self) -> bool {
        let is_operators = self.tag == StateTag::You && later.tag != StateTag::You;
        let is_general = self.task != later.task && self.tag == later.tag;
        let is_said = later.tag == StateTag::Auto && self.tag != StateTag::Auto;
        !self.is_beside(later) && (is_operators || is_general || is_said)
    }

    /// Whether this takes the place of what was said before.
    pub fn replaces(&self, old: &Self) -> bool {
        match (self.tag, old.tag) {
            // An agent that rests is still in the turn that it said something in.
            (StateTag::You, _) => true,
            _ if old.pinned => false,
            _ if old.is_beside(self) => true,
            (StateTag::Auto, StateTag::Auto) => true,
            (StateTag::Auto, _) => self.turn >= old.turn.saturating_add(AUTO_AFTER_TURNS),
            _ => self.turn > old.turn || self.tag.rank() >= old.tag.rank(),
        }
    }
}

/// Whether a note speaks of this agent: its own, the operator's for it or for nobody, and what a model
/// took from its words.
pub fn is_note_for(entry: &Entry, agent: Agent) -> bool {
    let target = entry.target.as_ref();
    match &entry.source {
        Party::Agent(by) => *by == agent,
        Party::Human => target.is_none_or(|target| target.agent() == Some(agent)),
        Party::System => target.is_some_and(|target| target.agent() == Some(agent)),
        Party::Other(_) => false,
    }
}

/// Whether a note of this kind says something of its author's state.
pub fn is_state(kind: NoteKind) -> bool {
    !matches!(kind, NoteKind::Note | NoteKind::Blocker)
}
