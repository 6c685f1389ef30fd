//! Compaction: the session is sealed as it is, and a new file continues with what is open in it and
//! a digest of the rest. No line is rewritten; an entry that is carried keeps its id and says where
//! it stood.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::agent::{Agent, Party};
use crate::core::entry::{
    CarriedEntry, DeliveryResult, Entry, EntryKind, Fate, GateRun, LifecycleEvent, TaskStep,
};
use crate::core::id::{EntryId, Seq};
use crate::core::signing::{ActSignature, OperatorAct};
use crate::core::snapshot::Snapshot;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::daemon::sessions::carrying::CarryingRead;
use crate::daemon::sessions::digest::Digest;

use crate::daemon::decisions::signing::check_act;
use crate::daemon::sessions::rollover::Rollover;
use crate::wire::control::{Compacted, Refusal};

impl Daemon {
    pub(super) fn compact_now(
        &mut self,
        read: &CarryingRead,
        signature: Option<ActSignature>,
    ) -> Result<Compacted, Refusal> {
        let (act, verdict) = (OperatorAct::Clear, Fate::Compacted.verdict());
        let session = self.base.recorder.session_id().as_str();
        check_act(
            &self.base.recorder,
            act,
            signature.as_ref(),
            session,
            verdict,
        )?;
        let world = self.base.recorder.world();
        let recent = |seq| self.base.recorder.recent_entry(seq);
        let wanted = read.wanted_now(world, self.base.recorder.ledger(), recent)?;
        let mut carried = self.base.carried_entries(wanted, read)?;
        let count = carried.len() as u64;
        carried.extend(self.deliveries.delivery_facts(&self.base));
        carried.extend(self.base.digest_entry(count, read));
        let mut word = self.base.recorder.entry(
            Party::Human,
            None,
            LifecycleEvent::SessionCompacted,
            format!("the operator compacts this session: {count} entries are carried on"),
            None,
        );
        if let Some(signature) = &signature {
            signature.put_on(&mut word);
        }
        let rolled_over = self.roll_over(Rollover {
            fate: Fate::Compacted,
            texts: None,
            closing: vec![word],
            carried,
            signature,
        })?;
        self.deliveries.outbox.move_to(self.base.recorder.world());
        self.agents
            .codex
            .forget_settled(self.deliveries.outbox.backlog());
        self.base.move_cursors(&rolled_over.world);
        self.deliveries
            .forget_handoffs_that_are_over(&self.base, &self.agents.claude);
        Ok(Compacted {
            sealed: rolled_over.before.session_id,
            archive: rolled_over.archive.unwrap_or_default(),
            entries: rolled_over.before.entries,
            head: rolled_over.before.head,
            session_id: self.base.recorder.session_id().clone(),
            carried: count,
        })
    }
}

