//! [`Outbox`]: every message that is not settled, with its row in `queue.db` once an attempt
//! was made.
//!
//! A message without a row was certainly never attempted: the row is durable before the first
//! byte leaves. So the queue can be rebuilt from the ledger, and when `queue.db` is lost, what
//! the ledger holds unproven becomes ambiguous instead of being sent again.

use std::collections::BTreeMap;

use crate::core::agent::Agent;
use crate::core::delivery::{Delivery, DeliveryFact, DeliveryState};
use crate::core::entry::DeliveryResult;
use crate::core::id::{EntryId, Seq};
use crate::core::snapshot::{MessageSnapshot, Snapshot};
use crate::store::queue::{Queue, QueueError};

/// How many unsettled messages one receiver may have; the next send is refused. Generous: a
/// person reads far fewer, and each costs a few hundred bytes.
pub const LANE_MAX: usize = 10_000;

/// Every message that is not settled.
#[derive(Debug)]
pub struct Outbox {
    rows: BTreeMap<Seq, Delivery>,
    by_id: BTreeMap<EntryId, Seq>,
    queue: Queue,
}

impl Outbox {
    /// Puts ledger and `queue.db` together. Returns the ids that nobody can know the fate of,
    /// because `queue.db` is new while the ledger holds unproven messages.
    ///
    /// # Errors
    ///
    /// When `queue.db` cannot be read.
    pub fn open(queue: Queue, world: &Snapshot) -> Result<(Self, Vec<EntryId>), QueueError> {
        // The mark is set in the same step that writes what was rebuilt: a crash before it leaves
        // the next start with the same question, and not with rows that look never attempted.
        let lost = queue.is_new() || queue.high_water()? == Seq(0);
        let mut attempted: BTreeMap<EntryId, Delivery> = queue
            .load()?
            .into_iter()
            .map(|row| (row.id.clone(), row))
            .collect();
        let mut outbox = Self {
            rows: BTreeMap::new(),
            by_id: BTreeMap::new(),
            queue,
        };
        let mut unknowable = Vec::new();
        for (id, message) in &world.unsettled {
            let mut row = attempted
                .remove(id)
                .unwrap_or_else(|| fresh(id.clone(), message));
            // A compaction gives it another place, and may die before the queue hears of it.
            row.seq = message.seq;
            if message.is_proven() {
                row.state = DeliveryState::Confirmed;
            } else if lost || message.result == Some(DeliveryResult::Ambiguous) {
                // When lost, asked for again or not: whether an attempt followed is what was lost.
                row.state = DeliveryState::Ambiguous;
            } else if message.result == Some(DeliveryResult::Requeued)
                && row.state == DeliveryState::Ambiguous
                && row.attempts > 0
            {
                // A crash between the operator's wish and its row. Without an attempt the row was
                // made when the queue had been lost after that wish.
                row.state = DeliveryState::Queued;
            }
            if row.state == DeliveryState::Ambiguous
                && message.result != Some(DeliveryResult::Ambiguous)
            {
                unknowable.push(id.clone());
            }
            outbox.insert(row);
        }
        if lost {
            let rows: Vec<Delivery> = outbox.rows.values().cloned().collect();
            outbox.queue.record(&rows, Some(world.seq.max(Seq(1))))?;
        }
        // A row whose message is settled is from a crash between the ledger and the queue.
        for id in attempted.keys() {
            outbox.queue.remove(id)?;
        }
        Ok((outbox, unknowable))
    }

    /// Takes a message in that was just recorded.
    pub fn track(&mut self, id: EntryId, message: &MessageSnapshot) {
        if !self.by_id.contains_key(&id) {
            self.insert(fresh(id, message));
        }
    }

    fn insert(&mut self, row: Delivery) {
        self.by_id.insert(row.id.clone(), row.seq);
        self.rows.insert(row.seq, row);
    }

    /// The message's row.
    pub fn get(&self, id: &EntryId) -> Option<&Delivery> {
        self.rows.get(self.by_id.get(id)?)
    }

    /// Takes a fact in, on disk first. Returns whether it changed something.
    ///
    /// # Errors
    ///
    /// When `queue.db` cannot be written; nothing has changed then.
    pub fn apply(
        &mut self,
        id: &EntryId,
        fact: DeliveryFact,
        now_ms: i64,
    ) -> Result<bool, QueueError> {
        let Some(row) = self.by_id.get(id).and_then(|seq| self.rows.get_mut(seq)) else {
            return Ok(false);
        };
        let mut next = row.clone();
        if !next.apply(fact, now_ms) {
            return Ok(false);
        }
        if next.attempts > 0 {
            self.queue.put(&next)?;
        }
        *row = next;
        Ok(true)
    }

