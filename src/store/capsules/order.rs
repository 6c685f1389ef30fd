//! [`ListPlace`]: the position of a task in the list, latest first.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use super::Capsules;
use ctxrelay_core::id::CapsuleId;
use ctxrelay_core::snapshot::Snapshot;

/// What stands between the id and the time.
const AT: char = '@';

/// A place in the list, which nothing that becomes of other tasks changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPlace {
    pub id: CapsuleId,
    /// When something was said for it last, or when the file was written that is kept of it.
    pub at_ms: i64,
}

impl ListPlace {
    /// As a cursor says it.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, at_ms) = text.split_once(AT)?;
        CapsuleId::is_well_formed(id).then_some(())?;
        Some(Self {
            id: CapsuleId::new(id),
            at_ms: at_ms.parse().ok()?,
        })
    }
}

impl Capsules {
    /// All of them in the order of the list: the tasks of the record, and what else is kept.
    pub fn places(&self, world: &Snapshot) -> Vec<ListPlace> {
        let tasks = world.tasks.values();
        let tasks = tasks.map(|task| (&task.id, task.updated_ms));
        let files = self.files();
        let files = files.iter().map(|file| (&file.id, file.written_ms));
        let mut known = BTreeSet::new();
        let mut places: Vec<_> = tasks
            .chain(files)
            .filter(|(id, _)| known.insert(*id))
            .map(|(id, at_ms)| ListPlace {
                id: id.clone(),
                at_ms,
            })
            .collect();
        places.sort();
        places
    }
}

impl fmt::Display for ListPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{AT}{}", self.id, self.at_ms)
    }
}

impl Ord for ListPlace {
    fn cmp(&self, other: &Self) -> Ordering {
        let later = other.at_ms.cmp(&self.at_ms);
        later.then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for ListPlace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_stand_first_and_a_cursor_is_read_as_it_was_written() {
        let at = |id: &str, at_ms| ListPlace {
            id: CapsuleId::new(id),
            at_ms,
        };
        let (first, last) = ("cap_000000000001", "cap_000000000002");
        let mut places = [at(last, -1), at(first, 7), at(last, 7), at(first, 9)];
        places.sort();
        assert_eq!(
            places,
            [at(first, 9), at(first, 7), at(last, 7), at(last, -1)]
        );
        for place in places {
            assert_eq!(ListPlace::parse(&place.to_string()), Some(place));
        }
        for text in ["", "x", first, "cap_000000000001@", "../x@7", "@7"] {
            assert_eq!(ListPlace::parse(text), None, "{text}");
        }
    }
}
