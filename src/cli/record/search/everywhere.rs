//! [`Everywhere`]: one search in several places, in pages that continue from one place to the next.

use std::cell::OnceCell;
use std::rc::Rc;

use super::capsules;
use crate::cli::connection::dialed::Dialed;
use crate::cli::exit::Failure;
use crate::cli::offline::disk;
use crate::cli::record::ledger::search::{all, current, senseless};
use crate::core::id::SessionId;
use crate::host::ProjectContext;
use crate::store::search::{Query, RequestError};
use crate::wire::found_pages::{FoundPages, PlaceAsked, PlaceFound};
use crate::wire::search::{FoundIn, FoundPage, SearchHit, SearchParams};

/// Where is searched.
pub(super) struct Everywhere<'a> {
    project: &'a ProjectContext,
    /// Once it is needed.
    dialed: OnceCell<Rc<Dialed>>,
    /// Is told what is left out.
    note: &'a dyn Fn(&str),
}

impl<'a> Everywhere<'a> {
    /// All of this project.
    pub(super) fn of(project: &'a ProjectContext, note: &'a dyn Fn(&str)) -> Self {
        Self {
            project,
            dialed: OnceCell::new(),
            note,
        }
    }

    fn dialed(&self) -> Result<Rc<Dialed>, Failure> {
        if let Some(dialed) = self.dialed.get() {
            return Ok(Rc::clone(dialed));
        }
        let dialed = Dialed::dial(self.project)?;
        Ok(Rc::clone(self.dialed.get_or_init(|| dialed)))
    }

    /// As [`Self::page`], and how each task stands to the work tree, and whether
    /// anybody vouches for it.
    pub(super) fn standing_page(
        &self,
        words: &str,
        kinds: &[FoundIn],
        limit: u32,
        after: Option<&str>,
    ) -> Result<FoundPage, Failure> {
        let mut page = self.page(words, kinds, limit, after)?;
        capsules::stand(self.project, &self.dialed()?, &mut page.hits)?;
        Ok(page)
    }

    /// At most `limit` hits of these words behind `after`, in these places one after the other.
    pub(super) fn page(
        &self,
        words: &str,
        kinds: &[FoundIn],
        limit: u32,
        after: Option<&str>,
    ) -> Result<FoundPage, Failure> {
        Query::parse(words).map_err(|error| senseless(&error.into()))?;
        let wrong = || RequestError::Cursor(after.unwrap_or_default().to_owned());
        let pages = FoundPages::begin(kinds, limit, after);
        let mut pages = pages.ok_or_else(|| senseless(&wrong()))?;
        while let Some(asked) = pages.asks() {
            pages.take(self.place(words, asked)?);
        }
        Ok(pages.finish().0)
    }

    fn place(&self, words: &str, asked: PlaceAsked) -> Result<PlaceFound, Failure> {
        let params = SearchParams {
            words: words.to_owned(),
            limit: Some(asked.limit),
            after: asked.after,
            ..SearchParams::default()
        };
        let here = || -> Result<Option<SessionId>, Failure> {
            Ok(disk::current(self.project)?.map(|(session, _)| session))
        };
        match asked.kind {
            FoundIn::Capsule => {
                let found = capsules::find(self.project, &*self.dialed()?, &params)?;
                Ok(PlaceFound::of_tasks(found, params.after.as_deref()))
            }
            FoundIn::Record => {
                let found = current(self.project, &*self.dialed()?, self.note, &params)?;
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
                let found = all(self.project, self.note, params, here()?.as_ref())?;
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
