//! Answers the calls that wait in [`Clients`](crate::daemon::base::clients::Clients): for messages,
//! for the outcome of one, for the record.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::attach::ConnId;
use super::owners::{Base, Daemon, Deliveries};
use super::reply::{ReplySender, answer, too_much};
use crate::core::agent::Agent;
use crate::core::delivery::{CodexInput, Delivery, LaterInput, MessageCursor, Outcome, page_order};
use crate::core::entry::DeliveryResult;
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::base::clients::{
    AckWaiter, Waiter, WaiterId, Wants, When, too_many_ack_waiters, too_many_waiters,
};
use crate::daemon::deliveries::bodies::{Body, BodyOrder, ReadBodies};
use crate::daemon::deliveries::envelope::answers;
use crate::daemon::deliveries::message_page::PageQuery;
use crate::wire::control::{
    AckedPartly, GetMessagesParams, MessagePage, Refusal, RefusalCode, Reply, Sent,
};
use crate::wire::json_size::json_chars;

/// How long a sender waits on while the record of what became of its message is written.
const RECORDED_IN: Duration = Duration::from_secs(1);

/// What there is for a call that waits.
enum WaiterFound {
    /// Its answer.
    Reply(Box<Reply>),
    /// It lies in the app-server's queue, behind the turn that waits.
    BehindItsTurn(EntryId),
}

impl Deliveries {
    /// Has somebody wait. With every place taken a call for messages is refused, and a sender
    /// hears at once what it would hear at its deadline: its message is recorded.
    pub(super) fn wait(&self, base: &mut Base, waiter: Waiter) {
        let Some(waiter) = base.clients.add_waiter(waiter) else {
            return;
        };
        match waiter.wants {
            Wants::Messages { .. } => answer(waiter.reply, Err(too_many_waiters())),
            Wants::Receipt(_) => self.answer_expired(base, waiter),
        }
    }

    fn page_for(
        &self,
        base: &Base,
        conn: ConnId,
        params: &GetMessagesParams,
        acked: &AckedPartly,
        read: &ReadBodies,
    ) -> Result<MessagePage, Vec<BodyOrder>> {
        let runtime_session = base.clients.pair(conn, params.runtime_session_id.clone());
        let query = PageQuery {
            agent: params.agent,
            runtime_session: &runtime_session,
            after: base.place(params.after.as_ref()),
            reply_to: None,
            asked_at: None,
            limit: params.limit,
            reserved: json_chars(&json!(acked)),
        };
        Ok(MessagePage {
            acked: acked.acked.clone(),
            unfinished: acked.unfinished.clone(),
            ..self.message_page(base, &query, read)?
        })
    }

