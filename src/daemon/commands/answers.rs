//! Which question a message answers. Only a message that names a question, or the final answer of
//! the turn that the question started, answers it: anything else its receiver says leaves it open.

use super::checks::{not_found, shortened, unreadable};
use crate::core::agent::{Agent, Party};
use crate::core::entry::Entry;
use crate::core::id::{EntryId, RuntimeSession, TurnId};
use crate::core::snapshot::{QuestionSnapshot, Snapshot};
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::base::agent_programs::AgentPrograms;
use crate::daemon::base::clients::Clients;
use crate::daemon::base::recorder::Recorder;
use crate::wire::control::{Refusal, Role};

/// How many open questions a refusal, or an answer to a sender, names.
const QUESTIONS_NAMED: usize = 5;

/// Refuses to answer what the sender was not asked, a Claude in its pair: with a slip in the id the
/// question would stay open while the sender believes it answered.
pub(super) fn check_reply<T>(
    recorder: &Recorder<T>,
    from: Option<Agent>,
    pair: &RuntimeSession,
    named: Option<&EntryId>,
) -> Result<(), Refusal> {
    let Some(named) = named else {
        return Ok(());
    };
    let stored = recorder.stored_of(named);
    let stored = stored.map_err(|error| unreadable(&error))?;
    let is_to_sender = stored.is_some_and(|stored| {
        let entry = &stored.entry;
        let of = entry.runtime_session.as_ref();
        let is_of_pair = from != Some(Agent::Claude) || of.is_none_or(|of| of == pair);
        entry.receiver().is_some() && (from.is_none() || entry.receiver() == from) && is_of_pair
    });
    if is_to_sender {
        return Ok(());
    }
    let open = unanswered_by(
        recorder.world(),
        &from.map_or(Party::Human, Party::Agent),
        pair,
        None,
    );
    let hint = match open.as_slice() {
        [] => "nothing was recorded; no question waits for you, leave in_reply_to out".to_owned(),
        open => {
            let open: Vec<&str> = open.iter().map(EntryId::as_str).collect();
            format!(
                "nothing was recorded; these wait for you: {}",
                open.join(", ")
            )
        }
    };
    Err(not_found(
        &format!(
            "message {} to you in this session",
            shortened(named.as_str())
        ),
        &hint,
    ))
}

/// The questions that an agent has had, Claude in this pair, and that nobody has answered, oldest
/// first; without `to_come`, which the final answer of a turn is still to answer.
pub(super) fn unanswered_by(
    world: &Snapshot,
    agent: &Party,
    pair: &RuntimeSession,
    to_come: Option<&EntryId>,
) -> Vec<EntryId> {
    let is_had = |id: &EntryId| {
        let unsettled = world.unsettled.get(id);
        unsettled.is_none_or(|message| message.is_proven())
    };
    let of_pair = |open: &QuestionSnapshot| {
        open.to == Agent::Codex || open.runtime_session.as_ref().is_none_or(|of| of == pair)
    };
    world
        .open_questions
        .values()
        .filter(|open| Party::Agent(open.to) == *agent && of_pair(open) && is_had(&open.id))
        .filter(|open| Some(&open.id) != to_come)
        .map(|open| open.id.clone())
        .take(QUESTIONS_NAMED)
        .collect()
}

/// The message in whose turn Codex says something, if that asks nothing: what is said on the
/// way to the answer of a question is not the answer.
pub(super) fn turns_message(
    codex: &CodexLane,
    turn_id: Option<&str>,
    pair: &RuntimeSession,
) -> Option<EntryId> {
    let relayed = codex.last_relayed(&TurnId::new(turn_id?))?;
    let is_of_pair = relayed.runtime_session.as_ref().is_none_or(|of| of == pair);
    (is_of_pair && !relayed.asks).then(|| relayed.id.clone())
}

/// The turn of Codex in which its tool says something. `named` by the call, where Codex does.
pub(super) fn turn_of_call(
    codex: &CodexLane,
    from: Option<Agent>,
    named: Option<String>,
) -> Option<TurnId> {
    let is_its = from == Some(Agent::Codex);
    let turn = || named.map(TurnId::new).or_else(|| codex.running_turn());
    is_its.then(turn).flatten()
}

/// Whether the final answer of a turn need not be relayed any more once its tool has said
/// this: that to a question or a handoff must be, unless the call itself names or handles that.
pub(super) fn settles_turn(
    codex: &CodexLane,
    entry: &Entry,
    named: Option<&EntryId>,
    turn: &TurnId,
) -> bool {
    codex
        .asked_of(turn)
        .is_none_or(|asked| entry.handles().contains(&asked.id) || named == Some(&asked.id))
}

/// Nobody is there whom a message could be brought to: the agent is neither installed nor
/// attached.
pub(super) fn is_missing(programs: &AgentPrograms, world: &Snapshot, agent: Agent) -> bool {
    !programs.is_installed(agent) && !world.agent(agent).state.is_attached()
}

/// A process of the agent has our tools: it can ask, wherever it came from.
fn has_client(clients: &Clients, agent: Agent) -> bool {
    // The service behind `/mcp` is a client in this process, and nobody's agent.
    let own = std::process::id();
    let mut clients = clients.iter().map(|(_, client)| &client.hello);
    clients.any(|hello| hello.role == Role::of(agent) && hello.pid != own)
}

/// The agents that hear of a decision: who proposed, and who is there or has been. A project
/// that only ever had one agent has nobody else to tell.
pub(super) fn told_of_decisions(
    programs: &AgentPrograms,
    world: &Snapshot,
    clients: &Clients,
    proposer: &Party,
) -> Vec<Agent> {
    let is_told = |agent: &Agent| {
        *proposer == Party::Agent(*agent)
            || world.agents.contains_key(agent)
            || !is_missing(programs, world, *agent)
            || has_client(clients, *agent)
    };
    Agent::ALL.into_iter().filter(is_told).collect()
}
