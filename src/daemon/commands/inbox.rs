//! Reading, fetching and acknowledging what waits for an agent.

use std::time::Duration;

use tokio::time::Instant;

use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryFact, DeliveryState};
use crate::core::entry::{DeliveryResult, Entry};
use crate::core::id::{EntryId, Seq};
use crate::daemon::attach::ConnId;
use crate::daemon::event::Answer;
use crate::daemon::inbox::{Query, Waiter, Wants};
use crate::daemon::run::{Daemon, answer, now_ms};
use crate::wire::control::{
    GetMessagesParams, IdsParams, MessagePage, Refusal, Reply, WaitMessagesParams,
};

/// The longest wait, in ms: Claude's own tool timeout can be as short as a minute.
const WAIT_MS_MAX: u64 = 50_000;

impl Daemon {
    pub(super) fn get_messages(&mut self, conn: ConnId, params: GetMessagesParams, reply: Answer) {
        if params.ack.is_empty() {
            let page = self.page_for(conn, &params);
            return self.answer_page(reply, page);
        }
        let (ids, entries) = self.acknowledge(params.agent, &params.ack);
        let agent = params.agent;
        let done = move |daemon: &mut Self, reply: Answer| {
            for id in &ids {
                daemon.outbox.settle(id);
            }
            let page = MessagePage {
                acked: ids,
                ..daemon.page_for(conn, &params)
            };
            daemon.answer_page(reply, page);
        };
        tracing::debug!(%agent, "acknowledged with a fetch");
        if entries.is_empty() {
            return done(self, reply);
        }
        self.record(
            entries,
            Box::new(move |daemon, result| match result {
                Ok(_) => done(daemon, reply),
                Err(refusal) => answer(reply, Err(refusal.clone())),
            }),
        );
    }

    fn page_for(&self, conn: ConnId, params: &GetMessagesParams) -> MessagePage {
        let runtime_session = self.runtime_session(conn, params.runtime_session_id.clone());
        self.inbox(&Query {
            agent: params.agent,
            runtime_session: &runtime_session,
            after: self.place(params.after),
            reply_to: None,
            limit: params.limit,
            unasked: false,
        })
    }

    pub(super) fn wait_messages(
        &mut self,
        conn: ConnId,
        params: WaitMessagesParams,
        reply: Answer,
    ) {
        let wait = Duration::from_millis(params.timeout_ms.min(WAIT_MS_MAX));
        let runtime_session = self.runtime_session(conn, params.runtime_session_id);
        self.waiters.push(Waiter {
            deadline: Instant::now() + wait,
            wants: Wants::Messages {
                agent: params.agent,
                runtime_session,
                after: self.place(params.after),
                reply_to: params.reply_to,
            },
            reply,
        });
        self.answer_waiters();
    }

    /// A cursor of this session. One that stands behind its end is of a session that was cleared,
    /// and would hide everything that has come since.
    fn place(&self, after: Option<Seq>) -> Option<Seq> {
        after.filter(|after| *after <= self.world.seq)
    }

    /// These bodies were handed to the agent: that proves them delivered.
    pub(super) fn fetched(&mut self, params: IdsParams, reply: Answer) {
        let rung = params.rung.as_deref().unwrap_or("pull");
        if params.agent == Agent::Claude && self.silences.is_on(Agent::Claude) {
            self.limits.claude_was_given(&params.ids);
        }
        let mut entries = Vec::new();
        for id in &params.ids {
            let unproven = self
                .outbox
                .get(id)
                .is_some_and(|row| row.to == params.agent && row.state != DeliveryState::Confirmed);
            if unproven {
                entries.push(self.delivery_entry(
                    id,
                    params.agent,
                    DeliveryResult::Confirmed,
                    Some(rung),
                    None,
                ));
            }
        }
        if entries.is_empty() {
            return answer(reply, Ok(Reply::Done));
        }
        let ids = params.ids;
        self.record(
            entries,
            Box::new(move |daemon, result| {
                if let Err(refusal) = result {
                    return answer(reply, Err(refusal.clone()));
                }
                for id in ids {
                    daemon.result_is_durable(id, DeliveryResult::Confirmed);
                }
                answer(reply, Ok(Reply::Done));
            }),
        );
    }

    pub(super) fn ack(&mut self, params: IdsParams, reply: Answer) {
        let (ids, entries) = self.acknowledge(params.agent, &params.ids);
        if entries.is_empty() {
            return answer(reply, Ok(Reply::Acked(ids)));
        }
        self.record(
            entries,
            Box::new(move |daemon, result| match result {
                Ok(_) => {
                    for id in &ids {
                        daemon.outbox.settle(id);
                    }
                    answer(reply, Ok(Reply::Acked(ids)));
                }
                Err(refusal) => answer(reply, Err(refusal.clone())),
            }),
        );
    }

    /// Which of these are the agent's to acknowledge, and the entries that say so.
    fn acknowledge(&self, agent: Agent, ids: &[EntryId]) -> (Vec<EntryId>, Vec<Entry>) {
        ids.iter()
            .filter(|id| self.outbox.get(id).is_some_and(|row| row.to == agent))
            .map(|id| {
                let entry =
                    self.delivery_entry(id, agent, DeliveryResult::Acknowledged, None, None);
                (id.clone(), entry)
            })
            .unzip()
    }

    /// Takes a delivery fact in; a failing `queue.db` is said to whoever asked.
    pub(in crate::daemon) fn apply(
        &mut self,
        id: &EntryId,
        fact: DeliveryFact,
    ) -> Result<bool, Refusal> {
        let applied = self.outbox.apply(id, fact, now_ms());
        self.queue_written(applied)
    }
}
