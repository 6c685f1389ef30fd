//! Folds in which minutes an agent worked and wrote.

use crate::agent::AgentState;
use crate::entry::{Entry, EntryKind, LifecycleEvent};
use crate::snapshot::Snapshot;

/// Takes an entry in before it changes what the agents are at: until then they were at it.
pub(super) fn fold_activity(world: &mut Snapshot, entry: &Entry) {
    let at_ms = entry.timestamp_ms;
    let is_start = matches!(
        entry.kind,
        EntryKind::Lifecycle {
            event: LifecycleEvent::DaemonStarted
        }
    );
    // Of the time without a daemon nobody knows.
    if !is_start {
        for agent in world.agents.values_mut() {
            if agent.state == AgentState::Busy {
                agent.activity.worked(agent.since_ms, at_ms);
            }
        }
    }
    if !entry.kind.is_runtime_event()
        && let Some(agent) = entry.source.agent()
    {
        world.agents.entry(agent).or_default().activity.wrote(at_ms);
    }
}

#[cfg(test)]
mod tests;
