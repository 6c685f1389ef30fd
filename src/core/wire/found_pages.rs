//! [`FoundPages`]: one page of a search in several places, one place after the other.

use super::search::{FoundHit, FoundIn, FoundPage, SearchHit, SearchPage};
use crate::id::SessionId;

/// What one place has to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceAsked {
    /// The place.
    pub kind: FoundIn,
    /// For so many hits at most: one more than there is room for, which tells that there is another
    /// page.
    pub limit: u32,
    /// Behind this cursor of its own.
    pub after: Option<String>,
}

/// What it has for the page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlaceFound {
    /// Hits with the cursors of that place that go on behind them.
    pub hits: Vec<(FoundHit, String)>,
    /// On all of its pages.
    pub total: u64,
    /// There may be more than `total`.
    pub total_is_at_least: bool,
    /// Entries that could not be searched.
    pub behind: u64,
    /// Lines that could not be read.
    pub unread_lines: u64,
    /// Its own cursor, where there are more than it gave.
    pub next: Option<String>,
}

impl PlaceFound {
    /// From a page of entries, in `session` where they name none.
    pub fn of_page(
        page: SearchPage,
        kind: FoundIn,
        session: Option<&SessionId>,
        cursor: impl Fn(&SearchHit) -> String,
    ) -> Self {
        let hits = page.hits.into_iter().map(|mut hit| {
            let cursor = cursor(&hit);
            hit.session = hit.session.or_else(|| session.cloned());
            let found = FoundHit {
                kind,
                unvouched: std::mem::take(&mut hit.apart),
                hit,
                freshness: None,
                foreign: false,
                title: None,
                uncited: false,
            };
            (found, cursor)
        });
        Self {
            hits: hits.collect(),
            total: page.total,
            total_is_at_least: page.total_is_at_least,
            behind: page.behind,
            unread_lines: page.unread_lines,
            next: page.cursor,
        }
    }

    /// From a page of tasks behind `after`. Their cursor counts hits: there are few, and they stand in
    /// no order of numbers.
    pub fn of_tasks(page: FoundPage, after: Option<&str>) -> Self {
        let shown: usize = after.and_then(|after| after.parse().ok()).unwrap_or(0);
        let hits = page.hits.into_iter().enumerate();
        Self {
            hits: hits
                .map(|(at, found)| (found, (shown + at + 1).to_string()))
                .collect(),
            total: page.total,
            total_is_at_least: page.total_is_at_least,
            behind: page.behind,
            unread_lines: page.unread_lines,
            next: page.cursor,
        }
    }
}

/// A page that is being filled: [`Self::asks`] says what to ask next, and [`Self::take`] takes the
/// answer.
#[derive(Debug)]
pub struct FoundPages<'a> {
    kinds: &'a [FoundIn],
    limit: usize,
    /// The place with which it begins, and where in it.
    begin: Option<(usize, String)>,
    /// How many places were asked.
    asked: usize,
    page: FoundPage,
    /// Behind each of the hits.
    cursors: Vec<String>,
}

impl<'a> FoundPages<'a> {
    /// At most `limit` hits behind `after`, in these places. None where that is no cursor of theirs.
    pub fn begin(kinds: &'a [FoundIn], limit: u32, after: Option<&str>) -> Option<Self> {
        let begin = match after {
            None => None,
            Some(cursor) => {
                let (name, rest) = cursor.split_once(':')?;
                let place = kinds.iter().position(|kind| word(*kind) == name)?;
                Some((place, rest.to_owned()))
            }
        };
        Some(Self {
            kinds,
            limit: limit as usize,
            begin,
            asked: 0,
            page: FoundPage::default(),
            cursors: Vec::new(),
        })
    }

    /// What to ask next; none when the page is there. Of places that were shown the hits are still
    /// counted.
    pub fn asks(&self) -> Option<PlaceAsked> {
        let kind = *self.kinds.get(self.asked)?;
        let room = self.limit - self.page.hits.len();
        let (room, after) = match &self.begin {
            Some((first, _)) if self.asked < *first => (0, None),
            Some((first, rest)) if self.asked == *first => (room, Some(rest.clone())),
            _ => (room, None),
        };
        Some(PlaceAsked {
            kind,
            limit: u32::try_from(room + 1).unwrap_or(u32::MAX),
            after,
        })
    }

