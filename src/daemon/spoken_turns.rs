//! [`SpokenTurns`]: how far what Claude said was read, by runtime session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;

use super::event::Event;
use super::work_lane::{LaneWork, WorkLane};
use crate::adapters::claude::transcript::SpokenWords;
use crate::core::id::RuntimeSession;

/// How many runtime sessions are followed.
const SESSIONS_MAX: usize = 64;

/// How many hooks wait for theirs to be read.
const WAITING_MAX: usize = 64;

/// Transcripts that are followed, and the lane in which they are read.
#[derive(Debug, Default)]
pub(super) struct SpokenTurns {
    sessions: BTreeMap<RuntimeSession, Arc<Mutex<SpokenWords>>>,
    lane: WorkLane,
    waiting: usize,
}

impl SpokenTurns {
    /// Those of a runtime session; none for one too many, and when too many wait.
    pub(super) fn of(&mut self, pair: &RuntimeSession) -> Option<Arc<Mutex<SpokenWords>>> {
        let is_full = self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(pair);
        if is_full || self.waiting >= WAITING_MAX {
            return None;
        }
        Some(Arc::clone(self.sessions.entry(pair.clone()).or_default()))
    }

    /// Those of a runtime session in which some were read; none when too many wait.
    pub(super) fn known(&self, pair: &RuntimeSession) -> Option<Arc<Mutex<SpokenWords>>> {
        let known = self.sessions.get(pair);
        known.filter(|_| self.waiting < WAITING_MAX).cloned()
    }

    /// Has them read, one time after the other: each reads on where the one before ended.
    pub(super) fn read(&mut self, events: &mpsc::WeakSender<Event>, work: LaneWork) {
        self.waiting += 1;
        self.lane.take(events, work);
    }

    /// One of them was.
    pub(super) fn was_read(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }
}
