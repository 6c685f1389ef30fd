//! [`OtherThreads`]: the loaded threads besides the visible one, known from the broadcasts of their
//! status, and which of those broadcasts mean that a person has switched to the thread.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::wire::codex::thread::ThreadStatus;

/// Threads that are kept; more at one time are not believable.
const OTHERS_MAX: usize = 256;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OtherThread {
    /// It is of no person's, or not of this folder.
    is_passed_over: bool,
    /// A turn runs.
    works: bool,
    /// It waits for the human.
    waits: bool,
    /// A turn began while we knew that it was at rest, and who began it was not seen yet.
    is_begun: bool,
}

/// The threads that are loaded besides the visible one, by id.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct OtherThreads(BTreeMap<String, OtherThread>);

impl OtherThreads {
    /// Takes in a status. Whether a person may be at work there: it is new to us, or a turn begins.
    /// `idle` of a thread that is known is the end of a turn, and `active` of one that works is a
    /// question in its turn.
    pub(super) fn changed(&mut self, id: &str, status: &ThreadStatus) -> bool {
        if status.kind == "notLoaded" {
            self.closed(id);
            return false;
        }
        let is_new = !self.0.contains_key(id);
        let works = status.is_active();
        let Some(other) = self.note(id) else {
            return false;
        };
        let worked = std::mem::replace(&mut other.works, works);
        let begins = works && !worked;
        other.waits = !status.active_flags.is_empty();
        other.is_begun = works && (begins && !is_new || other.is_begun);
        let appears = is_new && status.kind == "idle";
        !other.is_passed_over && (begins || appears)
    }

    /// It is loaded no more.
    pub(super) fn closed(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// It is the visible one no more.
    pub(super) fn left(&mut self, id: &str, works: bool) {
        if let Some(other) = self.note(id) {
            *other = OtherThread {
                works,
                ..OtherThread::default()
            };
        }
    }

    /// Nobody is to be followed there.
    pub(super) fn pass_over(&mut self, id: &str) {
        if let Some(other) = self.note(id) {
            other.is_passed_over = true;
        }
    }

    /// Its turn shows a user message. Whether that began the turn, at a thread that was at rest.
    pub(super) fn is_first_said(&mut self, id: &str) -> bool {
        let other = self.0.get_mut(id);
        other.is_some_and(|other| std::mem::take(&mut other.is_begun))
    }

    /// What waits for the human on another connection is told there.
    pub(super) fn none_waits(&mut self) {
        for other in self.0.values_mut() {
            other.waits = false;
        }
    }

    /// Those that wait for the human.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &str> {
        let others = self.0.iter();
        others.filter_map(|(id, other)| other.waits.then_some(id.as_str()))
    }

    fn note(&mut self, id: &str) -> Option<&mut OtherThread> {
        if self.0.len() >= OTHERS_MAX && !self.0.contains_key(id) {
            return None;
        }
        Some(self.0.entry(id.to_owned()).or_default())
    }
}
