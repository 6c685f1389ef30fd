//! [`CarryingRead`]: what an ending session leaves to the next one, read beside the loop before it
//! ends. A compaction reads the whole ledger; what is recorded in the meantime is in memory.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::core::entry::{EntryKind, NoteKind};
use crate::core::id::{EntryId, Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::daemon::base::under_way::UnderWay;
use crate::daemon::commands::checks::unreadable;
use crate::daemon::reply::ReplySender;
use crate::daemon::sessions::digest::DigestBeginning;
use crate::store::ledger::{self, Ledger, Stored};
use crate::wire::control::{ClearParams, CompactParams, Refusal, RefusalCode};

/// How a session is to end.
#[derive(Debug, Clone)]
pub enum EndingWish {
    /// Put away; open tasks go on.
    Clear(ClearParams),
    /// Sealed; what is open in it goes on.
    Compact(CompactParams),
}

impl EndingWish {
    /// The session that was meant, where one was named.
    pub(in crate::daemon) fn named(&self) -> Option<&SessionId> {
        match self {
            Self::Clear(params) => params.session_id.as_ref(),
            Self::Compact(params) => params.session_id.as_ref(),
        }
    }
}

/// A session is to end, and what it leaves was read.
#[derive(Debug)]
pub struct SessionEnding {
    pub(in crate::daemon) wish: EndingWish,
    pub(in crate::daemon) session: SessionId,
    pub(in crate::daemon) read: Result<CarryingRead, Refusal>,
    /// The answer.
    pub(in crate::daemon) reply: ReplySender,
    /// Until this is heard.
    pub(in crate::daemon) under_way: UnderWay,
}

#[derive(Debug)]
pub(in crate::daemon) struct CarryingRead {
    /// The last entry that was recorded then.
    upto: Seq,
    /// The places of the entries that may be carried on.
    wanted: BTreeSet<Seq>,
    /// These, and what else it takes to tell which are wanted when the session ends.
    entries: BTreeMap<Seq, Arc<Stored>>,
    /// Of a compaction.
    pub(in crate::daemon) digest: Option<DigestBeginning>,
}

impl CarryingRead {
    /// Reads it. Blocking.
    ///
    /// # Errors
    ///
    /// When the record cannot be read, or was edited.
    pub(in crate::daemon) fn of(
        wish: &EndingWish,
        ledger: &Ledger,
        world: &Snapshot,
    ) -> Result<Self, Refusal> {
        let mut entries = BTreeMap::new();
        let (wanted, digest) = match wish {
            EndingWish::Clear(_) => (world.entries_of_open_tasks(), None),
            EndingWish::Compact(_) => {
                check_unaltered(ledger)?;
                let digest = DigestBeginning::read(ledger, world);
                let digest = digest.map_err(|error| unreadable(&error))?;
                // One that cannot be read is wanted: nothing ends without it.
                for seq in of_turns(world) {
                    if let Ok(stored) = entry_at(ledger, seq) {
                        entries.insert(seq, stored);
                    }
                }
                let known = |seq: Seq| entries.get(&seq).cloned();
                (compaction_wants(world, ledger, known)?, Some(digest))
            }
        };
        for seq in &wanted {
            if let Entry::Vacant(place) = entries.entry(*seq) {
                place.insert(entry_at(ledger, *seq)?);
            }
        }
        if matches!(wish, EndingWish::Clear(_)) {
            // Which of them are of open tasks only their entries tell. One that cannot be read holds
            // up no clear.
            for seq in world.entries_of_own_blockers() {
                if let Ok(stored) = entry_at(ledger, seq) {
                    entries.insert(seq, stored);
                }
            }
        }
        Ok(Self {
            upto: world.seq,
            wanted,
            entries,
            digest,
        })
    }

    /// What a compaction carries on now, where entries were recorded since this was read. `recent`
    /// has those: the record is read for none of them.
    ///
    /// # Errors
    ///
    /// As [`compaction_wants`].
    pub(in crate::daemon) fn wanted_now(
        &self,
        world: &Snapshot,
        ledger: &Ledger,
        recent: impl Fn(Seq) -> Option<Arc<Stored>>,
    ) -> Result<BTreeSet<Seq>, Refusal> {
        match world.seq == self.upto {
            true => Ok(self.wanted.clone()),
            false => compaction_wants(world, ledger, |seq| self.entry(seq).or_else(|| recent(seq))),
        }
    }

    /// The entry at this place, if it was read.
    pub(in crate::daemon) fn entry(&self, seq: Seq) -> Option<Arc<Stored>> {
        self.entries.get(&seq).cloned()
    }
}

/// An entry that is carried on.
pub(in crate::daemon) fn entry_at(ledger: &Ledger, seq: Seq) -> Result<Arc<Stored>, Refusal> {
    let stored = ledger.read(seq).map_err(|error| unreadable(&error))?;
    let stored = stored.ok_or_else(|| {
        Refusal::new(
            RefusalCode::LedgerUnreadable,
            format!("entry {seq} is open and could not be read"),
            "nothing was changed; see what `ctxrelay ledger verify` says",
        )
    })?;
    Ok(Arc::new(stored))
}

/// Handoffs that a pending proposal counts as resolved: a rejection opens them again.
fn resolved_for_now(world: &Snapshot) -> Vec<Seq> {
    let pending = world.pending_proposals.values();
    let named: BTreeSet<&EntryId> = pending
        .flat_map(|pending| &pending.proposal.handles)
        .collect();
    let closed = world.closed_handoffs.iter();
    let resolved = closed.filter(|closed| named.contains(&closed.id));
    resolved.map(|closed| closed.seq).collect()
}

/// What Codex has and may lose with its turn, or has lost.
fn of_turns(world: &Snapshot) -> impl Iterator<Item = Seq> {
    let in_turn = world.in_turn.values().map(|(_, message)| message.seq);
    let cut_off = world.cut_off.values().map(|message| message.seq);
    in_turn.chain(cut_off)
}

/// The places of the entries that a compaction carries on. Reads the record for some of them, but
/// not for what is `known`.
///
/// # Errors
///
/// When it cannot be told where one of them stands.
pub(in crate::daemon) fn compaction_wants(
    world: &Snapshot,
    ledger: &Ledger,
    known: impl Fn(Seq) -> Option<Arc<Stored>>,
) -> Result<BTreeSet<Seq>, Refusal> {
    let seq_of = |id: &EntryId| {
        let stored = ledger.stored_of(id, &known)?;
        Ok(stored.map(|stored| stored.entry.seq))
    };
    let mut wanted = wanted(world, seq_of).map_err(|error| unreadable(&error))?;
    wanted.extend(resolved_for_now(world));
    // A message can be sent again. A handoff goes on where it is open, or a task is made of it.
    // What cannot be read is wanted as well: it is read once more, and nothing ends without it.
    let is_handoff = |seq: &Seq| {
        let stored = known(*seq).or_else(|| entry_at(ledger, *seq).ok());
        stored.is_some_and(|stored| matches!(stored.entry.kind, EntryKind::Handoff(_)))
    };
    wanted.extend(of_turns(world).filter(|seq| !is_handoff(seq)));
    Ok(wanted)
}

fn wanted(
    world: &Snapshot,
    seq_of: impl Fn(&EntryId) -> io::Result<Option<Seq>>,
) -> io::Result<BTreeSet<Seq>> {
    let mut wanted: BTreeSet<Seq> = world.open_questions.keys().copied().collect();
    wanted.extend(world.unsettled.values().map(|message| message.seq));
    wanted.extend(
        world
            .pending_proposals
            .values()
            .map(|proposal| proposal.seq),
    );
    for handoff in world.standing_handoffs() {
        wanted.insert(handoff.seq);
        // What was said about it, so that it stays in its lane.
        let about = [&handoff.answer, &handoff.blocked_by];
        for id in about.into_iter().flatten() {
            wanted.extend(seq_of(id)?);
        }
        // Also where somebody has said more since.
        wanted.extend(handoff.final_answer);
    }
    wanted.extend(world.entries_of_blockers());
    wanted.extend(world.entries_of_states());
    wanted.extend(world.entries_of_open_tasks());
    wanted.extend(world.entries_of_findings());
    wanted.extend(world.gates.values().map(|gate| gate.seq));
    // What the next proposal is compared with. A signature is of where the decision stood.
    if world.signing.is_none() {
        wanted.extend(world.last_approval().into_iter().flatten());
    }
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
    Ok(wanted)
}

/// Refuses to carry entries on into another file when somebody edited the one they stand in since
/// it was opened: with a new hash they would be as good as recorded. Reads all that was recorded
/// until now; what is recorded meanwhile is our own writer's. Blocking.
fn check_unaltered(ledger: &Ledger) -> Result<(), Refusal> {
    let stats = ledger.stats();
    let now = ledger::read_to(ledger.path(), stats.bytes, |_| ControlFlow::Continue(()));
    let now = now.map_err(|error| unreadable(&error))?;
    if !stats.chain_ok || now.chain_ok && now.head == stats.head {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalCode::RecordAltered,
        "somebody else edited the record",
        "nothing was changed; see where with `ctxrelay ledger verify`, and begin anew with \
         `ctxrelay ledger clear`",
    ))
}
