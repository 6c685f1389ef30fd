//! [`Backlog`]: every message that is not settled, each lane in the order of the record.
//!
//! The operator can see everything in it. A message leaves it in one way only: the ledger says that
//! it is settled.

mod claims;
mod ends;
mod index;
mod kept_back;
mod lane;
mod offers;
mod pages;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use claims::Claim;
pub use index::LaneCounts;
use index::LaneRow;
pub(super) use index::{LaneIndex, Untold};
use lane::{LaneId, LaneRows};
#[cfg(test)]
pub(super) use pages::{codex_page_afresh, page_afresh};

use super::offer::Offer;
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
    lanes: BTreeMap<LaneId, LaneRows>,
    by_id: BTreeMap<EntryId, (LaneId, Seq)>,
    /// Texts on their way to an agent.
    claims: BTreeMap<EntryId, Claim>,
    /// Results of a message that are being appended to the ledger, by their words.
    recording: BTreeMap<EntryId, BTreeSet<&'static str>>,
    /// Messages that stay here until they are released.
    kept_back: BTreeSet<EntryId>,
    /// See [`Backlog::set_unwanted`]; each with whether its end was refused.
    unwanted: BTreeMap<EntryId, bool>,
}

/// The backlog after a start.
#[derive(Debug, Default)]
pub struct Restored {
    /// The messages that are not settled.
    pub backlog: Backlog,
    /// Messages whose fate nobody can know, which the ledger does not say yet.
    pub unknowable: Vec<EntryId>,
    /// Rows of messages that the ledger has settled, left by a crash in between.
    pub settled: Vec<EntryId>,
}

/// The result of moving messages to other positions.
#[derive(Debug, Default)]
pub struct Moved {
    /// Messages that have another position now.
    pub moved: Vec<EntryId>,
    /// Messages that have no position any more.
    pub gone: Vec<EntryId>,
}

impl Backlog {
    /// Takes a message in. One that is known already stays as it is.
    pub fn insert(&mut self, row: Delivery) {
        self.place(row, None);
    }

    /// As [`Self::insert`], of one that has a place on the ladder already.
    fn place(&mut self, delivery: Delivery, offer: Option<Offer>) {
        if !self.by_id.contains_key(&delivery.id) {
            let lane = LaneId::of(&delivery);
            let place = (lane.clone(), delivery.seq);
            self.by_id.insert(delivery.id.clone(), place);
            let row = LaneRow {
                is_free: self.is_free(&delivery.id),
                delivery,
                offer,
            };
            self.lanes.entry(lane).or_default().insert(row);
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
            // Its sender has heard something by now.
            row.promise();
            if message.is_proven() {
                row.state = DeliveryState::Confirmed;
                row.show(Shown::Whole);
                let by_hook = message.rung == Some(DeliveryWay::Hook);
                // Whether its turn read it stood in the queue alone.
                row.lost_turn |= lost && row.to == Agent::Claude && by_hook;
                row.in_turn = row.to == Agent::Claude && by_hook && !row.lost_turn;
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
                row.withdrawn = false;
            }
            if message.result == Some(DeliveryResult::Requeued) {
                row.show(Shown::Whole);
            }
            if row.state == DeliveryState::Ambiguous
                && message.result != Some(DeliveryResult::Ambiguous)
            {
                restored.unknowable.push(id.clone());
            }
            // Behind the operator's closing the process before may have died.
            row.withdrawn |= message.closed_by_operator;
            if row.withdrawn {
                restored.backlog.unwanted.insert(id.clone(), false);
            }
            restored.backlog.insert(row);
        }
        restored.backlog.pack();
        restored.settled = attempted.into_keys().collect();
        restored
    }

    /// As [`Snapshot::pack`](crate::snapshot::Snapshot::pack).
    fn pack(&mut self) {
        self.lanes.values_mut().for_each(LaneRows::pack);
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
        for row in lanes.flat_map(LaneRows::into_rows) {
            let LaneRow {
                mut delivery,
                offer,
                ..
            } = row;
            let Some(message) = unsettled.get(&delivery.id) else {
                self.claims.remove(&delivery.id);
                moved.gone.push(delivery.id);
                continue;
            };
            delivery.seq = message.seq;
            // The record may not say any more who closed it: one of an older version does not, and
            // of what had been asked for again before.
            delivery.withdrawn |= self.is_unwanted(&delivery.id);
            moved.moved.push(delivery.id.clone());
            self.place(delivery, offer);
        }
        moved
    }

    /// The message's row.
    pub fn get(&self, id: &EntryId) -> Option<&Delivery> {
        let (lane, seq) = self.by_id.get(id)?;
        self.lanes.get(lane)?.get(*seq).map(|row| &row.delivery)
    }

