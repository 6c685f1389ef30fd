//! What the agents are working on: their notes, their turns, their contexts.

use crate::agent::{Agent, Party};
use crate::continuity_state::{ContinuityState, is_note_for};
use crate::entry::{ContinuityFact, ContinuityRecord, Entry, NoteKind};
use crate::id::RuntimeSession;
use crate::snapshot::{RUNTIME_SESSIONS_MAX, Snapshot};

/// A note, as far as it says something of an agent's state. What the operator notes for nobody
/// holds for both.
pub(super) fn note_of_state(world: &mut Snapshot, entry: &Entry, note: NoteKind) {
    // Somebody else's record would speak to the agent unasked.
    if entry.seq <= world.foreign_through || entry.is_of_task_only() {
        return;
    }
    let carried = entry.carried.as_ref();
    for agent in Agent::ALL {
        let is_past = carried.is_some_and(|carried| carried.past_for.contains(&agent));
        if !is_past && is_note_for(entry, agent) {
            let session = world.pair_of_entry(agent, entry);
            if let Some(state) = state_of(world, session, agent) {
                state.take_note(entry, note);
            }
        }
    }
}

/// A turn of the agent's begins.
pub(super) fn turn_begins(world: &mut Snapshot, entry: &Entry, agent: Agent) {
    let begin = |state: &mut ContinuityState| {
        state.turn_began();
        state.turn_seq = entry.seq;
    };
    // Of the first pair's Claude no entry names the pair.
    if entry.runtime_session.is_some() || agent == Agent::Claude {
        if let Some(state) = state_of(world, entry.pair(), agent) {
            begin(state);
        }
        return;
    }
    // The entry does not say in which pair.
    let states = world.continuity.entry(agent).or_default();
    if states.is_empty() {
        states.insert(RuntimeSession::default(), ContinuityState::default());
    }
    states.values_mut().for_each(begin);
}

/// Takes a fact in. What somebody says who may not has no effect: an agent's program tells of its
/// own context, the daemon of packets, the operator has things forgotten.
pub(super) fn fold_continuity(world: &mut Snapshot, entry: &Entry, record: &ContinuityRecord) {
    // Files of a task that nobody is at.
    if entry.is_of_task_only() {
        return;
    }
    let may = match (&record.fact, &entry.source) {
        (ContinuityFact::TurnFiles(_) | ContinuityFact::Compacted(_), Party::Agent(by)) => {
            *by == record.agent
        }
        (
            ContinuityFact::Reloaded(_)
            | ContinuityFact::RulesChanged(_)
            | ContinuityFact::Inferred(_),
            Party::System,
        ) => true,
        (ContinuityFact::Forgotten { .. }, Party::Human) => true,
        _ => false,
    };
    if may && let Some(state) = state_of(world, entry.pair(), record.agent) {
        state.take_fact(entry, &record.fact);
    }
}

/// What an agent is at. None for one runtime session too many: an agent chooses their names.
fn state_of(
    world: &mut Snapshot,
    session: RuntimeSession,
    agent: Agent,
) -> Option<&mut ContinuityState> {
    let states = world.continuity.entry(agent).or_default();
    if states.len() >= RUNTIME_SESSIONS_MAX && !states.contains_key(&session) {
        return None;
    }
    Some(states.entry(session).or_default())
}