    /// Takes the answer.
    pub fn take(&mut self, found: PlaceFound) {
        let Some(kind) = self.kinds.get(self.asked) else {
            return;
        };
        let is_before = self
            .begin
            .as_ref()
            .is_some_and(|(first, _)| self.asked < *first);
        self.asked += 1;
        let page = &mut self.page;
        page.total += found.total;
        page.total_is_at_least |= found.total_is_at_least;
        page.behind += found.behind;
        page.unread_lines += found.unread_lines;
        if is_before || page.cursor.is_some() {
            return;
        }
        for (hit, cursor) in found.hits {
            if page.hits.len() == self.limit {
                page.cursor = self.cursors.last().cloned();
                return;
            }
            page.hits.push(hit);
            self.cursors.push(format!("{}:{cursor}", word(*kind)));
        }
        // It gave fewer than were asked for, and has more all the same.
        page.cursor = found.next.map(|next| format!("{}:{next}", word(*kind)));
    }

    /// The page, and the cursors that go on behind each of its hits.
    pub fn finish(self) -> (FoundPage, Vec<String>) {
        (self.page, self.cursors)
    }
}

/// How a cursor names a place.
fn word(kind: FoundIn) -> &'static str {
    match kind {
        FoundIn::Record => "record",
        FoundIn::Archive => "archive",
        FoundIn::Capsule => "capsule",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::EntryType;
    use crate::id::EntryId;

    fn hit(kind: FoundIn, seq: u64) -> FoundHit {
        FoundHit {
            kind,
            hit: SearchHit {
                seq,
                id: EntryId::new(format!("{seq}")),
                session: None,
                entry_type: EntryType::Note.into(),
                source: "codex".to_owned(),
                target: None,
                at: 0,
                review: None,
                finding: None,
                snippet: String::new(),
                marks: Vec::new(),
                apart: false,
                tells_task: false,
            },
            freshness: None,
            foreign: false,
            unvouched: false,
            title: None,
            uncited: false,
        }
    }

    /// A place with so many hits, which gives `most` at once.
    fn place(asked: &PlaceAsked, total: u64, most: u32) -> PlaceFound {
        let shown = asked
            .after
            .as_deref()
            .map_or(0, |after| after.parse().unwrap_or(0));
        let end = total.min(shown + u64::from(asked.limit.min(most)));
        PlaceFound {
            hits: (shown..end)
                .map(|at| (hit(asked.kind, at), (at + 1).to_string()))
                .collect(),
            total,
            next: (end < total).then(|| end.to_string()),
            ..PlaceFound::default()
        }
    }

    #[test]
    fn pages_follow_each_other_through_all_places_and_the_last_one_has_no_cursor() {
        let kinds = [FoundIn::Capsule, FoundIn::Record, FoundIn::Archive];
        for totals in [[0, 0, 0], [3, 0, 5], [5, 5, 5], [10, 1, 0], [0, 0, 10]] {
            for limit in 1..=11 {
                for most in [1, 4, 5, 100] {
                    let (mut all, mut after) = (Vec::new(), None::<String>);
                    loop {
                        let begun = FoundPages::begin(&kinds, limit, after.as_deref());
                        let Some(mut pages) = begun else {
                            panic!("{after:?} is no cursor")
                        };
                        while let Some(asked) = pages.asks() {
                            let at = kinds.iter().position(|kind| *kind == asked.kind);
                            let total = at.map_or(0, |at| totals[at]);
                            pages.take(place(&asked, total, most));
                        }
                        let (page, cursors) = pages.finish();
                        assert_eq!(page.total, totals.iter().sum::<u64>());
                        assert_eq!(page.hits.len(), cursors.len());
                        assert!(page.hits.len() <= limit as usize);
                        let is_last = page.cursor.is_none();
                        assert!(is_last || !page.hits.is_empty());
                        all.extend(page.hits.into_iter().map(|hit| (hit.kind, hit.hit.seq)));
                        after = page.cursor;
                        if is_last {
                            break;
                        }
                    }
                    let whole = kinds.into_iter().zip(totals);
                    let whole =
                        whole.flat_map(|(kind, total)| (0..total).map(move |at| (kind, at)));
                    assert!(all.into_iter().eq(whole), "{totals:?} by {limit} of {most}");
                }
            }
        }
        for wrong in ["", "record", "elsewhere:1", ":1"] {
            assert!(
                FoundPages::begin(&kinds, 1, Some(wrong)).is_none(),
                "{wrong}"
            );
        }
    }
}
