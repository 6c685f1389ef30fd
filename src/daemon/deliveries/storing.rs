//! How the loop waits for the rows of `queue.db`: they are written beside it, and a message leaves
//! only after the rows before it are on the disk.

use std::borrow::Cow;

use crate::core::agent::Agent;
use crate::core::delivery::{
    CodexInput, Delivery, DeliveryEffect, HeldEffect, HeldTooMuch, LaterInput, OnBusy, leaves,
    stays,
};
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::deliveries::bodies::ReadBodies;
use crate::daemon::fault::DaemonFault;
use crate::daemon::owners::continuation::ThenStored;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::store::queue::{QueueEvent, RowsNotTaken};
use crate::wire::control::{Refusal, RefusalCode};
use crate::wire::status::NoticeKey;

impl Deliveries {
    /// Has the rows written that effects are about: in one write, however many.
    ///
    /// # Errors
    ///
    /// When the writer does not take them; nothing may leave that follows.
    pub(in crate::daemon) fn store_rows(
        &mut self,
        base: &mut Base,
        agent: Agent,
        effects: &[DeliveryEffect],
    ) -> Result<(), Refusal> {
        let ids = effects.iter().filter_map(|effect| match effect {
            DeliveryEffect::Store(id) => Some(id),
            _ => None,
        });
        let given = self.outbox.store(ids, self.held.waits_for(agent));
        self.rows_given(base, &[agent], given)
    }

    /// Has the row of a message to Claude written while the message is being recorded, when it would
    /// be pushed at once. To be called before it is given to be recorded.
    pub(in crate::daemon) fn store_ahead(
        &mut self,
        base: &Base,
        claude: &ClaudeLane,
        id: &EntryId,
        pair: &RuntimeSession,
        on_busy: OnBusy,
    ) {
        let at = base.clock.moment();
        // Its place is that of the record, which a start goes by as well.
        let (seq, to) = (base.recorder.world().seq, Agent::Claude);
        let row = Delivery::recorded(id.clone(), seq, to, pair.clone(), on_busy, at.now_ms);
        let ladder = claude.ladder(pair);
        if let Some(row) = ladder.and_then(|ladder| ladder.row_ahead(row, &at)) {
            self.outbox.store_ahead(row);
        }
    }

    /// The writer was given rows, or did not take them. What these lanes do from now on waits for
    /// them.
    ///
    /// # Errors
    ///
    /// When it did not take them.
    pub(in crate::daemon) fn rows_given(
        &mut self,
        base: &mut Base,
        lanes: &[Agent],
        given: Result<Option<u64>, RowsNotTaken>,
    ) -> Result<(), Refusal> {
        match given {
            Ok(Some(token)) => {
                for agent in lanes {
                    self.held.begin(*agent, token);
                }
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(not_taken) => {
                if not_taken == RowsNotTaken::WriterGone {
                    base.operations.fail(DaemonFault::Queue);
                }
                Err(base.queue_refuses(&not_taken))
            }
        }
    }

    /// Has read what the first of a lane is given from; what comes behind it stays there. Always
    /// true.
    fn read_for_lane(
        &mut self,
        base: &Base,
        agent: Agent,
        id: &EntryId,
        effect: DeliveryEffect,
    ) -> bool {
        self.held.begin_read(agent);
        let read = ReadBodies::default();
        let orders = self.on_disk(base, [id], &read);
        let then = move |daemon: &mut Daemon, read| {
            let mut next = Some((HeldEffect::Leave(effect), read));
            while let Some((effect, read)) = next {
                if daemon.go_on_with(agent, effect, read) {
                    return;
                }
                let behind = daemon.deliveries.held.next_read(agent);
                next = behind.map(|effect| (effect, ReadBodies::default()));
            }
            daemon.release_codex();
        };
        self.read_bodies(base, orders, read, Box::new(then));
        true
    }
}

impl Daemon {
    /// Has a body leave behind the rows before it.
    pub(in crate::daemon) fn let_leave(&mut self, agent: Agent, effect: DeliveryEffect) {
        match self.deliveries.held.hold(agent, HeldEffect::Leave(effect)) {
            Ok(now) => {
                if let Some(effect) = now {
                    self.go_on(agent, effect);
                }
            }
            Err(effect) => self.stay(effect, &HeldTooMuch.into()),
        }
    }

