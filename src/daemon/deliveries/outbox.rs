//! [`Outbox`]: every message that is not settled, with its row in `queue.db` once an attempt was
//! made.
//!
//! A message without a row was certainly never attempted, because the row is durable before the
//! first byte leaves. So the queue can be rebuilt from the ledger: if `queue.db` is lost, messages
//! that the ledger does not prove become ambiguous instead of being sent again.

mod beside_lanes;
mod on_disk;

use std::sync::Arc;

use tracing::Span;

use crate::adapters::codex::attempted_message::AttemptedMessage;
use crate::core::agent::Agent;
use crate::core::delivery::{
    Backlog, Delivery, DeliveryEffect, DeliveryFact, DeliveryWay, Moment, Moved, Restored,
    RowsAhead, RowsDue, Shown,
};
use crate::core::entry::{DeliveryResult, EntryKind};
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::core::snapshot::{MessageSnapshot, Snapshot};
use crate::core::trace;
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::ledger::Stored;
use crate::store::queue::{
    Generation, Queue, QueueError, QueueEvent, QueueWriter, RowsNotTaken, Scrubbing,
};

pub use crate::core::delivery::LANE_MAX;

/// How many rows of settled messages lie in the file before they are removed by themselves.
const UNFORGOTTEN_MAX: usize = 64;

/// Every message that is not settled, with the writer of the rows.
#[derive(Debug)]
pub struct Outbox {
    /// The messages on which the delivery machines decide.
    backlog: Backlog,
    writer: QueueWriter,
    /// The last write that began, and the last that was answered.
    begun: u64,
    answered: u64,
    /// Rows of messages that are being recorded.
    ahead: RowsAhead,
    /// Settled messages: their rows are removed before the next write, so that this costs no write
    /// of its own. A start that still finds a row drops it because its message is settled.
    unforgotten: Vec<EntryId>,
    /// How far the clock of a process that starts now is ahead of this one's, ms.
    ahead_ms: i64,
    /// The log says that removals wait, and the writer has taken none since.
    is_wait_logged: bool,
    /// How often two agents may answer each other without the operator.
    answers_max: Option<u32>,
    /// See [`Outbox::is_proven_at_last`].
    was_ambiguous: bool,
}

impl Outbox {
    /// Puts ledger and `queue.db` together, and has it written beside the caller from then on.
    /// Returns the ids that nobody can know the fate of, because `queue.db` is new while the ledger
    /// holds unproven messages.
    ///
    /// # Errors
    ///
    /// When `queue.db` cannot be read, or there can be no thread that writes it.
    pub fn open(
        queue: Queue,
        world: &Snapshot,
        on_event: impl Fn(QueueEvent) + Send + 'static,
    ) -> Result<(Self, Vec<EntryId>), QueueError> {
        // The mark is set in the same step that writes what was rebuilt: a crash before it leaves
        // the next start with the same question, and not with rows that look never attempted.
        let lost = queue.is_new() || queue.high_water()? == Seq(0);
        let Restored {
            backlog,
            unknowable,
            settled,
        } = Backlog::restore(queue.load()?, &world.unsettled, lost);
        if lost {
            let rows: Vec<Delivery> = backlog.rows().cloned().collect();
            queue.upsert(&rows, Some(world.seq.max(Seq(1))))?;
        }
        for id in &settled {
            queue.remove(id)?;
        }
        let path = queue.path().to_path_buf();
        let writer = QueueWriter::start(queue, on_event)
            .map_err(|source| QueueError::Io { path, source })?;
        let outbox = Self {
            backlog,
            writer,
            begun: 0,
            answered: 0,
            ahead: RowsAhead::default(),
            unforgotten: Vec::new(),
            ahead_ms: 0,
            is_wait_logged: false,
            answers_max: None,
            was_ambiguous: false,
        };
        Ok((outbox, unknowable))
    }

    /// The queue of a project, and whether the one that lay there was an older copy, which was set
    /// aside: what it says of messages is not so any more.
    ///
    /// # Errors
    ///
    /// When it cannot be opened, or set aside.
    pub fn queue_of(dirs: &ProjectDirs, user: &UserDirs) -> Result<(Queue, bool), QueueError> {
        let outside = Generation::of(user, &dirs.instance_id());
        let (queue, is_older) = Queue::open(dirs)?.bound_to(outside.clone());
        if !is_older {
            return Ok((queue, false));
        }
        drop(queue);
        Queue::set_aside(dirs)?;
        Ok((Queue::open(dirs)?.bound_to(outside).0, true))
    }

