//! [`search_sealed`]: words in the sealed sessions, youngest first; the cursor names the session
//! with which to continue.
//!
//! The index contains them soon after they are sealed. Until then their files are read, a bounded
//! piece at a time.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use super::error::SearchError;
use super::file::search_file;
use super::find::{LIMIT_MAX, SearchRequest};
use super::follow_sealed::find_in_sealed;
use super::index::{SealedMark, SearchIndex};
use super::page::RequestError;
use super::query::Query;
use crate::dirs::ProjectDirs;
use crate::erase::sealed_sessions;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::wire::search::{SealedPage, SearchHit, SearchPage, SearchParams};

/// How much is read for one answer, in bytes: others who read the record wait for it. A longer
/// session is left to a person's own search until the index has it.
pub const SEALED_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What is searched for.
#[derive(Debug, Clone)]
pub struct SealedRequest {
    query: Query,
    limit: usize,
    /// The session to go on with, and below which number.
    from: Option<(String, u64)>,
}

impl SealedRequest {
    /// Reads what is asked.
    ///
    /// # Errors
    ///
    /// As [`SearchRequest::of`].
    pub fn of(params: &SearchParams) -> Result<Self, RequestError> {
        let read = |cursor: &String| {
            let (session, seq) = cursor.split_once(':')?;
            Some((session.to_owned(), seq.parse().ok()?))
        };
        let from = match &params.after {
            None => None,
            Some(cursor) => {
                let from = read(cursor).ok_or_else(|| RequestError::Cursor(cursor.clone()));
                Some(from?)
            }
        };
        Ok(Self {
            query: Query::parse(&params.words)?,
            limit: (params.limit.unwrap_or(1) as usize).clamp(1, LIMIT_MAX),
            from,
        })
    }
}

/// The index of the sealed sessions, opened for one search in any number of them: they are found as they
/// were in it then.
#[derive(Debug)]
pub struct SealedIndex {
    index: SearchIndex,
    marks: HashMap<SessionId, SealedMark>,
}

impl SealedIndex {
    /// Opens it, where there is one of use. For who knows that no daemon has it open, and that it can be
    /// believed.
    pub fn open(dirs: &ProjectDirs) -> Option<Self> {
        let open = || {
            let Some(index) = SearchIndex::open_to_read(dirs)? else {
                return Ok(None);
            };
            index.stay_at_one_moment()?;
            let marks = index.sealed()?;
            Ok(Some(Self { index, marks }))
        };
        or_read(open())
    }

    /// Searches one of them; none where it is not in the index as it is now.
    pub fn find(
        &self,
        session: &SessionId,
        path: &Path,
        redactor: &Redactor,
        request: &SearchRequest,
    ) -> Option<SearchPage> {
        let mark = self.marks.get(session)?;
        or_read(find_in_sealed(&self.index, mark, path, redactor, request))
    }
}

/// Without the index the files are read.
fn or_read<T>(found: Result<Option<T>, SearchError>) -> Option<T> {
    found.unwrap_or_else(|error| {
        tracing::debug!(%error, "the index is of no use: reading the file");
        None
    })
}

/// Searches all sessions but the current one. Blocks for the disk.
pub(super) fn search_sealed(
    index: Option<&SearchIndex>,
    dirs: &ProjectDirs,
    current: &SessionId,
    redactor: &Redactor,
    request: &SealedRequest,
) -> Result<SealedPage, SearchError> {
    match index {
        None => search_all(None, dirs, current, redactor, request),
        Some(index) => index.at_one_moment(|index| {
            let marks = index.sealed()?;
            search_all(Some((index, &marks)), dirs, current, redactor, request)
        }),
    }
}

fn search_all(
    index: Option<(&SearchIndex, &HashMap<SessionId, SealedMark>)>,
    dirs: &ProjectDirs,
    current: &SessionId,
    redactor: &Redactor,
    request: &SealedRequest,
) -> Result<SealedPage, SearchError> {
    let sessions = sealed_sessions(dirs, current);
    let sessions = sessions.map_err(|(path, source)| SearchError::Ledger { path, source })?;
    let mut found = SealedPage::default();
    let page = &mut found.page;
    let mut bytes = 0;
    for (session, path) in &sessions {
        let before = match &request.from {
            Some((from, _)) if session.as_str() > from.as_str() => continue,
            Some((from, seq)) if session.as_str() == from => *seq,
            _ => u64::MAX,
        };
        let room = request.limit - page.hits.len();
        if room == 0 {
            page.cursor = page.hits.last().map(SearchHit::place);
            break;
        }
        let one = SearchRequest {
            before: Some(before),
            ..SearchRequest::new(request.query.clone(), room)
        };
        let indexed = match index.and_then(|(index, marks)| Some((index, marks.get(session)?))) {
            Some((index, mark)) => find_in_sealed(index, mark, path, redactor, &one),
            None => Ok(None),
        };
        let hits = match indexed {
            Ok(Some(hits)) => Ok(hits),
            Ok(None) => {
                let size = path.symlink_metadata().map_or(0, |found| found.len());
                if size > SEALED_BYTES_MAX {
                    found.too_long += 1;
                    continue;
                }
                bytes += size;
                if bytes > SEALED_BYTES_MAX {
                    page.cursor = Some(format!("{session}:{before}"));
                    break;
                }
                search_file(dirs, None, path, u64::MAX, redactor, &one)
            }
            Err(error) => Err(error),
        };
        let hits = match hits {
            Ok(hits) => hits.of_session(session),
            Err(SearchError::Ledger { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                continue;
            }
            // One that an agent put there must not hide all the others.
            Err(SearchError::Ledger { .. }) => {
                found.unread += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        page.total_is_at_least |= hits.total_is_at_least;
        page.total += hits.total;
        page.hits.extend(hits.hits);
        if let Some(seq) = hits.cursor {
            page.cursor = Some(format!("{session}:{seq}"));
            break;
        }
    }
    // What was shown before is not read once more to be counted.
    page.total_is_at_least |=
        page.cursor.is_some() || request.from.is_some() || found.too_long + found.unread > 0;
    Ok(found)
}
