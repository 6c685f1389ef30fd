//! [`EntryIndex`]: where each entry is in the file, its kind in a few bytes, and which entry has an
//! id.

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use super::entry_filter::EntryFilter;
use super::names::{NONE, Names, OTHER};
use super::slots::{Slot, Slots};
use ctxrelay_core::entry::Entry;
use ctxrelay_core::id::{EntryId, Seq};
use ctxrelay_core::row_class::{RowClass, type_of_word};

/// The words behind the codes of the slots.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct SlotWords {
    /// The words of [`RowClass`], which tell more than the `type`.
    pub(super) types: Names,
    pub(super) sources: Names,
    pub(super) targets: Names,
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

/// Finds entries by number, by id and by filter.
#[derive(Debug, Default)]
pub(super) struct EntryIndex {
    slots: Slots,
    words: SlotWords,
    ids: Ids,
}

/// Positions of slots by the hash of their ids. The ids themselves are only in the file, so a
/// lookup reads the candidate entries: almost always one.
///
/// Many small tables, because a growing table is copied: one of a million entries would delay an
/// append, and leave a hole of its size in memory.
#[derive(Debug)]
struct Ids(Box<[HashTable<u32>; ID_TABLES]>);

const ID_TABLES: usize = 256;

impl Default for Ids {
    fn default() -> Self {
        Self(Box::new([const { HashTable::new() }; ID_TABLES]))
    }
}

impl Ids {
    fn reserve(&mut self, entries: usize, slots: &Slots) {
        for table in self.0.iter_mut() {
            table.reserve(entries / ID_TABLES, |at| spread(slots.at(*at as usize).id));
        }
    }

    fn insert(&mut self, id: u32, at: u32, slots: &Slots) {
        let hash = spread(id);
        self.0[table(hash)].insert_unique(hash, at, |at| spread(slots.at(*at as usize).id));
    }

    /// The places that may be of this id.
    fn places(&self, id: u32) -> impl Iterator<Item = u32> {
        let hash = spread(id);
        self.0[table(hash)].iter_hash(hash).copied()
    }
}

/// Which table a hash belongs to, by bits that the table itself does not look at.
fn table(hash: u64) -> usize {
    (hash >> 32) as usize % ID_TABLES
}

impl EntryIndex {
    /// The index of slots that were kept, in order; `None` when there are too many.
    pub(super) fn from_slots(slots: Slots, words: SlotWords) -> Option<Self> {
        let entries = u32::try_from(slots.len()).ok()?;
        let mut ids = Ids::default();
        ids.reserve(slots.len(), &slots);
        for (at, slot) in (0..entries).zip(slots.range(0..slots.len())) {
            ids.insert(slot.id, at, &slots);
        }
        Some(Self { slots, words, ids })
    }

    /// The same, each number lower by so much; without the entries for which none is left.
    pub(super) fn lowered(self, by: i64) -> Self {
        if by == 0 {
            return self;
        }
        let mut slots = Slots::default();
        for mut slot in self.slots.range(0..self.slots.len()) {
            let lower = u32::try_from(i64::from(slot.seq) - by);
            if let Some(seq) = lower.ok().filter(|seq| *seq > 0) {
                slot.seq = seq;
                slots.push(slot);
            }
        }
        // There are no more of them than there were.
        Self::from_slots(slots, self.words).unwrap_or_default()
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
                self.words.types.code(Some(RowClass::word(&entry.kind))),
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
        self.ids.insert(slot.id, at, &self.slots);
    }

    /// The slot of an entry.
    pub(super) fn get(&self, seq: Seq) -> Option<Slot> {
        self.place(seq).map(|at| self.slots.at(at))
    }

    /// How many entries stand at and before this one; `None` when there is no such entry.
    pub(super) fn count_to(&self, seq: Seq) -> Option<usize> {
        self.place(seq).map(|at| at + 1)
    }

    fn place(&self, seq: Seq) -> Option<usize> {
        let place = self.slots.count_below(seq.0);
        let is_there = place < self.slots.len() && u64::from(self.slots.at(place).seq) == seq.0;
        is_there.then_some(place)
    }

    /// The slots of the entries that may have this id, in the order of the file.
    pub(super) fn candidates(&self, id: &EntryId) -> Vec<Slot> {
        let id = hash(id);
        let mut places: Vec<u32> = self.ids.places(id).collect();
        places.sort_unstable();
        let slots = places.into_iter().map(|at| self.slots.at(at as usize));
        slots.filter(|slot| slot.id == id).collect()
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
        let all = self.slots.len();
        if ascending {
            let after = |cursor: u64| self.slots.count_below(cursor.saturating_add(1));
            let from = cursor.map_or(0, after);
            wanted.take(self.slots.range(from..all), limit, look_max)
        } else {
            let to = cursor.map_or(all, |cursor| self.slots.count_below(cursor));
            wanted.take(self.slots.range(0..to).rev(), limit, look_max)
        }
    }

    /// The last slots, oldest first.
    pub(super) fn tail(&self, count: usize) -> impl Iterator<Item = Slot> {
        let all = self.slots.len();
        self.slots.range(all.saturating_sub(count)..all)
    }

    /// The slots from a place on, up to another.
    pub(super) fn between(&self, from: usize, to: usize) -> impl Iterator<Item = Slot> {
        self.slots.range(from..to)
    }

    /// The last entry's slot.
    pub(super) fn last(&self) -> Option<Slot> {
        self.slots.last()
    }

    /// The slots themselves, for who walks along them.
    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(super) fn words(&self) -> &SlotWords {
        &self.words
    }
}

/// A filter, as codes.
struct Wanted {
    codes: [Want; 4],
    since_ms: i64,
    until_ms: i64,
}

enum Want {
    Any,
    /// This code, or `OTHER`.
    Only(u8),
    /// The codes of a type's words, and `OTHER`.
    Among(Box<[bool; 256]>),
    /// The same, or no word at all.
    OnlyOrNone(u8),
}

impl Wanted {
    fn new(filter: &EntryFilter, words: &SlotWords) -> Self {
        let only = |names: &Names, word: Option<&str>| {
            word.map_or(Want::Any, |word| Want::Only(names.find(word)))
        };
        let of_type = |names: &Names, wanted: Option<&str>| {
            wanted.map_or(Want::Any, |wanted| {
                let mut codes = Box::new([false; 256]);
                for (code, word) in names.iter() {
                    codes[usize::from(code)] = word == wanted || type_of_word(word) == wanted;
                }
                codes[usize::from(OTHER)] = true;
                Want::Among(codes)
            })
        };
        let session = filter.runtime_session.as_ref();
        Self {
            codes: [
                of_type(&words.types, filter.entry_type.as_deref()),
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
            Want::Among(codes) => codes[usize::from(code)],
            Want::OnlyOrNone(wanted) => code == *wanted || code == OTHER || code == NONE,
        };
        self.codes.iter().zip(slot.codes).all(fits)
            && (self.since_ms..=self.until_ms).contains(&slot.at_ms)
    }

    fn take(
        &self,
        slots: impl Iterator<Item = Slot>,
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
            if self.may_take(&slot) {
                taken.push(slot);
            }
        }
        (taken, None)
    }
}

/// Whether an id may be that of this slot.
pub(super) fn is_id(id: &EntryId, slot: &Slot) -> bool {
    hash(id) == slot.id
}

/// A hash that is the same in every run, because it is kept in files. Ids chosen to collide make
/// their own lookups read more entries, and nothing worse.
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
