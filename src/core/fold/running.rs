//! What an entry says of the running agents, and of the daemon that they depend on.

use super::continuing::turn_begins;
use super::delivering::{cut_off, fold_turn_end, forget_promises};
use super::forget_deliveries;
use super::signing::fold_signing;
use crate::agent::{Agent, AgentState};
use crate::alarm::acknowledged_by;
use crate::entry::{AgentChanged, Entry, LifecycleEvent, TurnRecord, TurnStatus};
use crate::snapshot::Snapshot;

pub(super) fn fold_agent(world: &mut Snapshot, entry: &Entry, change: &AgentChanged) {
    let pair = entry.pair();
    let agent = world.agents.get(&change.agent);
    let was = agent.map(|agent| agent.status(&pair));
    let is_in_turn = was.is_some_and(|was| was.state.is_in_turn());
    let begins = change.state == AgentState::Busy && !is_in_turn;
    // Codex's turns are recorded as such.
    if begins && change.agent == Agent::Claude {
        turn_begins(world, entry, change.agent);
    }
    let agent = world.agents.entry(change.agent).or_default();
    let mut status = agent.status(&pair);
    if status.state != change.state {
        status.since_ms = entry.timestamp_ms;
    }
    status.state = change.state;
    status.why.clone_from(&change.why);
    if change.pid.is_some() || !change.state.is_attached() {
        status.pid = change.pid;
    }
    agent.set_status(&pair, status);
    agent.take_thread(change, pair);
    if matches!(change.state, AgentState::Offline | AgentState::Idle) {
        agent.turn_id = None;
        agent.turn_text = None;
    }
    agent.take_limit(change, entry.timestamp_ms);
}

pub(super) fn fold_turn(world: &mut Snapshot, entry: &Entry, turn: &TurnRecord) {
    let Some(agent) = entry.source.agent() else {
        return;
    };
    if turn.status == TurnStatus::InProgress {
        turn_begins(world, entry, agent);
    }
    fold_turn_end(world, entry, turn);
    let agent = world.agents.entry(agent).or_default();
    agent.turn(turn, &entry.content);
    let state = match turn.status {
        TurnStatus::InProgress => AgentState::Busy,
        _ => AgentState::Idle,
    };
    // A limit outlives the turn that ran into it.
    if agent.state.is_attached() && agent.state != AgentState::Limited {
        if agent.state != state {
            agent.since_ms = entry.timestamp_ms;
        }
        agent.state = state;
    }
}

pub(super) fn fold_lifecycle(world: &mut Snapshot, entry: &Entry, event: &LifecycleEvent) {
    match event {
        LifecycleEvent::DaemonStarted => daemon_starts(world, entry),
        LifecycleEvent::DaemonTakenOver => daemon_is_taken_over(world, entry),
        LifecycleEvent::ContextRelay3Adopted => forget_deliveries(world),
        LifecycleEvent::SigningChanged => fold_signing(world, entry),
        LifecycleEvent::CoordinatorChanged => world.untold_coordinator = Some(entry.seq),
        LifecycleEvent::CoordinatorTold => world.untold_coordinator = None,
        _ => acknowledge_alarm(world, entry),
    }
}

fn daemon_starts(world: &mut Snapshot, entry: &Entry) {
    world
        .open_approvals
        .retain(|_, asked| asked.outlives_daemon());
    // All attached clients belonged to the previous daemon.
    for agent in world.agents.values_mut() {
        agent.leave(entry.timestamp_ms);
    }
    forget_promises(world);
    // The turns ended with the app-server that ran them, and nobody told.
    for (id, (turn, message)) in std::mem::take(&mut world.in_turn) {
        cut_off(world, id, message, &turn);
    }
}

fn daemon_is_taken_over(world: &mut Snapshot, entry: &Entry) {
    forget_promises(world);
    // Claude's bridge and hooks connect again; Codex works on and notices nothing.
    if let Some(claude) = world.agents.get_mut(&Agent::Claude) {
        claude.leave(entry.timestamp_ms);
    }
    world
        .open_approvals
        .retain(|_, asked| asked.agent != Agent::Claude || asked.outlives_daemon());
}

fn acknowledge_alarm(world: &mut Snapshot, entry: &Entry) {
    let Some(id) = acknowledged_by(entry) else {
        return;
    };
    let mut alarms = world.alarms.iter_mut();
    if let Some(alarm) = alarms.find(|alarm| alarm.id == id) {
        alarm.acknowledged_ms.get_or_insert(entry.timestamp_ms);
    }
}
