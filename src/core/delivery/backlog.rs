//! [`Backlog`]: every message that is not settled, each lane in the order of the record.
//!
//! What is here the operator can see. A message leaves it in one way only: the ledger says that
//! it is settled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Delivery, DeliveryEffect, DeliveryFact, DeliveryState, DeliveryWay, Shown};
use crate::agent::Agent;
use crate::entry::DeliveryResult;
use crate::id::{AttemptId, EntryId, RuntimeSession, Seq, TurnId};
use crate::snapshot::MessageSnapshot;

/// How many unsettled messages one receiver may have; the next send is refused. Generous: a
/// person reads far fewer, and each costs a few hundred bytes.
pub const LANE_MAX: usize = 10_000;

/// The messages that are not settled.
#[derive(Debug, Default)]
pub struct Backlog {
    lanes: BTreeMap<Lane, BTreeMap<Seq, Delivery>>,
    by_id: BTreeMap<EntryId, (Lane, Seq)>,
    /// Texts on their way to an agent.
    claims: BTreeMap<EntryId, Claim>,
    /// What is being appended to the ledger about a message, by its word.
    recording: BTreeMap<EntryId, BTreeSet<&'static str>>,
}

/// One way to a receiver. What is decided for each entry of the record goes through one lane and
/// not through all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Codex,
    Claude(RuntimeSession),
}

impl Lane {
    fn of(row: &Delivery) -> Self {
        match row.to {
            Agent::Codex => Self::Codex,
            Agent::Claude => Self::Claude(row.runtime_session.clone()),
        }
    }

    fn leads_to(&self, agent: Agent) -> bool {
        match self {
            Self::Codex => agent == Agent::Codex,
            Self::Claude(_) => agent == Agent::Claude,
        }
    }
}

/// A text is on its way to an agent.
#[derive(Debug, Clone, Copy)]
struct Claim {
    /// How long that may take, ms.
    until_ms: i64,
    /// What had left before it.
    shown_before: Shown,
    /// It is not in this process any more.
    has_left: bool,
}

/// The backlog after a start.
#[derive(Debug, Default)]
pub struct Restored {
    /// What is not settled.
    pub backlog: Backlog,
    /// Nobody can know the fate of these, and the ledger does not say so yet.
    pub unknowable: Vec<EntryId>,
    /// Rows of messages that the ledger has settled: from a crash in between.
    pub settled: Vec<EntryId>,
}

/// What a move to other places changed.
#[derive(Debug, Default)]
pub struct Moved {
    /// These stand elsewhere now.
    pub moved: Vec<EntryId>,
    /// These stand nowhere.
    pub gone: Vec<EntryId>,
}

impl Backlog {
    /// Takes a message in. One that is known already stays as it is.
    pub fn insert(&mut self, row: Delivery) {
        if !self.by_id.contains_key(&row.id) {
            let lane = Lane::of(&row);
            self.by_id.insert(row.id.clone(), (lane.clone(), row.seq));
            self.lanes.entry(lane).or_default().insert(row.seq, row);
        }
    }

    /// Puts the ledger and the rows of the queue together after a start.
    ///
    /// A message without a row was certainly never attempted: its row is durable before the first
    /// byte leaves. `lost`: the queue is new while the ledger is not, so that nobody knows which
    /// of the unproven were attempted.
    pub fn restore(
        rows: Vec<Delivery>,
        unsettled: &BTreeMap<EntryId, Arc<MessageSnapshot>>,
        lost: bool,
    ) -> Restored {
        let mut attempted: BTreeMap<EntryId, Delivery> =
            rows.into_iter().map(|row| (row.id.clone(), row)).collect();
        let mut restored = Restored::default();
        for (id, message) in unsettled {
            let mut row = attempted
                .remove(id)
                .unwrap_or_else(|| message.delivery(id.clone()));
            // A compaction gives it another place, and may die before the queue hears of it.
            row.seq = message.seq;
            row.cut_off_in.clone_from(&message.cut_off_in);
            if message.is_proven() {
                row.state = DeliveryState::Confirmed;
                row.show(Shown::Whole);
                row.in_turn = row.to == Agent::Claude && message.rung == Some(DeliveryWay::Hook);
            } else if lost || message.result == Some(DeliveryResult::Ambiguous) {
                // When lost, asked for again or not: whether an attempt followed is what was lost.
                row.state = DeliveryState::Ambiguous;
                row.show(Shown::Whole);
            } else if message.result == Some(DeliveryResult::Requeued)
                && (row.state == DeliveryState::Confirmed
                    || row.state == DeliveryState::Ambiguous && row.attempts > 0)
            {
                // A crash between the operator's wish and its row. Ambiguous without an attempt
                // the row was made when the queue had been lost after that wish.
                row.state = DeliveryState::Queued;
            }
            if message.result == Some(DeliveryResult::Requeued) {
                row.show(Shown::Whole);
            }
            if row.state == DeliveryState::Ambiguous
                && message.result != Some(DeliveryResult::Ambiguous)
            {
                restored.unknowable.push(id.clone());
            }
            restored.backlog.insert(row);
        }
        restored.backlog.pack();
        restored.settled = attempted.into_keys().collect();
        restored
    }

