//! [`EntryIndex`]: where each entry lies in the file, what it is in a few bytes, and which entry has
//! an id.

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use super::names::{NONE, Names, OTHER};
use super::page::EntryFilter;
use ctxrelay_core::entry::Entry;
use ctxrelay_core::id::{EntryId, Seq};

/// One entry's place and what filters ask about. Thirty-two bytes, because there may be a million
/// of them.
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
        let [
            o0,
            o1,
            o2,
            o3,
            o4,
            o5,
            o6,
            o7,
            t0,
            t1,
            t2,
            t3,
            t4,
            t5,
            t6,
            t7,
            l0,
            l1,
            l2,
            l3,
            s0,
            s1,
            s2,
            s3,
            i0,
            i1,
            i2,
            i3,
            c0,
            c1,
            c2,
            c3,
        ] = *bytes;
        Self {
            offset: u64::from_le_bytes([o0, o1, o2, o3, o4, o5, o6, o7]),
            at_ms: i64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
            len: u32::from_le_bytes([l0, l1, l2, l3]),
            seq: u32::from_le_bytes([s0, s1, s2, s3]),
            id: u32::from_le_bytes([i0, i1, i2, i3]),
            codes: [c0, c1, c2, c3],
        }
    }

    /// Where the line after this one begins.
    pub(super) fn end(self) -> u64 {
        self.offset + u64::from(self.len) + 1
    }
}

/// The words behind the codes of the slots.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct SlotWords {
    types: Names,
    sources: Names,
    targets: Names,
    sessions: Names,
}

impl SlotWords {
    /// Whether codes of slots may be looked up in them; a file may say otherwise.
    pub(super) fn are_sound(&self) -> bool {
        [&self.types, &self.sources, &self.targets, &self.sessions]
            .into_iter()
            .all(Names::is_sound)
    }
}

/// Finds entries by number, by id and by what filters ask.
#[derive(Debug, Default)]
pub(super) struct EntryIndex {
    slots: Vec<Slot>,
    words: SlotWords,
    /// Places in `slots` by the hash of their ids. The ids themselves stand in the file, so that
    /// whoever looks one up reads the entries that come into question: one, almost always.
    ids: HashTable<u32>,
}

impl EntryIndex {
    /// The index of slots that were kept; `None` when they are not in order.
    pub(super) fn from_slots(slots: Vec<Slot>, words: SlotWords) -> Option<Self> {
        let in_order = slots
            .windows(2)
            .all(|pair| pair[0].seq < pair[1].seq && pair[0].end() <= pair[1].offset);
        if !in_order || u32::try_from(slots.len()).is_err() {
            return None;
        }
        let mut ids = HashTable::with_capacity(slots.len());
        for (at, slot) in (0_u32..).zip(&slots) {
            ids.insert_unique(spread(slot.id), at, |at| spread(slots[*at as usize].id));
        }
        Some(Self { slots, words, ids })
    }

    /// Adds an entry that stands after all others.
    pub(super) fn push(&mut self, entry: &Entry, offset: u64, len: u32, seq: u32) {
        let Ok(at) = u32::try_from(self.slots.len()) else {
            return;
        };
        let slot = Slot {
            offset,
            at_ms: entry.timestamp_ms,
            len,
            seq,
            id: hash(&entry.id),
            codes: [
                self.words.types.code(Some(entry.kind.type_name())),
                self.words.sources.code(Some(entry.source.as_str())),
                self.words
                    .targets
                    .code(entry.target.as_ref().map(|target| target.as_str())),
                self.words.sessions.code(
                    entry
                        .runtime_session
                        .as_ref()
                        .map(|session| session.as_str()),
                ),
            ],
        };
        self.slots.push(slot);
        let slots = &self.slots;
        self.ids
            .insert_unique(spread(slot.id), at, |at| spread(slots[*at as usize].id));
    }

    /// The slot of an entry.
    pub(super) fn get(&self, seq: Seq) -> Option<Slot> {
        self.place(seq).map(|at| self.slots[at])
    }

    /// How many entries stand at and before this one; `None` when there is no such entry.
    pub(super) fn count_to(&self, seq: Seq) -> Option<usize> {
        self.place(seq).map(|at| at + 1)
    }

    fn place(&self, seq: Seq) -> Option<usize> {
        let seq = u32::try_from(seq.0).ok()?;
        self.slots.binary_search_by_key(&seq, |slot| slot.seq).ok()
    }