    /// Forgets a message that the ledger has settled.
    pub fn settle(&mut self, id: &EntryId) {
        if let Some(seq) = self.by_id.remove(id) {
            self.rows.remove(&seq);
            if let Err(error) = self.queue.remove(id) {
                // Harmless: the next start finds a row whose message is settled and drops it.
                tracing::warn!(%error, "a settled row could not be removed");
            }
        }
    }

    /// Forgets all messages, and leaves nothing of them in the files of the queue.
    ///
    /// # Errors
    ///
    /// When `queue.db` cannot be written; they are forgotten in memory all the same.
    pub fn erase(&mut self) -> Result<(), QueueError> {
        self.rows.clear();
        self.by_id.clear();
        self.queue.erase()
    }

    /// Leaves nothing in the files of the queue of messages that were forgotten.
    ///
    /// # Errors
    ///
    /// When `queue.db` cannot be written.
    pub fn scrub(&self) -> Result<(), QueueError> {
        self.queue.scrub()
    }

    /// Gives every message the place that it has in the ledger by now; what is not in there any
    /// more is forgotten.
    pub fn move_to(&mut self, world: &Snapshot) {
        let rows = std::mem::take(&mut self.rows);
        self.by_id.clear();
        for (_, mut row) in rows {
            let Some(message) = world.unsettled.get(&row.id) else {
                if let Err(error) = self.queue.remove(&row.id) {
                    tracing::warn!(%error, "a settled row could not be removed");
                }
                continue;
            };
            row.seq = message.seq;
            if row.attempts > 0
                && let Err(error) = self.queue.put(&row)
            {
                // Harmless: the next start takes the place from the ledger.
                tracing::warn!(%error, "a row could not be moved");
            }
            self.insert(row);
        }
    }

    /// An agent's rows, oldest first.
    pub fn lane(&self, agent: Agent) -> impl Iterator<Item = &Delivery> {
        self.rows.values().filter(move |row| row.to == agent)
    }

    /// Whether a receiver can take one more message.
    pub fn has_room(&self, agent: Agent) -> bool {
        self.lane(agent).count() < LANE_MAX
    }
}

fn fresh(id: EntryId, message: &MessageSnapshot) -> Delivery {
    Delivery {
        id,
        seq: message.seq,
        to: message.to,
        runtime_session: message.runtime_session.clone().unwrap_or_default(),
        on_busy: message.on_busy,
        state: DeliveryState::Queued,
        attempts: 0,
        attempt: None,
        changed_ms: message.at_ms,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::core::agent::Party;
    use crate::store::testing::Place;

    fn world(result: Option<DeliveryResult>) -> Snapshot {
        let message = MessageSnapshot {
            seq: Seq(3),
            from: Party::Agent(Agent::Claude),
            to: Agent::Codex,
            at_ms: 0,
            runtime_session: None,
            on_busy: Default::default(),
            result,
            rung: None,
        };
        Snapshot {
            seq: Seq(4),
            unsettled: [(EntryId::new("m"), message)].into(),
            ..Snapshot::default()
        }
    }

    fn open(place: &Place, world: &Snapshot) -> (Outbox, Vec<EntryId>) {
        Outbox::open(Queue::open(&place.dirs).unwrap(), world).unwrap()
    }

    fn state(outbox: &Outbox) -> DeliveryState {
        outbox.get(&EntryId::new("m")).unwrap().state
    }

    #[test]
    fn without_its_queue_nothing_is_sent_again_by_itself() {
        for result in [None, Some(DeliveryResult::Requeued)] {
            let place = Place::new();
            let (outbox, unknowable) = open(&place, &world(result));
            assert_eq!(state(&outbox), DeliveryState::Ambiguous);
            assert_eq!(unknowable.len(), 1);
            // A crash before the ledger says so.
            drop(outbox);
            let (outbox, unknowable) = open(&place, &world(result));
            assert_eq!(state(&outbox), DeliveryState::Ambiguous, "{result:?}");
            assert_eq!(unknowable.len(), 1);
        }
    }

    #[test]
    fn a_queue_that_was_made_and_not_filled_counts_as_lost() {
        let place = Place::new();
        drop(Queue::open(&place.dirs).unwrap());
        let (outbox, _) = open(&place, &world(None));
        assert_eq!(state(&outbox), DeliveryState::Ambiguous);
    }

    #[test]
    fn the_operators_wish_for_another_try_outlives_a_crash_before_its_row() {
        let place = Place::new();
        let (mut outbox, _) = open(&place, &Snapshot::default());
        let id = EntryId::new("m");
        outbox.track(id.clone(), &world(None).unsettled[&id]);
        for fact in [
            DeliveryFact::AttemptBegan(crate::core::id::AttemptId::new("a")),
            DeliveryFact::Unknowable,
        ] {
            assert!(outbox.apply(&id, fact, 1).unwrap());
        }
        drop(outbox);
        let (outbox, _) = open(&place, &world(Some(DeliveryResult::Requeued)));
        assert_eq!(state(&outbox), DeliveryState::Queued);
    }
}
