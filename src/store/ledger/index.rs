//! [`Index`]: where each entry lies in the file, and which entry has an id.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use crate::core::id::{EntryId, Seq};

/// One entry's place. Sixteen bytes, because there may be a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Where the line begins.
    pub offset: u64,
    /// Its length without newline.
    pub len: u32,
    /// The entry's number; higher than all before it.
    pub seq: u32,
}

/// Finds entries by number and by id.
#[derive(Debug, Default)]
pub(super) struct Index {
    slots: Vec<Slot>,
    /// By hash of the id, not by the id: ids are as long as their writers like. Two ids of one
    /// ledger with the same 64 keyed bits are not to be expected in the age of the universe.
    ids: HashMap<u64, u32>,
    keys: RandomState,
}

impl Index {
    /// Adds an entry that stands after all others.
    pub(super) fn push(&mut self, id: &EntryId, slot: Slot) {
        let at = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.push(slot);
        // Of two entries with one id the first is meant: that is the one others refer to.
        self.ids.entry(self.keys.hash_one(id)).or_insert(at);
    }

    /// The slot of an entry.
    pub(super) fn get(&self, seq: Seq) -> Option<Slot> {
        let seq = u32::try_from(seq.0).ok()?;
        let at = self
            .slots
            .binary_search_by_key(&seq, |slot| slot.seq)
            .ok()?;
        self.slots.get(at).copied()
    }

    /// The number of the entry with this id.
    pub(super) fn seq_of(&self, id: &EntryId) -> Option<Seq> {
        let at = *self.ids.get(&self.keys.hash_one(id))?;
        let slot = self.slots.get(usize::try_from(at).ok()?)?;
        Some(Seq(slot.seq.into()))
    }

    /// Up to `limit` slots after the cursor, in the order asked for.
    pub(super) fn after(&self, cursor: Option<u64>, ascending: bool, limit: usize) -> Vec<Slot> {
        if ascending {
            let from = cursor.map_or(0, |cursor| {
                self.slots
                    .partition_point(|slot| u64::from(slot.seq) <= cursor)
            });
            self.slots[from..].iter().take(limit).copied().collect()
        } else {
            let to = cursor.map_or(self.slots.len(), |cursor| {
                self.slots
                    .partition_point(|slot| u64::from(slot.seq) < cursor)
            });
            self.slots[..to].iter().rev().take(limit).copied().collect()
        }
    }

    /// The last entry's slot.
    pub(super) fn last(&self) -> Option<Slot> {
        self.slots.last().copied()
    }
}
