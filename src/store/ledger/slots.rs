//! [`Slots`]: the position of each entry, in half the memory of a [`Slot`] for entries as our own
//! writer appends them: their numbers and lengths follow from one another and are not kept.

use std::ops::Range;

/// One entry's position and the facts that filters need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Where the line begins.
    pub offset: u64,
    /// Wall clock of the entry, ms since the epoch.
    pub at_ms: i64,
    /// The length of the line without newline.
    pub len: u32,
    /// The entry's number; higher than all before it.
    pub seq: u32,
    /// A part of the hash of its id.
    pub id: u32,
    /// Type, source, target and runtime session.
    pub codes: [u8; 4],
}

/// How many bytes a slot takes in a file.
pub(super) const SLOT_BYTES: usize = 32;

impl Slot {
    /// The slot as it lies in a file.
    pub(super) fn to_bytes(self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at_ms.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.len.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.seq.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.id.to_le_bytes());
        bytes[28..].copy_from_slice(&self.codes);
        bytes
    }

    /// Reads a slot of [`Self::to_bytes`].
    pub(super) fn from_bytes(bytes: &[u8; SLOT_BYTES]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let word = |at: usize| u32::from_le_bytes(words[at]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 1)) << 32;
        Self {
            offset: long(0),
            at_ms: long(2).cast_signed(),
            len: word(4),
            seq: word(5),
            id: word(6),
            codes: words[7],
        }
    }

    /// Where the line after this one begins.
    pub(super) fn end(self) -> u64 {
        self.offset + u64::from(self.len) + 1
    }
}

/// How many slots are packed together. Few enough that one entry out of the ordinary costs
/// little, and that no large piece of memory is moved when there are more.
const BLOCK: usize = 1024;

/// Slots in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// All are full but the last one.
    blocks: Vec<Block>,
    len: usize,
}

#[derive(Debug)]
enum Block {
    Packed(Packed),
    /// With a line between them that is not an entry, a jump of the clock, or the longest lines.
    Loose(Vec<Slot>),
}

/// Entries without a gap between them.
#[derive(Debug)]
struct Packed {
    first: Slot,
    rows: Vec<Row>,
    /// The last line's length; the others' lengths follow from where the next line begins.
    last_len: u32,
}

/// What cannot be derived from the earlier slots. Sixteen bytes, because there may be a million of
/// them.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Relative to the first one.
    offset: u32,
    /// After the first one, in ms.
    at: i32,
    id: u32,
    codes: [u8; 4],
}

impl Packed {
    fn of(first: Slot) -> Self {
        Self {
            first,
            rows: vec![Row {
                offset: 0,
                at: 0,
                id: first.id,
                codes: first.codes,
            }],
            last_len: first.len,
        }
    }

    fn get(&self, at: usize) -> Slot {
        let row = self.rows[at];
        let next = self.rows.get(at + 1);
        Slot {
            offset: self.first.offset + u64::from(row.offset),
            at_ms: self.first.at_ms + i64::from(row.at),
            len: next.map_or(self.last_len, |next| next.offset - row.offset - 1),
            seq: self.first.seq + at as u32,
            id: row.id,
            codes: row.codes,
        }
    }

    /// The slot as a row, if it is one.
    fn row(&self, slot: Slot) -> Option<Row> {
        let last = self.get(self.rows.len() - 1);
        let follows = last.seq.checked_add(1) == Some(slot.seq) && last.end() == slot.offset;
        let offset = slot.offset.checked_sub(self.first.offset)?;
        let at = slot.at_ms.checked_sub(self.first.at_ms)?;
        follows.then_some(Row {
            offset: offset.try_into().ok()?,
            at: at.try_into().ok()?,
            id: slot.id,
            codes: slot.codes,
        })
    }
}

impl Block {
    fn len(&self) -> usize {
        match self {
            Self::Packed(packed) => packed.rows.len(),
            Self::Loose(slots) => slots.len(),
        }
    }

    fn get(&self, at: usize) -> Slot {
        match self {
            Self::Packed(packed) => packed.get(at),
            Self::Loose(slots) => slots[at],
        }
    }

