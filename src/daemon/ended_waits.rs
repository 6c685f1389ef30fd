//! Calls that wait for an answer that does not come any more: they hear why, and wait no longer.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::owners::Base;
use super::reply::answer;
use crate::core::agent::{Agent, Party};
use crate::core::entry::{Entry, EntryKind, NoteKind};
use crate::core::id::EntryId;
use crate::core::snapshot::Snapshot;
use crate::daemon::agents::nothing_came::never_had;
use crate::daemon::base::clients::Waiter;
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
            let ended = self.clients.waiters_mut().take_ended(|agent, id| {
                let words = ended_words(world, entry, agent, id);
                words.filter(|_| !told.contains(id))
            });
            answer_ended(ended);
        }
    }

    /// The session of what they wait for was cleared away.
    pub(super) fn end_waits_of_cleared(&mut self) {
        let recorder = &self.recorder;
        let ended = self.clients.waiters_mut().take_ended(|_, id| {
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
}

fn answer_ended(ended: Vec<(Waiter, String)>) {
    for (waiter, ended) in ended {
        let page = MessagePage {
            messages: Vec::new(),
            unread: 0,
            cursor: None,
            more: false,
            timed_out: false,
            ended: Some(ended),
            cut: false,
            acked: Vec::new(),
            unfinished: Vec::new(),
        };
        answer(waiter.reply, Ok(Reply::Messages(page)));
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
            // It goes on to its final answer.
            let is_at_work = world.in_turn.contains_key(id) && entry.source == agent.peer().into();
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
