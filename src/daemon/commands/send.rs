//! Messages and handoffs: recorded first, delivered after.

use std::time::Duration;

use tokio::time::Instant;

use super::answers::{
    check_reply, is_missing, settles_turn, turn_of_call, turns_message, unanswered_by,
};
use super::checks::{check_handles, check_text, check_together, unreadable};
use super::pair_to_send_to::{PairAsked, pair_to_send_to};
use super::sender;
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{Admission, OnBusy, Outcome};
use crate::core::entry::{ANSWERED_TURN, DeliveryResult, Entry, EntryKind, Handoff, Message, TASK};
use crate::core::id::{EntryId, RuntimeSession, TurnId};
use crate::core::trace;
use crate::daemon::agents::claude::tools;
use crate::daemon::attach::ConnId;
use crate::daemon::base::clients::{Waiter, Wants};
use crate::daemon::decisions::decision_messages::track;
use crate::daemon::deliveries::envelope::note_head;
use crate::daemon::deliveries::handoff_dedup::Ask;
use crate::daemon::owners::{Agents, Base, Daemon, Deliveries};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{HandoffParams, Refusal, RefusalCode, Reply, SendParams, Sent};

/// How long a sender waits for Codex's proof before it is told "queued" (at most one
/// second).
const RECEIPT_WAIT: Duration = Duration::from_secs(1);

/// What the sender of a message hears that waits for the person's word.
const ANSWERED_FOR_LONG: &str = "you and the other agent answered each other for long without \
    your operator: this waits until they write to either of you, or release it in the deck's Inbox";

