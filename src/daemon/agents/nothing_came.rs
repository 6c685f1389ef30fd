//! What an agent is told when its message leads to nothing. If its turn in Codex ends without a
//! final answer and is not sent again automatically, Claude is told; the question or handoff stays
//! open. If a question or handoff never reaches its receiver, or the operator closes it unanswered,
//! its sender is told.

use std::collections::BTreeMap;

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{DeliveryWay, OnBusy};
use crate::core::entry::{DeliveryResult, Entry, EntryKind, Message, NoteKind};
use crate::core::id::{EntryId, RuntimeSession, TurnId};
use crate::daemon::agents::running_tools::first_words;
use crate::daemon::deliveries::envelope::note_head;
use crate::daemon::owners::Base;

/// How many of several are named in one message.
const NAMED_MAX: usize = 10;

impl Base {
    /// Of the messages that Codex was at work on when the daemon before this one ended, except in a
    /// turn whose end its history is to tell.
    pub(in crate::daemon) fn nothing_came_of_unfinished(
        &self,
        asked: Option<&TurnId>,
    ) -> Vec<Entry> {
        let in_turn = self.recorder.world().in_turn.iter();
        let started = in_turn.filter(|(_, (turn, message))| {
            let is_its = message.from == Party::Agent(Agent::Claude) && Some(turn) != asked;
            is_its && message.rung == Some(DeliveryWay::Queue) && !message.answered_in_turn
        });
        let told = started.filter_map(|(id, (_, message))| {
            let pair = message.runtime_session.clone();
            self.nothing_came_of(id, pair, "died with the daemon of ctxrelay")
        });
        told.collect()
    }