impl Base {
    /// These entries in the order in which they were recorded, as they will stand in the new file.
    pub(super) fn carried_entries(
        &self,
        wanted: BTreeSet<Seq>,
        read: &CarryingRead,
    ) -> Result<Vec<Entry>, Refusal> {
        let mut entries = Vec::new();
        let mut wanted: Vec<Seq> = wanted.into_iter().collect();
        wanted.sort_by_key(|seq| self.recorder.world().place_when_carried(*seq));
        for seq in wanted {
            let mut entry = self.carried_entry(seq, read)?;
            let world = self.recorder.world();
            // A rejection opened it again.
            entry.leave_open(|id| world.open_handoffs.contains_key(id));
            if let EntryKind::Artifact(artifact) = &mut entry.kind
                && let Some(run) = &mut artifact.verified
            {
                run.began_after = began_in_next(run, seq, world);
            }
            let in_turn = world.in_turn.get(&entry.id);
            let cut_off = world.cut_off.get(&entry.id);
            let known = in_turn.map(|(_, message)| message).or(cut_off);
            let foreign = world.is_foreign(seq) && entry.is_of_operator();
            let (session_id, seq, task_only) = match entry.carried.take() {
                // Carried again, it still stood first where it stood first.
                Some(first) => (first.session_id, first.seq, first.task_only),
                None => (self.recorder.session_id().clone(), seq, false),
            };
            // Nobody was asked by it, and it must not stand in the way: its task has it.
            let task_only = task_only || is_never_delivered(world, &entry.id);
            let unsettled = world.unsettled.get(&entry.id);
            let (past_for, held) = (world.past_for(&entry), world.held_of(&entry));
            let codex_pair = world.codex_pair_of(&entry);
            let past_answer = world.is_past_answer(&entry);
            entry.carried = Some(CarriedEntry {
                session_id,
                seq,
                settled: entry.receiver().is_some() && unsettled.is_none(),
                answered: is_over(&entry, world),
                unanswered: is_unanswered(&entry, world),
                closed_by: unsettled.and_then(|message| message.closed_by()),
                past_answer,
                foreign,
                task_only,
                in_turn: in_turn.map(|(turn, _)| turn.clone()),
                rung: known.and_then(|message| message.rung.clone()),
                answered_in_turn: known.is_some_and(|message| message.answered_in_turn),
                will_be_sent_again: cut_off.is_some_and(|message| message.will_be_sent_again),
                cut_off_in: known.map_or_else(Vec::new, |message| message.cut_off_in.clone()),
                past_for,
                codex_pair,
                held: held.map(Box::new),
            });
            entry.seq = Seq(0);
            if let EntryKind::Task(record) = &mut entry.kind
                && record.step == TaskStep::Opened
                && let Some(task) = world.tasks.get(&record.task)
            {
                record.dropped.clone_from(&task.dropped);
                record.forgotten.clone_from(&task.forgotten);
                let begun = record.handoff.as_ref();
                if begun.is_some_and(|begun| is_never_delivered(world, begun)) {
                    task.leave_begun(record);
                }
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    fn digest_entry(&self, carried: u64, read: &CarryingRead) -> Option<Entry> {
        let digest = Digest::of(read.digest.as_ref()?, self.recorder.world(), carried);
        Some(self.recorder.entry(
            Party::System,
            None,
            EntryKind::Other {
                entry_type: EntryKind::SUMMARY.to_owned(),
                detail: digest.to_detail(),
                handles: Vec::new(),
            },
            digest.to_text(),
            None,
        ))
    }

    /// Who waits for what comes after some place goes on waiting for just that.
    fn move_cursors(&mut self, before: &Snapshot) {
        let places: BTreeMap<Seq, Seq> = before
            .unsettled
            .iter()
            .filter_map(|(id, old)| Some((old.seq, self.recorder.world().unsettled.get(id)?.seq)))
            .collect();
        self.clients.move_cursors(|mut cursor| {
            cursor.after = place_now(&places, cursor.after);
            cursor.until = cursor.until.map(|seq| place_now(&places, seq));
            Some(cursor)
        });
    }
}

impl Deliveries {
    /// How far the carried messages have come, so that nothing that is proven is delivered again
    /// and nothing that nobody can know is sent again.
    fn delivery_facts(&self, base: &Base) -> Vec<Entry> {
        let mut facts: BTreeMap<Seq, Vec<Entry>> = BTreeMap::new();
        for (id, message) in &base.recorder.world().unsettled {
            if let Some(result) = message.result {
                let rung = message.rung.clone();
                // Of one that was sent again: what its history shows of that turn proves nothing.
                let turns = message.cut_off_in.iter().cloned().map(Some);
                let mut turns: Vec<_> = turns
                    .filter(|_| result != DeliveryResult::Confirmed)
                    .collect();
                if turns.is_empty() {
                    turns.push(None);
                }
                let fact =
                    |turn| self.delivery_entry(base, id, message.to, result, rung.clone(), turn);
                facts.insert(message.seq, turns.into_iter().map(fact).collect());
            }
        }
        for (id, handoff) in &base.recorder.world().open_handoffs {
            if let (true, Some(to)) = (handoff.delivered, receiver(handoff.to.as_ref())) {
                facts.entry(handoff.seq).or_insert_with(|| {
                    vec![self.settled_entry(base, id, to, DeliveryResult::Confirmed)]
                });
            }
        }
        facts
            .into_values()
            .flatten()
            .map(|mut entry| {
                entry.content = format!("before the compaction: {}", entry.content);
                entry
            })
            .collect()
    }
}

/// Where what stood at a place stands now, or what stood before it.
fn place_now(places: &BTreeMap<Seq, Seq>, seq: Seq) -> Seq {
    let known = places.range(..=seq).next_back();
    known.map_or(Seq(0), |(_, new)| *new)
}

/// When a gate began, as the next session has it, which numbers its entries from 1: before all of
/// it where that was before a proposal that waits and that it ended behind.
fn began_in_next(run: &GateRun, at: Seq, world: &Snapshot) -> Option<Seq> {
    let began = run.began_after?;
    let mut waiting = world.pending_proposals.values();
    let is_before_one = waiting.any(|proposal| began < proposal.seq && proposal.seq < at);
    is_before_one.then_some(Seq(0))
}

/// Whether it asked for something that nobody owes any more.
fn is_over(entry: &Entry, world: &Snapshot) -> bool {
    match &entry.kind {
        EntryKind::Message(message) => {
            let mut open = world.open_questions.values();
            message.require_reply && open.all(|question| question.id != entry.id)
        }
        EntryKind::Handoff(_) => world.is_handoff_over(&entry.id),
        _ => false,
    }
}

/// Whether it handed work over that is over without an answer.
fn is_unanswered(entry: &Entry, world: &Snapshot) -> bool {
    matches!(entry.kind, EntryKind::Handoff(_)) && world.is_handoff_unanswered(&entry.id)
}

fn is_never_delivered(world: &Snapshot, id: &EntryId) -> bool {
    let open = world.open_handoffs.get(id).map(Arc::as_ref);
    // A rejection may open it again.
    let mut closed = world.closed_handoffs.iter();
    let handoff = open.or_else(|| closed.find(|handoff| handoff.id == *id));
    handoff.is_some_and(|handoff| handoff.never_delivered)
}

fn receiver(to: Option<&Party>) -> Option<Agent> {
    to.and_then(Party::agent)
}