    fn push(&mut self, slot: Slot) {
        match self {
            Self::Packed(packed) => match packed.row(slot) {
                Some(row) => {
                    packed.rows.push(row);
                    packed.last_len = slot.len;
                }
                None => {
                    let slots = (0..packed.rows.len()).map(|at| packed.get(at));
                    *self = Self::Loose(slots.chain([slot]).collect());
                }
            },
            Self::Loose(slots) => slots.push(slot),
        }
    }
}

impl Slots {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a slot behind all others. The caller has seen to its order.
    pub(super) fn push(&mut self, slot: Slot) {
        match self.blocks.last_mut().filter(|block| block.len() < BLOCK) {
            Some(block) => block.push(slot),
            None => self.blocks.push(Block::Packed(Packed::of(slot))),
        }
        self.len += 1;
    }

    /// The slot at a place below [`Self::len`].
    pub(super) fn at(&self, place: usize) -> Slot {
        self.blocks[place / BLOCK].get(place % BLOCK)
    }

    pub(super) fn last(&self) -> Option<Slot> {
        self.len.checked_sub(1).map(|last| self.at(last))
    }

    /// The slots at these places, as far as there are such.
    pub(super) fn range(
        &self,
        places: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = Slot> + use<'_> {
        let end = places.end.min(self.len);
        (places.start.min(end)..end).map(|place| self.at(place))
    }

    /// How many slots at the beginning have a number below this one.
    pub(super) fn count_below(&self, seq: u64) -> usize {
        let below = |slot: Slot| u64::from(slot.seq) < seq;
        let blocks = self.blocks.partition_point(|block| below(block.get(0)));
        let Some(block) = blocks.checked_sub(1) else {
            return 0;
        };
        let (mut low, mut high) = (1, self.blocks[block].len());
        while low < high {
            let middle = low.midpoint(high);
            if below(self.blocks[block].get(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        block * BLOCK + low
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// How a slot stands to the one before it: mostly as our own writer puts it.
    fn steps() -> impl Strategy<Value = Vec<(u32, u64, i64, u32)>> {
        let ordinary = (0..2_000_u32).prop_map(|len| (1, 0, 1_000, len));
        let gap = (1..3_u32, 0..100_u64, Just(1_000_i64), 0..2_000_u32);
        let jump = prop_oneof![Just(i64::from(i32::MAX)), Just(-(1_i64 << 40))];
        let jump = jump.prop_map(|ms| (1, 0, ms, 10));
        let long = Just((1, 0, 0, u32::MAX - 1));
        let step = prop_oneof![4000 => ordinary, 1 => gap, 1 => jump, 1 => long];
        prop::collection::vec(step, 0..3_500)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_packed_is_given_back_as_it_was(steps in steps()) {
            let mut all: Vec<Slot> = Vec::new();
            let mut slots = Slots::default();
            for (n, (seq, gap, ms, len)) in (0..).zip(steps) {
                let before = all.last().copied();
                let slot = Slot {
                    offset: before.map_or(0, Slot::end) + gap,
                    at_ms: before.map_or(0, |before| before.at_ms) + ms,
                    len,
                    seq: before.map_or(0, |before| before.seq) + seq,
                    id: n,
                    codes: n.to_le_bytes(),
                };
                prop_assert_eq!(Slot::from_bytes(&slot.to_bytes()), slot);
                slots.push(slot);
                all.push(slot);
            }
            prop_assert_eq!(slots.len(), all.len());
            prop_assert_eq!(slots.range(0..usize::MAX).collect::<Vec<_>>(), &all[..]);
            prop_assert_eq!(slots.last(), all.last().copied());
            for seq in (0..all.len() as u64 + 3).step_by(7) {
                let below = all.partition_point(|slot| u64::from(slot.seq) < seq);
                prop_assert_eq!(slots.count_below(seq), below);
            }
        }
    }

    #[test]
    fn what_our_writer_puts_takes_half_the_room() {
        let mut slots = Slots::default();
        for n in 0..3 * BLOCK as u32 {
            slots.push(Slot {
                offset: u64::from(n) * 101,
                at_ms: i64::from(n),
                len: 100,
                seq: n + 1,
                id: n,
                codes: [0; 4],
            });
        }
        let packed = |block: &Block| matches!(block, Block::Packed(_));
        assert!(slots.blocks.iter().all(packed));
        assert_eq!(2 * size_of::<Row>(), size_of::<Slot>());
    }
}
