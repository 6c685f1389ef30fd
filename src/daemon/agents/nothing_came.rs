//! What Claude is told where a turn of Codex's that its message started ends without a final answer,
//! and the message is not sent again by itself. The question or handoff stays open.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{DeliveryWay, OnBusy};
use crate::core::entry::{Entry, EntryKind, Message};
use crate::core::id::{EntryId, RuntimeSession, TurnId};
use crate::daemon::agents::running_tools::first_words;
use crate::daemon::deliveries::envelope::note_head;
use crate::daemon::owners::Base;

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
        Some(self.told_of(id, message.runtime_session.clone(), text))
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
        Some(self.told_of(id, pair, text))
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

    /// The message to Claude, about one of its own.
    fn told_of(&self, id: &EntryId, pair: Option<RuntimeSession>, text: String) -> Entry {
        let kind = EntryKind::Message(Message {
            in_reply_to: Some(id.clone()),
            ..Message::new(OnBusy::Queue)
        });
        let claude = Some(Agent::Claude.into());
        let mut told = self.recorder.entry(Party::System, claude, kind, text, pair);
        note_head(&self.commit, &mut told);
        told
    }
}