    fn change<R>(&mut self, id: &EntryId, change: impl FnOnce(&mut LaneRow) -> R) -> Option<R> {
        let (lane, seq) = self.by_id.get(id)?;
        self.lanes.get_mut(lane)?.change(*seq, change)
    }

    /// Its text is on its way to nobody, nothing about it is being recorded, and it is not kept back.
    fn is_free(&self, id: &EntryId) -> bool {
        let is_kept = self.is_kept_back(id) || self.is_end_refused(id);
        !self.claims.contains_key(id) && !self.is_recording(id) && !is_kept
    }

    /// One of these may have changed.
    fn look_whether_free(&mut self, id: &EntryId) {
        let is_free = self.is_free(id);
        self.change(id, |row| row.is_free = is_free);
    }

    /// Whether a message that is in this turn of Codex is delivered by that: in one that had it
    /// before it was asked for once more, it is not.
    pub fn is_proven_by(&self, id: &EntryId, turn: &TurnId) -> bool {
        self.get(id).is_none_or(|row| row.is_proven_by(turn))
    }

    /// Takes a fact in. Returns whether it changed something.
    pub fn apply(&mut self, id: &EntryId, fact: DeliveryFact, now_ms: i64) -> bool {
        let changed = self.change(id, |row| row.delivery.apply(fact, now_ms));
        changed.unwrap_or(false)
    }

    /// The attempt that runs has another name.
    pub(super) fn name_attempt(&mut self, id: &EntryId, attempt: AttemptId) {
        self.change(id, |row| row.delivery.attempt = Some(attempt));
    }

    /// Forgets a message that the ledger has settled.
    pub fn settle(&mut self, id: &EntryId) -> bool {
        self.claims.remove(id);
        self.unwanted.remove(id);
        let Some((lane, seq)) = self.by_id.remove(id) else {
            return false;
        };
        let Some(rows) = self.lanes.get_mut(&lane) else {
            return false;
        };
        let was_there = rows.remove(seq).is_some();
        if rows.is_empty() {
            self.lanes.remove(&lane);
        }
        was_there
    }

    fn lanes_to(&self, agent: Agent) -> impl Iterator<Item = &LaneRows> {
        let lanes = self.lanes.iter();
        lanes.filter_map(move |(lane, rows)| lane.leads_to(agent).then_some(rows))
    }

    /// A receiver's rows: Codex's oldest first, Claude's pair by pair.
    pub fn lane(&self, to: Agent) -> impl Iterator<Item = &Delivery> {
        self.lanes_to(to).flat_map(LaneRows::iter)
    }

    /// The rows for the Claude of a pair, oldest first.
    pub fn of_pair(&self, pair: &RuntimeSession) -> impl Iterator<Item = &Delivery> {
        let lane = self.lanes.get(&LaneId::Claude(pair.clone()));
        lane.into_iter().flat_map(LaneRows::iter)
    }

    /// The pairs for whose Claude there is something.
    pub fn pairs(&self) -> impl Iterator<Item = &RuntimeSession> {
        self.lanes.keys().filter_map(|lane| match lane {
            LaneId::Claude(pair) => Some(pair),
            LaneId::Codex => None,
        })
    }

    /// How many rows a receiver has.
    pub fn count(&self, to: Agent) -> usize {
        self.lanes_to(to).map(LaneRows::len).sum()
    }

    /// How many rows of a receiver stand where.
    pub fn counts(&self, to: Agent) -> LaneCounts {
        let counts = self.lanes_to(to).map(|lane| lane.index().counts());
        counts.fold(LaneCounts::default(), LaneCounts::and)
    }

    /// What is kept of the rows for Codex, where there are any.
    pub(super) fn index_of_codex(&self) -> Option<&LaneIndex> {
        self.lanes.get(&LaneId::Codex).map(LaneRows::index)
    }

    /// The row for Codex at this place.
    pub(super) fn of_codex(&self, seq: Seq) -> Option<&Delivery> {
        let lane = self.lanes.get(&LaneId::Codex)?;
        lane.get(seq).map(|row| &row.delivery)
    }

    /// Whether what is kept of each lane is what a walk over it finds.
    #[cfg(test)]
    pub fn is_index_right(&self) -> bool {
        let mut lanes = self.lanes.values();
        lanes.all(|lane| *lane.index() == lane.index_afresh())
    }

    /// All rows, lane by lane.
    pub fn rows(&self) -> impl Iterator<Item = &Delivery> {
        self.lanes.values().flat_map(LaneRows::iter)
    }

    /// Whether a receiver can take one more message.
    pub fn has_room(&self, to: Agent) -> bool {
        self.count(to) < LANE_MAX
    }

