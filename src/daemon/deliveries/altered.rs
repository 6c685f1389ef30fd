//! Changes by somebody else to what waits for delivery. A message is given from the line that was
//! recorded: if that line is edited in place while the message waits, nobody gets it. And if the
//! queue was replaced by an older copy, nothing of it is sent again automatically.

use crate::core::agent::Party;
use crate::core::alarm::Alarm;
use crate::core::entry::ErrorCode;
use crate::core::id::EntryId;
use crate::daemon::base::foreign::alarm_entry;
use crate::daemon::owners::{Base, Deliveries};
use crate::wire::status::NoticeKey;

impl Deliveries {
    /// The message is settled as what it is: given to nobody.
    pub(in crate::daemon) fn on_altered(&mut self, base: &mut Base, id: EntryId) {
        let Some(to) = self.outbox.get(&id).map(|row| row.to) else {
            return;
        };
        if self.outbox.backlog().is_recording(&id) {
            return;
        }
        let message = id.clone();
        let alarm = Alarm::MessageAltered {
            message,
            to,
            others: 0,
        };
        tracing::error!(text = alarm.text(), "alarm");
        // At once, as every alarm: the disk may take long.
        if !base.notices.has(&NoticeKey::Alarm) {
            base.notices.set(NoticeKey::Alarm, alarm.text());
            base.clients.status_changed();
        }
        let alarm = alarm_entry(&base.recorder, &alarm);
        let why = "its line was edited: not delivered".to_owned();
        self.reject(base, &id, Some(alarm), why);
    }

    /// Once nothing is ambiguous any more, there is nothing left to be done about an older queue. Where
    /// nothing was, it is told of until the next start.
    pub(in crate::daemon) fn forget_older_queue(&mut self, base: &mut Base) {
        if !base.notices.has(&NoticeKey::QueuePutBack) {
            return;
        }
        if self.outbox.is_proven_at_last() {
            base.notices.clear(&NoticeKey::QueuePutBack);
            base.clients.status_changed();
        }
    }
}

impl Base {
    /// An older copy lay in the place of the queue: what was on its way is ambiguous, and not sent
    /// again.
    pub(in crate::daemon) fn note_older_queue(&mut self) {
        let text = "somebody else put an older copy of state/queue.db in its place; it was set \
                    aside, and what had no proof in the record is ambiguous: nothing is sent again \
                    by itself";
        tracing::error!(text, "alarm");
        self.notices.set(NoticeKey::QueuePutBack, text.to_owned());
        let kind = ErrorCode::QueuePutBack;
        self.recorder.keep(Party::System, kind, text);
    }
}
