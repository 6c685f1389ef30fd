//! [`HandoffRows`]: handoffs in the order of the record, cheap to pass on and to change.

use std::sync::Arc;

use super::task::HandoffRow;

/// Rows in one chunk at most: what a change copies.
const CHUNK_MAX: usize = 256;

/// Neighbours that are smaller than this together become one.
const CHUNK_MIN: usize = 96;

/// A row is looked at.
fn look() {
    #[cfg(test)]
    LOOKED_AT.set(LOOKED_AT.get() + 1);
}

#[cfg(test)]
thread_local! {
    /// How many rows this thread has looked at.
    pub(crate) static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Rows in the order of their lines in the record, in chunks that all copies share: a copy, and the
/// change of one row, cost the same whether there are ten rows or fifty thousand.
///
/// Lists that could do it as well bring eight crates under another licence; this is all that is
/// needed of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandoffRows {
    /// None of them is empty.
    chunks: Vec<Arc<Vec<Arc<HandoffRow>>>>,
    len: usize,
    /// How many of them are stuck.
    stuck: usize,
}

impl HandoffRows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many are stuck.
    pub fn stuck(&self) -> usize {
        self.stuck
    }

    /// The row at a place, the newest one at 0.
    pub fn get(&self, place: usize) -> Option<&Arc<HandoffRow>> {
        let mut left = place;
        for chunk in self.chunks.iter().rev() {
            if left < chunk.len() {
                look();
                return chunk.get(chunk.len() - 1 - left);
            }
            left -= chunk.len();
        }
        None
    }

    /// The place of a line's row, the newest one at 0.
    pub fn place_of(&self, seq: u64) -> Option<usize> {
        let (chunk, at) = self.find(seq)?;
        let newer: usize = self.chunks[chunk + 1..].iter().map(|c| c.len()).sum();
        Some(newer + self.chunks[chunk].len() - 1 - at)
    }

    /// All of them, newest first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<HandoffRow>> {
        self.chunks
            .iter()
            .rev()
            .flat_map(|chunk| chunk.iter().rev())
            .inspect(|_| look())
    }

    /// Puts a row in, in the place of one of the same line.
    pub fn insert(&mut self, row: Arc<HandoffRow>) {
        let seq = row.seq;
        self.stuck += usize::from(row.stage.is_stuck());
        let chunk = self.chunk_of(seq);
        let is_last = chunk + 1 == self.chunks.len();
        let Some(rows) = self.chunks.get_mut(chunk) else {
            self.chunks.push(Arc::new(vec![row]));
            self.len += 1;
            return;
        };
        let is_newest = rows.last().is_some_and(|last| last.seq < seq);
        if is_newest && is_last && rows.len() >= CHUNK_MAX {
            self.chunks.push(Arc::new(vec![row]));
            self.len += 1;
            return;
        }
        let rows = Arc::make_mut(rows);
        match rows.binary_search_by_key(&seq, |row| row.seq) {
            Ok(at) => {
                let before = std::mem::replace(&mut rows[at], row);
                self.stuck -= usize::from(before.stage.is_stuck());
            }
            Err(at) => {
                rows.insert(at, row);
                self.len += 1;
                if rows.len() > CHUNK_MAX {
                    let upper = rows.split_off(rows.len() / 2);
                    self.chunks.insert(chunk + 1, Arc::new(upper));
                }
            }
        }
    }

    /// Takes the row of a line out.
    pub fn remove(&mut self, seq: u64) -> Option<Arc<HandoffRow>> {
        let (chunk, at) = self.find(seq)?;
        let rows = Arc::make_mut(&mut self.chunks[chunk]);
        let gone = rows.remove(at);
        self.len -= 1;
        self.stuck -= usize::from(gone.stage.is_stuck());
        if rows.is_empty() {
            self.chunks.remove(chunk);
        } else {
            self.join(chunk);
            if chunk > 0 {
                self.join(chunk - 1);
            }
        }
        Some(gone)
    }

    /// Where a row of this line is or would be: the last chunk that begins before it.
    fn chunk_of(&self, seq: u64) -> usize {
        let begins_by =
            |chunk: &Arc<Vec<Arc<HandoffRow>>>| chunk.first().is_some_and(|first| first.seq <= seq);
        self.chunks.partition_point(begins_by).saturating_sub(1)
    }

    fn find(&self, seq: u64) -> Option<(usize, usize)> {
        let chunk = self.chunk_of(seq);
        let rows = self.chunks.get(chunk)?;
        let at = rows.binary_search_by_key(&seq, |row| row.seq).ok()?;
        Some((chunk, at))
    }

    /// Many chunks of a few rows each would cost what the rows themselves do.
    fn join(&mut self, chunk: usize) {
        let next = chunk + 1;
        let Some(upper) = self.chunks.get(next) else {
            return;
        };
        if self.chunks[chunk].len() + upper.len() <= CHUNK_MIN {
            let upper = Arc::clone(upper);
            Arc::make_mut(&mut self.chunks[chunk]).extend(upper.iter().cloned());
            self.chunks.remove(next);
        }
    }
}

