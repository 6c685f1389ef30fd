//! [`LaneRows`]: the rows of one lane in their order, each with its place on the ladder.
//!
//! A lane can have ten thousand rows, and at every turn the loop asks each lane what is due and
//! what goes out next. A [`LaneIndex`] keeps these answers; [`LaneRows::change`] and the two
//! functions beside it are the only ways to change a row, and keep the index right.

use std::collections::BTreeMap;

use super::index::{LaneIndex, LaneRow};
use crate::agent::Agent;
use crate::delivery::Delivery;
use crate::id::{RuntimeSession, Seq};

/// One lane to a receiver. A decision for an entry of the record goes through one lane, not through
/// all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LaneId {
    Codex,
    Claude(RuntimeSession),
}

impl LaneId {
    pub(super) fn of(row: &Delivery) -> Self {
        match row.to {
            Agent::Codex => Self::Codex,
            Agent::Claude => Self::Claude(row.runtime_session.clone()),
        }
    }

    pub(super) fn leads_to(&self, agent: Agent) -> bool {
        match self {
            Self::Codex => agent == Agent::Codex,
            Self::Claude(_) => agent == Agent::Claude,
        }
    }
}

/// The rows of one lane.
#[derive(Debug, Default)]
pub(super) struct LaneRows {
    rows: BTreeMap<Seq, LaneRow>,
    index: LaneIndex,
}

impl LaneRows {
    pub(super) fn insert(&mut self, row: LaneRow) {
        self.index.add(&row);
        self.rows.insert(row.delivery.seq, row);
    }

    pub(super) fn remove(&mut self, seq: Seq) -> Option<LaneRow> {
        let row = self.rows.remove(&seq)?;
        self.index.take_out(&row);
        Some(row)
    }

    /// Changes a row; nothing where there is none.
    pub(super) fn change<R>(
        &mut self,
        seq: Seq,
        change: impl FnOnce(&mut LaneRow) -> R,
    ) -> Option<R> {
        let row = self.rows.get_mut(&seq)?;
        Some(self.index.follow(row, change))
    }

    pub(super) fn change_all(&mut self, mut change: impl FnMut(&mut LaneRow)) {
        for row in self.rows.values_mut() {
            self.index.follow(row, &mut change);
        }
    }

    pub(super) fn get(&self, seq: Seq) -> Option<&LaneRow> {
        self.rows.get(&seq)
    }

    /// All of them, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Delivery> {
        self.rows.values().map(|row| &row.delivery)
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn index(&self) -> &LaneIndex {
        &self.index
    }

    /// All of them, to stand elsewhere.
    pub(super) fn into_rows(self) -> impl Iterator<Item = LaneRow> {
        self.rows.into_values()
    }

    /// Gives up the room that growing row by row left.
    pub(super) fn pack(&mut self) {
        self.rows = std::mem::take(&mut self.rows).into_iter().collect();
    }

    /// What the index has to be.
    #[cfg(test)]
    pub(super) fn index_afresh(&self) -> LaneIndex {
        let mut index = LaneIndex::default();
        self.rows.values().for_each(|row| index.add(row));
        index
    }
}
