//! [`Everywhere`]: one search in several places, in pages that go on from one place into the next.

use super::capsules;
use crate::cli::connect::wait_for;
use crate::cli::disk;
use crate::cli::exit::Failure;
use crate::cli::ledger::search::{all, current, senseless};
use crate::core::id::SessionId;
use crate::host::ProjectContext;
use crate::store::search::{Query, RequestError};
use crate::wire::found_pages::{FoundPages, PlaceAsked, PlaceFound};
use crate::wire::search::{FoundIn, FoundPage, SearchHit, SearchParams};

/// A search.
pub(super) struct Everywhere<'a> {
    setting: &'a ProjectContext,
    /// Is told what is left out.
    note: &'a dyn Fn(&str),
    words: String,
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

    /// As [`Self::page`], and how each task stands to the work tree, and whether
    /// anybody vouches for it.
    pub(super) fn standing_page(
        &self,
        kinds: &[FoundIn],
        limit: u32,
        after: Option<&str>,
    ) -> Result<FoundPage, Failure> {
        let mut page = self.page(kinds, limit, after)?;
        capsules::stand(self.setting, &mut page.hits)?;
        Ok(page)
    }

    /// At most `limit` hits behind `after`, in these places one after the other.
    pub(super) fn page(
        &self,
        kinds: &[FoundIn],
        limit: u32,
        after: Option<&str>,
    ) -> Result<FoundPage, Failure> {
        let wrong = || RequestError::Cursor(after.unwrap_or_default().to_owned());
        let pages = FoundPages::begin(kinds, limit, after);
        let mut pages = pages.ok_or_else(|| senseless(&wrong()))?;
        while let Some(asked) = pages.asks() {
            pages.take(self.place(asked)?);
        }
        Ok(pages.finish().0)
    }

    fn place(&self, asked: PlaceAsked) -> Result<PlaceFound, Failure> {
        let params = SearchParams {
            words: self.words.clone(),
            limit: Some(asked.limit),
            after: asked.after,
            ..SearchParams::default()
        };
        let here = || -> Result<Option<SessionId>, Failure> {
            Ok(disk::current(self.setting)?.map(|(session, _)| session))
        };
        match asked.kind {
            FoundIn::Capsule => {
                let found = capsules::find(self.setting, &params)?;
                Ok(PlaceFound::of_tasks(found, params.after.as_deref()))
            }
            FoundIn::Record => {
                let found = wait_for(current(self.setting, self.note, &params))?;
                let session = match found.session.clone() {
                    None => here()?,
                    session => session,
                };
                let by_seq = |hit: &SearchHit| hit.seq.to_string();
                Ok(PlaceFound::of_page(
                    found,
                    asked.kind,
                    session.as_ref(),
                    by_seq,
                ))
            }
            FoundIn::Archive => {
                let found = all(self.setting, self.note, params, here()?.as_ref())?;
                Ok(PlaceFound::of_page(
                    found,
                    asked.kind,
                    None,
                    SearchHit::place,
                ))
            }
        }
    }
}
