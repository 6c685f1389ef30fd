//! Calls that wait for an answer that will not come: they are told why, and stop waiting.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::owners::Base;
use super::reply::answer;
use crate::core::agent::{Agent, Party};
use crate::core::entry::{DeliveryResult, Entry, EntryKind, NoteKind};
use crate::core::id::EntryId;
use crate::core::snapshot::Snapshot;
use crate::daemon::agents::nothing_came::never_had;
use crate::daemon::base::clients::Waiter;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::deliveries::envelope::answers;
use crate::store::ledger::Stored;
use crate::wire::control::{MessagePage, Reply};

impl Base {
    /// Calls that wait for an answer which does not come any more hear so; where a message of ours
    /// says it, they get that.
    pub(super) fn end_waits(&mut self, entries: &[Arc<Stored>]) {
        let told = entries
            .iter()
            .filter_map(|stored| match &stored.entry.kind {
                EntryKind::Message(told) if stored.entry.source == Party::System => {
                    told.in_reply_to.as_ref()
                }
                _ => None,
            });
        let told: BTreeSet<&EntryId> = told.collect();
        for stored in entries {
            let (world, entry) = (self.recorder.world(), &stored.entry);
            // Who closed something in a turn might have answered it until now, or until what was
            // read in the turn is known.
            let is_claude_done = match &entry.kind {
                EntryKind::AgentChanged(changed) => {
                    changed.agent == Agent::Claude && !changed.state.is_in_turn()
                }
                EntryKind::Delivery(record) => {
                    record.to == Agent::Claude && record.result == DeliveryResult::Acknowledged
                }
                _ => false,
            };
            let ended = self.clients.take_ended_waiters(|agent, id| {
                let words = match is_claude_done && agent == Agent::Codex {
                    true => words_of_ended(&self.recorder, agent, id),
                    false => ended_words(world, entry, agent, id),
                };
                words.filter(|_| !told.contains(id))
            });
            answer_ended(ended);
        }
    }

    /// The session of what they wait for was cleared away.
    pub(super) fn end_waits_of_cleared(&mut self) {
        let recorder = &self.recorder;
        let ended = self.clients.take_ended_waiters(|_, id| {
            let is_here = recorder.seq_of(id).ok().flatten().is_some();
            (!is_here).then(|| {
                format!(
                    "No answer comes of {id}: your operator cleared the record, and began a new \
                     session."
                )
            })
        });
        answer_ended(ended);
    }

    /// What an agent hears that begins to wait for the answer to `id` after the end of that. `None`
    /// unless the record names that end, and nothing is left that may answer.
    pub(super) fn ended_before(&self, agent: Agent, id: &EntryId) -> Option<MessagePage> {
        words_of_ended(&self.recorder, agent, id).map(ended_page)
    }
}

/// The words of [`Base::ended_before`].
fn words_of_ended<T>(recorder: &Recorder<T>, agent: Agent, id: &EntryId) -> Option<String> {
    let world = recorder.world();
    let asked = recorder.stored_of(id).ok().flatten()?;
    let asked = &asked.entry;
    // What asks for nothing is never over: its receiver may answer it whenever it likes.
    let asks = match &asked.kind {
        EntryKind::Handoff(_) => true,
        EntryKind::Message(message) => message.require_reply,
        _ => false,
    };
    let to = asked.receiver()?;
    let receiver = world.agent(to);
    let is_receiver_in_turn = match to {
        Agent::Claude => receiver.status(&asked.pair()).state.is_in_turn(),
        Agent::Codex => receiver.state.is_in_turn() || receiver.unended_turn.is_some(),
    };
    // Its answer may be among them: one that is held, or that is read from disk first.
    let mut unsettled = world.unsettled.values();
    let may_come = world.message_under_way(id).is_some()
        || unsettled.any(|message| {
            message.to == agent && message.from == to.into() && message.seq > asked.seq
        });
    if !asks || may_come || asked.source != agent.into() {
        return None;
    }
    let since = recorder.recent().iter().rev();
    let since = since.map(|stored| &stored.entry);
    let last = since
        .take_while(|entry| entry.seq > asked.seq)
        .find_map(|entry| {
            let is_answer = entry.receiver() == Some(agent) && entry.source != Party::System;
            if is_answer && answers(entry, id) {
                return Some(None);
            }
            // Who has closed it may add an answer in the same turn.
            let is_known = !is_receiver_in_turn || matches!(entry.kind, EntryKind::Delivery(_));
            let words = ended_words(world, entry, agent, id);
            words.filter(|_| is_known).map(Some)
        });
    last.flatten()
}

fn answer_ended(ended: Vec<(Waiter, String)>) {
    for (waiter, ended) in ended {
        answer(waiter.reply, Ok(Reply::Messages(ended_page(ended))));
    }
}

fn ended_page(ended: String) -> MessagePage {
    MessagePage {
        messages: Vec::new(),
        unread: 0,
        cursor: None,
        more: false,
        timed_out: false,
        ended: Some(ended),
        cut: false,
        acked: Vec::new(),
        unfinished: Vec::new(),
    }
}

/// What an agent that waits for the answer to `id` hears by an entry that was just folded, if that
/// ends it.
fn ended_words(world: &Snapshot, entry: &Entry, agent: Agent, id: &EntryId) -> Option<String> {
    let handoff = world.open_handoffs.get(id);
    let mut questions = world.open_questions.values();
    let is_open = handoff.is_some_and(|handoff| !handoff.never_delivered)
        || questions.any(|question| question.id == *id);
    if is_open {
        return None;
    }
    let closes = match &entry.kind {
        EntryKind::Note { note, .. } => *note != NoteKind::Blocker,
        EntryKind::FinalityDecision(decision) => decision.approved,
        _ => false,
    };
    match &entry.kind {
        EntryKind::Delivery(record) => {
            let is_its = record.message_id == *id && !record.may_have_arrived(None);
            let words = never_had(entry).filter(|_| is_its)?;
            Some(format!("No answer comes of {id}: {words}"))
        }
        _ if closes && entry.handles().contains(id) => {
            // It goes on to its answer. Of a decision too: who proposes it has a turn to end.
            let is_its_word = entry.source == agent.peer().into()
                || matches!(entry.kind, EntryKind::FinalityDecision(_));
            let is_at_work = is_its_word && is_at_work(world, entry, agent.peer(), id);
            let by = match &entry.source {
                Party::Human => "your operator",
                by if *by == agent.into() => "you",
                by => by.title(),
            };
            let seq = entry.seq;
            let text = format!(
                "Nobody owes an answer to {id} any more: {by} closed it with entry {seq}. Go on \
                 without one; read_context has that entry."
            );
            (!is_at_work).then_some(text)
        }
        _ => None,
    }
}

/// Whether the receiver, of whose pair an entry is, has it in a turn that is not known to have
/// ended: the one of Codex's, or any of Claude's while it is not acknowledged. Behind that, the one
/// in which Claude says what the entry has. Which turn of Claude's proposed what somebody else
/// decides on is not known: the turn that runs by then may be about anything.
fn is_at_work(world: &Snapshot, entry: &Entry, receiver: Agent, id: &EntryId) -> bool {
    match (receiver, world.unsettled.get(id)) {
        (Agent::Codex, _) => world.in_turn.contains_key(id),
        (Agent::Claude, Some(message)) => message.is_proven(),
        (Agent::Claude, None) if entry.source != receiver.into() => false,
        (Agent::Claude, None) => {
            let claude = world.agent(Agent::Claude).status(&entry.pair());
            claude.state.is_in_turn()
        }
    }
}
