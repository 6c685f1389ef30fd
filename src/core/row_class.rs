//! [`RowClass`]: the sort of row that an entry is in a timeline, so that an index can store it in a
//! byte and answer without reading the entry.

use serde::{Deserialize, Serialize};

use crate::agent::{AgentState, Party};
use crate::entry::{
    ArtifactKind, ArtifactStatus, ContinuityFact, DeliveryResult, Entry, EntryKind, FindingStep,
    NoteKind, ReloadStep, TurnStatus,
};

/// The sorts of rows that a person chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// Text from one party to another.
    Message,
    /// Work handed over.
    Handoff,
    /// Something to remember.
    Note,
    /// A claim with evidence, or the run of a gate.
    Artifact,
    /// A proposal, or what was decided about one.
    Finality,
    /// Something went wrong.
    Error,
    /// What the machine did: deliveries, the daemon, agents that come and go.
    System,
    /// What this version does not know, and the beginning of a session.
    Other,
}

/// What an entry says of itself that came of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowResult {
    /// It went well.
    Done,
    /// It did not.
    Failed,
    /// It waits for somebody: known from the folded world and not from the entry.
    Waits,
}

/// What folds with its neighbours, and whether it is worth a row of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MachineRow {
    /// A step whose result stands elsewhere: below its message, or on the agent's card.
    Step,
    /// The daemon began or ended, an agent left or waits for its human.
    News,
    /// What a review says: one import brings many at once. They fold with their own only.
    Finding,
}

impl MachineRow {
    /// Whether the two, next to each other, stand as one row.
    pub fn folds_with(self, other: Self) -> bool {
        (self == Self::Finding) == (other == Self::Finding)
    }
}

/// What sort of row an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowClass {
    /// The sort.
    pub kind: RowKind,
    /// What came of it.
    pub result: Option<RowResult>,
    /// The machine's, or from a review: neighbours of these fold into one row.
    pub machine: Option<MachineRow>,
    /// Something was decided.
    pub is_decision: bool,
    /// A step in the delivery of a message.
    pub is_delivery: bool,
}

/// The words, each with the `type` that it is a part of.
const WORDS: &[(&str, &str)] = &[
    (ARTIFACT_PASSED, "artifact"),
    (ARTIFACT_FAILED, "artifact"),
    (ARTIFACT_FINDING, "artifact"),
    (GATE_PASSED, "release_gate"),
    (GATE_FAILED, "release_gate"),
    (APPROVED, "finality_decision"),
    (REJECTED, "finality_decision"),
    (NOTE_DECISION, "note"),
    (DELIVERY, MACHINE),
    (DELIVERY_FAILED, MACHINE),
    (AGENT, MACHINE),
    (AGENT_NEWS, MACHINE),
    (AGENT_LIMITED, MACHINE),
    (TURN, MACHINE),
    (TURN_FAILED, MACHINE),
    (APPROVAL, MACHINE),
    (TURN_FILES, MACHINE),
    (COMPACTED, MACHINE),
    (PACKET, MACHINE),
    (PACKET_LOST, MACHINE),
];

const MACHINE: &str = "runtime_event";
const ARTIFACT_PASSED: &str = "artifact/passed";
const ARTIFACT_FAILED: &str = "artifact/failed";
const ARTIFACT_FINDING: &str = "artifact/finding";
const GATE_PASSED: &str = "release_gate/passed";
const GATE_FAILED: &str = "release_gate/failed";
const APPROVED: &str = "finality_decision/approved";
const REJECTED: &str = "finality_decision/rejected";
const NOTE_DECISION: &str = "note/decision";
const DELIVERY: &str = "runtime_event/delivery";
const DELIVERY_FAILED: &str = "runtime_event/delivery_failed";
const AGENT: &str = "runtime_event/agent";
const AGENT_NEWS: &str = "runtime_event/agent_news";
const AGENT_LIMITED: &str = "runtime_event/agent_limited";
const TURN: &str = "runtime_event/turn";
const APPROVAL: &str = "runtime_event/approval";
const TURN_FILES: &str = "runtime_event/turn_files";
const COMPACTED: &str = "runtime_event/compacted";
const PACKET: &str = "runtime_event/packet";
const PACKET_LOST: &str = "runtime_event/packet_lost";
const TURN_FAILED: &str = "runtime_event/turn_failed";

