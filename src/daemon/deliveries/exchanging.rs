//! Two agents that answer each other without their person: messages beyond the limit wait until the
//! person speaks. The record holds the count (`core::snapshot::Exchange`), the backlog the
//! messages.

use std::collections::BTreeMap;

use crate::core::agent::Party;
use crate::core::delivery::Delivery;
use crate::core::entry::{Entry, LifecycleEvent};
use crate::core::id::RuntimeSession;
use crate::daemon::owners::{Base, Deliveries};
use crate::wire::status::ExchangeStatus;

impl Base {
    /// The person wrote into an agent's terminal. It is recorded where the agents have spoken with
    /// each other since they last did.
    pub(in crate::daemon) fn person_spoke(&mut self, pair: Option<&RuntimeSession>, said: &str) {
        if self.recorder.world().has_exchange(pair) {
            let entry = self.person_spoke_entry(Party::System, pair, said);
            self.recorder.keep_entry(entry);
        }
    }

    pub(in crate::daemon) fn person_spoke_entry(
        &self,
        by: Party,
        pair: Option<&RuntimeSession>,
        said: &str,
    ) -> Entry {
        let event = LifecycleEvent::PersonSpoke;
        self.recorder.entry(by, None, event, said, pair.cloned())
    }
}

impl Deliveries {
    /// The configuration says how often two agents may answer each other alone.
    pub(in crate::daemon) fn hold_answers(&mut self, base: &Base) {
        let max = base.configuration.answers_max();
        let now_ms = base.clock.now_ms();
        self.outbox.hold_answers(max, base.recorder.world(), now_ms);
    }

    /// Lets go what waited for the person's word. Whether what is held changed since it was `before`.
    pub(in crate::daemon) fn let_answers_go(&mut self, base: &Base, before: usize) -> bool {
        let now_ms = base.clock.now_ms();
        self.outbox.let_answers_go(base.recorder.world(), now_ms);
        self.held_answers() != before
    }

    /// Whether what an agent is about to say to the other one of its pair may have to wait for the
    /// person's word. What is being recorded before it may be answers too.
    pub(in crate::daemon) fn may_be_held(
        &self,
        base: &Base,
        from: &Party,
        pair: &RuntimeSession,
    ) -> bool {
        let recorded = u64::from(base.recorder.world().answers_of(pair));
        let answers = recorded + base.recorder.pending_count() as u64 + 1;
        let max = self.outbox.answers_max();
        from.agent().is_some() && max.is_some_and(|max| answers > u64::from(max))
    }

    /// How many messages wait for the person's word.
    pub(in crate::daemon) fn held_answers(&self) -> usize {
        self.outbox.backlog().kept_back().count()
    }

    /// What waits for the person's word, pair by pair.
    pub(in crate::daemon) fn exchanges(&self, base: &Base) -> Vec<ExchangeStatus> {
        let mut pairs: BTreeMap<&RuntimeSession, Vec<&Delivery>> = BTreeMap::new();
        for row in self.outbox.backlog().kept_back() {
            pairs.entry(&row.runtime_session).or_default().push(row);
        }
        let world = base.recorder.world();
        let told = pairs.into_iter().filter_map(|(pair, rows)| {
            let first = rows.iter().min_by_key(|row| row.seq)?;
            let is_first = *pair == RuntimeSession::default();
            let at = world.unsettled.get(&first.id).map_or(0, |it| it.at_ms);
            Some(ExchangeStatus {
                pair: (!is_first).then(|| pair.clone()),
                answers: self.outbox.answers_max().unwrap_or_default(),
                held: rows.len() as u64,
                message: first.id.clone(),
                to: first.to,
                at,
            })
        });
        told.collect()
    }
}