    /// The messages on which the delivery machines decide.
    pub(in crate::daemon) fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    /// Has the machine of a lane decide; nobody else does.
    pub(in crate::daemon) fn decide<R>(&mut self, machine: impl FnOnce(&mut Backlog) -> R) -> R {
        machine(&mut self.backlog)
    }

    /// This result is being recorded, by somebody else than a machine: nothing is offered meanwhile
    /// of a message that ends with it.
    pub(in crate::daemon) fn mark_recording(&mut self, id: &EntryId, result: DeliveryResult) {
        let mut effects = Vec::new();
        self.backlog
            .mark_recording(id, result, None, None, &mut effects);
    }

    /// It is not recorded after all, or not waited for.
    pub(in crate::daemon) fn unmark_recording(&mut self, id: &EntryId, result: DeliveryResult) {
        self.backlog.not_recorded(id, result);
    }

    /// Codex asked by itself and has these, as far as they are its: its lane did not see it. What
    /// is to be recorded.
    pub(in crate::daemon) fn codex_has(
        &mut self,
        ids: &[EntryId],
        result: DeliveryResult,
        rung: Option<&DeliveryWay>,
    ) -> Vec<DeliveryEffect> {
        let mut effects = Vec::new();
        for id in ids {
            let is_its = |row: &Delivery| row.to == Agent::Codex && row.can_be_proven();
            if self.get(id).is_some_and(is_its) {
                let (backlog, rung) = (&mut self.backlog, rung.cloned());
                backlog.mark_recording(id, result, rung, None, &mut effects);
            }
        }
        effects
    }

    /// Codex asked for these and gets them now; see [`Backlog::claim`].
    pub(in crate::daemon) fn claim_for_codex(
        &mut self,
        claims: &[(EntryId, Shown)],
        at: &Moment,
        takes_ms: i64,
    ) -> Vec<DeliveryEffect> {
        let mut effects = Vec::new();
        for (id, shown) in claims {
            let backlog = &mut self.backlog;
            backlog.claim(id, *shown, &at.attempt, takes_ms, at.now_ms, &mut effects);
        }
        effects
    }

    /// A message was pushed; see [`Backlog::pushed`].
    pub(in crate::daemon) fn was_pushed(&mut self, id: &EntryId, now_ms: i64) {
        self.backlog.pushed(id, now_ms);
    }

    /// The callers that claimed these never said that they arrived.
    pub(in crate::daemon) fn expire_claims(&mut self, now_ms: i64) -> Vec<EntryId> {
        self.backlog.expire_claims(now_ms)
    }

    /// Takes a message in that another program has delivered, or not: nobody knows.
    pub(in crate::daemon) fn track_unknowable(
        &mut self,
        id: EntryId,
        message: &MessageSnapshot,
        now_ms: i64,
    ) {
        self.track(id.clone(), message, now_ms);
        self.backlog.apply(&id, DeliveryFact::Unknowable, now_ms);
    }

    /// Whether nothing is ambiguous any more, where something was when this was asked last.
    pub fn is_proven_at_last(&mut self) -> bool {
        let of_agent = |agent: &Agent| self.backlog.counts(*agent).ambiguous > 0;
        let is_ambiguous = Agent::ALL.iter().any(of_agent);
        std::mem::replace(&mut self.was_ambiguous, is_ambiguous) && !is_ambiguous
    }

    /// Two agents may answer each other so often alone; what goes beyond that is held.
    pub fn hold_answers(&mut self, answers_max: Option<u32>, world: &Snapshot, now_ms: i64) {
        self.answers_max = answers_max;
        self.let_answers_go(world, now_ms);
        for (id, message) in &world.unsettled {
            if is_beyond(self.answers_max, message) {
                self.backlog.keep_back(id);
            }
        }
    }

    /// How often that is.
    pub fn answers_max(&self) -> Option<u32> {
        self.answers_max
    }

    /// Lets go what is held no longer: the person has spoken, or it is settled.
    pub fn let_answers_go(&mut self, world: &Snapshot, now_ms: i64) {
        let max = self.answers_max;
        let gone = self.backlog.let_go(now_ms, |id| {
            let message = world.unsettled.get(id);
            message.is_some_and(|message| is_beyond(max, message))
        });
        let rows = gone.iter().filter_map(|id| self.get(id).cloned());
        self.keep_since_when(rows.collect());
    }