impl RowClass {
    /// The word of an entry: its `type`, with what is needed to tell its class.
    pub fn word(kind: &EntryKind) -> &str {
        match kind {
            EntryKind::Artifact(artifact) => {
                let is_gate = artifact.kind == ArtifactKind::ReleaseGate;
                match artifact.status {
                    ArtifactStatus::Passed if is_gate => GATE_PASSED,
                    ArtifactStatus::Passed => ARTIFACT_PASSED,
                    ArtifactStatus::Unknown | ArtifactStatus::Skipped => kind.type_name(),
                    _ if is_gate => GATE_FAILED,
                    _ => ARTIFACT_FAILED,
                }
            }
            // What the operator says of one stands for itself.
            EntryKind::Finding(finding) => match finding.step {
                FindingStep::Imported | FindingStep::Changed | FindingStep::Gone => {
                    ARTIFACT_FINDING
                }
                _ => kind.type_name(),
            },
            EntryKind::FinalityDecision(decision) if decision.approved => APPROVED,
            EntryKind::FinalityDecision(_) => REJECTED,
            EntryKind::Note { note, .. } if *note == NoteKind::Decision => NOTE_DECISION,
            EntryKind::Delivery(record) => match record.result {
                DeliveryResult::Rejected | DeliveryResult::Expired | DeliveryResult::Ambiguous => {
                    DELIVERY_FAILED
                }
                _ => DELIVERY,
            },
            EntryKind::AgentChanged(change) => match change.state {
                AgentState::Limited | AgentState::Stale => AGENT_LIMITED,
                AgentState::Offline | AgentState::Waiting => AGENT_NEWS,
                AgentState::Idle if change.why.is_some() => AGENT_NEWS,
                _ => AGENT,
            },
            EntryKind::Turn(turn) => match turn.status {
                TurnStatus::Interrupted | TurnStatus::Failed => TURN_FAILED,
                _ => TURN,
            },
            EntryKind::Approval(_) => APPROVAL,
            EntryKind::Continuity(record) => match &record.fact {
                ContinuityFact::TurnFiles(_) => TURN_FILES,
                ContinuityFact::Compacted(_) => COMPACTED,
                ContinuityFact::Reloaded(reload) => match reload.step {
                    ReloadStep::Offered { .. } | ReloadStep::Given => PACKET,
                    ReloadStep::NotGiven { .. } | ReloadStep::Unknown { .. } => PACKET_LOST,
                },
                _ => MACHINE,
            },
            _ => kind.type_name(),
        }
    }

    /// The class behind a word.
    pub fn of_word(word: &str) -> Self {
        let (kind, result) = match word {
            "message" => (RowKind::Message, None),
            "handoff" => (RowKind::Handoff, None),
            "note" | NOTE_DECISION => (RowKind::Note, None),
            "artifact" | ARTIFACT_FINDING | "release_gate" => (RowKind::Artifact, None),
            ARTIFACT_PASSED | GATE_PASSED => (RowKind::Artifact, Some(RowResult::Done)),
            ARTIFACT_FAILED | GATE_FAILED => (RowKind::Artifact, Some(RowResult::Failed)),
            "finality_proposal" | APPROVAL => (RowKind::Finality, None),
            APPROVED => (RowKind::Finality, Some(RowResult::Done)),
            REJECTED => (RowKind::Finality, Some(RowResult::Failed)),
            "error" => (RowKind::Error, Some(RowResult::Failed)),
            MACHINE | DELIVERY | AGENT | AGENT_NEWS | AGENT_LIMITED | TURN | TURN_FILES
            | COMPACTED | PACKET => (RowKind::System, None),
            DELIVERY_FAILED | TURN_FAILED | PACKET_LOST => {
                (RowKind::System, Some(RowResult::Failed))
            }
            _ => (RowKind::Other, None),
        };
        Self {
            kind,
            result,
            machine: match word {
                DELIVERY | DELIVERY_FAILED | AGENT | TURN | TURN_FILES | PACKET => {
                    Some(MachineRow::Step)
                }
                MACHINE | AGENT_NEWS => Some(MachineRow::News),
                ARTIFACT_FINDING => Some(MachineRow::Finding),
                _ => None,
            },
            is_decision: matches!(word, APPROVED | REJECTED | NOTE_DECISION),
            is_delivery: matches!(word, DELIVERY | DELIVERY_FAILED),
        }
    }

    /// The class of an entry.
    pub fn of(entry: &Entry) -> Self {
        Self::of_word(Self::word(&entry.kind))
    }

    /// Where `[` and `]` stop: a decision, a failure, or a message or handoff of the operator's.
    pub fn is_landmark(self, source: &Party) -> bool {
        let is_mine =
            *source == Party::Human && matches!(self.kind, RowKind::Message | RowKind::Handoff);
        let failed = self.result == Some(RowResult::Failed) && !self.is_delivery;
        self.is_decision || failed || is_mine
    }
}

/// The `type` that a word is a part of.
pub fn type_of_word(word: &str) -> &str {
    WORDS
        .iter()
        .find(|(known, _)| *known == word)
        .map_or(word, |(_, of)| *of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_of_the_type_that_it_begins_with() {
        for (word, of) in WORDS {
            assert_eq!(word.split('/').next(), Some(*of));
            assert_eq!(type_of_word(word), *of);
            assert_ne!(RowClass::of_word(word).kind, RowKind::Other, "{word}");
        }
        assert_eq!(type_of_word("note"), "note");
        assert_eq!(type_of_word("later/kind"), "later/kind");
        assert_eq!(RowClass::of_word("later/kind").kind, RowKind::Other);
    }

    #[test]
    fn what_is_looked_for_next_is_a_decision_a_failure_or_a_word_of_the_operator() {
        let is = |word: &str, source: Party| RowClass::of_word(word).is_landmark(&source);
        for word in [
            APPROVED,
            REJECTED,
            NOTE_DECISION,
            "error",
            ARTIFACT_FAILED,
            TURN_FAILED,
            PACKET_LOST,
        ] {
            assert!(is(word, Party::System), "{word}");
        }
        for word in ["message", "handoff"] {
            assert!(is(word, Party::Human) && !is(word, Party::System), "{word}");
        }
        for word in [
            "note",
            ARTIFACT_PASSED,
            DELIVERY_FAILED,
            MACHINE,
            "finality_proposal",
        ] {
            assert!(!is(word, Party::Human), "{word}");
        }
    }
}
