//! Sends messages again whose turn ended early.

use crate::adapters::claude::transcript::BlockedPrompt;
use crate::core::agent::Agent;
use crate::core::delivery::{ClaudeInput, DeliveryEffect, DeliveryState, LaterInput};
use crate::core::entry::{DeliveryResult, Entry};
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::event::ClaudeSpoke;
use crate::daemon::owners::continuation::Then;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::wire::control::Refusal;

/// How long the hooks of a prompt run at most before one of them blocks it, ms.
const HOOKS_RUN_MS: i64 = 60_000;

/// How long after that ours may still hand over, ms: it is not waited for (2.1.330, observed). It takes
/// 1.5 s at most.
const HANDED_AFTER_MS: i64 = 1_500;

/// How long after that the record may have that it did, ms: where the disk is slow.
const RECORDED_AFTER_MS: i64 = 10_000;

impl Daemon {
    /// What Claude's transcript says was read: what a prompt had that another hook blocked is given once
    /// more, and what a turn had that came to its end is settled.
    pub(in crate::daemon) fn turn_was_read(&mut self, spoke: &ClaudeSpoke) {
        let (mut blocked, mut effects) = (Vec::new(), Vec::new());
        for prompt in &spoke.blocked {
            let base = &mut self.base;
            let (ids, told) = self.deliveries.prompt_was_blocked(base, spoke, *prompt);
            blocked.extend(ids);
            effects.extend(told);
        }
        if spoke.is_over {
            let mut had = self.agents.spoken.ended().end_was_read(&spoke.pair);
            had.retain(|id| !blocked.contains(id));
            effects.extend(self.deliveries.outbox.were_read(&had));
        }
        // A row that cannot be written has been told to the operator.
        let _ = self.perform(Agent::Claude, effects);
    }

    /// What Claude said could not be read. The turn that `ended` with it came to its end all the
    /// same; a reading behind this one reads that too, and what the turn had waits for it.
    pub(in crate::daemon) fn words_were_not_read(&mut self, ended: Option<RuntimeSession>) {
        self.agents.spoken.was_read();
        let Some(pair) = ended else {
            return;
        };
        let had = self.agents.spoken.ended().end_was_read(&pair);
        let effects = self.deliveries.outbox.were_read(&had);
        let _ = self.perform(Agent::Claude, effects);
    }
}

impl Deliveries {
    /// The messages whose turn ended early, oldest first.
    pub(in crate::daemon) fn cut_off(
        &self,
        base: &Base,
        claude: &ClaudeLane,
        agent: Agent,
    ) -> Vec<EntryId> {
        match agent {
            Agent::Codex => {
                let mut cut_off: Vec<_> = base.recorder.world().cut_off.iter().collect();
                cut_off.sort_by_key(|(_, message)| message.seq);
                cut_off.into_iter().map(|(id, _)| id.clone()).collect()
            }
            Agent::Claude => {
                let mut ids = claude.cut_off();
                let lost = self.outbox.backlog().lost_turns();
                ids.extend(lost.filter(|id| !ids.contains(id)).collect::<Vec<_>>());
                self.can_be_sent_again(base, agent, ids)
            }
        }
    }

    /// As [`HandoffDedup::forget_what_is_over`](crate::daemon::deliveries::handoff_dedup::HandoffDedup).
    pub(in crate::daemon) fn forget_handoffs_that_are_over(
        &mut self,
        base: &Base,
        claude: &ClaudeLane,
    ) {
        let cut_off = self.cut_off(base, claude, Agent::Claude);
        let world = base.recorder.world();
        self.handoff_dedup.forget_what_is_over(world, &cut_off);
    }

    /// What is settled for good, or on its way already, cannot; nor what is being settled.
    pub(in crate::daemon) fn can_be_sent_again(
        &self,
        base: &Base,
        agent: Agent,
        ids: Vec<EntryId>,
    ) -> Vec<EntryId> {
        let can = |id: &EntryId| match agent {
            Agent::Codex => base.recorder.world().cut_off.contains_key(id),
            Agent::Claude => {
                let row = self.outbox.get(id);
                row.is_some_and(|row| row.state == DeliveryState::Confirmed)
                    && !self.outbox.backlog().is_recording(id)
            }
        };
        ids.into_iter().filter(can).collect()
    }

