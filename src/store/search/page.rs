//! A search as it stands on the wire: [`SearchRequest::of`] and [`SearchHits::into_page`].

use super::find::{Hit, LIMIT_MAX, SearchHits, SearchRequest};
use super::query::{Query, QueryError};
use ctxrelay_core::id::SessionId;
use ctxrelay_core::wire::search::{SearchHit, SearchPage, SearchParams};

/// Hits when nobody names a number.
const LIMIT: u32 = 50;

/// Why a search makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Its words.
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error("`{0}` is no cursor")]
    Cursor(String),
}

impl RequestError {
    /// The next step.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Query(_) => "give one or more words, each with a letter or a digit",
            Self::Cursor(_) => "use the `cursor` of the page before",
        }
    }
}

impl SearchRequest {
    /// Reads what is asked.
    ///
    /// # Errors
    ///
    /// When there is no word in it, it is too long, or the cursor is none.
    pub fn of(params: &SearchParams) -> Result<Self, RequestError> {
        let before = match &params.after {
            None => None,
            Some(cursor) => Some(
                cursor
                    .parse()
                    .map_err(|_| RequestError::Cursor(cursor.clone()))?,
            ),
        };
        let limit = params.limit.unwrap_or(LIMIT) as usize;
        Ok(Self {
            before,
            rows: params.query.clone(),
            ..Self::new(Query::parse(&params.words)?, limit.clamp(1, LIMIT_MAX))
        })
    }
}

impl SearchHits {
    /// As it is sent and printed; `session` stands on every hit when it is given.
    pub fn into_page(self, session: Option<&SessionId>) -> SearchPage {
        SearchPage {
            session: self.session,
            hits: self
                .hits
                .into_iter()
                .map(|hit| on_wire(hit, session))
                .collect(),
            total: self.total,
            total_is_at_least: self.total_is_at_least,
            cursor: self.next.map(|seq| seq.to_string()),
            indexed_to: self.indexed_to,
            behind: self.behind,
            unread_lines: self.unread_lines,
        }
    }
}

fn on_wire(hit: Hit, session: Option<&SessionId>) -> SearchHit {
    SearchHit {
        seq: hit.seq,
        id: hit.id,
        session: session.cloned(),
        entry_type: hit.entry_type,
        source: hit.source.as_str().to_owned(),
        target: hit.target.map(|target| target.as_str().to_owned()),
        at: hit.at_ms,
        review: hit.review,
        finding: hit.finding,
        snippet: hit.snippet.text,
        marks: hit.snippet.marks,
        apart: false,
    }
}