    /// Of these messages, as far as they were to be sent again once a usage limit is over, and their
    /// sender was told nothing for that.
    pub(in crate::daemon) fn nothing_came_after_all<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a EntryId>,
    ) -> Vec<Entry> {
        let cut_off = &self.recorder.world().cut_off;
        let told = ids.into_iter().filter_map(|id| {
            let message = cut_off
                .get(id)
                .filter(|message| message.will_be_sent_again)?;
            let pair = message.runtime_session.clone();
            self.nothing_came_of(id, pair, "ended at its usage limit")
        });
        told.collect()
    }

    /// Tells the senders of these, as [`Self::nothing_came_after_all`].
    pub(in crate::daemon) fn tell_nothing_came(&mut self, ids: &[EntryId]) {
        let told = self.nothing_came_after_all(ids);
        if !told.is_empty() {
            self.append_messages(told);
        }
    }

    /// Of all of them: no other process has what a limit was to have sent again.
    pub(in crate::daemon) fn nothing_came_after_a_start(&self) -> Vec<Entry> {
        self.nothing_came_after_all(self.recorder.world().cut_off.keys())
    }

    /// Of one that was to be sent again, and that the operator gives up; `None` where nothing was
    /// promised, or the matter is settled already.
    pub(in crate::daemon) fn nothing_comes_of_given_up(&self, id: &EntryId) -> Option<Entry> {
        let message = self.recorder.world().cut_off.get(id);
        let message = message.filter(|message| message.will_be_sent_again)?;
        let (what, _, asked) = self.asked(id)?;
        let text = format!(
            "No answer comes of your {what} {id} ({asked}): Codex's turn on it ended \
             at its usage limit, and your operator gave it up. Do not repeat it unless they ask you to."
        );
        Some(self.told_of(Agent::Claude, id, message.runtime_session.clone(), text))
    }

    /// Of the questions and handoffs among messages that end so before their receivers had them,
    /// each of these an entry that is about to be recorded. Several of one sender are one message:
    /// each may cost a turn. A sender that still waits to hear what becomes of it hears that.
    pub(in crate::daemon) fn nothing_comes_of_ended<'a>(
        &self,
        ends: impl IntoIterator<Item = &'a Entry>,
    ) -> Vec<Entry> {
        let world = self.recorder.world();
        let mut ended: BTreeMap<_, Vec<&EntryId>> = BTreeMap::new();
        for end in ends {
            let (EntryKind::Delivery(record), Some(words)) = (&end.kind, never_had(end)) else {
                continue;
            };
            let id = &record.message_id;
            let Some(message) = world.unsettled.get(id) else {
                continue;
            };
            let is_told = record.may_have_arrived(message.result)
                || !self.is_owed(id)
                || self.clients.waiters().awaits_receipt(id);
            let from = message.from.agent().filter(|from| self.may_be_told(*from));
            if let (Some(from), false) = (from, is_told) {
                let of_sender = (from, message.runtime_session.clone(), words);
                ended.entry(of_sender).or_default().push(id);
            }
        }
        let told = ended.into_iter().map(|((from, pair, words), ids)| {
            let named = ids.iter().take(NAMED_MAX).filter_map(|id| {
                let (what, _, asked) = self.asked(id)?;
                Some(format!("your {what} {id} ({asked})"))
            });
            let mut named: Vec<String> = named.collect();
            if let Some(more) = ids.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
                named.push(format!("{more} more"));
            }
            let text = format!("No answer comes of {}: {words}", named.join(", "));
            self.told_of(from, ids[0], pair, text)
        });
        told.collect()
    }

    /// Of the questions and handoffs without an answer that the operator closes with this note, which
    /// is about to be recorded. Of what its receiver never had, the sender was told.
    pub(in crate::daemon) fn nothing_comes_of_closed(&self, note: &Entry) -> Vec<Entry> {
        let closes =
            matches!(&note.kind, EntryKind::Note { note, .. } if *note != NoteKind::Blocker);
        if note.source != Party::Human || !closes {
            return Vec::new();
        }
        let world = self.recorder.world();
        let told = note.handles().iter().filter_map(|id| {
            let handoff = world.open_handoffs.get(id).filter(|handoff| {
                let is_answered = handoff.answer.is_some() || handoff.final_answer.is_some();
                !is_answered && !handoff.never_delivered
            });
            let handoff = handoff.map(|it| (&it.from, &it.runtime_session));
            let mut questions = world.open_questions.values();
            let question = questions.find(|question| question.id == *id);
            let question = question.map(|it| (&it.from, &it.runtime_session));
            let (from, pair) = handoff.or(question)?;
            let (what, _, asked) = self.asked(id)?;
            let said = first_words(self.recorder.redactor(), &note.content);
            let text = format!(
                "Your operator closed your {what} {id} ({asked}), which has no answer: \
                 \u{201c}{said}\u{201d}.\nDo not wait for one, and do not send it again unless they \
                 ask you to."
            );
            let from = from.agent().filter(|from| self.may_be_told(*from))?;
            Some(self.told_of(from, id, pair.clone(), text))
        });
        told.collect()
    }

    fn is_owed(&self, id: &EntryId) -> bool {
        let world = self.recorder.world();
        let mut questions = world.open_questions.values();
        world.open_handoffs.contains_key(id) || questions.any(|question| question.id == *id)
    }

    /// Of a message; `None` where the matter is settled already.
    pub(in crate::daemon) fn nothing_came_of(
        &self,
        id: &EntryId,
        pair: Option<RuntimeSession>,
        why: &str,
    ) -> Option<Entry> {
        let (what, stays, asked) = self.asked(id)?;
        let text = format!(
            "No answer comes of your {what} {id} ({asked}): Codex's turn on it \
             {why}.\nIt is not sent again by itself{stays}. Your operator can send it again: do not \
             repeat it unless they ask you to."
        );
        Some(self.told_of(Agent::Claude, id, pair, text))
    }

    /// What it is that somebody waits for, what becomes of it, and how it begins.
    fn asked(&self, id: &EntryId) -> Option<(&'static str, &'static str, String)> {
        let stored = self.recorder.stored_of(id);
        let world = self.recorder.world();
        let is_handoff = world.open_handoffs.contains_key(id);
        let is_question = world.open_questions.values().any(|open| open.id == *id);
        let (what, stays) = match (is_handoff, is_question) {
            (true, _) => ("handoff", " and stays open"),
            (_, true) => ("question", " and stays open"),
            _ => ("message", ""),
        };
        let Ok(stored) = stored else {
            // Its sender waits all the same.
            return Some((what, stays, "its text cannot be read any more".to_owned()));
        };
        let entry = &stored?.entry;
        let is_over = match &entry.kind {
            EntryKind::Handoff(_) => !is_handoff,
            EntryKind::Message(message) => message.require_reply && !is_question,
            _ => false,
        };
        let asked = first_words(self.recorder.redactor(), &entry.content);
        (!is_over).then(|| (what, stays, format!("\u{201c}{asked}\u{201d}")))
    }

    /// Whether an agent is told that nothing comes of its message: a Codex that does not run would be
    /// started for it, and with a turn of its own.
    fn may_be_told(&self, agent: Agent) -> bool {
        let codex = self.recorder.world().agent(Agent::Codex);
        agent != Agent::Codex || codex.state.is_attached()
    }

    /// The message to an agent, about one of its own.
    fn told_of(
        &self,
        to: Agent,
        id: &EntryId,
        pair: Option<RuntimeSession>,
        text: String,
    ) -> Entry {
        let kind = EntryKind::Message(Message {
            in_reply_to: Some(id.clone()),
            ..Message::new(OnBusy::Queue)
        });
        let mut told = self
            .recorder
            .entry(Party::System, Some(to.into()), kind, text, pair);
        note_head(&self.commit, &mut told);
        told
    }
}

/// Why a message is given to nobody, and what its sender is to do, where an entry says so.
pub(in crate::daemon) fn never_had(end: &Entry) -> Option<String> {
    let EntryKind::Delivery(record) = &end.kind else {
        return None;
    };
    let to = record.to.title();
    match record.result {
        DeliveryResult::Cancelled => Some(format!(
            "your operator took that back before {to} had it.\nDo not send it again unless they \
             ask you to."
        )),
        DeliveryResult::Expired => Some(format!(
            "{to} did not get it in time.\nSend it again only if you still need it."
        )),
        DeliveryResult::Rejected => Some(format!(
            "{}.\nSend it again only if you still need it.",
            end.content
        )),
        _ => None,
    }
}
