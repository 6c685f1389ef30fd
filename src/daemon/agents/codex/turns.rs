//! Turns: the proof that a message arrived, the record of what ran, and the answer that goes back
//! to the sender of the question.

use super::turn_end::TurnEnd;
use crate::core::agent::{Agent, Party};
use crate::core::between_words::cut_between_words;
use crate::core::continuity::without_markers;
use crate::core::delivery::{CodexInput, LimitInput, OnBusy};
use crate::core::entry::{Entry, EntryKind, Message, TurnRecord, TurnStatus};
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::core::relay_cost::CostSort;
use crate::daemon::agents::codex_lane::Relayed;
use crate::daemon::decisions::approvals::OverAtCodex;
use crate::daemon::decisions::how_over::HowOver;
use crate::daemon::deliveries::envelope::note_head;
use crate::daemon::owners::{Agents, Base, Daemon};

/// Of a message, in the timeline.
const LINE_CHARS_MAX: usize = 200;

impl Daemon {
    /// Proof, when it carries our id; a turn's beginning, when it is the turn's first.
    pub(super) fn user_message(
        &mut self,
        turn_id: TurnId,
        client_id: Option<String>,
        preview: &str,
        steered: bool,
    ) {
        let named = client_id.map(EntryId::new);
        let found = match &named {
            Some(id) => self.base.recorder.stored_of(id),
            None => Ok(None),
        };
        // No prompt has the id of an entry: what cannot be read is one of ours.
        let is_ours = !matches!(found, Ok(None));
        let is_under_way = |id: &EntryId| {
            self.deliveries.outbox.get(id).is_some() || self.agents.codex.receipt(id).is_some()
        };
        let message_id = named.clone().filter(is_under_way);
        let (relayed, text) = match (&named, &found) {
            (Some(id), Err(_)) => (Some(Relayed::unread(id, self.base.recorder.world())), None),
            (_, Ok(Some(stored))) if message_id.is_some() => {
                let entry = &stored.entry;
                let relayed = self.base.relayed_of(entry);
                (Some(relayed), Some(entry.content.as_str()))
            }
            _ => (None, None),
        };
        let is_first = self.agents.codex.shows_message_of(&turn_id);
        if is_first {
            // What came through no message of ours was typed into the Codex terminal.
            let started_by = relayed.as_ref().map(|relayed| relayed.from.clone());
            let started_by = started_by.unwrap_or(Party::Human);
            // Of a message of ours the text itself: what Codex shows of it begins with the
            // envelope.
            let about = first_line(text.unwrap_or(preview));
            self.keep_turn_began(turn_id.clone(), started_by, about);
        }
        let Some(id) = message_id else {
            if !is_ours {
                if self.agents.codex.running_turn().as_ref() == Some(&turn_id) {
                    // It is one for all pairs.
                    let said = "a prompt was typed into Codex's terminal";
                    self.base.person_spoke(None, said);
                }
                let life = self.agents.codex.life();
                self.codex_input(CodexInput::HumanMessage {
                    life,
                    turn: turn_id,
                });
            }
            return;
        };
        if let Some(mut relayed) = relayed {
            relayed.starts = is_first && !steered;
            self.agents.codex.relayed_into(&turn_id, relayed);
        }
        self.deliveries
            .outbox
            .following(&id)
            .in_scope(|| tracing::debug!(%turn_id, steered, "shown by codex"));
        // What an attempt brought that failed, no model was given.
        let ours = self.agents.codex.take_ours_with(&id);
        let now_ms = self.base.clock.outside_ms();
        self.agents
            .costs
            .add(Agent::Codex, CostSort::Envelopes, ours, now_ms);
        self.codex_input(CodexInput::Proof {
            id,
            turn: turn_id,
            steered,
        });
    }

    fn keep_turn_began(&mut self, turn_id: TurnId, started_by: Party, about: String) {
        let thread = self.agents.codex.thread().cloned();
        let record = TurnRecord {
            thread_id: thread.unwrap_or_else(ThreadId::unknown),
            turn_id,
            status: TurnStatus::InProgress,
            started_by,
            stopped_by: None,
        };
        let (source, kind) = (Party::Agent(Agent::Codex), EntryKind::Turn(record));
        self.base.recorder.keep(source, kind, about);
    }

