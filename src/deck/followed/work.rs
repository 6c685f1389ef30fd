//! [`WorkIndex`]: the open handoffs as the screen shows them, kept current entry by entry.
//!
//! Fifty thousand of them cost nothing as long as nobody touches them: an entry names the few that
//! it can change, and a handoff that only grows old waits in the order of its time.

use std::collections::BTreeSet;
use std::sync::Arc;

use ctxrelay_ui::model as ui;

use crate::core::agent::{Agent, Party};
use crate::core::entry::{DeliveryResult, Entry, EntryKind, LifecycleEvent, handoff_words};
use crate::core::id::{EntryId, Seq};
use crate::core::snapshot::{HandoffColumn, HandoffSnapshot, STALE_AFTER_MS, Snapshot};
use crate::deck::followed::row_facts::is_cut_off;
use crate::deck::party::party_of;

/// The most of an ask that a row carries, in characters: a line of the widest screen.
const ASK_CHARS_MAX: usize = 200;

/// The open handoffs of a record.
#[derive(Debug, Default)]
pub struct WorkIndex {
    open: ui::HandoffRows,
    /// The same ones by column; nothing is done that is open.
    columns: [ui::HandoffRows; 5],
    /// When one that only waits becomes stale, ms since the epoch.
    due: BTreeSet<(i64, EntryId)>,
    /// Columns are those of this time, ms since the epoch.
    now_ms: i64,
    /// What the daemon named last of the messages whose turn of Claude's ended early.
    cut_off: Vec<EntryId>,
    /// Rows that were looked at.
    #[cfg(test)]
    pub(in crate::deck) looked_at: usize,
}

/// What an entry can change.
#[derive(Debug)]
pub enum Touched {
    /// These handoffs, and others of them not, with the line of each that is open before it.
    Some(Vec<(EntryId, Option<Seq>)>),
    /// Any of them.
    All,
}

impl WorkIndex {
    /// All of a world, in the place of what was known. That goes first: rows of two worlds at once
    /// leave holes in memory that nothing fills.
    pub fn begin_again(&mut self, world: &Snapshot, now_ms: i64) {
        *self = Self {
            now_ms,
            cut_off: std::mem::take(&mut self.cut_off),
            ..Self::default()
        };
        let mut handoffs: Vec<&Arc<HandoffSnapshot>> = world.open_handoffs.values().collect();
        // Rows that come in their order need no moving.
        handoffs.sort_by_key(|handoff| handoff.seq);
        for handoff in handoffs {
            self.put(world, handoff);
        }
        self.due = std::mem::take(&mut self.due).into_iter().collect();
    }

    /// The handoffs that an entry can change; to be asked before it is folded in.
    pub fn touched(world: &Snapshot, entry: &Entry) -> Touched {
        let mut touched = vec![entry.id.clone()];
        touched.extend_from_slice(entry.handles());
        match &entry.kind {
            EntryKind::Message(message) => touched.extend(message.in_reply_to.clone()),
            EntryKind::Delivery(record) => touched.push(record.message_id.clone()),
            EntryKind::Lifecycle {
                event: LifecycleEvent::ContextRelay3Adopted,
            } => return Touched::All,
            EntryKind::FinalityDecision(decision) => {
                let proposal = world.proposal(&decision.proposal_id);
                touched.extend(
                    proposal
                        .into_iter()
                        .flat_map(|p| p.proposal.handles.clone()),
                );
            }
            EntryKind::Turn(_) | EntryKind::Lifecycle { .. } | EntryKind::AgentChanged(_) => {
                touched.extend(world.in_turn.keys().cloned());
                touched.extend(world.cut_off.keys().cloned());
            }
            _ => {}
        }
        let line_of = |id: &EntryId| world.open_handoffs.get(id).map(|handoff| handoff.seq);
        let with_line = |id: EntryId| (line_of(&id), id);
        let touched = touched.into_iter().map(with_line);
        Touched::Some(touched.map(|(line, id)| (id, line)).collect())
    }

    /// Takes over what an entry has changed, once it is folded in.
    pub fn take(&mut self, world: &Snapshot, touched: Touched) {
        match touched {
            Touched::Some(ids) => {
                for (id, line) in ids {
                    self.update(world, &id, line);
                }
            }
            Touched::All => self.begin_again(world, self.now_ms),
        }
    }

    /// The daemon names the messages whose turn of Claude's ended early: no entry does.
    pub fn take_cut_off(&mut self, world: &Snapshot, ids: &[EntryId]) {
        let before = std::mem::replace(&mut self.cut_off, ids.to_vec());
        for id in before.iter().chain(ids) {
            let line = world.open_handoffs.get(id).map(|handoff| handoff.seq);
            self.update(world, id, line);
        }
    }

    /// Takes over where a handoff stands now, which had a row at `line` if it had one.
    fn update(&mut self, world: &Snapshot, id: &EntryId, line: Option<Seq>) {
        if let Some(row) = line.and_then(|line| self.open.remove(line.0)) {
            self.columns[row.column.index()].remove(row.seq);
            self.due.remove(&(due_ms(&row), id.clone()));
        }
        if let Some(handoff) = world.open_handoffs.get(id) {
            self.put(world, handoff);
        }
    }