    /// What the queue's writer says.
    pub(in crate::daemon) fn on_queue(&mut self, event: QueueEvent) {
        match event {
            QueueEvent::Durable { upto } => {
                self.deliveries.outbox.answered(upto);
                self.base.notice_over(&NoticeKey::Queue);
                while let Some((agent, effect)) = self.deliveries.held.next_durable(upto) {
                    self.go_on(agent, effect);
                }
            }
            QueueEvent::Failed { upto, error } => {
                self.deliveries.outbox.failed(upto);
                let refusal = self.base.queue_refuses(&error);
                for (_, effect) in self.deliveries.held.take_failed(upto) {
                    self.stay(effect, &refusal);
                }
            }
            QueueEvent::Gone => self.base.operations.fail(DaemonFault::Queue),
        }
    }

    /// The rows before it are on the disk.
    fn go_on(&mut self, agent: Agent, effect: HeldEffect<ThenStored>) {
        self.go_on_with(agent, effect, ReadBodies::default());
    }

    /// Goes on with what was read for it; whether something is to be read first. What is not wanted
    /// any more does not leave; see [`leaves`].
    fn go_on_with(
        &mut self,
        agent: Agent,
        effect: HeldEffect<ThenStored>,
        read: ReadBodies,
    ) -> bool {
        let effect = match effect {
            HeldEffect::Then(then) => {
                then(self, Ok(()));
                return false;
            }
            HeldEffect::Leave(effect) => effect,
        };
        let (backlog, flow) = (self.deliveries.outbox.backlog(), self.agents.codex.flow());
        let effect = match leaves(effect, backlog, flow, |pair| {
            self.agents.claude.ladder(pair)
        }) {
            Ok(effect) => effect,
            Err(told) => {
                self.base.later.extend(told);
                return false;
            }
        };
        let Some(id) = effect.leaves().cloned() else {
            return false;
        };
        let Ok(body) = self.deliveries.body(&self.base, &id, &read) else {
            return self
                .deliveries
                .read_for_lane(&self.base, agent, &id, effect);
        };
        let body = body.map(Cow::into_owned);
        match effect {
            DeliveryEffect::DeliverToAdapter {
                attempt,
                on_busy,
                repeat,
                ..
            } => self.deliver_to_adapter(id, attempt, on_busy, repeat, body),
            DeliveryEffect::Push { bridge, repeat, .. } => {
                self.deliveries
                    .push_to_claude(&mut self.base, bridge, id, repeat, body);
            }
            // Nothing else leaves.
            _ => {}
        }
        false
    }

    /// The rows before it could not be written: it does not leave, and who decided it hears so.
    fn stay(&mut self, effect: HeldEffect<ThenStored>, refusal: &Refusal) {
        match effect {
            HeldEffect::Then(then) => then(self, Err(refusal)),
            HeldEffect::Leave(effect) => self.does_not_leave(&effect),
        }
    }

    /// As [`Self::stay`], of what was not held.
    pub(in crate::daemon) fn does_not_leave(&mut self, effect: &DeliveryEffect) {
        let told = stays(effect, self.deliveries.outbox.backlog());
        if let Some(LaterInput::Codex(CodexInput::NotSent { .. })) = &told {
            self.agents
                .codex_trouble(&self.base, "the queue could not be written");
        }
        self.base.later.extend(told);
    }
}

impl Base {
    /// Rows cannot be written, which is said to the operator and to the caller.
    fn queue_refuses(&mut self, why: &dyn std::fmt::Display) -> Refusal {
        let refusal = Refusal::new(
            RefusalCode::QueueUnwritable,
            format!("the queue could not be written: {why}"),
            "nothing was sent; free space or make the project writable, it goes on by itself",
        );
        self.notice(NoticeKey::Queue, refusal.message.clone());
        refusal
    }
}