    /// Takes a message in that was just recorded.
    pub fn track(&mut self, id: EntryId, message: &MessageSnapshot, now_ms: i64) {
        self.ahead.recorded(&id);
        let row = message.delivery_from(id.clone(), now_ms);
        self.backlog.insert(row);
        if is_beyond(self.answers_max, message) {
            self.backlog.keep_back(&id);
        }
    }

    /// Has the row of a message written that is being recorded, as it will be when the message
    /// leaves at once: see [`RowsAhead`]. Where the writer takes nothing more it is written later.
    pub fn store_ahead(&mut self, row: Delivery) {
        if let Ok(token) = self.begin(vec![row.clone()]) {
            self.ahead.begin(row, token);
        }
    }

    /// The message is not recorded after all.
    pub fn not_recorded(&mut self, id: &EntryId) {
        if self.ahead.refused(id) {
            self.forget(id);
        }
    }

    /// The pair that a message belongs to.
    pub fn pair_of(&self, id: &EntryId) -> Option<RuntimeSession> {
        Some(self.get(id)?.runtime_session.clone())
    }

    /// A message as the Codex adapter gets it.
    pub fn attempted(&self, id: &EntryId) -> AttemptedMessage {
        let row = self.get(id);
        AttemptedMessage {
            message_id: id.clone(),
            attempt: row.and_then(|row| row.attempt.clone()),
            cut_off_in: row.map_or_else(Vec::new, |row| row.cut_off_in.clone()),
            thread: row.and_then(|row| row.thread.clone()),
            is_unwanted: self.backlog.is_unwanted(id),
        }
    }

    /// The attempt at a message's delivery, in the log.
    pub fn following(&self, id: &EntryId) -> Span {
        let row = self.get(id);
        trace::attempt(id, row.and_then(|row| row.attempt.as_ref()))
    }

    /// Forgets what the record says was taken back.
    pub fn forget_taken_back(&mut self, stored: &[Arc<Stored>]) {
        for stored in stored {
            if let EntryKind::Delivery(record) = &stored.entry.kind
                && record.result == DeliveryResult::Cancelled
            {
                self.settle(&record.message_id);
            }
        }
    }

    /// Everything was offered that can be: rows that were written ahead of what did not happen go
    /// again.
    pub fn drop_wrong_rows(&mut self) {
        let wrong = self.ahead.take_wrong();
        for id in &wrong {
            self.forget(id);
        }
        // Until then a crash makes a first copy a second one, which is shown as such.
        if !wrong.is_empty()
            && let Err(error) = self.sync()
        {
            tracing::warn!(%error, "rows that were written ahead stay for now");
        }
    }

    /// Has all that was done to the rows so far on the disk: answered as [`Self::store`].
    ///
    /// # Errors
    ///
    /// As [`Self::store`].
    pub fn sync(&mut self) -> Result<Option<u64>, RowsNotTaken> {
        self.begin(Vec::new()).map(Some)
    }

    fn begin(&mut self, rows: Vec<Delivery>) -> Result<u64, RowsNotTaken> {
        self.remove_unforgotten()?;
        let token = self.writer.put(self.on_disk(rows))?;
        self.begun = token;
        Ok(token)
    }

    /// Before a row is written: it may be another one of the same message.
    fn remove_unforgotten(&mut self) -> Result<(), RowsNotTaken> {
        while let Some(id) = self.unforgotten.last() {
            self.writer.remove(id.clone())?;
            self.unforgotten.pop();
            self.is_wait_logged = false;
        }
        Ok(())
    }

    /// The writer has answered all up to this token.
    pub fn answered(&mut self, upto: u64) {
        self.answered = self.answered.max(upto);
    }

    /// The writer has answered all up to this token: nothing of it was written.
    pub fn failed(&mut self, upto: u64) {
        self.answered(upto);
        self.ahead.failed(upto);
    }

    /// Whether rows are on their way to the disk.
    pub fn is_writing(&self) -> bool {
        self.answered < self.begun
    }

    /// Takes a message in again that was settled and is to be sent once more.
    pub fn track_again(&mut self, id: EntryId, message: &MessageSnapshot, now_ms: i64) {
        // Or a start would take the row of the attempt before for one of now.
        self.remove_now();
        let row = message.delivery_from(id.clone(), now_ms);
        self.backlog.insert_again(row);
        self.keep_since_when(self.get(&id).cloned().into_iter().collect());
    }

    /// The message's row.
    pub fn get(&self, id: &EntryId) -> Option<&Delivery> {
        self.backlog.get(id)
    }

