//! A search in its wire form: [`SearchRequest::of`].

use super::find::{LIMIT_MAX, SearchRequest};
use super::query::{Query, QueryError};
use ctxrelay_core::wire::search::SearchParams;

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
