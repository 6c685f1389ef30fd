//! [`Admissions`]: whether the same request was made a moment ago.
//!
//! An id may answer for a second request only once it is recorded. Until then nobody knows whether
//! it ever will be, and the second request must not be told that it is.

use std::collections::VecDeque;

use crate::id::EntryId;

/// How many requests are remembered.
const REMEMBERED_MAX: usize = 100;

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It is new. Call [`Admissions::admitted`] or [`Admissions::refused`] afterwards.
    New,
    /// The same request was recorded under this id a moment ago.
    Same(EntryId),
    /// The same request is being recorded under this id; its outcome is open.
    Undecided(EntryId),
}

#[derive(Debug, Clone)]
struct RecentRequest<K> {
    what: K,
    id: EntryId,
    at_ms: i64,
    recorded: bool,
}

/// The requests of the last minutes.
#[derive(Debug)]
pub struct Admissions<K> {
    same_for_ms: i64,
    remembered: VecDeque<RecentRequest<K>>,
}

impl<K: PartialEq> Admissions<K> {
    /// Requests count as the same for this long, ms.
    pub fn new(same_for_ms: i64) -> Self {
        Self {
            same_for_ms,
            remembered: VecDeque::new(),
        }
    }

    /// Somebody asks. `id` is what it gets when it is new.
    pub fn ask(&mut self, what: K, id: &EntryId, now_ms: i64) -> Admission {
        self.remembered
            .retain(|known| !known.recorded || now_ms - known.at_ms < self.same_for_ms);
        let known = self.remembered.iter().find(|known| known.what == what);
        match known {
            Some(known) if known.recorded => Admission::Same(known.id.clone()),
            Some(known) => Admission::Undecided(known.id.clone()),
            None => {
                self.remember(what, id.clone(), now_ms, false);
                Admission::New
            }
        }
    }

    /// Whether the same is recorded, or being recorded. Nothing is remembered by asking.
    pub fn knows(&self, what: &K, now_ms: i64) -> bool {
        self.remembered.iter().any(|known| {
            known.what == *what && (!known.recorded || now_ms - known.at_ms < self.same_for_ms)
        })
    }

    /// One that was recorded without having been asked for here, at that time.
    pub fn restore(&mut self, what: K, id: EntryId, at_ms: i64) {
        self.remember(what, id, at_ms, true);
    }

    fn remember(&mut self, what: K, id: EntryId, at_ms: i64, recorded: bool) {
        if self.remembered.len() == REMEMBERED_MAX {
            self.remembered.pop_front();
        }
        self.remembered.push_back(RecentRequest {
            what,
            id,
            at_ms,
            recorded,
        });
    }

    /// Forgets the recorded ones that no longer stand.
    pub fn retain(&mut self, stands: impl Fn(&EntryId) -> bool) {
        self.remembered
            .retain(|known| !known.recorded || stands(&known.id));
    }

    /// It is recorded.
    pub fn admitted(&mut self, id: &EntryId) {
        if let Some(known) = self.remembered.iter_mut().find(|known| known.id == *id) {
            known.recorded = true;
        }
    }

    /// It was not recorded, or does not stand any more: asked again it is another one.
    pub fn refused(&mut self, id: &EntryId) {
        self.remembered.retain(|known| known.id != *id);
    }
}