impl HandoffRows {
    /// The same, each of them changed.
    pub fn map(&self, change: impl Fn(&mut HandoffRow)) -> Self {
        let rows = self.iter().map(|row| {
            let mut row = HandoffRow::clone(row);
            change(&mut row);
            row
        });
        rows.collect()
    }
}

impl FromIterator<HandoffRow> for HandoffRows {
    fn from_iter<I: IntoIterator<Item = HandoffRow>>(rows: I) -> Self {
        let mut all = Self::default();
        for row in rows {
            all.insert(Arc::new(row));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::HandoffRows;
    use crate::model::{Agent, HandoffRow, HandoffStage, TaskColumn};

    fn row(seq: u64, ask: &str) -> Arc<HandoffRow> {
        Arc::new(HandoffRow {
            column: TaskColumn::Open,
            stage: match ask {
                "later" => HandoffStage::CutOff,
                _ => HandoffStage::Unproven,
            },
            id_short: format!("h{seq}"),
            seq,
            from: Agent::Claude.into(),
            to: Agent::Codex.into(),
            ask: ask.into(),
            since_ms: 0,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn it_holds_what_a_sorted_map_holds(
            steps in prop::collection::vec((any::<bool>(), 0u64..1_500), 1..3_000),
            grows in 0u64..900,
        ) {
            let mut rows: HandoffRows = HandoffRows::default();
            let mut map = BTreeMap::new();
            for seq in 0..grows {
                rows.insert(row(seq, "first"));
                map.insert(seq, row(seq, "first"));
            }
            let before = rows.clone();
            let copied: Vec<_> = before.iter().cloned().collect();
            for (inserts, seq) in steps {
                if inserts {
                    rows.insert(row(seq, "later"));
                    map.insert(seq, row(seq, "later"));
                } else {
                    prop_assert_eq!(rows.remove(seq), map.remove(&seq));
                }
            }
            prop_assert_eq!(rows.len(), map.len());
            let stuck = map.values().filter(|row| row.stage.is_stuck());
            prop_assert_eq!(rows.stuck(), stuck.count());
            for (place, (seq, row)) in map.iter().rev().enumerate() {
                prop_assert_eq!(rows.get(place), Some(row));
                prop_assert_eq!(rows.place_of(*seq), Some(place));
            }
            prop_assert_eq!(rows.get(map.len()), None);
            let all: Vec<_> = rows.iter().cloned().collect();
            prop_assert_eq!(all, map.into_values().rev().collect::<Vec<_>>());
            prop_assert_eq!(before.iter().cloned().collect::<Vec<_>>(), copied);
        }
    }

    #[test]
    fn a_copy_shares_what_was_not_changed() {
        let mut rows: HandoffRows = (0..5_000).map(|seq| (*row(seq, "")).clone()).collect();
        let copy = rows.clone();
        rows.remove(2_500);
        let shared = rows
            .chunks
            .iter()
            .filter(|chunk| Arc::strong_count(chunk) > 1)
            .count();
        assert_eq!(shared + 1, rows.chunks.len());
        assert_eq!(copy.len(), 5_000);
        for seq in (0..5_000).filter(|seq| seq % 40 != 0) {
            rows.remove(seq);
        }
        assert!(
            rows.chunks.len() < 5,
            "{} chunks of {} rows",
            rows.chunks.len(),
            rows.len()
        );
    }
}
