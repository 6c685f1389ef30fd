//! [`ToldWork`]: the notes on the work that the agents receive: without what was forgotten or
//! replaced, and without what belongs to a task that nobody works on.

use std::cmp::Reverse;

use serde::Serialize;

use crate::core::agent::Agent;
use crate::core::continuity::{ContinuityState, StatedText};
use crate::core::entry::NoteKind;
use crate::core::id::RuntimeSession;
use crate::core::snapshot::{NoteSnapshot, Snapshot};

/// The agents' states, each with the pair under which it stands.
pub(super) struct ToldWork<'a> {
    states: Vec<(RuntimeSession, ContinuityState)>,
    /// The pair that recovers.
    own: &'a RuntimeSession,
}

/// A note, and whose it is.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PairNote {
    #[serde(flatten)]
    pub(super) note: NoteSnapshot,
    pub(super) pair: RuntimeSession,
}

impl PairNote {
    fn of(said: &StatedText, kind: NoteKind, pair: &RuntimeSession) -> Self {
        let note = NoteSnapshot {
            id: said.id.clone(),
            seq: said.seq,
            by: said.by.clone(),
            at_ms: said.at_ms,
            kind,
            text: said.text.clone(),
        };
        let pair = pair.clone();
        Self { note, pair }
    }
}

impl<'a> ToldWork<'a> {
    pub(super) fn of(world: &Snapshot, own: &'a RuntimeSession) -> Self {
        let mut states = Vec::new();
        for agent in Agent::ALL {
            let mut pairs = vec![world.pair_of_work(agent, own)];
            let known = world.continuity.get(&agent).into_iter().flatten();
            pairs.extend(known.map(|(pair, _)| pair.clone()));
            pairs.sort();
            pairs.dedup();
            let told = pairs.into_iter();
            states.extend(told.map(|pair| (pair.clone(), world.told_of(agent, &pair))));
        }
        Self { states, own }
    }

    pub(super) fn goal(&self) -> Option<PairNote> {
        self.latest(NoteKind::Goal, |state| state.objective.as_ref())
    }

    pub(super) fn plan(&self) -> Option<PairNote> {
        self.latest(NoteKind::Plan, |state| state.plan.as_ref())
    }

    pub(super) fn next_step(&self) -> Option<PairNote> {
        self.latest(NoteKind::NextStep, |state| state.next_steps.back())
    }

    /// The latest first, of all pairs: what is decided holds for the project.
    pub(super) fn decisions(&self) -> Vec<PairNote> {
        let decisions = self.states.iter().flat_map(|(pair, state)| {
            let of = |said| PairNote::of(said, NoteKind::Decision, pair);
            state.decisions.iter().map(of)
        });
        let mut decisions: Vec<_> = decisions.collect();
        // What the operator says to both is one entry.
        decisions.sort_by_key(|it| (Reverse(it.note.seq), it.pair != *self.own));
        decisions.dedup_by_key(|it| it.note.seq);
        decisions
    }

    /// The latest of a sort: that of the pair that recovers, else that of another one, since Codex is
    /// one for all pairs.
    fn latest(
        &self,
        kind: NoteKind,
        of: impl Fn(&ContinuityState) -> Option<&StatedText>,
    ) -> Option<PairNote> {
        let said = self.states.iter();
        let said = said.filter_map(|(pair, state)| Some((pair, of(state)?)));
        let latest = said.max_by_key(|(pair, said)| (*pair == self.own, said.seq));
        latest.map(|(pair, said)| PairNote::of(said, kind, pair))
    }
}
