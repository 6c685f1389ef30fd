//! [`Daemon::whole_text`]: all of an entry's text, as its receiver has to get it.

use std::borrow::Cow;

use super::event::{Event, LostText};
use super::owners::Daemon;
use crate::core::agent::Party;
use crate::core::entry::{Entry, ErrorCode};
use crate::store::blobs::{BlobError, Blobs};

impl Daemon {
    /// All of an entry's text. When it cannot be had, its beginning, under a line that says so:
    /// nobody must take a part for the whole. The record hears of it as well.
    pub(super) fn whole_text<'a>(&self, entry: &'a Entry) -> Cow<'a, str> {
        let Some(whole) = &entry.whole else {
            return Cow::Borrowed(&entry.content);
        };
        let error = match Blobs::of_ledger(self.recorder.ledger().path()).get(&whole.sha256) {
            Ok(text) => return Cow::Owned(text),
            Err(error) => error,
        };
        let text = format!(
            "[ctxrelay: only the beginning of this text can be handed over. All of it ({} \
             characters) was kept in a file of its own, and {error}. Ask the sender again, and \
             tell your operator.]\n{}",
            whole.units, entry.content
        );
        // Reading changes nothing; what is found on the way is told to the loop like any fact. A
        // full queue loses only this hint: the next reader gives it again.
        if let Some(events) = self.events.upgrade() {
            let lost = LostText {
                entry: entry.id.clone(),
                error,
            };
            let _ = events.try_send(Event::TextLost(lost));
        }
        Cow::Owned(text)
    }

    /// Records it, once for each entry.
    pub(super) fn on_text_lost(&mut self, lost: &LostText) {
        if !self.recorder.note_lost_text(&lost.entry) {
            return;
        }
        self.note_fact(
            Party::System,
            match lost.error {
                BlobError::Missing => ErrorCode::BlobMissing,
                BlobError::Altered => ErrorCode::BlobAltered,
                BlobError::Io(_) => ErrorCode::BlobUnreadable,
            },
            format!(
                "all of the text of entry {} was kept in a file of its own, and {}; its receiver \
                 got the beginning and was told so",
                lost.entry, lost.error
            ),
        );
    }
}
