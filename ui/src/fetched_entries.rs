//! [`FetchedEntries`]: opened entries in full, within a memory limit.

use std::collections::{BTreeMap, VecDeque};

use crate::model::{EntryPlace, EntryRef, Field, TimelineRow};

/// How many are kept. A person looks at a handful; the daemon has them all.
const ENTRIES_MAX: usize = 32;

/// How much they are together, in bytes. One that is larger is kept alone, while it is read.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// An entry, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// As it would stand in the timeline.
    pub(crate) row: TimelineRow,
    pub(crate) text: String,
    pub(crate) detail: Vec<Field>,
    pub(crate) refs: Vec<EntryRef>,
    pub(crate) raw: String,
    /// Something happened to the entry since: it is shown until it is read again.
    pub(crate) is_stale: bool,
}

impl Fetched {
    fn bytes(&self) -> usize {
        let fields = self.detail.iter().map(|field| field.text.len());
        self.text.len() + self.raw.len() + fields.sum::<usize>()
    }

    /// What is read of it: its own text, else what its row says of it.
    pub(crate) fn words(&self) -> &str {
        match self.text.as_str() {
            "" => &self.row.text,
            text => text,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FetchedEntries {
    entries: BTreeMap<EntryPlace, Fetched>,
    /// The one that came last is at the end.
    order: VecDeque<EntryPlace>,
    bytes: usize,
}

impl FetchedEntries {
    pub(crate) fn get(&self, place: &EntryPlace) -> Option<&Fetched> {
        self.entries.get(place)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&EntryPlace, &mut Fetched)> {
        self.entries.iter_mut()
    }

    /// Keeps one more; the ones that came first give way to it.
    pub(crate) fn keep(&mut self, place: EntryPlace, fetched: Fetched) {
        self.forget(&place);
        self.bytes += fetched.bytes();
        while self.entries.len() >= ENTRIES_MAX || self.bytes > BYTES_MAX {
            let Some(first) = self.order.front().cloned() else {
                break;
            };
            self.forget(&first);
        }
        self.order.push_back(place.clone());
        self.entries.insert(place, fetched);
    }

    fn forget(&mut self, place: &EntryPlace) {
        if let Some(gone) = self.entries.remove(place) {
            self.bytes -= gone.bytes();
            self.order.retain(|kept| kept != place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, ENTRIES_MAX, Fetched, FetchedEntries};
    use crate::model::{Agent, EntryPlace, TimelineRow};

    fn place(line: u64) -> EntryPlace {
        EntryPlace {
            session: "s".to_owned(),
            line,
        }
    }

    fn entry(line: u64, bytes: usize) -> Fetched {
        Fetched {
            row: TimelineRow::new(line, 0, Agent::Codex, None, "note", ""),
            text: "x".repeat(bytes / 2),
            detail: Vec::new(),
            refs: Vec::new(),
            raw: "x".repeat(bytes / 2),
            is_stale: false,
        }
    }

    fn kept(entries: &FetchedEntries) -> Vec<u64> {
        entries.entries.keys().map(|place| place.line).collect()
    }

    #[test]
    fn large_entries_give_way_to_the_one_that_is_read() {
        let mut entries = FetchedEntries::default();
        for line in 1..=20 {
            entries.keep(place(line), entry(line, BYTES_MAX / 4));
            assert!(entries.bytes <= BYTES_MAX);
        }
        assert_eq!(kept(&entries), [17, 18, 19, 20]);
        entries.keep(place(21), entry(21, 3 * BYTES_MAX));
        assert_eq!(kept(&entries), [21], "and is there, however large");
        entries.keep(place(21), entry(21, 8));
        entries.keep(place(22), entry(22, 8));
        assert_eq!((kept(&entries), entries.bytes), (vec![21, 22], 16));
    }

    #[test]
    fn many_small_ones_are_not_all_forgotten_for_one_more() {
        let mut entries = FetchedEntries::default();
        for line in 0..100 {
            entries.keep(place(line), entry(line, 8));
        }
        let last = 100 - ENTRIES_MAX as u64..100;
        assert_eq!(kept(&entries), last.collect::<Vec<_>>());
    }
}