    /// Puts in the row of an open one.
    fn put(&mut self, world: &Snapshot, handoff: &HandoffSnapshot) {
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        let row = Arc::new(row(world, handoff, self.now_ms, &self.cut_off));
        if due_ms(&row) > self.now_ms {
            self.due.insert((due_ms(&row), handoff.id.clone()));
        }
        // What nobody got is listed until it is closed, and is no work.
        if !handoff.never_delivered {
            self.columns[row.column.index()].insert(Arc::clone(&row));
        }
        self.open.insert(row);
    }

    /// Time has passed.
    pub fn advance(&mut self, world: &Snapshot, now_ms: i64) {
        if now_ms < self.now_ms {
            // A clock that was put back makes nothing younger by itself.
            self.begin_again(world, now_ms);
        }
        self.now_ms = now_ms;
        while let Some((due_ms, id)) = self.due.first().filter(|(due_ms, _)| *due_ms <= now_ms) {
            let (due_ms, id) = (*due_ms, id.clone());
            self.due.remove(&(due_ms, id.clone()));
            let line = world.open_handoffs.get(&id).map(|handoff| handoff.seq);
            self.update(world, &id, line);
        }
    }

    /// When the next one becomes stale, ms since the epoch.
    pub fn next_due_ms(&self) -> Option<i64> {
        self.due.first().map(|(due_ms, _)| *due_ms)
    }

    /// All of them.
    pub fn open(&self) -> &ui::HandoffRows {
        &self.open
    }

    /// By column, with those that were closed lately.
    pub fn tasks(&self, world: &Snapshot) -> ui::Tasks {
        let mut columns = self.columns.clone();
        columns[ui::TaskColumn::Done.index()] = world
            .closed_handoffs
            .iter()
            .map(|handoff| row(world, handoff, self.now_ms, &self.cut_off))
            .collect();
        ui::Tasks {
            columns,
            done: world.closed_handoffs_total,
        }
    }
}

/// When an open one becomes stale, ms since the epoch.
fn due_ms(row: &ui::HandoffRow) -> i64 {
    row.since_ms.saturating_add(STALE_AFTER_MS + 1)
}

/// Handoffs are named by their place in the record: short, unique, and where to find them.
pub(in crate::deck) fn handoff_name(handoff: &HandoffSnapshot) -> String {
    format!("h{}", handoff.seq)
}

fn row(
    world: &Snapshot,
    handoff: &HandoffSnapshot,
    now_ms: i64,
    cut_off: &[EntryId],
) -> ui::HandoffRow {
    let handled = handoff.handled_by.as_ref();
    ui::HandoffRow {
        column: match handoff.column(now_ms) {
            HandoffColumn::Open => ui::TaskColumn::Open,
            HandoffColumn::Active => ui::TaskColumn::Active,
            HandoffColumn::Blocked => ui::TaskColumn::Blocked,
            HandoffColumn::Stale => ui::TaskColumn::Stale,
            HandoffColumn::Done => ui::TaskColumn::Done,
        },
        stage: stage(world, handoff, cut_off),
        id_short: handoff_name(handoff),
        seq: handoff.seq.0,
        from: party_of(&handoff.from),
        to: handoff.to.as_ref().map_or(ui::Party::Human, party_of),
        ask: beginning(handoff),
        since_ms: handled.map_or(handoff.at_ms, |(_, at_ms)| *at_ms),
    }
}

/// As much of an ask as a row carries: mostly all of it, which is shared.
fn beginning(handoff: &HandoffSnapshot) -> Arc<str> {
    let words = handoff_words(&handoff.from, &handoff.ask);
    match words.char_indices().nth(ASK_CHARS_MAX) {
        Some((end, _)) => words[..end].into(),
        None if words.len() < handoff.ask.len() => words.into(),
        None => Arc::clone(&handoff.ask),
    }
}

fn stage(world: &Snapshot, handoff: &HandoffSnapshot, cut_off: &[EntryId]) -> ui::HandoffStage {
    let id = &handoff.id;
    if handoff.handled_by.is_some() {
        // What an operator closes may be an agent's proposal for it.
        let by_agent = handoff.closed_by.as_ref().filter(|by| by.agent().is_some());
        return match by_agent == Some(&handoff.from) {
            true => ui::HandoffStage::ClosedBySender,
            false => ui::HandoffStage::Closed,
        };
    }
    if handoff.blocked_by.is_some() {
        return ui::HandoffStage::Blocked;
    }
    // What it said on its way there hides no turn that died.
    if is_cut_off(world, cut_off, id) {
        return ui::HandoffStage::CutOff;
    }
    if handoff.answer.is_some() {
        return ui::HandoffStage::Answered;
    }
    let message = world.unsettled.get(id);
    if message.is_some_and(|message| message.result == Some(DeliveryResult::Ambiguous)) {
        return ui::HandoffStage::Ambiguous;
    }
    if handoff.delivered {
        return match &handoff.to {
            Some(Party::Agent(Agent::Codex)) if world.in_turn.contains_key(id) => {
                ui::HandoffStage::InTurn
            }
            _ => ui::HandoffStage::Delivered,
        };
    }
    // A receiver that is no agent reads it in the record.
    let is_carried = handoff.to.as_ref().is_some_and(|to| to.agent().is_some());
    match message {
        None if is_carried && handoff.never_delivered => ui::HandoffStage::Undelivered,
        // It was taken back when the receiver had been given it.
        None if is_carried => ui::HandoffStage::Ambiguous,
        None => ui::HandoffStage::Delivered,
        Some(_) => ui::HandoffStage::Unproven,
    }
}

#[cfg(test)]
mod tests;