    pub(super) fn turn_completed(
        &mut self,
        end: TurnEnd,
        final_answer: Option<String>,
        client_ids: &[String],
    ) {
        if self.agents.codex.flow().has_ended(&end.turn_id, end.status) {
            // A history that is read again tells it again.
            return;
        }
        // Of a thread that was left behind no status is told.
        self.decisions.end_codex_approvals(
            &mut self.base,
            OverAtCodex::Turn(&end.turn_id),
            match end.died {
                true => HowOver::Gone,
                false => HowOver::Answered,
            },
        );
        let relayed = self.agents.codex.relayed(&end.turn_id).to_vec();
        let first = relayed.first();
        let started_by = first.map_or(Party::Human, |first| first.from.clone());
        let mut entries = vec![end.entry(&self.base, started_by)];
        self.deliveries
            .forget_handoffs_that_are_over(&self.base, &self.agents.claude);
        let marked = self
            .deliveries
            .marked(&self.base, &end, final_answer.as_deref(), &relayed);
        entries.extend(marked.entries);
        let final_answer = final_answer.filter(|_| !marked.is_kept_back);
        if let Some(mut answer) =
            self.agents
                .relayed_answer(&self.base, &end, final_answer, client_ids, &relayed)
        {
            note_head(&self.base.commit, &mut answer);
            entries.push(answer);
        }
        if let Some(nothing) = self.agents.nothing_came(&self.base, &end, &relayed) {
            let told = nothing.put(&mut entries[0]);
            entries.extend(told);
        }
        let ids: Vec<EntryId> = client_ids
            .iter()
            .map(|id| EntryId::new(id.as_str()))
            // What cannot be read may be one of ours.
            .filter(|id| !matches!(self.base.recorder.seq_of(id), Ok(None)))
            .collect();
        let rests = end.status == TurnStatus::Completed
            && self.agents.rests_after_work(&self.base, Agent::Codex);
        let ended = CodexInput::TurnEnded {
            life: self.agents.codex.life(),
            turn: end.turn_id,
            status: end.status,
            ids: ids.clone(),
            limited: end.usage_limited || rests,
            died: end.died,
        };
        self.base.recorder.keep_then(
            entries,
            Box::new(|daemon, stored| {
                for stored in stored.unwrap_or_default() {
                    daemon
                        .deliveries
                        .marked_is_durable(&daemon.base, &stored.entry);
                }
            }),
        );
        self.agents.codex.set_last_error(end.error);
        self.codex_input(ended);
        match end.status {
            _ if end.usage_limited => self.codex_hit_limit(&ids),
            TurnStatus::Completed => self.limit_input(Agent::Codex, LimitInput::Worked),
            _ => {}
        }
    }
}

impl Base {
    /// A message of ours that comes into a turn, with what that goes on with.
    pub(super) fn relayed_of(&self, entry: &Entry) -> Relayed {
        let asked = entry.goes_on_with();
        let asked = asked.and_then(|id| self.recorder.stored_of(&id).ok().flatten());
        match asked {
            Some(asked) => Relayed::going_on_with(entry, &asked.entry),
            None => Relayed::of(entry),
        }
    }
}

impl Agents {
    /// The final answer of a turn that a message of Claude's or of the operator's had started or got
    /// into, unless a tool call of the same turn answered Claude already. It answers a question only if
    /// that started the turn: of one that came into a turn on something else nobody knows whether it
    /// was meant. To the operator nothing is delivered: the answer is in the record.
    pub(super) fn relayed_answer(
        &self,
        base: &Base,
        end: &TurnEnd,
        final_answer: Option<String>,
        client_ids: &[String],
        relayed: &[Relayed],
    ) -> Option<Entry> {
        // What it says of its own work is no mail.
        let text = without_markers(&final_answer?);
        let text = Some(text).filter(|text| !text.trim().is_empty())?;
        if end.status != TurnStatus::Completed {
            return None;
        }
        let question_of = |party: Party| {
            let is_its = |message: &&Relayed| {
                message.from == party && client_ids.iter().any(|id| id == message.id.as_str())
            };
            let started = relayed.first().filter(|first| first.starts);
            let latest = relayed.iter().rev();
            started
                .filter(is_its)
                .or_else(|| latest.clone().find(is_its))
        };
        let is_answered = |question: &Relayed| {
            let pair = question.runtime_session.clone().unwrap_or_default();
            self.codex.has_answered_by_tool(&end.turn_id, &pair)
        };
        // Claude waits for it; the operator can see Codex's terminal as well.
        let question = match question_of(Party::Agent(Agent::Claude)) {
            Some(of_claude) if is_answered(of_claude) || was_sent(base, of_claude, &text) => {
                return None;
            }
            Some(of_claude) => of_claude,
            // What came into a turn on something else it goes on with, and of a decision it is told.
            None => question_of(Party::Human).filter(|it| it.starts && !it.is_decision)?,
        };
        let is_answer = question.starts || !question.asks;
        Some(base.recorder.entry(
            Party::Agent(Agent::Codex),
            Some(question.from.clone()),
            EntryKind::Message(Message {
                in_reply_to: is_answer.then(|| question.asked().clone()),
                from_turn: Some(end.turn_id.clone()),
                ..Message::new(OnBusy::Queue)
            }),
            text,
            question.runtime_session.clone(),
        ))
    }
}

/// Whether Codex itself sent these very words while it worked on a handoff.
fn was_sent(base: &Base, handoff: &Relayed, text: &str) -> bool {
    let sent = base.recorder.recent().iter().map(|stored| &stored.entry);
    // Where it is in memory no longer, all that is came behind it.
    handoff.is_handoff
        && sent
            .rev()
            .take_while(|entry| entry.id != *handoff.asked())
            .any(|entry| {
                // What could be refused may have been. The answer to another handoff may be in the same
                // words, and the last words of another turn are of another work.
                let of_it = |message: &Message| {
                    let asked = message.in_reply_to.as_ref();
                    message.on_busy != OnBusy::Reject
                        && message.from_turn.is_none()
                        && asked.is_none_or(|asked| asked == handoff.asked())
                };
                matches!(&entry.kind, EntryKind::Message(message) if of_it(message))
                    && entry.source == Party::Agent(Agent::Codex)
                    && entry.receiver() == handoff.from.agent()
                    && entry.runtime_session == handoff.runtime_session
                    && entry.content.split_whitespace().eq(text.split_whitespace())
            })
}

/// One line for the timeline.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    cut_between_words(line, LINE_CHARS_MAX).to_owned()
}