    /// Another hook blocked a prompt of this pair's Claude at this time, and what hooks of ours added to
    /// it does not stand in its transcript: no model has it. What that is is given once more; what was
    /// blocked before stays for the operator to send again. Which they are, and what is to be done.
    #[must_use]
    fn prompt_was_blocked(
        &mut self,
        base: &mut Base,
        spoke: &ClaudeSpoke,
        prompt: BlockedPrompt,
    ) -> (Vec<EntryId>, Vec<DeliveryEffect>) {
        let at_ms = base.clock.of_wall(prompt.at_ms);
        // At the end of a turn what came last may not stand in the transcript yet.
        let until_ms = if prompt.is_again {
            at_ms.saturating_add(HANDED_AFTER_MS)
        } else {
            at_ms.saturating_add(RECORDED_AFTER_MS).min(spoke.at_ms)
        };
        let added = at_ms.saturating_sub(HOOKS_RUN_MS)..=until_ms;
        let lane = self.outbox.backlog().of_pair(&spoke.pair);
        // What a prompt had that was not blocked stands in the transcript, also if its person stopped it.
        let lost = lane.filter(|row| row.in_turn && added.contains(&row.changed_ms));
        let lost = lost.filter(|row| !spoke.given.contains(&row.id));
        // What was given once more for that may not stand there yet.
        let is_judged = |id: &EntryId| prompt.is_again && self.blocked_once.is_known(id);
        let lost = lost.filter(|row| !is_judged(&row.id));
        let lost = lost.map(|row| row.id.clone()).collect();
        let lost = self.can_be_sent_again(base, Agent::Claude, lost);
        // The end of a turn that comes before the record has it settles nothing.
        let effects = self.outbox.left_unread(&lost);
        let first = |id: &&EntryId| self.blocked_once.is_first(id);
        let once_more: Vec<_> = lost.iter().filter(first).cloned().collect();
        if !once_more.is_empty() {
            let why = "another hook blocked the prompt that it came with";
            self.send_again(base, Agent::Claude, once_more, why, |_| {});
        }
        (lost, effects)
    }

    /// Records that these are sent again, and has them sent.
    pub(in crate::daemon) fn send_again(
        &mut self,
        base: &mut Base,
        agent: Agent,
        ids: Vec<EntryId>,
        why: &'static str,
        then: impl FnOnce(&mut Daemon) + Send + 'static,
    ) {
        // The row that it had is gone for good before it is to have another one: brought back by a
        // loss of power, it would tell of the attempt before this one. A failing queue is told, and
        // the next row cannot be written then either.
        let given = self.outbox.sync();
        // A refusal has been said to the operator.
        let _ = self.rows_given(base, &[agent], given);
        let record = move |daemon: &mut Daemon, _: Result<(), &Refusal>| {
            // Meanwhile its receiver may have said that it is done with one.
            let ids = daemon
                .deliveries
                .can_be_sent_again(&daemon.base, agent, ids);
            daemon
                .deliveries
                .append_sent_again(&mut daemon.base, agent, ids, why, then);
        };
        self.held.when_stored(agent, Box::new(record));
    }

    fn append_sent_again(
        &mut self,
        base: &mut Base,
        agent: Agent,
        ids: Vec<EntryId>,
        why: &str,
        then: impl FnOnce(&mut Daemon) + Send + 'static,
    ) {
        if ids.is_empty() {
            let then = move |daemon: &mut Daemon, _: Result<(), &Refusal>| then(daemon);
            return self.held.go_on(Box::new(then), Ok(()));
        }
        let entries: Vec<Entry> = ids
            .iter()
            .map(|id| Entry {
                content: why.to_owned(),
                ..self.settled_entry(base, id, agent, DeliveryResult::Requeued)
            })
            .collect();
        let then: Then = Box::new(move |daemon, result| {
            if daemon.base.operations.fault().is_some() {
                return;
            }
            // Given up for good they stay without their turn, and hold nothing up. Their senders were
            // told nothing because they were to be sent again.
            if result.is_err() {
                daemon.base.tell_nothing_came(&ids);
            }
            for id in result.map_or_else(|_| Vec::new(), |_| ids) {
                let message = daemon.base.recorder.world().unsettled.get(&id).cloned();
                if let Some(message) =
                    message.filter(|_| daemon.deliveries.outbox.get(&id).is_none())
                {
                    let now_ms = daemon.base.clock.now_ms();
                    let outbox = &mut daemon.deliveries.outbox;
                    outbox.track_again(id.clone(), &message, now_ms);
                }
                daemon.claudes_hear(&ClaudeInput::SentAgain { id: id.clone() });
                daemon.result_is_durable(id, DeliveryResult::Requeued);
            }
            then(daemon);
            daemon.base.later.push(LaterInput::News);
        });
        base.recorder.keep_then(entries, then);
    }
}
