//! Carries out the effects of the delivery machines, in their order.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::DeliveryEffect;
use crate::core::entry::{DeliveryResult, Entry, EntryKind, LifecycleEvent};
use crate::core::id::{EntryId, TurnId};
use crate::daemon::agents::codex_lane::{CodexNews, NotAsked};
use crate::daemon::base::clock::now_ms;
use crate::daemon::decisions::decision_messages::track_told;
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::wire::control::Refusal;

impl Daemon {
    /// Does what the machine of one agent wants, in its order. A byte leaves only after the rows
    /// before it are written, which is waited for beside the loop; see [`Self::let_leave`].
    ///
    /// # Errors
    ///
    /// When the rows are not taken; nothing leaves after them.
    pub(in crate::daemon) fn perform(
        &mut self,
        agent: Agent,
        effects: Vec<DeliveryEffect>,
    ) -> Result<(), Refusal> {
        let stored = self.deliveries.store_rows(&mut self.base, agent, &effects);
        let mut effects = effects.into_iter().peekable();
        while let Some(effect) = effects.next() {
            match effect {
                DeliveryEffect::Store(_) => {}
                DeliveryEffect::DeliverToAdapter { .. } | DeliveryEffect::Push { .. } => {
                    match &stored {
                        Ok(()) => self.let_leave(agent, effect),
                        Err(_) => self.does_not_leave(&effect),
                    }
                }
                DeliveryEffect::Forget(id) => self.deliveries.outbox.forget(&id),
                DeliveryEffect::Append { .. } => {
                    let (mut next, mut results) = (Some(effect), Vec::new());
                    while let Some(DeliveryEffect::Append {
                        id,
                        to,
                        result,
                        rung,
                        turn,
                    }) = next
                    {
                        let entry = self
                            .deliveries
                            .decided_entry(&self.base, &id, to, result, rung, turn);
                        results.push((id, result, entry));
                        next =
                            effects.next_if(|next| matches!(next, DeliveryEffect::Append { .. }));
                    }
                    self.base.append_results(results);
                }
                DeliveryEffect::Recover(ids) => {
                    let messages = ids.iter().map(|id| self.deliveries.outbox.attempted(id));
                    told_adapter(self.agents.codex.recover(messages.collect()));
                }
                DeliveryEffect::TakeBack(id) => told_adapter(self.agents.codex.take_back(id)),
                // What comes of it comes as facts.
                DeliveryEffect::Wake => told_adapter(self.agents.codex.ensure().map(drop)),
                // The lane remembers it.
                DeliveryEffect::Receipt { .. } => {}
                DeliveryEffect::CutOff { id, turn } => self.base.note_cut_off(&id, &turn),
                DeliveryEffect::Limit(limited) if agent == Agent::Codex => {
                    self.agents.note_limit(&mut self.base, limited)
                }
                // Claude's own hook has said it already.
                DeliveryEffect::Limit(_) => self.base.clients.status_changed(),
                // The lane says so itself.
                DeliveryEffect::Paused(_) => self.base.clients.status_changed(),
                DeliveryEffect::Stale { what, of, current } => {
                    tracing::info!(
                        what,
                        of,
                        current,
                        "refused a fact of something that is gone"
                    );
                }
                DeliveryEffect::Ring { bell, ids, asks } => self.deliveries.ring(
                    &mut self.base,
                    &self.agents.claude_processes,
                    bell,
                    ids,
                    asks,
                ),
                DeliveryEffect::ReleaseQueue => told_adapter(self.agents.codex.release_queue()),
            }
        }
        stored
    }
}

impl Base {
    /// Appends what became of messages, in one step. While the disk refuses it is kept.
    fn append_results(&mut self, results: Vec<(EntryId, DeliveryResult, Entry)>) {
        let (facts, entries): (Vec<_>, Vec<_>) = results
            .into_iter()
            .map(|(id, result, entry)| ((id, result), entry))
            .unzip();
        // What is rejected as asked its sender hears from the call that sent it.
        let is_news = |entry: &&Entry| match &entry.kind {
            EntryKind::Delivery(record) => record.result != DeliveryResult::Rejected,
            _ => false,
        };
        let told = self.nothing_comes_of_ended(entries.iter().filter(is_news));
        self.recorder.keep_then(
            [entries, told].concat(),
            Box::new(move |daemon, result| {
                track_told(daemon, result);
                // Of what was given up the lanes hear by `fact_refused`.
                for (id, result) in result.map_or_else(|_| Vec::new(), |_| facts) {
                    daemon.result_is_durable(id, result);
                }
            }),
        );
    }

    fn note_cut_off(&mut self, id: &EntryId, turn: &TurnId) {
        let event = LifecycleEvent::DeliveryCutOff;
        self.recorder.keep(
            Party::System,
            event,
            format!(
                "turn {turn} ended before it was done with {id}: Codex has the message and does \
                 not get it again by itself"
            ),
        );
    }
}

impl Agents {
    fn note_limit(&self, base: &mut Base, limited: bool) {
        let news = match limited {
            true => CodexNews::LimitHit {
                until_ms: self.limits.codex_ends_ms(),
            },
            false => CodexNews::LimitOver { now_ms: now_ms() },
        };
        self.record_codex(base, news);
    }
}

/// The adapter that has ended, or is behind, is told of by its own facts.
fn told_adapter(asked: Result<(), NotAsked>) {
    if asked.is_err() {
        tracing::warn!("the Codex adapter takes no requests");
    }
}
