//! Compaction: the session is sealed as it is, and a new file goes on with what is open in it and
//! a digest of the rest. No line is rewritten; an entry that is carried keeps its id and says
//! where it stood.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::unreadable;
use crate::core::agent::{Agent, Party};
use crate::core::carried::CarriedEntry;
use crate::core::delivery::DeliveryWay;
use crate::core::entry::{DeliveryResult, Entry, EntryKind, Fate, LifecycleEvent, NoteKind};
use crate::core::id::{EntryId, Seq};
use crate::core::snapshot::Snapshot;
use crate::daemon::digest::Digest;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::rollover::Rollover;
use crate::wire::control::{CompactParams, Compacted, Refusal, RefusalCode, Reply};

impl Daemon {
    pub(super) fn compact(&mut self, params: &CompactParams, reply: ReplySender) {
        let compacted = self
            .may_end(params.session_id.as_ref())
            .and_then(|()| self.compact_now());
        answer(reply, compacted.map(Reply::Compacted));
    }

    fn compact_now(&mut self) -> Result<Compacted, Refusal> {
        self.check_unaltered()?;
        let mut wanted = wanted(self.recorder.world(), |id| {
            self.recorder.ledger().seq_of(id)
        });
        wanted.extend(self.resolved_for_now());
        let mut carried = self.carried_entries(wanted)?;
        let count = carried.len() as u64;
        carried.extend(self.delivery_facts());
        carried.push(self.digest_entry(count)?);
        let word = self.entry(
            Party::Human,
            None,
            LifecycleEvent::SessionCompacted,
            format!("the operator compacts this session: {count} entries are carried on"),
            None,
        );
        let rolled_over = self.roll_over(Rollover {
            fate: Fate::Compacted,
            texts: None,
            closing: vec![word],
            carried,
        })?;
        self.outbox.move_to(self.recorder.world());
        self.move_cursors(&rolled_over.world);
        let world = self.recorder.world();
        self.handoff_dedup
            .retain(|id| world.open_handoffs.contains_key(id));
        Ok(Compacted {
            sealed: rolled_over.before.session_id,
            archive: rolled_over.archive.unwrap_or_default(),
            entries: rolled_over.before.entries,
            head: rolled_over.before.head,
            session_id: self.recorder.session_id().clone(),
            carried: count,
        })
    }