    /// As [`Snapshot::pack`](crate::snapshot::Snapshot::pack).
    fn pack(&mut self) {
        for lane in self.lanes.values_mut() {
            *lane = std::mem::take(lane).into_iter().collect();
        }
        self.by_id = std::mem::take(&mut self.by_id).into_iter().collect();
    }

    /// Takes a message in again that was settled: it was shown before.
    pub fn insert_again(&mut self, mut row: Delivery) {
        row.show(Shown::Whole);
        self.insert(row);
    }

    /// Gives every message the place that it has in the ledger by now, and forgets what is not in
    /// there any more.
    pub fn move_to(&mut self, unsettled: &BTreeMap<EntryId, Arc<MessageSnapshot>>) -> Moved {
        let mut moved = Moved::default();
        self.by_id.clear();
        let lanes = std::mem::take(&mut self.lanes).into_values();
        for mut row in lanes.flat_map(BTreeMap::into_values) {
            let Some(message) = unsettled.get(&row.id) else {
                self.claims.remove(&row.id);
                moved.gone.push(row.id);
                continue;
            };
            row.seq = message.seq;
            moved.moved.push(row.id.clone());
            self.insert(row);
        }
        moved
    }

    /// The message's row.
    pub fn get(&self, id: &EntryId) -> Option<&Delivery> {
        let (lane, seq) = self.by_id.get(id)?;
        self.lanes.get(lane)?.get(seq)
    }

    fn get_mut(&mut self, id: &EntryId) -> Option<&mut Delivery> {
        let (lane, seq) = self.by_id.get(id)?;
        self.lanes.get_mut(lane)?.get_mut(seq)
    }

    /// Whether a message that is in this turn of Codex is delivered by that: in one that had it
    /// before it was asked for once more, it is not.
    pub fn is_proven_by(&self, id: &EntryId, turn: &TurnId) -> bool {
        self.get(id).is_none_or(|row| row.is_proven_by(turn))
    }

    /// Takes a fact in. Returns whether it changed something.
    pub fn apply(&mut self, id: &EntryId, fact: DeliveryFact, now_ms: i64) -> bool {
        self.get_mut(id).is_some_and(|row| row.apply(fact, now_ms))
    }

    /// The attempt that runs has another name.
    pub(super) fn name_attempt(&mut self, id: &EntryId, attempt: AttemptId) {
        if let Some(row) = self.get_mut(id) {
            row.attempt = Some(attempt);
        }
    }

    /// Forgets a message that the ledger has settled.
    pub fn settle(&mut self, id: &EntryId) -> bool {
        self.claims.remove(id);
        let Some((lane, seq)) = self.by_id.remove(id) else {
            return false;
        };
        let Some(rows) = self.lanes.get_mut(&lane) else {
            return false;
        };
        let was_there = rows.remove(&seq).is_some();
        if rows.is_empty() {
            self.lanes.remove(&lane);
        }
        was_there
    }

    fn lanes_to(&self, agent: Agent) -> impl Iterator<Item = &BTreeMap<Seq, Delivery>> {
        let lanes = self.lanes.iter();
        lanes.filter_map(move |(lane, rows)| lane.leads_to(agent).then_some(rows))
    }

    /// A receiver's rows: Codex's oldest first, Claude's pair by pair.
    pub fn lane(&self, to: Agent) -> impl Iterator<Item = &Delivery> {
        self.lanes_to(to).flat_map(BTreeMap::values)
    }

