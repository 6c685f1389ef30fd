//! [`search_sealed`]: words in the sessions that are sealed, a bounded piece of them at a time.
//!
//! They have no index: their files are read, youngest first, and the cursor names the session with
//! which it goes on.

use std::io;

use super::error::SearchError;
use super::file::search_file;
use super::find::{LIMIT_MAX, SearchRequest};
use super::page::RequestError;
use super::query::Query;
use crate::dirs::ProjectDirs;
use crate::session;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::wire::search::{SealedPage, SearchParams};

/// How much is read for one answer, in bytes: others who read the record wait for it. A longer
/// session is left to a person's own search.
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

/// Searches all sessions but the current one. Blocks for the disk.
///
/// # Errors
///
/// When the folders cannot be read; a session that cannot be is counted.
pub fn search_sealed(
    dirs: &ProjectDirs,
    current: &SessionId,
    redactor: &Redactor,
    request: &SealedRequest,
) -> Result<SealedPage, SearchError> {
    let sessions = session::all(dirs);
    let sessions = sessions.map_err(|(path, source)| SearchError::Ledger { path, source })?;
    let mut found = SealedPage::default();
    let page = &mut found.page;
    let mut bytes = 0;
    for (session, path) in sessions.iter().filter(|(session, _)| session != current) {
        let before = match &request.from {
            Some((from, _)) if session.as_str() > from.as_str() => continue,
            Some((from, seq)) if session.as_str() == from => *seq,
            _ => u64::MAX,
        };
        let size = path.symlink_metadata().map_or(0, |found| found.len());
        if size > SEALED_BYTES_MAX {
            found.too_long += 1;
            continue;
        }
        let room = request.limit - page.hits.len();
        bytes += size;
        if room == 0 || bytes > SEALED_BYTES_MAX {
            page.cursor = Some(match page.hits.last() {
                Some(last) if room == 0 => last.place(),
                _ => format!("{session}:{before}"),
            });
            break;
        }
        let one = SearchRequest {
            before: Some(before),
            ..SearchRequest::new(request.query.clone(), room)
        };
        let hits = match search_file(dirs, None, path, u64::MAX, redactor, &one) {
            Ok(hits) => hits.into_page(Some(session)),
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
        page.total += hits.total;
        page.hits.extend(hits.hits);
        if let Some(seq) = hits.cursor {
            page.cursor = Some(format!("{session}:{seq}"));
            break;
        }
    }
    // What was shown before is not read once more to be counted.
    page.total_is_at_least =
        page.cursor.is_some() || request.from.is_some() || found.too_long + found.unread > 0;
    Ok(found)
}
