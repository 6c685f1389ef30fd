//! [`whole`]: an entry's text in full.

use std::borrow::Cow;

use crate::store::dirs::ProjectDirs;
use crate::store::ledger::Stored;

/// The text of an entry as it was recorded. Every line holds its whole text so far; a text that
/// is kept elsewhere would be fetched here, and nowhere else in an export.
pub(super) fn whole<'a>(_dirs: &ProjectDirs, stored: &'a Stored) -> Cow<'a, str> {
    Cow::Borrowed(&stored.entry.content)
}
