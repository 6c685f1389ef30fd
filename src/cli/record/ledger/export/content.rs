//! [`whole`]: an entry's text in full.

use std::borrow::Cow;

use crate::store::blobs::Blobs;
use crate::store::dirs::ProjectDirs;
use crate::store::ledger::Stored;

/// The text of an entry.
#[derive(Debug)]
pub(super) struct Content<'a> {
    pub(super) text: Cow<'a, str>,
    /// Why it is the beginning only, when it is.
    pub(super) remark: Option<String>,
}

/// The text of an entry as it was recorded. What is too long for a line lies in a file of its own,
/// which is read here, and nowhere else in an export; the line has the beginning.
pub(super) fn whole<'a>(dirs: &ProjectDirs, stored: &'a Stored) -> Content<'a> {
    let beginning = Cow::Borrowed(stored.entry.content.as_str());
    let Some(whole) = &stored.entry.whole else {
        return Content {
            text: beginning,
            remark: None,
        };
    };
    // The ledgers of a project, archived ones too, have one folder of texts. What a line says of
    // its session is nobody's path.
    let blobs = Blobs::of_ledger(&dirs.sessions().join("any"));
    match blobs.get(&whole.sha256) {
        Ok(text) => Content {
            text: Cow::Owned(text),
            remark: None,
        },
        Err(error) => Content {
            text: beginning,
            remark: Some(format!(
                "this is the beginning of a text of {} characters: all of it was kept in a file \
                 of its own, and {error}",
                whole.units
            )),
        },
    }
}
