//! [`CarryingRead`]: what a session that ends leaves to the one that follows, read beside the loop
//! before it ends. All of the record is read for a compaction; what is recorded meanwhile is in
//! memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;

use crate::core::entry::{Entry, EntryKind, NoteKind};
use crate::core::id::{EntryId, Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::daemon::base::under_way::UnderWay;
use crate::daemon::commands::checks::unreadable;
use crate::daemon::reply::ReplySender;
use crate::daemon::sessions::digest::DigestBeginning;
use crate::store::ledger::{self, Ledger};
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
    /// What was read of it.
    pub(in crate::daemon) read: Result<CarryingRead, Refusal>,
    /// The answer.
    pub(in crate::daemon) reply: ReplySender,
    /// Until this is heard.
    pub(in crate::daemon) under_way: UnderWay,
}

/// What was read.
#[derive(Debug)]
pub(in crate::daemon) struct CarryingRead {
    /// The last entry that was recorded then.
    pub(in crate::daemon) upto: Seq,
    /// The places of the entries that may be carried on.
    pub(in crate::daemon) wanted: BTreeSet<Seq>,
    pub(in crate::daemon) entries: BTreeMap<Seq, Entry>,
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
        let (wanted, digest) = match wish {
            EndingWish::Clear(_) => (world.entries_of_open_tasks(), None),
            EndingWish::Compact(_) => {
                check_unaltered(ledger)?;
                let digest = DigestBeginning::read(ledger, world);
                let digest = digest.map_err(|error| unreadable(&error))?;
                (compaction_wants(world, ledger)?, Some(digest))
            }
        };
        let mut entries = BTreeMap::new();
        for seq in &wanted {
            entries.insert(*seq, entry_at(ledger, *seq)?);
        }
        if matches!(wish, EndingWish::Clear(_)) {
            // Which of them are of open tasks only their entries tell. One that cannot be read holds
            // up no clear.
            for seq in world.entries_of_own_blockers() {
                if let Ok(entry) = entry_at(ledger, seq) {
                    entries.insert(seq, entry);
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
}

/// An entry that is carried on.
pub(in crate::daemon) fn entry_at(ledger: &Ledger, seq: Seq) -> Result<Entry, Refusal> {
    let stored = ledger.read(seq).map_err(|error| unreadable(&error))?;
    let stored = stored.ok_or_else(|| {
        Refusal::new(
            RefusalCode::LedgerUnreadable,
            format!("entry {seq} is open and could not be read"),
            "nothing was changed; see what `ctxrelay ledger verify` says",
        )
    })?;
    Ok(stored.entry)
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

/// Messages that Codex has and may lose with its turn, or has lost: they can be sent again. Handoffs
/// go on where they are open, or a task is made of them.
fn with_their_turns(world: &Snapshot, ledger: &Ledger) -> Vec<Seq> {
    let in_turn = world.in_turn.values().map(|(_, message)| message.seq);
    let cut_off = world.cut_off.values().map(|message| message.seq);
    // What cannot be read is wanted as well: it is read once more, and nothing ends without it.
    let is_handoff = |seq: &Seq| match ledger.read(*seq) {
        Ok(Some(stored)) => matches!(stored.entry.kind, EntryKind::Handoff(_)),
        Ok(None) | Err(_) => false,
    };
    let all = in_turn.chain(cut_off);
    all.filter(|seq| !is_handoff(seq)).collect()
}

/// The places of the entries that a compaction carries on. Reads the record for some of them.
///
/// # Errors
///
/// When it cannot be told where one of them stands.
pub(in crate::daemon) fn compaction_wants(
    world: &Snapshot,
    ledger: &Ledger,
) -> Result<BTreeSet<Seq>, Refusal> {
    let wanted = wanted(world, |id| ledger.seq_of(id));
    let mut wanted = wanted.map_err(|error| unreadable(&error))?;
    wanted.extend(resolved_for_now(world));
    wanted.extend(with_their_turns(world, ledger));
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
