//! [`Chips`]: the filters of the timeline and the search.

use std::collections::BTreeSet;

use super::agent::Agent;

/// One thing that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chip {
    Message,
    Handoff,
    Note,
    /// Artifacts and runs of gates.
    Artifact,
    /// Proposals and decisions.
    Finality,
    /// What went wrong.
    Error,
    /// What the machine did.
    System,
    /// From or to this agent.
    Agent(Agent),
    /// From or to the operator.
    You,
    /// What went well.
    Done,
    Failed,
    /// What waits for somebody.
    Waits,
    /// Of the last hour.
    Hour,
    /// Of the last day.
    Day,
    /// Of the last week.
    Week,
}

/// Chips of one sort: one of them is enough, while each sort has to be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChipSort {
    Kind,
    /// Who has to do with it.
    Party,
    /// What came of it.
    Result,
    /// When; only one at a time.
    Time,
}

impl Chip {
    /// All, sort by sort.
    pub const ALL: [Self; 16] = [
        Self::Message,
        Self::Handoff,
        Self::Note,
        Self::Artifact,
        Self::Finality,
        Self::Error,
        Self::System,
        Self::Agent(Agent::Claude),
        Self::Agent(Agent::Codex),
        Self::You,
        Self::Done,
        Self::Failed,
        Self::Waits,
        Self::Hour,
        Self::Day,
        Self::Week,
    ];

    pub fn sort(self) -> ChipSort {
        match self {
            Self::Message
            | Self::Handoff
            | Self::Note
            | Self::Artifact
            | Self::Finality
            | Self::Error
            | Self::System => ChipSort::Kind,
            Self::Agent(_) | Self::You => ChipSort::Party,
            Self::Done | Self::Failed | Self::Waits => ChipSort::Result,
            Self::Hour | Self::Day | Self::Week => ChipSort::Time,
        }
    }

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Handoff => "handoff",
            Self::Note => "note",
            Self::Artifact => "artifact",
            Self::Finality => "decision",
            Self::Error => "error",
            Self::System => "system",
            Self::Agent(agent) => agent.as_str(),
            Self::You => "you",
            Self::Done => "ok",
            Self::Failed => "failed",
            Self::Waits => "waits",
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    /// How far back it reaches, ms.
    pub fn span_ms(self) -> Option<i64> {
        const HOUR_MS: i64 = 3_600_000;
        match self {
            Self::Hour => Some(HOUR_MS),
            Self::Day => Some(24 * HOUR_MS),
            Self::Week => Some(7 * 24 * HOUR_MS),
            _ => None,
        }
    }
}

/// A handoff whose entries are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadChip {
    pub id: String,
    /// As it is named on the screen, `h7`.
    pub name: String,
}

/// Those that were chosen; everything is shown without any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chips {
    /// By their sorts.
    pub on: BTreeSet<Chip>,
    /// Only what belongs to this handoff.
    pub thread: Option<ThreadChip>,
}

impl Chips {
    /// Everything is shown.
    pub fn is_empty(&self) -> bool {
        self.on.is_empty() && self.thread.is_none()
    }

    /// Takes one away, or adds it.
    pub fn toggle(&mut self, chip: Chip) {
        if self.on.remove(&chip) {
            return;
        }
        if chip.sort() == ChipSort::Time {
            self.on.retain(|other| other.sort() != ChipSort::Time);
        }
        self.on.insert(chip);
    }

    /// Those that were chosen, in words.
    pub fn words(&self) -> Vec<String> {
        let chips = self.on.iter().map(|chip| match chip.sort() {
            ChipSort::Time => format!("since {}", chip.as_str()),
            _ => chip.as_str().to_owned(),
        });
        let thread = self.thread.iter().map(|thread| thread.name.clone());
        chips.chain(thread).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Chip, Chips};

    #[test]
    fn one_span_of_time_at_a_time() {
        let mut chips = Chips::default();
        for chip in Chip::ALL {
            chips.toggle(chip);
        }
        assert_eq!(chips.on.len(), 14);
        assert_eq!(chips.words().last().map(String::as_str), Some("since 7d"));
        chips.toggle(Chip::Week);
        assert!(!chips.words().iter().any(|word| word.starts_with("since")));
    }
}
