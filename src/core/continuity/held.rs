//! What the agents' states keep of an entry that is carried into another session: a value that was
//! replaced or forgotten since does not come back with it.

use std::collections::BTreeSet;

use crate::agent::{Agent, Party};
use crate::continuity_state::{ContinuityState, is_note_for, is_state};
use crate::entry::{ContinuityFact, Entry, EntryKind, TurnFiles};
use crate::id::{RuntimeSession, Seq};
use crate::snapshot::Snapshot;

impl Snapshot {
    /// The entries that the agents' states are made of. Somebody else's record is none of ours.
    pub fn entries_of_states(&self) -> BTreeSet<Seq> {
        let mut entries = BTreeSet::new();
        for state in self.continuity.values().flat_map(|states| states.values()) {
            entries.extend(state.stated().map(|said| said.seq));
            let touched = state.files.iter().chain(&state.reads);
            entries.extend(touched.map(|file| file.seq));
            let unfinished = (!state.unfinished.is_empty()).then_some(state.unfinished_seq);
            entries.extend(unfinished);
        }
        entries.retain(|seq| !self.is_foreign(*seq));
        entries
    }

    /// The agents that a note speaks of and whose states do not hold it.
    pub fn past_for(&self, entry: &Entry) -> Vec<Agent> {
        let EntryKind::Note { note, .. } = &entry.kind else {
            return Vec::new();
        };
        let holds = |agent| {
            let states = self.continuity.get(&agent).into_iter().flatten();
            let mut stated = states.flat_map(|(_, state)| state.stated());
            stated.any(|said| said.id == entry.id)
        };
        let spoken_of = Agent::ALL
            .into_iter()
            .filter(|agent| is_state(*note) && is_note_for(entry, *agent));
        spoken_of.filter(|agent| !holds(*agent)).collect()
    }

    /// Under which pair Codex holds what the operator said to both in another one than the first: what
    /// would tell it may not come along.
    pub fn codex_pair_of(&self, entry: &Entry) -> Option<RuntimeSession> {
        entry.runtime_session.as_ref()?;
        if entry.source != Party::Human || entry.target.is_some() {
            return None;
        }
        let mut states = self.continuity.get(&Agent::Codex)?.iter();
        let holds = |state: &ContinuityState| state.stated().any(|said| said.id == entry.id);
        let held = states.find(|(_, state)| holds(state));
        held.map(|(pair, _)| pair.clone())
    }

    /// What the agent's state holds of what a turn touched, where that is not all.
    pub fn held_of(&self, entry: &Entry) -> Option<TurnFiles> {
        let EntryKind::Continuity(record) = &entry.kind else {
            return None;
        };
        let ContinuityFact::TurnFiles(files) = &record.fact else {
            return None;
        };
        let state = self.state_of(record.agent, &entry.pair());
        let state = state.filter(|_| !self.is_foreign(entry.seq));
        let held = state.map_or_else(TurnFiles::default, |state| state.held_of(entry.seq));
        let held = TurnFiles {
            helpers: files.helpers,
            ..held
        };
        (held != *files).then_some(held)
    }
}