    /// Has rows on the disk as they are now, all or none. One that was never attempted needs none.
    /// The token that the writer answers with; none when there is nothing to wait for. `lane`: the
    /// write that the lane waits for already.
    ///
    /// # Errors
    ///
    /// When the writer takes nothing more.
    pub fn store<'a>(
        &mut self,
        ids: impl Iterator<Item = &'a EntryId>,
        lane: Option<u64>,
    ) -> Result<Option<u64>, RowsNotTaken> {
        let RowsDue { rows, behind } = self.ahead.due(&mut self.backlog, ids, self.answered, lane);
        if rows.is_empty() {
            return Ok(behind);
        }
        self.begin(rows).map(Some)
    }

    /// Forgets a message that the ledger has settled.
    pub fn settle(&mut self, id: &EntryId) {
        if self.backlog.settle(id) {
            self.forget(id);
        }
    }

    /// Removes the row of a message that the ledger has settled.
    pub fn forget(&mut self, id: &EntryId) {
        self.unforgotten.push(id.clone());
        if self.unforgotten.len() >= UNFORGOTTEN_MAX {
            self.remove_now();
        }
    }

    fn remove_now(&mut self) {
        // Logged once: it is tried again with each message that is settled, at a clear with all of them.
        if let Err(error) = self.remove_unforgotten()
            && !std::mem::replace(&mut self.is_wait_logged, true)
        {
            tracing::warn!(%error, "settled rows are removed with the next write");
        }
    }

    /// Puts a new file in place of the queue's, with what is known here: answered as
    /// [`Self::store`]. When it fails, the old one lies beside it, and a start finds that the queue
    /// was lost.
    ///
    /// # Errors
    ///
    /// As [`Self::store`].
    pub fn rebuild(
        &mut self,
        dirs: &ProjectDirs,
        high_water: Seq,
    ) -> Result<Option<u64>, RowsNotTaken> {
        let rows: Vec<Delivery> = self.backlog.rows().cloned().collect();
        let rows = self.on_disk(rows);
        self.begun = self.writer.rebuild(dirs, rows, high_water)?;
        self.unforgotten.clear();
        self.ahead.clear();
        Ok(Some(self.begun))
    }

    /// Forgets all messages, and has nothing left of them in the files of the queue.
    ///
    /// # Errors
    ///
    /// When the writer takes nothing more; they are forgotten in memory all the same.
    pub fn erase(&mut self) -> Result<Scrubbing, QueueError> {
        self.backlog = Backlog::default();
        self.ahead.clear();
        let erased = self.writer.erase()?;
        self.unforgotten.clear();
        Ok(erased)
    }

    /// Has nothing left in the files of the queue of messages that were forgotten.
    ///
    /// # Errors
    ///
    /// When the writer takes nothing more.
    pub fn scrub(&self) -> Result<Scrubbing, QueueError> {
        self.writer.scrub()
    }

    /// The writer, to be closed by somebody who may wait for the disk.
    pub fn into_writer(mut self) -> QueueWriter {
        self.remove_now();
        self.writer
    }

    /// Gives every message the place that it has in the ledger by now; what is not in there any
    /// more is forgotten.
    pub fn move_to(&mut self, world: &Snapshot) {
        let Moved { moved, gone } = self.backlog.move_to(&world.unsettled);
        for id in gone {
            self.forget(&id);
        }
        if let Err(error) = self.store(moved.iter(), None) {
            // Harmless: the next start takes the place from the ledger.
            tracing::warn!(%error, "rows could not be moved");
        }
    }

    /// An agent's rows; see [`Backlog::lane`].
    pub fn lane(&self, agent: Agent) -> impl Iterator<Item = &Delivery> {
        self.backlog.lane(agent)
    }

    /// Whether a message is on its way to an agent that is here or to come. What is ambiguous waits
    /// for the operator, who finds it on the disk.
    pub fn has_waiting(&self) -> bool {
        Agent::ALL.into_iter().any(|agent| {
            let counts = self.backlog.counts(agent);
            counts.queued + counts.on_their_way > 0
        })
    }

    /// Whether a receiver can take one more message.
    pub fn has_room(&self, agent: Agent) -> bool {
        self.backlog.has_room(agent)
    }
}

/// Whether two agents have answered each other too often for this to go on by itself.
fn is_beyond(answers_max: Option<u32>, message: &MessageSnapshot) -> bool {
    answers_max.is_some_and(|max| message.answers > max)
}

#[cfg(test)]
mod tests;