impl Daemon {
    pub(super) fn send(&mut self, conn: ConnId, params: SendParams, reply: ReplySender) {
        let (to, runtime_session) = match self.receiver_of_message(conn, &params) {
            Ok(receiver) => receiver,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        let from = sender(params.from);
        let named = params.in_reply_to;
        let in_reply_to = named.clone().or_else(|| {
            turns_message(
                &self.agents.codex,
                params.turn_id.as_deref(),
                &runtime_session,
            )
        });
        let entry = self.base.recorder.entry(
            from,
            Some(to.into()),
            EntryKind::Message(Message {
                require_reply: params.require_reply,
                handles: params.handles,
                in_reply_to,
                ..Message::new(params.on_busy)
            }),
            params.text,
            Some(runtime_session),
        );
        let said_in = self
            .agents
            .said_in(params.from, params.turn_id, &entry, named.as_ref());
        self.dispatch(entry, to, params.on_busy, said_in, reply);
    }

    pub(super) fn hand_off(&mut self, conn: ConnId, params: HandoffParams, reply: ReplySender) {
        let (to, runtime_session) = match self.receiver_of_handoff(conn, &params) {
            Ok(receiver) => receiver,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        let from = sender(params.from);
        let ask = Ask::new(from.clone(), to, runtime_session.clone(), &params.ask);
        let handed_over = params.task.filter(|_| params.from.is_none());
        let mut entry = self.base.recorder.entry(
            from,
            Some(to.into()),
            EntryKind::Handoff(Handoff {
                reason: params.reason,
                context_refs: params.context_refs,
                on_busy: params.on_busy,
                handles: params.handles,
            }),
            params.ask,
            Some(runtime_session),
        );
        if let Some(task) = handed_over {
            // It is no work of the current one. What no task of this record is belongs to none.
            match self.base.recorder.world().tasks.contains_key(&task) {
                true => entry.meta.insert(TASK.to_owned(), task.as_str().into()),
                false => entry.meta.shift_remove(TASK),
            };
        }
        let now_ms = self.base.clock.now_ms();
        self.deliveries
            .forget_handoffs_that_are_over(&self.base, &self.agents.claude);
        match self.deliveries.handoff_dedup.ask(ask, &entry.id, now_ms) {
            Admission::New => {}
            Admission::Undecided(first) => return self.deliveries.handoff_dedup.wait(first, reply),
            Admission::Same(first) => {
                return answer(reply, self.sent_before(first).map(Reply::Sent));
            }
        }
        let said_in = self
            .agents
            .said_in(params.from, params.turn_id, &entry, None);
        self.dispatch(entry, to, params.on_busy, said_in, reply);
    }

    /// Whom a message is for, and of which pair it is. Refuses what cannot be sent.
    fn receiver_of_message(
        &self,
        conn: ConnId,
        params: &SendParams,
    ) -> Result<(Agent, RuntimeSession), Refusal> {
        let named = params.in_reply_to.as_ref();
        let sent = PairAsked {
            from: params.from,
            to: params.to,
            named: params.runtime_session_id.clone(),
            answers: named.into_iter().chain(&params.handles).collect(),
            turn: params.turn_id.as_deref(),
        };
        let pair = self.agents.pair_to_send_to(&self.base, conn, sent)?;
        let to = receiver(params.from, params.to)?;
        check_text("text", &params.text)?;
        check_handles(&self.base.recorder, &params.handles)?;
        check_reply(&self.base.recorder, params.from, &pair, named)?;
        self.deliveries.room(to)?;
        Ok((to, pair))
    }

    /// The same of a handoff.
    fn receiver_of_handoff(
        &self,
        conn: ConnId,
        params: &HandoffParams,
    ) -> Result<(Agent, RuntimeSession), Refusal> {
        let to = receiver(params.from, params.to)?;
        check_text("ask", &params.ask)?;
        check_together(params)?;
        check_handles(&self.base.recorder, &params.handles)?;
        self.deliveries.room(to)?;
        let sent = PairAsked {
            from: params.from,
            to: params.to,
            named: params.runtime_session_id.clone(),
            answers: params.handles.iter().collect(),
            turn: params.turn_id.as_deref(),
        };
        let pair = self.agents.pair_to_send_to(&self.base, conn, sent)?;
        Ok((to, pair))
    }

    /// Records a message and answers. `said_in`: the turn of Codex whose tool said it, and whether
    /// that settles the turn.
    fn dispatch(
        &mut self,
        mut entry: Entry,
        to: Agent,
        on_busy: OnBusy,
        said_in: Option<(TurnId, bool)>,
        reply: ReplySender,
    ) {
        let _following = trace::message(&entry.id).entered();
        tracing::debug!(from = %entry.source, %to, ?on_busy, "to be recorded");
        note_head(&self.base.commit, &mut entry);
        let pair = entry.pair();
        let from = entry.source.clone();
        let id = entry.id.clone();
        let rejected =
            on_busy == OnBusy::Reject && !self.agents.may_take_at_once(&self.base, to, &pair);
        if let Some((turn, true)) = said_in.as_ref().filter(|_| !rejected) {
            let turn = turn.as_str().into();
            entry.meta.insert(ANSWERED_TURN.to_owned(), turn);
        }
        let mut entries = vec![entry];
        if rejected {
            let result = DeliveryResult::Rejected;
            entries.push(self.deliveries.settled_entry(&self.base, &id, to, result));
        } else if to == Agent::Claude && !self.deliveries.may_be_held(&self.base, &from, &pair) {
            self.deliveries
                .store_ahead(&self.base, &self.agents.claude, &id, &pair, on_busy);
        }
        self.base.recorder.append(
            entries,
            Box::new(move |daemon, result| {
                let stored = match result {
                    Ok(stored) => stored,
                    Err(refusal) => {
                        daemon.deliveries.outbox.not_recorded(&id);
                        daemon.deliveries.handoff_dedup.decided(&id, Err(refusal));
                        return answer(reply, Err(refusal.clone()));
                    }
                };
                if let Some((turn, true)) = said_in.as_ref().filter(|_| !rejected) {
                    // What was refused answers nobody: the turn's last words still do.
                    daemon.agents.codex.answered_by_tool(turn, pair.clone());
                }
                let question = said_in
                    .as_ref()
                    .and_then(|(turn, _)| daemon.agents.codex.question_of(turn));
                let world = daemon.base.recorder.world();
                let mut sent = Sent {
                    message_id: id.clone(),
                    delivery_attempt_id: None,
                    outcome: Outcome::QueuedForNextTurn,
                    seq: stored[0].entry.seq,
                    duplicate: false,
                    receiver_missing: is_missing(&daemon.base.programs, world, to),
                    waits_for_human: daemon.agents.waits_for_human(&daemon.base, to, &pair),
                    unanswered: unanswered_by(
                        world,
                        &from,
                        &pair,
                        question.map(|question| &question.id),
                    ),
                };
                if rejected {
                    sent.outcome = Outcome::Rejected;
                    daemon.deliveries.handoff_dedup.decided(&id, Ok(&sent));
                    // Sent again it is another try, and not the one that was refused.
                    daemon.deliveries.handoff_dedup.forget(&id);
                    return answer(reply, Ok(Reply::Sent(sent)));
                }
                daemon.deliveries.handoff_dedup.decided(&id, Ok(&sent));
                track(&daemon.base, &mut daemon.deliveries.outbox, &id);
                if daemon.deliveries.outbox.backlog().is_kept_back(&id) {
                    sent.waits_for_human = Some(ANSWERED_FOR_LONG.to_owned());
                }
                match to {
                    Agent::Codex if daemon.agents.codex.may_deliver_soon(on_busy) => {
                        daemon.deliveries.wait(
                            &mut daemon.base,
                            Waiter {
                                deadline: Instant::now() + RECEIPT_WAIT,
                                wants: Wants::Receipt(sent),
                                reply,
                            },
                        );
                    }
                    Agent::Codex => {
                        daemon.base.later.promised(id);
                        answer(reply, Ok(Reply::Sent(sent)));
                    }
                    Agent::Claude => answer(reply, Ok(Reply::Sent(sent))),
                }
                // What is news to the lanes they are told behind this: see `recording`.
            }),
        );
    }

    /// What the sender of a repeated handoff hears of the first one.
    fn sent_before(&self, first: EntryId) -> Result<Sent, Refusal> {
        let seq = self.base.recorder.seq_of(&first);
        let seq = seq.map_err(|error| unreadable(&error))?.ok_or_else(|| {
            Refusal::new(
                RefusalCode::NotFound,
                format!("the same handoff was recorded as {first}, which is not in this session"),
                "say it in other words",
            )
        })?;
        let row = self.deliveries.outbox.get(&first);
        Ok(Sent {
            delivery_attempt_id: row.and_then(|row| row.attempt.clone()),
            outcome: self
                .agents
                .codex
                .receipt(&first)
                .unwrap_or(Outcome::QueuedForNextTurn),
            message_id: first,
            seq,
            duplicate: true,
            receiver_missing: row.is_some_and(|row| {
                is_missing(&self.base.programs, self.base.recorder.world(), row.to)
            }),
            waits_for_human: row.and_then(|row| {
                let pair = &row.runtime_session;
                self.agents.waits_for_human(&self.base, row.to, pair)
            }),
            unanswered: Vec::new(),
        })
    }
}

impl Agents {
    fn pair_to_send_to(
        &self,
        base: &Base,
        conn: ConnId,
        sent: PairAsked,
    ) -> Result<RuntimeSession, Refusal> {
        pair_to_send_to(
            &base.clients,
            &self.claude,
            &self.codex,
            &base.recorder,
            conn,
            sent,
        )
    }

    /// The turn of Codex whose tool says this, and whether that settles the turn. `named`: what the
    /// call says it answers.
    fn said_in(
        &self,
        from: Option<Agent>,
        turn: Option<String>,
        entry: &Entry,
        named: Option<&EntryId>,
    ) -> Option<(TurnId, bool)> {
        let turn = turn_of_call(&self.codex, from, turn)?;
        let settles = settles_turn(&self.codex, entry, named, &turn);
        Some((turn, settles))
    }

    /// Whether no turn of an agent runs or waits for the person, of Claude's that of a pair, and
    /// nothing else keeps a message from it that is known to last.
    fn may_take_at_once(&self, base: &Base, agent: Agent, pair: &RuntimeSession) -> bool {
        match agent {
            Agent::Codex => self.codex.may_deliver_soon(OnBusy::Reject),
            Agent::Claude => {
                let claude = base.recorder.world().agent(Agent::Claude).status(pair);
                !matches!(claude.state, AgentState::Busy | AgentState::Waiting)
            }
        }
    }

    /// What a sender should know of a receiver that its human stopped, or cut off from its tools; of
    /// Claudes that of a pair.
    fn waits_for_human(&self, base: &Base, to: Agent, pair: &RuntimeSession) -> Option<String> {
        match to {
            Agent::Codex => self.codex.is_paused().then(|| {
                "your operator stopped Codex's turn (Esc or Ctrl-C): this waits until they write \
                 to Codex, or release it in the deck's Inbox"
                    .to_owned()
            }),
            Agent::Claude => tools::gone(&base.clients, &self.claude_processes, Some(pair))
                .or_else(|| self.nothing_wakes_claude(base, pair))
                .map(|why| format!("{why}; tell your operator")),
        }
    }
}

impl Deliveries {
    fn room(&self, to: Agent) -> Result<(), Refusal> {
        if self.outbox.has_room(to) {
            Ok(())
        } else {
            Err(Refusal::new(
                RefusalCode::QueueFull,
                format!(
                    "{} messages wait for {}",
                    crate::daemon::deliveries::outbox::LANE_MAX,
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
        (Some(from), Some(to)) if from == to => Err(Refusal::invalid(
            "an agent cannot send to itself",
            "use `append_note` to remember something",
        )),
        (_, Some(to)) => Ok(to),
        (None, None) => Err(Refusal::invalid(
            "no receiver is named",
            "say `claude` or `codex`",
        )),
    }
}
