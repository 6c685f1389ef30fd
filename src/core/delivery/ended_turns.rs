//! [`EndedTurns`]: turns of Claude's that have ended, and whose words are still being read.

use std::collections::BTreeMap;

use super::{Backlog, LadderInput};
use crate::id::{EntryId, RuntimeSession};

/// Turns of Claude's that have ended, and whose words are still being read: these may show that
/// another hook blocked what our hooks added to a prompt.
#[derive(Debug, Default)]
pub struct EndedTurns(BTreeMap<RuntimeSession, TurnsOfPair>);

#[derive(Debug, Default)]
struct TurnsOfPair {
    readings: usize,
    had: Vec<EntryId>,
}

impl EndedTurns {
    /// The words of a turn that ends are about to be read.
    pub fn reads_end(&mut self, pair: &RuntimeSession) {
        self.0.entry(pair.clone()).or_default().readings += 1;
    }

    /// Whether those of one are being read.
    pub fn is_reading_end(&self, pair: &RuntimeSession) -> bool {
        self.0.contains_key(pair)
    }

    /// The ladder of a pair is about to be told this. What a turn had that is read later is kept
    /// until then.
    pub fn keep_unread(&mut self, pair: &RuntimeSession, told: &LadderInput, backlog: &Backlog) {
        if let LadderInput::TurnWorked { is_read: false, .. } = told {
            let turns = self.0.entry(pair.clone()).or_default();
            turns.had.extend(backlog.in_turn(pair));
        }
    }

    /// The words of a turn that ended were read, or cannot be. What turns had that came to their
    /// end, once no other ones are to be read: those may tell of what they had, too.
    pub fn end_was_read(&mut self, pair: &RuntimeSession) -> Vec<EntryId> {
        let Some(turns) = self.0.get_mut(pair) else {
            return Vec::new();
        };
        turns.readings = turns.readings.saturating_sub(1);
        match turns.readings {
            0 => self.0.remove(pair).unwrap_or_default().had,
            _ => Vec::new(),
        }
    }
}
