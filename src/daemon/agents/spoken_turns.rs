//! [`SpokenTurns`]: how far Claude's words have been read, per runtime session.

mod spoken_reader;

use std::collections::BTreeMap;

use crate::core::delivery::EndedTurns;
use crate::core::id::RuntimeSession;

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
    ended: EndedTurns,
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

    /// Turns that came to their end, and whose words are still being read.
    pub(in crate::daemon) fn ended(&mut self) -> &mut EndedTurns {
        &mut self.ended
    }
}
