//! Messages and handoffs: recorded first, delivered after.

use std::time::Duration;

use tokio::time::Instant;

use super::{check_length, check_text, sender};
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::{DeliveryState, OnBusy, Outcome};
use crate::core::entry::{DeliveryRecord, DeliveryResult, Entry, EntryKind, Handoff, Message};
use crate::core::id::{EntryId, RuntimeSession, TurnId};
use crate::daemon::attach::ConnId;
use crate::daemon::event::Answer;
use crate::daemon::run::{Daemon, answer, now_ms};
use crate::daemon::waiters::{Waiter, Wants};
use crate::wire::control::{HandoffParams, Refusal, Reply, SendParams, Sent};

/// How long a sender waits for Codex's proof before it is told "queued" (`surface.md` of the
/// tools: at most one second).
const RECEIPT_WAIT: Duration = Duration::from_secs(1);

/// A handoff with the same words within this time is the same handoff, in ms.
const SAME_HANDOFF_MS: i64 = 5 * 60 * 1000;

/// How many handoffs are remembered for that.
const RECENT_HANDOFFS_MAX: usize = 100;

/// A handoff of the last minutes.
#[derive(Debug, Clone)]
pub struct RecentHandoff {
    at_ms: i64,
    from: Party,
    to: Agent,
    runtime_session: RuntimeSession,
    folded_ask: String,
    pub(in crate::daemon) id: EntryId,
}