    /// What lies in the app-server's queue, behind the turn that runs, and would answer a call of that
    /// turn.
    ///
    /// # Errors
    ///
    /// With what is to be read first.
    fn behind_its_turn(
        &self,
        base: &Base,
        codex: &CodexLane,
        query: &PageQuery<'_>,
        read: &ReadBodies,
    ) -> Result<Option<EntryId>, Vec<BodyOrder>> {
        let (start, backlog) = (MessageCursor::default(), self.outbox.backlog());
        let cursor = query.after.unwrap_or(&start);
        // Would be on the page, if it waited here.
        let is_on_page = |row: &Delivery| !page_order(&[row], cursor).0.is_empty();
        for id in codex.flow().to_ask_back(backlog) {
            if !self.outbox.get(id).is_some_and(is_on_page) {
                continue;
            }
            let Ok(body) = self.body(base, id, read) else {
                return Err(self.on_disk(base, std::iter::once(id), read));
            };
            let fits = |body: Cow<'_, Body>| {
                let question = query.reply_to;
                question.is_none_or(|question| answers(&body.stored.entry, question))
            };
            if body.is_some_and(fits) {
                return Ok(Some(id.clone()));
            }
        }
        Ok(None)
    }

    fn ready(
        &self,
        base: &Base,
        codex: &CodexLane,
        wants: &Wants,
        read: &ReadBodies,
    ) -> Result<Option<WaiterFound>, Vec<BodyOrder>> {
        Ok(match wants {
            Wants::Messages {
                agent,
                runtime_session,
                after,
                reply_to,
                asked_at,
            } => {
                let query = PageQuery {
                    agent: *agent,
                    runtime_session,
                    after: after.as_ref(),
                    reply_to: reply_to.as_ref(),
                    asked_at: *asked_at,
                    limit: None,
                    reserved: 0,
                };
                let page = self.message_page(base, &query, read)?;
                if !page.messages.is_empty() {
                    Some(WaiterFound::Reply(Box::new(Reply::Messages(page))))
                } else if *agent == Agent::Codex {
                    self.behind_its_turn(base, codex, &query, read)?
                        .map(WaiterFound::BehindItsTurn)
                } else {
                    None
                }
            }
            Wants::Receipt(sent) => codex.receipt(&sent.message_id).map(|outcome| {
                WaiterFound::Reply(Box::new(Reply::Sent(Sent {
                    outcome,
                    delivery_attempt_id: codex.last_attempt(&sent.message_id),
                    ..sent.clone()
                })))
            }),
        })
    }

    /// Answers the calls whose time is over.
    pub(super) fn expire_waiters(&self, base: &mut Base) {
        for waiter in base.clients.take_expired_waiters(Instant::now()) {
            self.answer_expired(base, waiter);
        }
    }

    fn answer_expired(&self, base: &mut Base, waiter: Waiter) {
        let reply = match waiter.wants {
            Wants::Messages {
                agent,
                runtime_session,
                ..
            } => Reply::Messages(self.nothing_yet(agent, &runtime_session)),
            Wants::Receipt(sent) if self.outbox.backlog().is_ending(&sent.message_id) => {
                // The record is about to say that nobody gets it: a slow disk makes no promise of it.
                let again = Waiter {
                    deadline: Instant::now() + RECORDED_IN,
                    wants: Wants::Receipt(sent.clone()),
                    reply: waiter.reply,
                };
                let Some(refused) = base.clients.add_waiter(again) else {
                    return;
                };
                let outcome = Outcome::Rejected;
                return answer(refused.reply, Ok(Reply::Sent(Sent { outcome, ..sent })));
            }
            Wants::Receipt(sent) => {
                let attempt = self
                    .outbox
                    .get(&sent.message_id)
                    .and_then(|row| row.attempt.clone());
                base.later.promised(sent.message_id.clone());
                Reply::Sent(Sent {
                    outcome: Outcome::QueuedForNextTurn,
                    delivery_attempt_id: attempt,
                    ..sent
                })
            }
        };
        answer(waiter.reply, Ok(reply));
    }

    /// The answer to a call that waited in vain.
    pub(super) fn nothing_yet(
        &self,
        agent: Agent,
        runtime_session: &RuntimeSession,
    ) -> MessagePage {
        MessagePage {
            messages: Vec::new(),
            unread: self.unread(agent, runtime_session),
            cursor: None,
            more: false,
            timed_out: true,
            ended: None,
            cut: false,
            acked: Vec::new(),
            unfinished: Vec::new(),
        }
    }
}

impl Daemon {
    /// As [`Self::answer_waiters`], of those that wait for messages of this agent.
    pub(super) fn answer_waiters_of(&mut self, agent: Agent) {
        let is_of_agent =
            |wants: &Wants| matches!(wants, Wants::Messages { agent: of, .. } if *of == agent);
        let mut last = None;
        while let Some(id) = self.base.clients.waiters().next_after(last) {
            last = Some(id);
            if self
                .base
                .clients
                .waiters()
                .wants(id)
                .is_some_and(is_of_agent)
            {
                self.look_at_waiter(id, ReadBodies::default());
            }
        }
    }

    /// Answers the calls that have something to get now. What one is given the next one may not
    /// get, so that each is looked at behind the answer of the one before.
    pub(super) fn answer_waiters(&mut self) {
        self.base.clients.forget_closed_waiters();
        let mut last = None;
        while let Some(id) = self.base.clients.waiters().next_after(last) {
            last = Some(id);
            self.look_at_waiter(id, ReadBodies::default());
        }
    }

    /// Answers one of them, if it has something to get. While it is being read what that is, the
    /// call is not looked at again.
    fn look_at_waiter(&mut self, id: WaiterId, read: ReadBodies) {
        let waiters = self.base.clients.waiters();
        let reply = match waiters.wants(id).map(|wants| {
            self.deliveries
                .ready(&self.base, &self.agents.codex, wants, &read)
        }) {
            Some(Ok(Some(WaiterFound::Reply(reply)))) => *reply,
            Some(Ok(Some(WaiterFound::BehindItsTurn(id)))) => {
                let awaited = CodexInput::Awaited { id };
                return self.base.later.push(LaterInput::Codex(awaited));
            }
            Some(Ok(None)) | None => return,
            // The call is looked at again once there is room.
            Some(Err(_)) if !self.deliveries.bodies.has_room() => {
                return self.deliveries.bodies.wait_for_room();
            }
            Some(Err(orders)) => {
                self.base.clients.begin_read(id);
                let then = move |daemon: &mut Self, read| {
                    daemon.base.clients.end_read(id);
                    daemon.look_at_waiter(id, read);
                };
                return self
                    .deliveries
                    .read_bodies(&self.base, orders, read, Box::new(then));
            }
        };
        let Some(waiter) = self.base.clients.take_waiter(id) else {
            return;
        };
        match (reply, waiter.wants) {
            (Reply::Messages(page), Wants::Messages { agent, .. }) => {
                self.answer_page(waiter.reply, page, agent);
            }
            (reply, _) => answer(waiter.reply, Ok(reply)),
        }
    }

