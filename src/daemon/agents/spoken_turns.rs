//! [`SpokenTurns`]: how far what Claude said was read, by runtime session.

mod spoken_reader;

use std::collections::BTreeMap;

use crate::core::id::{EntryId, RuntimeSession};

pub(in crate::daemon) use spoken_reader::{SpokenReader, SpokenReading};

/// How many runtime sessions are followed.
const SESSIONS_MAX: usize = 64;

/// How many hooks wait for theirs to be read.
const WAITING_MAX: usize = 64;

/// Transcripts that are followed.
#[derive(Debug, Default)]
pub(in crate::daemon) struct SpokenTurns {
    sessions: BTreeMap<RuntimeSession, SpokenReader>,
    waiting: usize,
    ended: BTreeMap<RuntimeSession, EndedTurns>,
}

/// Turns of a runtime session that came to their end, and whose words are still being read: these may
/// say that another hook blocked what was added to a prompt.
#[derive(Debug, Default)]
struct EndedTurns {
    readings: usize,
    had: Vec<EntryId>,
}

impl SpokenTurns {
    /// Those of a runtime session; none for one too many, and when too many wait.
    pub(in crate::daemon) fn of(&mut self, pair: &RuntimeSession) -> Option<SpokenReader> {
        let is_full = self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(pair);
        if is_full || self.waiting >= WAITING_MAX {
            return None;
        }
        Some(self.sessions.entry(pair.clone()).or_default().clone())
    }

    /// Those of a runtime session in which some were read; none when too many wait.
    pub(in crate::daemon) fn known(&self, pair: &RuntimeSession) -> Option<SpokenReader> {
        let known = self.sessions.get(pair);
        known.filter(|_| self.waiting < WAITING_MAX).cloned()
    }

    /// Some wait to be read.
    pub(in crate::daemon) fn is_to_be_read(&mut self) {
        self.waiting += 1;
    }

    /// One of them was.
    pub(in crate::daemon) fn was_read(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// The words of a turn that ends are about to be read.
    pub(in crate::daemon) fn reads_end(&mut self, pair: &RuntimeSession) {
        self.ended.entry(pair.clone()).or_default().readings += 1;
    }

    /// Whether those of one are being read.
    pub(in crate::daemon) fn is_reading_end(&self, pair: &RuntimeSession) -> bool {
        self.ended.contains_key(pair)
    }

    /// The turn that came to its end had these.
    pub(in crate::daemon) fn ended_with(&mut self, pair: &RuntimeSession, had: Vec<EntryId>) {
        self.ended.entry(pair.clone()).or_default().had.extend(had);
    }

    /// The words of a turn that ended were read. What turns had that came to their end, once all of
    /// them were.
    pub(in crate::daemon) fn end_was_read(&mut self, pair: &RuntimeSession) -> Vec<EntryId> {
        let Some(ended) = self.ended.get_mut(pair) else {
            return Vec::new();
        };
        ended.readings = ended.readings.saturating_sub(1);
        match ended.readings {
            0 => self.ended.remove(pair).unwrap_or_default().had,
            _ => Vec::new(),
        }
    }

    /// Some could not be read, and nobody knows whose: what all of these turns had.
    pub(in crate::daemon) fn ends_are_lost(&mut self) -> Vec<EntryId> {
        let ended = std::mem::take(&mut self.ended);
        ended.into_values().flat_map(|ended| ended.had).collect()
    }
}