impl Daemon {
    pub(super) fn send(&mut self, conn: ConnId, params: SendParams, reply: Answer) {
        let to = match receiver(params.from, params.to)
            .and_then(|to| check_text("text", &params.text).map(|()| to))
            .and_then(|to| self.room(to).map(|()| to))
        {
            Ok(to) => to,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        let from = sender(params.from);
        let in_reply_to = self.question_answered_by(&from, params.turn_id.as_deref());
        let runtime_session = self.runtime_session(conn, params.runtime_session_id);
        let entry = self.entry(
            from,
            Some(to.into()),
            EntryKind::Message(Message {
                on_busy: params.on_busy,
                require_reply: params.require_reply,
                handles: params.handles,
                in_reply_to,
                from_turn: None,
            }),
            params.text,
            Some(runtime_session),
        );
        self.codex.answered_by_tool(params.from, params.turn_id);
        self.dispatch(entry, to, params.on_busy, reply);
    }

    pub(super) fn hand_off(&mut self, conn: ConnId, params: HandoffParams, reply: Answer) {
        let to = match receiver(params.from, params.to)
            .and_then(|to| check_text("ask", &params.ask).map(|()| to))
            .and_then(|to| check_length("reason", &params.reason).map(|()| to))
            .and_then(|to| check_length("context_refs", &params.context_refs.concat()).map(|()| to))
            .and_then(|to| self.room(to).map(|()| to))
        {
            Ok(to) => to,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        let from = sender(params.from);
        let runtime_session = self.runtime_session(conn, params.runtime_session_id);
        if let Some(first) = self.same_handoff(&from, to, &runtime_session, &params.ask) {
            return answer(reply, Ok(Reply::Sent(first)));
        }
        let entry = self.entry(
            from,
            Some(to.into()),
            EntryKind::Handoff(Handoff {
                reason: params.reason,
                context_refs: params.context_refs,
                on_busy: params.on_busy,
                handles: params.handles,
            }),
            params.ask,
            Some(runtime_session.clone()),
        );
        if self.recent_handoffs.len() == RECENT_HANDOFFS_MAX {
            self.recent_handoffs.pop_front();
        }
        self.recent_handoffs.push_back(RecentHandoff {
            at_ms: entry.timestamp_ms,
            from: entry.source.clone(),
            to,
            runtime_session,
            folded_ask: folded(&entry.content),
            id: entry.id.clone(),
        });
        self.codex.answered_by_tool(params.from, params.turn_id);
        self.dispatch(entry, to, params.on_busy, reply);
    }

    fn dispatch(&mut self, mut entry: Entry, to: Agent, on_busy: OnBusy, reply: Answer) {
        self.note_head(&mut entry);
        let id = entry.id.clone();
        let rejected = on_busy == OnBusy::Reject && self.is_busy(to);
        let mut entries = vec![entry];
        if rejected {
            entries.push(self.delivery_entry(&id, to, DeliveryResult::Rejected, None, None));
        }
        self.record(
            entries,
            Box::new(move |daemon, result| {
                let stored = match result {
                    Ok(stored) => stored,
                    Err(refusal) => {
                        daemon.recent_handoffs.retain(|recent| recent.id != id);
                        return answer(reply, Err(refusal.clone()));
                    }
                };
                let mut sent = Sent {
                    message_id: id.clone(),
                    delivery_attempt_id: None,
                    outcome: Outcome::QueuedForNextTurn,
                    seq: stored[0].entry.seq,
                    duplicate: false,
                };
                if rejected {
                    // Sent again it is another try, and not the one that was refused.
                    daemon.recent_handoffs.retain(|recent| recent.id != id);
                    sent.outcome = Outcome::Rejected;
                    return answer(reply, Ok(Reply::Sent(sent)));
                }
                if let Some(message) = daemon.world.unsettled.get(&id).cloned() {
                    daemon.outbox.track(id, &message);
                }
                match to {
                    Agent::Codex if daemon.codex.may_deliver_soon() => {
                        daemon.waiters.push(Waiter {
                            deadline: Instant::now() + RECEIPT_WAIT,
                            wants: Wants::Receipt(sent),
                            reply,
                        });
                    }
                    Agent::Codex | Agent::Claude => answer(reply, Ok(Reply::Sent(sent))),
                }
                // The caller of this pumps: see `on_writer`.
            }),
        );
    }

    /// The delivery entry of a message.
    pub(in crate::daemon) fn delivery_entry(
        &self,
        id: &EntryId,
        to: Agent,
        result: DeliveryResult,
        rung: Option<&str>,
        turn_id: Option<TurnId>,
    ) -> Entry {
        let row = self.outbox.get(id);
        let is_proof = match result {
            DeliveryResult::Confirmed => true,
            // What was acknowledged without another proof.
            DeliveryResult::Acknowledged => {
                row.is_some_and(|row| row.state != DeliveryState::Confirmed)
            }
            _ => false,
        };
        let given = self.given.get(id).filter(|_| is_proof).cloned();
        self.entry(
            Party::System,
            Some(to.into()),
            EntryKind::Delivery(DeliveryRecord {
                message_id: id.clone(),
                attempt_id: row.and_then(|row| row.attempt.clone()),
                to,
                result,
                outcome: None,
                rung: rung.map(str::to_owned),
                turn_id,
                given,
            }),
            Self::delivery_text(to, result, rung),
            row.map(|row| row.runtime_session.clone()),
        )
    }

    pub(in crate::daemon) fn is_busy(&self, agent: Agent) -> bool {
        match agent {
            Agent::Codex => self.codex.is_busy(),
            Agent::Claude => matches!(
                self.world.agent(Agent::Claude).state,
                AgentState::Busy | AgentState::Waiting
            ),
        }
    }

    /// The question that a message from an agent answers: for Codex the one that its turn was
    /// started with, for Claude the oldest that it was asked.
    fn question_answered_by(&self, from: &Party, turn_id: Option<&str>) -> Option<EntryId> {
        let agent = from.agent()?;
        if let Some(id) = turn_id.and_then(|turn| self.codex.relayed_into(turn)) {
            return Some(id);
        }
        self.world
            .open_questions
            .values()
            .find(|question| question.to == agent)
            .map(|question| question.id.clone())
    }

    fn same_handoff(
        &self,
        from: &Party,
        to: Agent,
        runtime_session: &RuntimeSession,
        ask: &str,
    ) -> Option<Sent> {
        let now = now_ms();
        let folded_ask = folded(ask);
        let recent = self.recent_handoffs.iter().rev().find(|recent| {
            now - recent.at_ms < SAME_HANDOFF_MS
                && recent.from == *from
                && recent.to == to
                && recent.runtime_session == *runtime_session
                && recent.folded_ask == folded_ask
        })?;
        let seq = self.ledger.seq_of(&recent.id)?;
        Some(Sent {
            message_id: recent.id.clone(),
            delivery_attempt_id: None,
            outcome: Outcome::QueuedForNextTurn,
            seq,
            duplicate: true,
        })
    }

    fn room(&self, to: Agent) -> Result<(), Refusal> {
        if self.outbox.has_room(to) {
            Ok(())
        } else {
            Err(Refusal::new(
                "queue_full",
                format!(
                    "{} messages wait for {}",
                    crate::daemon::outbox::LANE_MAX,
                    to.title()
                ),
                "nothing was recorded; let the operator look at `ctxrelay queue list`",
            ))
        }
    }
}

fn receiver(from: Option<Agent>, to: Option<Agent>) -> Result<Agent, Refusal> {
    match (from, to) {
        (Some(from), None) => Ok(from.peer()),
        (Some(from), Some(to)) if from == to => Err(Refusal::new(
            "invalid_arguments",
            "an agent cannot send to itself",
            "use `append_note` to remember something",
        )),
        (_, Some(to)) => Ok(to),
        (None, None) => Err(Refusal::new(
            "invalid_arguments",
            "no receiver is named",
            "say `claude` or `codex`",
        )),
    }
}

/// Case and spacing do not make another handoff.
fn folded(ask: &str) -> String {
    ask.split_whitespace()
        .map(str::to_lowercase)
        .collect::<Vec<_>>()
        .join(" ")
}
