//! [`Outbox`]: every message that is not settled, with its row in `queue.db` once an attempt
//! was made.
//!
//! A message without a row was certainly never attempted: the row is durable before the first
//! byte leaves. So the queue can be rebuilt from the ledger, and when `queue.db` is lost, what
//! the ledger holds unproven becomes ambiguous instead of being sent again.

use std::collections::BTreeMap;

use crate::core::agent::Agent;
use crate::core::delivery::{Delivery, DeliveryFact, DeliveryState};
use crate::core::id::{EntryId, RuntimeSession, Seq};
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
        let lost = queue.is_new();
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
            if message.is_proven() {
                row.state = DeliveryState::Confirmed;
            } else if lost && message.result.is_none() {
                row.state = DeliveryState::Ambiguous;
                unknowable.push(id.clone());
            } else if let Some(crate::core::entry::DeliveryResult::Ambiguous) = message.result {
                row.state = DeliveryState::Ambiguous;
            }
            outbox.insert(row);
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

    /// An agent's rows, oldest first.
    pub fn lane(&self, agent: Agent) -> impl Iterator<Item = &Delivery> {
        self.rows.values().filter(move |row| row.to == agent)
    }

    /// Whether a receiver can take one more message.
    pub fn has_room(&self, agent: Agent) -> bool {
        self.lane(agent).count() < LANE_MAX
    }

    /// Attempted and not proven, all receivers.
    pub fn in_flight(&self) -> usize {
        self.rows
            .values()
            .filter(|row| {
                matches!(row.state, DeliveryState::Attempted | DeliveryState::Offered)
                    && row.to == Agent::Codex
            })
            .count()
    }
}

fn fresh(id: EntryId, message: &MessageSnapshot) -> Delivery {
    Delivery {
        id,
        seq: message.seq,
        to: message.to,
        runtime_session: message
            .runtime_session
            .clone()
            .unwrap_or_else(RuntimeSession::default),
        on_busy: message.on_busy,
        state: DeliveryState::Queued,
        attempts: 0,
        attempt: None,
        changed_ms: message.at_ms,
    }
}
