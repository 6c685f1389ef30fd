//! What is given as somebody's word is given from the line that was recorded: a line that is edited
//! in place while it waits is given to nobody.

use super::owners::{Base, Deliveries};
use crate::core::agent::Party;
use crate::core::entry::ErrorCode;
use crate::core::id::EntryId;
use crate::wire::status::NoticeKey;

impl Deliveries {
    /// The message is settled as what it is: given to nobody.
    pub(super) fn on_altered(&mut self, base: &mut Base, id: EntryId) {
        let Some(to) = self.outbox.get(&id).map(|row| row.to) else {
            return;
        };
        if self.outbox.backlog().is_recording(&id) {
            return;
        }
        let text = format!(
            "somebody else edited message {id} in the record while it waited for {}: it was not \
             delivered, and is not",
            to.title()
        );
        tracing::error!(text, "alarm");
        base.notices.set(
            NoticeKey::MessageAltered,
            format!("{text} (`ctxrelay ledger verify`)"),
        );
        let kind = ErrorCode::MessageAltered;
        let alarm = base.recorder.entry(Party::System, None, kind, text, None);
        let why = "its line was edited: not delivered".to_owned();
        self.reject(base, &id, Some(alarm), why);
    }
}

impl Base {
    /// An older copy lay in the place of the queue: what was on its way is ambiguous, and not sent
    /// again.
    pub(super) fn note_older_queue(&mut self) {
        let text = "somebody else put an older copy of state/queue.db in its place; it was set \
                    aside, and what had no proof in the record is ambiguous: nothing is sent again \
                    by itself";
        tracing::error!(text, "alarm");
        self.notices.set(NoticeKey::QueuePutBack, text.to_owned());
        let kind = ErrorCode::QueuePutBack;
        self.recorder.keep_fact(Party::System, kind, text);
    }
}
