//! Full-text search over the ledger and the tasks beside it: [`Query`], [`Search`], and
//! [`search_file`] and [`search_capsules`] where no daemon runs.
//!
//! ```text
//! ledger, capsules ─► text (redacted, folded) ─► index.db (SQLite FTS5, dropped when in doubt)
//!                               └─────────────────► what the index does not have yet is scanned
//! ```
//!
//! Words are split and folded here, for the index and for a scan of the file alike, so that both
//! find the same. SQLite only stores and intersects them. Knows nothing of the daemon's loop and of
//! how hits are shown.

mod batch;
mod capsules;
mod error;
mod file;
mod find;
mod follow;
mod follow_sealed;
mod index;
mod index_keeper;
mod indexer;
mod page;
mod passages;
mod query;
mod sealed;
mod snippet;
mod text;

#[cfg(test)]
mod tests;

pub use capsules::{CapsuleRequest, search_capsules};
pub use error::SearchError;
pub use file::{Progress, rebuild_file, search_file};
pub use find::{LIMIT_MAX, SearchRequest, TOTAL_MAX};
pub use follow::{SealedSearch, Search, SearchWaiter};
pub use index::discard;
pub use indexer::SearchState;
pub use page::RequestError;
pub use query::{Query, QueryError};
pub use sealed::{SEALED_BYTES_MAX, SealedIndex, SealedRequest};