    /// The rows for the Claude of a pair, oldest first.
    pub fn of_pair(&self, pair: &RuntimeSession) -> impl Iterator<Item = &Delivery> {
        let lane = self.lanes.get(&Lane::Claude(pair.clone()));
        lane.into_iter().flat_map(BTreeMap::values)
    }

    /// The pairs for whose Claude there is something.
    pub fn pairs(&self) -> impl Iterator<Item = &RuntimeSession> {
        self.lanes.keys().filter_map(|lane| match lane {
            Lane::Claude(pair) => Some(pair),
            Lane::Codex => None,
        })
    }

    /// How many rows a receiver has.
    pub fn count(&self, to: Agent) -> usize {
        self.lanes_to(to).map(BTreeMap::len).sum()
    }

    /// All rows, lane by lane.
    pub fn rows(&self) -> impl Iterator<Item = &Delivery> {
        self.lanes.values().flat_map(BTreeMap::values)
    }

    /// Whether a receiver can take one more message.
    pub fn has_room(&self, to: Agent) -> bool {
        self.count(to) < LANE_MAX
    }

    /// Whether its body is on its way to somebody who asked.
    pub fn is_claimed(&self, id: &EntryId) -> bool {
        self.claims.contains_key(id)
    }

    /// Its body is no longer here: it cannot be taken back until it is known whether it arrived.
    pub fn left(&mut self, id: &EntryId) {
        if let Some(claim) = self.claims.get_mut(id) {
            claim.has_left = true;
        }
    }

    /// Whether its body has left for somebody who asked, and is not known to have arrived.
    pub fn has_left(&self, id: &EntryId) -> bool {
        self.claims.get(id).is_some_and(|claim| claim.has_left)
    }

    /// Whether that is so of a message of which the receiver has had no more than the beginning.
    pub fn is_cut_claimed(&self, id: &EntryId) -> bool {
        let is_cut = self.get(id).is_some_and(|row| row.shown == Shown::Head);
        let claim = self.claims.get(id);
        claim.is_some_and(|claim| is_cut || claim.shown_before == Shown::Head)
    }

    /// Whether bodies are on their way to somebody who asked.
    pub fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Whether a message may reach an agent that did not ask for it.
    pub fn may_be_offered(&self, row: &Delivery) -> bool {
        matches!(
            row.state,
            DeliveryState::Queued | DeliveryState::Attempted | DeliveryState::Offered
        ) && !self.claims.contains_key(&row.id)
            && !self.is_recording(&row.id)
    }

