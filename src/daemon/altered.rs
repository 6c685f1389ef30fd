//! What is given as somebody's word is given from the line that was recorded: whoever edits it in
//! place while it waits has it given to nobody.

use std::io;
use std::sync::Arc;

use super::event::Event;
use super::owners::Daemon;
use crate::core::agent::Party;
use crate::core::entry::{DeliveryResult, ErrorCode};
use crate::core::id::{EntryId, Seq};
use crate::store::ledger::{Reading, Stored};
use crate::wire::control::{Refusal, RefusalCode};

/// The key of the notice about altered lines.
const ALTERED: &str = "message_altered";

/// The key of the notice about an older queue.
const OLDER_QUEUE: &str = "queue_put_back";

/// A line that is not the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Altered;

impl Daemon {
    /// The entry of a message that waits, for its receiver; nothing when it cannot be read, or is
    /// not as it was recorded. The loop hears of that.
    pub(super) fn message(&self, id: &EntryId) -> Option<Arc<Stored>> {
        let seq = self.outbox.get(id)?.seq;
        let known = self.recorder.world().unsettled.get(id);
        let hash = known.and_then(|message| message.hash.as_deref());
        match self.as_recorded(seq, hash) {
            Ok(stored) => stored,
            Err(Altered) => {
                // Reading changes nothing. A full queue loses only this hint: the next reader
                // gives it again.
                if let Some(events) = self.events.upgrade() {
                    let _ = events.try_send(Event::Altered(id.clone()));
                }
                None
            }
        }
    }

    /// An entry whose line gives this hash, if one is known.
    fn as_recorded(&self, seq: Seq, hash: Option<&str>) -> Result<Option<Arc<Stored>>, Altered> {
        let stored = match self.recorder.recent_entry(seq) {
            Some(stored) => stored,
            None => match self.recorder.ledger().read(seq) {
                Ok(Some(stored)) => Arc::new(stored),
                Ok(None) => return Ok(None),
                // Where the entry was stands something else.
                Err(error)
                    if hash.is_some()
                        && matches!(
                            error.kind(),
                            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
                        ) =>
                {
                    return Err(Altered);
                }
                Err(error) => {
                    tracing::warn!(%error, %seq, "an entry could not be read");
                    return Ok(None);
                }
            },
        };
        if hash.is_none_or(|hash| stored.is_of(hash)) {
            Ok(Some(stored))
        } else {
            Err(Altered)
        }
    }

    /// A decision of the operator that is still to be told, if its line is the recorded one.
    pub(super) fn untold(&self, seq: Seq, hash: Option<&str>) -> Option<Arc<Stored>> {
        self.as_recorded(seq, hash).ok().flatten()
    }

    /// The message is settled as what it is: given to nobody.
    pub(super) fn on_altered(&mut self, id: EntryId) {
        let Some(to) = self.outbox.get(&id).map(|row| row.to) else {
            return;
        };
        if self.outbox.backlog.is_recording(&id) {
            return;
        }
        let text = format!(
            "somebody else edited message {id} in the record while it waited for {}: it was not \
             delivered, and is not",
            to.title()
        );
        tracing::error!(text, "alarm");
        self.notices
            .set(ALTERED, format!("{text} (`ctxrelay ledger verify`)"));
        let result = DeliveryResult::Rejected;
        let kind = ErrorCode::MessageAltered;
        let alarm = self.entry(Party::System, None, kind, text, None);
        let mut settled = self.delivery_entry(&id, to, result, None, None);
        "its line was edited: not delivered".clone_into(&mut settled.content);
        let backlog = &mut self.outbox.backlog;
        backlog.record(&id, result, None, None, &mut Vec::new());
        self.record_fact(
            vec![alarm, settled],
            Box::new(move |daemon, _| daemon.result_is_durable(id, result)),
        );
        self.status_changed();
    }

    /// An older copy lay in the place of the queue: what was on its way is ambiguous, and not sent
    /// again.
    pub(super) fn note_older_queue(&mut self) {
        let text = "somebody else put an older copy of state/queue.db in its place; it was set \
                    aside, and what had no proof in the record is ambiguous: nothing is sent again \
                    by itself";
        tracing::error!(text, "alarm");
        self.notices.set(OLDER_QUEUE, text.to_owned());
        let kind = ErrorCode::QueuePutBack;
        self.keep_fact(Party::System, kind, text);
    }

    /// Refuses to carry entries on into another file when somebody edited the one they stand in
    /// since it was opened: with a new hash they would be as good as recorded.
    pub(super) fn check_unaltered(&self) -> Result<(), Refusal> {
        let stats = self.recorder.ledger().stats();
        let path = self.recorder.ledger().path();
        let now = Reading::open(path, self.recorder.session_id(), None, None);
        let is_as_it_was = match now {
            Ok(now) => {
                let now = now.stats();
                !stats.chain_ok || now.chain_ok && now.head == stats.head
            }
            Err(_) => false,
        };
        if is_as_it_was {
            return Ok(());
        }
        Err(Refusal::new(
            RefusalCode::RecordAltered,
            "somebody else edited the record",
            "nothing was changed; see where with `ctxrelay ledger verify`, and begin anew with \
             `ctxrelay ledger clear`",
        ))
    }
}