    /// Answers with a page, once what it is made of was read.
    fn give_page(
        &mut self,
        conn: ConnId,
        params: GetMessagesParams,
        acked: AckedPartly,
        reply: ReplySender,
        read: ReadBodies,
    ) {
        match self
            .deliveries
            .page_for(&self.base, conn, &params, &acked, &read)
        {
            Ok(page) => self.answer_page(reply, page, params.agent),
            Err(_) if !self.deliveries.bodies.has_room() => {
                answer(
                    reply,
                    Err(too_much("too many messages are being read already")),
                );
            }
            Err(orders) => {
                let then = move |daemon: &mut Self, read| {
                    // Nothing is handed out to nobody.
                    if !reply.is_closed() {
                        daemon.give_page(conn, params, acked, reply, read);
                    }
                };
                self.deliveries
                    .read_bodies(&self.base, orders, read, Box::new(then));
            }
        }
    }

    /// Answers once the ledger has this result of these messages; at once when it is about none.
    pub(super) fn answer_when_recorded(
        &mut self,
        ids: &[EntryId],
        result: DeliveryResult,
        when: When,
        reply: ReplySender,
    ) {
        let waiter = AckWaiter { when, reply };
        let left: BTreeSet<EntryId> = ids
            .iter()
            .filter(|id| {
                self.deliveries
                    .outbox
                    .backlog()
                    .is_recording_result(id, result)
            })
            .cloned()
            .collect();
        if left.is_empty() {
            return self.answer_ack_waiter(waiter);
        }
        if self.base.recorder.is_read_only() {
            // Said again while the disk refuses: it is kept since the first time.
            return answer(waiter.reply, Err(unwritable()));
        }
        if let Some(waiter) = self.base.clients.add_ack_waiter(left, result, waiter) {
            answer(waiter.reply, Err(too_many_ack_waiters()));
        }
    }

    /// The ledger has it.
    pub(super) fn recorded_for_ack_waiters(&mut self, id: &EntryId, result: DeliveryResult) {
        for waiter in self.base.clients.take_ack_waiters_of(id, result) {
            self.answer_ack_waiter(waiter);
        }
    }

    fn answer_ack_waiter(&mut self, waiter: AckWaiter) {
        let AckWaiter { when, reply } = waiter;
        match when {
            When::Done => answer(reply, Ok(Reply::Done)),
            When::Acked(acked) if acked.unfinished.is_empty() => {
                answer(reply, Ok(Reply::Acked(acked.acked)));
            }
            When::Acked(acked) => answer(reply, Ok(Reply::AckedPartly(acked))),
            When::Page {
                conn,
                params,
                acked,
            } => self.give_page(conn, params, acked, reply, ReadBodies::default()),
        }
    }
}

impl Base {
    /// A cursor of this session. One that stands behind its end is of a session that was cleared,
    /// and would hide everything that has come since.
    pub(super) fn place<'a>(&self, after: Option<&'a MessageCursor>) -> Option<&'a MessageCursor> {
        after.filter(|place| {
            place.after.max(place.until.unwrap_or_default()) <= self.recorder.world().seq
        })
    }

    /// Senders that still wait for the outcome of these messages hear that they were taken back.
    pub(super) fn answer_receipts_of(&mut self, cancelled: &[EntryId]) {
        for (sent, reply) in self.clients.take_receipts_of(cancelled) {
            let sent = Sent {
                outcome: Outcome::Rejected,
                ..sent
            };
            answer(reply, Ok(Reply::Sent(sent)));
        }
    }

    /// The disk refuses for now. What was said is kept and written later; the caller goes on.
    pub(super) fn refuse_ack_waiters(&mut self, ids: &[EntryId], refusal: &Refusal) {
        for waiter in self.clients.take_refused_ack_waiters(ids) {
            answer(waiter.reply, Err(refusal.clone()));
        }
    }
}

/// What was said is kept, and not recorded yet.
pub(super) fn unwritable() -> Refusal {
    Refusal::new(
        RefusalCode::LedgerUnwritable,
        "the record cannot be written now",
        "what you said is kept and recorded once it can be; go on",
    )
}
