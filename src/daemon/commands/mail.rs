//! Reading, fetching and acknowledging the messages that wait for an agent.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::checks::check_awaited;
use crate::core::agent::Agent;
use crate::core::delivery::{ClaudeInput, DeliveryWay, LadderInput};
use crate::core::entry::DeliveryResult;
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::attach::ConnId;
use crate::daemon::base::clients::{Waiter, Wants, When};
use crate::daemon::owners::{Daemon, Deliveries};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{
    AckedPartly, GetMessagesParams, IdsParams, Refusal, RefusalCode, Reply, WaitMessagesParams,
};

/// The longest wait, in ms: Claude's own tool timeout can be as short as a minute.
const WAIT_MS_MAX: u64 = 50_000;

impl Daemon {
    pub(super) fn get_messages(
        &mut self,
        conn: ConnId,
        params: GetMessagesParams,
        reply: ReplySender,
    ) {
        if self.answers_one_prompt(conn) {
            return answer(reply, Err(receives_nothing()));
        }
        let acked = self.acknowledge(conn, params.agent, &params.ack);
        let result = DeliveryResult::Acknowledged;
        let ids = acked.acked.clone();
        let when = When::Page {
            conn,
            params,
            acked,
        };
        self.answer_when_recorded(&ids, result, when, reply);
    }

    pub(super) fn wait_messages(
        &mut self,
        conn: ConnId,
        params: WaitMessagesParams,
        reply: ReplySender,
    ) {
        let asked = params.reply_to.as_ref();
        if asked.is_none() && self.answers_one_prompt(conn) {
            return answer(reply, Err(receives_nothing()));
        }
        let checked = asked.map(|id| check_awaited(&self.base.recorder, params.agent, id));
        let asked_at = match checked.transpose() {
            Ok(asked_at) => asked_at.flatten(),
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        if let Some(page) = asked.and_then(|id| self.base.ended_before(params.agent, id)) {
            return answer(reply, Ok(Reply::Messages(page)));
        }
        let wait = Duration::from_millis(params.timeout_ms.min(WAIT_MS_MAX));
        let runtime_session = self.base.clients.pair(conn, params.runtime_session_id);
        let after = self.base.place(params.after.as_ref()).cloned();
        self.deliveries.wait(
            &mut self.base,
            Waiter {
                deadline: Instant::now() + wait,
                wants: Wants::Messages {
                    agent: params.agent,
                    runtime_session,
                    after,
                    reply_to: params.reply_to,
                    asked_at,
                },
                reply,
            },
        );
        self.answer_waiters();
    }

    /// These bodies were handed to the agent: that proves them delivered.
    pub(super) fn fetched(&mut self, conn: ConnId, mut params: IdsParams, reply: ReplySender) {
        params.ids.retain(|id| self.is_its(conn, params.agent, id));
        if self.answers_one_prompt(conn) {
            self.base.clients.give_bodies(conn, &params.ids);
        }
        let rung = params.rung.unwrap_or(DeliveryWay::Pull);
        if params.agent == Agent::Claude {
            for (pair, ids) in self.deliveries.by_pair(&params.ids) {
                self.claude_hears(&pair, ClaudeInput::Given { ids });
            }
        }
        for id in &params.ids {
            self.deliveries
                .outbox
                .following(id)
                .in_scope(|| tracing::debug!(%rung, "proven"));
        }
        let result = DeliveryResult::Confirmed;
        match params.agent {
            Agent::Claude => self.tell_ladders_of(&params.ids, |ids| LadderInput::Proven {
                ids,
                rung: rung.clone(),
            }),
            Agent::Codex => self.codex_has(&params.ids, result, Some(rung)),
        }
        self.answer_when_recorded(&params.ids, result, When::Done, reply);
    }

    pub(super) fn ack(&mut self, conn: ConnId, params: IdsParams, reply: ReplySender) {
        let acked = self.acknowledge(conn, params.agent, &params.ids);
        let result = DeliveryResult::Acknowledged;
        self.answer_when_recorded(&acked.acked.clone(), result, When::Acked(acked), reply);
    }

    /// Records that these were read, as far as they are the agent's and were shown whole.
    fn acknowledge(&mut self, conn: ConnId, agent: Agent, ids: &[EntryId]) -> AckedPartly {
        let is_its = |id: &&EntryId| self.is_its(conn, agent, id);
        let mut ids: Vec<EntryId> = ids.iter().filter(is_its).cloned().collect();
        if self.answers_one_prompt(conn) {
            // The answers that it waited for. The rest waits for another Claude.
            ids = self.base.clients.bodies_done(conn, ids);
        }
        let backlog = self.deliveries.outbox.backlog();
        let (ids, unfinished): (Vec<EntryId>, Vec<EntryId>) = ids
            .into_iter()
            .partition(|id| backlog.can_be_acknowledged(id));
        for id in &ids {
            self.deliveries
                .outbox
                .following(id)
                .in_scope(|| tracing::debug!("acknowledged"));
        }
        match agent {
            Agent::Claude => self.tell_ladders_of(&ids, |ids| LadderInput::Acknowledged { ids }),
            Agent::Codex => self.codex_has(&ids, DeliveryResult::Acknowledged, None),
        }
        AckedPartly {
            acked: ids,
            unfinished,
        }
    }

    /// Whether a message is for the agent that this client is of: for the Claude of its pair, or for
    /// Codex, which is one for all pairs.
    fn is_its(&self, conn: ConnId, agent: Agent, id: &EntryId) -> bool {
        self.deliveries.outbox.get(id).is_some_and(|row| {
            let own = || self.base.clients.pair(conn, None);
            row.to == agent && (agent == Agent::Codex || row.runtime_session == own())
        })
    }

    /// Whether this client's Claude answers one prompt of a program.
    fn answers_one_prompt(&self, conn: ConnId) -> bool {
        let client = self.base.clients.get(conn);
        client.is_some_and(|client| client.hello.in_print_mode)
    }

    /// Tells the ladders of the pairs that these belong to, in their order.
    fn tell_ladders_of(&mut self, ids: &[EntryId], input: impl Fn(Vec<EntryId>) -> LadderInput) {
        for (pair, ids) in self.deliveries.by_pair(ids) {
            self.tell_ladder(&pair, input(ids));
        }
    }

    /// Codex asked by itself, which its lane did not see.
    fn codex_has(&mut self, ids: &[EntryId], result: DeliveryResult, rung: Option<DeliveryWay>) {
        let effects = self.deliveries.outbox.codex_has(ids, result, rung.as_ref());
        // Nothing of it leaves or is stored in the queue.
        let _ = self.perform(Agent::Codex, effects);
    }
}

/// What waits is not for a Claude that answers one prompt.
fn receives_nothing() -> Refusal {
    Refusal::new(
        RefusalCode::NotFromHere,
        "a Claude that answers one prompt receives no messages: they wait for the one in its terminal",
        "to wait for the answer to what you sent, call wait_for_messages with handoff_id",
    )
}

impl Deliveries {
    fn by_pair(&self, ids: &[EntryId]) -> BTreeMap<RuntimeSession, Vec<EntryId>> {
        let mut by_pair: BTreeMap<RuntimeSession, Vec<EntryId>> = BTreeMap::new();
        for id in ids {
            if let Some(pair) = self.outbox.pair_of(id) {
                by_pair.entry(pair).or_default().push(id.clone());
            }
        }
        by_pair
    }
}