    /// These entries in the order in which they were recorded, as they will stand in the new file.
    pub(super) fn carried_entries(&self, wanted: BTreeSet<Seq>) -> Result<Vec<Entry>, Refusal> {
        let mut entries = Vec::new();
        for seq in wanted {
            let stored = self
                .recorder
                .ledger()
                .read(seq)
                .map_err(|error| unreadable(&error))?
                .ok_or_else(|| {
                    Refusal::new(
                        RefusalCode::LedgerUnreadable,
                        format!("entry {seq} is open and could not be read"),
                        "nothing was changed; see what `ctxrelay ledger verify` says",
                    )
                })?;
            let mut entry = stored.entry;
            let (session_id, seq) = match entry.carried.take() {
                // Carried again, it still stood first where it stood first.
                Some(first) => (first.session_id, first.seq),
                None => (self.recorder.session_id().clone(), seq),
            };
            entry.carried = Some(CarriedEntry {
                session_id,
                seq,
                settled: entry.receiver().is_some()
                    && !self.recorder.world().unsettled.contains_key(&entry.id),
                answered: asks(&entry) && !is_open_question(self.recorder.world(), &entry.id),
            });
            entry.seq = Seq(0);
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Handoffs that a pending proposal counts as resolved, and what resolved them: a rejection
    /// opens them again.
    fn resolved_for_now(&self) -> Vec<Seq> {
        let named: BTreeSet<&EntryId> = self
            .recorder
            .world()
            .pending_proposals
            .values()
            .flat_map(|pending| &pending.proposal.handles)
            .collect();
        let mut resolved = Vec::new();
        let closed = self.recorder.world().closed_handoffs.iter();
        for handoff in closed.filter(|closed| named.contains(&closed.id)) {
            let closer = handoff.handled_by.as_ref();
            let closer =
                closer.and_then(|(id, _)| self.recorder.stored(self.recorder.ledger().seq_of(id)?));
            // A decision closes nothing without its proposal, and a handoff would be open again:
            // without what closed it, it is better not there.
            if let Some(closer) = closer.filter(|closer| {
                matches!(
                    closer.entry.kind,
                    EntryKind::Message(_) | EntryKind::Note { .. }
                )
            }) {
                resolved.extend([handoff.seq, closer.entry.seq]);
            }
        }
        resolved
    }

    /// How far the carried messages have come, so that nothing that is proven is delivered again
    /// and nothing that nobody can know is sent again.
    fn delivery_facts(&self) -> Vec<Entry> {
        let mut facts: BTreeMap<Seq, (EntryId, Agent, DeliveryResult, Option<DeliveryWay>)> =
            BTreeMap::new();
        for (id, message) in &self.recorder.world().unsettled {
            if let Some(result) = message.result {
                let fact = (id.clone(), message.to, result, message.rung.clone());
                facts.insert(message.seq, fact);
            }
        }
        for (id, handoff) in &self.recorder.world().open_handoffs {
            if let (true, Some(to)) = (handoff.delivered, receiver(handoff.to.as_ref())) {
                facts
                    .entry(handoff.seq)
                    .or_insert_with(|| (id.clone(), to, DeliveryResult::Confirmed, None));
            }
        }
        facts
            .into_values()
            .map(|(id, to, result, rung)| {
                let mut entry = self.delivery_entry(&id, to, result, rung, None);
                entry.content = format!("before the compaction: {}", entry.content);
                entry
            })
            .collect()
    }

    fn digest_entry(&self, carried: u64) -> Result<Entry, Refusal> {
        let digest = Digest::of(self.recorder.ledger(), self.recorder.world(), carried)
            .map_err(|error| unreadable(&error))?;
        Ok(self.entry(
            Party::System,
            None,
            EntryKind::Other {
                entry_type: "summary".to_owned(),
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
        self.clients.waiters_mut().move_cursors(|mut cursor| {
            cursor.after = place_now(&places, cursor.after);
            cursor.until = cursor.until.map(|seq| place_now(&places, seq));
            Some(cursor)
        });
    }
}

/// Where what stood at a place stands now, or what stood before it.
fn place_now(places: &BTreeMap<Seq, Seq>, seq: Seq) -> Seq {
    let known = places.range(..=seq).next_back();
    known.map_or(Seq(0), |(_, new)| *new)
}

/// The places of the entries that are carried on.
fn wanted(world: &Snapshot, seq_of: impl Fn(&EntryId) -> Option<Seq>) -> BTreeSet<Seq> {
    let mut wanted: BTreeSet<Seq> = world.open_questions.keys().copied().collect();
    wanted.extend(world.unsettled.values().map(|message| message.seq));
    wanted.extend(
        world
            .pending_proposals
            .values()
            .map(|proposal| proposal.seq),
    );
    for handoff in world.open_handoffs.values() {
        wanted.insert(handoff.seq);
        // What was said about it, so that it stays in its lane.
        let about = [&handoff.answer, &handoff.blocked_by];
        wanted.extend(about.into_iter().flatten().filter_map(&seq_of));
    }
    wanted.extend(world.open_blockers.iter().map(|blocker| blocker.seq));
    let states = world.continuity.values().flat_map(BTreeMap::values);
    wanted.extend(states.flat_map(|state| state.stated().map(|said| said.seq)));
    wanted.extend(world.entries_of_open_tasks());
    wanted.extend(world.gates.values().map(|gate| gate.seq));
    // Where the work stands: the latest of each sort, and every decision.
    for note in world.notes.iter().rev() {
        let is_latest = !world
            .notes
            .iter()
            .any(|other| other.kind == note.kind && other.seq > note.seq);
        let is_wanted = match note.kind {
            NoteKind::Decision => true,
            NoteKind::Goal | NoteKind::Plan | NoteKind::NextStep => is_latest,
            // What of the others still counts is in the agents' states.
            _ => false,
        };
        if is_wanted {
            wanted.insert(note.seq);
        }
    }
    wanted
}

fn asks(entry: &Entry) -> bool {
    matches!(&entry.kind, EntryKind::Message(message) if message.require_reply)
}

fn is_open_question(world: &Snapshot, id: &EntryId) -> bool {
    world
        .open_questions
        .values()
        .any(|question| question.id == *id)
}

fn receiver(to: Option<&Party>) -> Option<Agent> {
    to.and_then(Party::agent)
}