    /// Whether a message may reach an agent that did not ask for it.
    pub fn may_be_offered(&self, row: &Delivery) -> bool {
        matches!(
            row.state,
            DeliveryState::Queued | DeliveryState::Attempted | DeliveryState::Offered
        ) && self.is_free(&row.id)
    }

    /// Its sender was told that it waits: it is not rejected any more.
    pub(super) fn promise(&mut self, id: &EntryId, effects: &mut Vec<DeliveryEffect>) {
        let promised = self.change(id, |row| row.delivery.promise());
        if promised == Some(true) {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// So much of its text turns out to have left.
    pub fn show(&mut self, id: &EntryId, shown: Shown, effects: &mut Vec<DeliveryEffect>) {
        if self.change(id, |row| row.delivery.show(shown)) == Some(true) {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// A hook handed it into a turn, or it came by another way.
    pub(super) fn handed_into_turn(&mut self, id: &EntryId, by_hook: bool) {
        self.change(id, |row| {
            row.delivery.in_turn = by_hook;
            row.delivery.lost_turn = false;
        });
    }

    /// What hooks handed into turns of this pair is read by no end of a turn, and by none after the
    /// next start of the daemon.
    pub(super) fn out_of_turn(&mut self, pair: &RuntimeSession, effects: &mut Vec<DeliveryEffect>) {
        if let Some(lane) = self.lanes.get_mut(&LaneId::Claude(pair.clone())) {
            lane.change_all(|row| {
                if std::mem::take(&mut row.delivery.in_turn) {
                    row.delivery.lost_turn = true;
                    effects.push(DeliveryEffect::Store(row.delivery.id.clone()));
                }
            });
        }
    }

    /// What hooks handed into the turn of this pair's Claude, and into one that the human stopped before:
    /// the model of a turn that comes to its end has read both.
    pub fn in_turn(&self, pair: &RuntimeSession) -> Vec<EntryId> {
        let had = self.of_pair(pair).filter(|row| row.in_turn);
        had.filter(|row| self.is_proven(row))
            .map(|row| row.id.clone())
            .collect()
    }

    /// These were read by a turn that came to its end.
    pub fn were_read(&mut self, ids: &[EntryId], effects: &mut Vec<DeliveryEffect>) {
        for id in ids {
            if self.get(id).is_some_and(|row| self.is_proven(row)) {
                let by = Some(DeliveryWay::Hook);
                self.mark_recording(id, DeliveryResult::Acknowledged, by, None, effects);
            }
        }
    }

    fn is_proven(&self, row: &Delivery) -> bool {
        row.state == DeliveryState::Confirmed
            || self.is_recording_result(&row.id, DeliveryResult::Confirmed)
    }

    /// What a hook handed over has left it unread: it is read by the end of no turn.
    pub fn left_unread(&mut self, id: &EntryId, effects: &mut Vec<DeliveryEffect>) {
        let changed = self.change(id, |row| {
            let was_in_turn = std::mem::take(&mut row.delivery.in_turn);
            row.delivery.lost_turn |= was_in_turn;
            was_in_turn
        });
        if changed == Some(true) {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// What Claude's turns left unread, of all pairs.
    pub fn lost_turns(&self) -> impl Iterator<Item = EntryId> {
        let lost = self.lane(Agent::Claude).filter(|row| row.lost_turn);
        lost.map(|row| row.id.clone())
    }

    /// Wants a result in the ledger, unless the same is being appended already.
    pub fn mark_recording(
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
        let is_news = recording.insert(result.as_str());
        self.look_whether_free(id);
        if is_news {
            effects.push(DeliveryEffect::Append {
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
            row.can_be_acknowledged() || self.is_recording_result(id, DeliveryResult::Confirmed)
        })
    }

    /// Whether this is being appended about the message.
    pub fn is_recording_result(&self, id: &EntryId, result: DeliveryResult) -> bool {
        let recording = self.recording.get(id);
        recording.is_some_and(|results| results.contains(result.as_str()))
    }

    /// It could not be appended.
    pub fn not_recorded(&mut self, id: &EntryId, result: DeliveryResult) {
        if let Some(results) = self.recording.get_mut(id) {
            results.remove(result.as_str());
            if results.is_empty() {
                self.recording.remove(id);
                self.look_whether_free(id);
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
        self.end_claim(id);
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
        // That a message is proven a start takes from the ledger, whatever its row says.
        let is_proof = fact == DeliveryFact::Confirmed;
        if self.apply(id, fact, now_ms) && !is_proof {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
        if result == DeliveryResult::Requeued {
            // The record has no closing of it before that.
            self.set_unwanted(id.clone(), false);
        }
    }
}