    /// So much of its text goes to an agent that reads it at once; nobody else gets it until it is
    /// known whether it arrived.
    pub fn claim(
        &mut self,
        id: &EntryId,
        shown: Shown,
        attempt: &AttemptId,
        until_ms: i64,
        now_ms: i64,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        let Some(shown_before) = self.get(id).map(|row| row.shown) else {
            return;
        };
        let claim = Claim {
            until_ms,
            shown_before,
            // One that is asked for again may be there already.
            has_left: self.has_left(id),
        };
        self.claims.insert(id.clone(), claim);
        if self.apply(id, DeliveryFact::HandedOut(attempt.clone(), shown), now_ms) {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// So much of its text turns out to have left.
    pub fn show(&mut self, id: &EntryId, shown: Shown, effects: &mut Vec<DeliveryEffect>) {
        if self.get_mut(id).is_some_and(|row| row.show(shown)) {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// A hook handed it into a turn, or it came by another way.
    pub(super) fn handed_into_turn(&mut self, id: &EntryId, by_hook: bool) {
        if let Some(row) = self.get_mut(id) {
            row.in_turn = by_hook;
        }
    }

    /// What hooks handed into turns of this pair is read by no end of a turn.
    pub(super) fn out_of_turn(&mut self, pair: &RuntimeSession) {
        let lane = self.lanes.get_mut(&Lane::Claude(pair.clone()));
        for row in lane.into_iter().flat_map(BTreeMap::values_mut) {
            row.in_turn = false;
        }
    }

    /// Its text did not leave after all. Its row may be on disk already and say otherwise.
    pub fn take_back(&mut self, id: &EntryId, effects: &mut Vec<DeliveryEffect>) {
        if self.has_left(id) {
            // Another time it did.
            return;
        }
        if let Some(claim) = self.claims.remove(id)
            && let Some(row) = self.get_mut(id)
            && row.shown != claim.shown_before
        {
            row.shown = claim.shown_before;
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// When the next claim runs out, ms.
    pub fn next_claim_ms(&self) -> Option<i64> {
        self.claims.values().map(|claim| claim.until_ms).min()
    }

    /// Whoever asked for these went away, or is silent for too long.
    pub fn expire_claims(&mut self, now_ms: i64) -> Vec<EntryId> {
        let expired: Vec<EntryId> = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.until_ms <= now_ms)
            .map(|(id, _)| id.clone())
            .collect();
        for id in &expired {
            self.claims.remove(id);
        }
        expired
    }

    /// Wants a result in the ledger, unless the same is being appended already.
    pub fn record(
        &mut self,
        id: &EntryId,
        result: DeliveryResult,
        rung: Option<DeliveryWay>,
        turn: Option<TurnId>,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        let Some(row) = self.get(id) else { return };
        let to = row.to;
        let recording = self.recording.entry(id.clone()).or_default();
        if recording.insert(result.as_str()) {
            effects.push(DeliveryEffect::Record {
                id: id.clone(),
                to,
                result,
                rung,
                turn,
            });
        }
    }

    /// Whether something about the message is being appended.
    pub fn is_recording(&self, id: &EntryId) -> bool {
        self.recording.contains_key(id)
    }

    /// Whether an acknowledgement of it is about the whole message; see
    /// [`Delivery::can_be_acknowledged`]. Proof that is being recorded counts.
    pub fn can_be_acknowledged(&self, id: &EntryId) -> bool {
        let row = self.get(id);
        row.is_some_and(|row| {
            row.can_be_acknowledged() || self.records(id, DeliveryResult::Confirmed)
        })
    }

    /// Whether this is being appended about the message.
    pub fn records(&self, id: &EntryId, result: DeliveryResult) -> bool {
        let recording = self.recording.get(id);
        recording.is_some_and(|results| results.contains(result.as_str()))
    }

    /// Whether its end is being appended, after which nobody gets it.
    pub fn is_ending(&self, id: &EntryId) -> bool {
        let ends = [
            DeliveryResult::Rejected,
            DeliveryResult::Expired,
            DeliveryResult::Cancelled,
        ];
        ends.into_iter().any(|end| self.records(id, end))
    }

    /// It could not be appended.
    pub fn not_recorded(&mut self, id: &EntryId, result: DeliveryResult) {
        if let Some(results) = self.recording.get_mut(id) {
            results.remove(result.as_str());
            if results.is_empty() {
                self.recording.remove(id);
            }
        }
    }

    /// The ledger has it: this and nothing else moves a message to its end.
    pub fn durable(
        &mut self,
        id: &EntryId,
        result: DeliveryResult,
        now_ms: i64,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.not_recorded(id, result);
        self.claims.remove(id);
        let Some((to, state)) = self.get(id).map(|row| (row.to, row.state)) else {
            return;
        };
        let fact = match result {
            DeliveryResult::Confirmed if to == Agent::Claude => DeliveryFact::Confirmed,
            DeliveryResult::Ambiguous => DeliveryFact::Unknowable,
            DeliveryResult::Requeued if state == DeliveryState::Confirmed => DeliveryFact::CutOff,
            DeliveryResult::Requeued => DeliveryFact::Requeued,
            // Claude's stay until they are acknowledged; the rest is at its end.
            DeliveryResult::Confirmed
            | DeliveryResult::Acknowledged
            | DeliveryResult::Rejected
            | DeliveryResult::Expired
            | DeliveryResult::Cancelled => {
                self.settle(id);
                effects.push(DeliveryEffect::Forget(id.clone()));
                return;
            }
        };
        if self.apply(id, fact, now_ms) {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// What has waited for too long without an attempt is recorded as expired.
    pub fn expire(&mut self, to: Agent, older_than_ms: i64, effects: &mut Vec<DeliveryEffect>) {
        let old: Vec<EntryId> = self
            .lane(to)
            .filter(|row| row.state == DeliveryState::Queued && row.changed_ms <= older_than_ms)
            .filter(|row| self.may_be_offered(row))
            .map(|row| row.id.clone())
            .collect();
        for id in old {
            self.record(&id, DeliveryResult::Expired, None, None, effects);
        }
    }
}