    /// The slots of the entries that may have this id, in the order of the file.
    pub(super) fn candidates(&self, id: &EntryId) -> Vec<Slot> {
        let id = hash(id);
        let mut places: Vec<u32> = self
            .ids
            .iter_hash(spread(id))
            .copied()
            .filter(|at| self.slots[*at as usize].id == id)
            .collect();
        places.sort_unstable();
        places
            .into_iter()
            .map(|at| self.slots[at as usize])
            .collect()
    }

    /// Up to `limit` slots after the cursor that a filter may take, in the order asked for; and
    /// the cursor from which to go on, `None` when there is nothing behind it. Looks at
    /// `look_max` slots at most.
    pub(super) fn select(
        &self,
        filter: &EntryFilter,
        cursor: Option<u64>,
        ascending: bool,
        limit: usize,
        look_max: usize,
    ) -> (Vec<Slot>, Option<u64>) {
        let wanted = Wanted::new(filter, &self.words);
        if ascending {
            let from = cursor.map_or(0, |cursor| {
                self.slots
                    .partition_point(|slot| u64::from(slot.seq) <= cursor)
            });
            wanted.take(self.slots[from..].iter(), limit, look_max)
        } else {
            let to = cursor.map_or(self.slots.len(), |cursor| {
                self.slots
                    .partition_point(|slot| u64::from(slot.seq) < cursor)
            });
            wanted.take(self.slots[..to].iter().rev(), limit, look_max)
        }
    }

    /// The last slots, oldest first.
    pub(super) fn tail(&self, count: usize) -> &[Slot] {
        &self.slots[self.slots.len().saturating_sub(count)..]
    }

    /// The slots from a place on, up to another.
    pub(super) fn between(&self, from: usize, to: usize) -> &[Slot] {
        self.slots.get(from..to).unwrap_or_default()
    }

    /// The last entry's slot.
    pub(super) fn last(&self) -> Option<Slot> {
        self.slots.last().copied()
    }

    pub(super) fn words(&self) -> &SlotWords {
        &self.words
    }
}

/// What a filter asks, in codes.
struct Wanted {
    codes: [Want; 4],
    since_ms: i64,
    until_ms: i64,
}

#[derive(Clone, Copy)]
enum Want {
    Any,
    /// This code, or one that says nothing.
    Only(u8),
    /// The same, or no word at all.
    OnlyOrNone(u8),
}

impl Wanted {
    fn new(filter: &EntryFilter, words: &SlotWords) -> Self {
        let only = |names: &Names, word: Option<&str>| {
            word.map_or(Want::Any, |word| Want::Only(names.find(word)))
        };
        let session = filter.runtime_session.as_ref();
        Self {
            codes: [
                only(&words.types, filter.entry_type.as_deref()),
                only(&words.sources, filter.source.as_ref().map(|p| p.as_str())),
                only(&words.targets, filter.target.as_ref().map(|p| p.as_str())),
                session.map_or(Want::Any, |session| {
                    Want::OnlyOrNone(words.sessions.find(session.as_str()))
                }),
            ],
            since_ms: filter.since_ms.unwrap_or(i64::MIN),
            until_ms: filter.until_ms.unwrap_or(i64::MAX),
        }
    }

    fn may_take(&self, slot: &Slot) -> bool {
        let fits = |(want, code): (&Want, u8)| match want {
            Want::Any => true,
            Want::Only(wanted) => code == *wanted || code == OTHER,
            Want::OnlyOrNone(wanted) => code == *wanted || code == OTHER || code == NONE,
        };
        self.codes.iter().zip(slot.codes).all(fits)
            && (self.since_ms..=self.until_ms).contains(&slot.at_ms)
    }

    fn take<'a>(
        &self,
        slots: impl Iterator<Item = &'a Slot>,
        limit: usize,
        look_max: usize,
    ) -> (Vec<Slot>, Option<u64>) {
        let mut taken = Vec::new();
        let mut cursor = None;
        for (looked, slot) in slots.enumerate() {
            if taken.len() == limit || looked == look_max {
                return (taken, cursor);
            }
            cursor = Some(u64::from(slot.seq));
            if self.may_take(slot) {
                taken.push(*slot);
            }
        }
        (taken, None)
    }
}

/// A hash that is the same in every run, because it is kept in files. Whoever chooses ids that
/// collide makes lookups of those ids read more entries, and nothing worse.
fn hash(id: &EntryId) -> u32 {
    let hash = BuildHasherDefault::<DefaultHasher>::new().hash_one(id.as_str());
    (hash >> 32) as u32
}

/// What [`hash`] gives for a known word: another standard library may hash otherwise.
pub(super) fn hash_probe() -> u32 {
    hash(&EntryId::new("ctxrelay"))
}

/// The table looks at the first and the last bits of what is a good hash in the middle only.
fn spread(id: u32) -> u64 {
    u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
