//! [`Everywhere`]: one search in several places, in pages that go on from one place into the next.

use super::capsules;
use crate::cli::connect::runtime;
use crate::cli::disk;
use crate::cli::exit::Failure;
use crate::cli::ledger::search::{all, current, senseless};
use crate::core::id::SessionId;
use crate::host::ProjectContext;
use crate::store::search::{Query, RequestError};
use crate::wire::search::{FoundHit, FoundIn, FoundPage, SearchHit, SearchPage, SearchParams};

/// A search.
pub(super) struct Everywhere<'a> {
    setting: &'a ProjectContext,
    /// Is told what is left out.
    note: &'a dyn Fn(&str),
    words: String,
}

/// What one place gives for a page: hits with the cursors that go on behind them.
struct Part {
    hits: Vec<(FoundHit, String)>,
    total: u64,
    total_is_at_least: bool,
    behind: u64,
}

impl<'a> Everywhere<'a> {
    /// A search for these words.
    pub(super) fn new(
        setting: &'a ProjectContext,
        note: &'a dyn Fn(&str),
        words: String,
    ) -> Result<Self, Failure> {
        Query::parse(&words).map_err(|error| senseless(&error.into()))?;
        Ok(Self {
            setting,
            note,
            words,
        })
    }

    /// As [`Self::page`], and how each task stands to the work tree.
    pub(super) fn standing_page(
        &self,
        kinds: &[FoundIn],
        limit: u32,
        after: Option<&str>,
    ) -> Result<FoundPage, Failure> {
        let mut page = self.page(kinds, limit, after)?;
        capsules::stand(self.setting, &mut page.hits);
        Ok(page)
    }

    /// At most `limit` hits behind `after`, in these places one after the other.
    pub(super) fn page(
        &self,
        kinds: &[FoundIn],
        limit: u32,
        after: Option<&str>,
    ) -> Result<FoundPage, Failure> {
        let wrong = |cursor: &str| senseless(&RequestError::Cursor(cursor.to_owned()));
        let begin = match after {
            None => None,
            Some(cursor) => {
                let (name, rest) = cursor.split_once(':').ok_or_else(|| wrong(cursor))?;
                let mut places = kinds.iter().enumerate();
                let place = places.find(|(_, kind)| word(**kind) == name);
                Some((place.ok_or_else(|| wrong(cursor))?.0, rest))
            }
        };
        let mut page = FoundPage::default();
        let mut last = None;
        for (at, kind) in kinds.iter().enumerate() {
            let room = limit as usize - page.hits.len();
            // What was shown is still counted.
            let (room, after) = match begin {
                Some((first, _)) if at < first => (0, None),
                Some((first, rest)) if at == first => (room, Some(rest)),
                _ => (room, None),
            };
            let part = self.part(*kind, room, after)?;
            page.total += part.total;
            page.total_is_at_least |= part.total_is_at_least;
            page.behind += part.behind;
            let is_before = begin.is_some_and(|(first, _)| at < first);
            for (found, cursor) in part.hits {
                if is_before {
                    break;
                }
                if page.hits.len() == limit as usize {
                    page.cursor.clone_from(&last);
                    break;
                }
                page.hits.push(found);
                last = Some(format!("{}:{cursor}", word(*kind)));
            }
        }
        Ok(page)
    }

    /// Up to one hit more than there is room for: that tells that there is another page.
    fn part(&self, kind: FoundIn, room: usize, after: Option<&str>) -> Result<Part, Failure> {
        let params = SearchParams {
            words: self.words.clone(),
            limit: Some(u32::try_from(room + 1).unwrap_or(u32::MAX)),
            after: after.map(str::to_owned),
            ..SearchParams::default()
        };
        let here = || -> Result<Option<SessionId>, Failure> {
            Ok(disk::current(self.setting)?.map(|(session, _)| session))
        };
        match kind {
            FoundIn::Capsule => self.of_capsules(&params),
            FoundIn::Record => {
                let found = runtime()?.block_on(current(self.setting, self.note, &params))?;
                let session = match found.session.clone() {
                    None => here()?,
                    session => session,
                };
                Ok(of_page(found, kind, session, |hit| hit.seq.to_string()))
            }
            FoundIn::Archive => {
                let found = all(self.setting, self.note, params, here()?.as_ref())?;
                Ok(of_page(found, kind, None, |hit| {
                    let session = hit.session.as_ref().map_or("", SessionId::as_str);
                    format!("{session}:{}", hit.seq)
                }))
            }
        }
    }

    /// The cursor counts hits: there are few, and they stand in no order of numbers.
    fn of_capsules(&self, params: &SearchParams) -> Result<Part, Failure> {
        let page = capsules::find(self.setting, params)?;
        let shown = params.after.as_deref().map_or(Ok(0), str::parse);
        let shown: usize = shown.unwrap_or_default();
        let hits = page.hits.into_iter().enumerate();
        Ok(Part {
            hits: hits
                .map(|(at, found)| (found, (shown + at + 1).to_string()))
                .collect(),
            total: page.total,
            total_is_at_least: page.total_is_at_least,
            behind: page.behind,
        })
    }
}

fn of_page(
    page: SearchPage,
    kind: FoundIn,
    session: Option<SessionId>,
    cursor: impl Fn(&SearchHit) -> String,
) -> Part {
    let hits = page.hits.into_iter().map(|mut hit| {
        let cursor = cursor(&hit);
        hit.session = hit.session.or_else(|| session.clone());
        let found = FoundHit {
            kind,
            hit,
            freshness: None,
            foreign: false,
        };
        (found, cursor)
    });
    Part {
        hits: hits.collect(),
        total: page.total,
        total_is_at_least: page.total_is_at_least,
        behind: page.behind,
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
