//! The pair that receives a message which names none.

use std::collections::BTreeSet;
use std::io;

use super::checks::unreadable;
use crate::core::agent::Agent;
use crate::core::id::{EntryId, RuntimeSession, TurnId};
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::attach::ConnId;
use crate::daemon::base::clients::Clients;
use crate::daemon::base::recorder::Recorder;
use crate::wire::control::Refusal;

/// How much of an unknown pair's name is said.
const PAIR_CHARS_SHOWN: usize = 64;

/// What a message says of its pair.
pub(super) struct PairAsked<'a> {
    /// The agent that sends it; `None` for the operator.
    pub from: Option<Agent>,
    /// For whom it is, where that is said.
    pub to: Option<Agent>,
    /// The pair that it names.
    pub named: Option<RuntimeSession>,
    /// What it answers.
    pub answers: Vec<&'a EntryId>,
    /// The turn of Codex that says it.
    pub turn: Option<&'a str>,
}

/// A Claude speaks for its own pair. The one Codex and the operator speak with all of them: what
/// they say goes to the Claude that it answers, else to the one whose message began the turn that
/// says it, else to [`pair_of_nobody`].
///
/// # Errors
///
/// For a pair that nobody has ever heard of: it would wait for ever. And when what it answers cannot
/// be read.
pub(super) fn pair_to_send_to<T>(
    clients: &Clients,
    claude: &ClaudeLane,
    codex: &CodexLane,
    recorder: &Recorder<T>,
    conn: ConnId,
    asked: PairAsked,
) -> Result<RuntimeSession, Refusal> {
    let own = clients.pair(conn, None);
    if let Some(named) = asked.named {
        return known(clients, claude, recorder, named);
    }
    if asked.from == Some(Agent::Claude) {
        return Ok(own);
    }
    // What passed between the operator and Codex says nothing of a Claude.
    let is_of_claude = |party: Option<Agent>| party == Some(Agent::Claude);
    let of_entry = |id: &EntryId| -> io::Result<Option<RuntimeSession>> {
        let Some(stored) = recorder.stored_of(id)? else {
            return Ok(None);
        };
        let entry = &stored.entry;
        let is_its = is_of_claude(entry.source.agent()) || is_of_claude(entry.receiver());
        Ok(entry.runtime_session.clone().filter(|_| is_its))
    };
    let mut answered = asked.answers.into_iter().map(of_entry);
    let answered = answered.find_map(Result::transpose).transpose();
    let answered = answered.map_err(|error| unreadable(&error))?;
    let of_turn = || {
        let turn = match asked.turn {
            Some(named) => TurnId::new(named),
            None => codex.running_turn()?,
        };
        let began = codex.last_relayed(&turn)?;
        let is_its = is_of_claude(began.from.agent());
        began.runtime_session.clone().filter(|_| is_its)
    };
    let began = answered.or_else(|| (asked.from == Some(Agent::Codex)).then(of_turn).flatten());
    if let Some(pair) = began {
        return Ok(pair);
    }
    let is_for_claude = asked.from == Some(Agent::Codex) || asked.to == Some(Agent::Claude);
    match is_for_claude {
        true => Ok(pair_of_nobody(clients, own)),
        false => Ok(own),
    }
}

/// The pair for what names no Claude: its author's `own`, where a Claude of that is here or no other
/// is, else the only one that is here.
pub(in crate::daemon) fn pair_of_nobody(clients: &Clients, own: RuntimeSession) -> RuntimeSession {
    if clients.is_claude_of(&own) {
        return own;
    }
    let here: BTreeSet<&RuntimeSession> = clients
        .iter()
        .filter(|(_, client)| client.is_of_claude())
        .map(|(_, client)| &client.hello.runtime_session_id)
        .collect();
    match Vec::from_iter(here).as_slice() {
        [only] => (*only).clone(),
        _ => own,
    }
}

fn known<T>(
    clients: &Clients,
    claude: &ClaudeLane,
    recorder: &Recorder<T>,
    named: RuntimeSession,
) -> Result<RuntimeSession, Refusal> {
    let world = recorder.world();
    let of_clients = clients
        .iter()
        .map(|(_, client)| &client.hello.runtime_session_id);
    let of_states = world.continuity.values().flat_map(|pairs| pairs.keys());
    let waiting = world
        .unsettled
        .values()
        .filter_map(|message| message.runtime_session.as_ref());
    let handoffs = world.open_handoffs.values();
    let handoffs = handoffs.filter_map(|handoff| handoff.runtime_session.as_ref());
    let questions = world.open_questions.values();
    let questions = questions.filter_map(|question| question.runtime_session.as_ref());
    let known: BTreeSet<RuntimeSession> = of_clients
        .chain(of_states)
        .chain(waiting)
        .chain(handoffs)
        .chain(questions)
        .cloned()
        .chain(claude.pairs())
        .chain([RuntimeSession::default()])
        .collect();
    if known.contains(&named) {
        return Ok(named);
    }
    let shown: String = named.as_str().chars().take(PAIR_CHARS_SHOWN).collect();
    let known: Vec<&str> = known.iter().map(RuntimeSession::as_str).collect();
    Err(Refusal::invalid(
        format!("there is no pair `{shown}`"),
        format!("leave it out for your own, or one of: {}", known.join(", ")),
    ))
}
