//! [`ToRecord`]: what a command wants recorded, and the reply to its caller. Such a command changes
//! nothing itself: it is a function over the owners that it reads.

use std::sync::Arc;

use crate::core::entry::Entry;
use crate::daemon::decisions::decision_messages::track_told;
use crate::daemon::owners::Base;
use crate::daemon::reply::{ReplySender, answer};
use crate::store::ledger::Stored;
use crate::wire::control::{Recorded, Refusal, Reply};

/// The reply to entries that are durable.
type Told = Box<dyn FnOnce(&[Arc<Stored>]) -> Reply + Send>;

/// All of it is recorded or nothing.
pub(super) struct ToRecord {
    entries: Vec<Entry>,
    told: Told,
    /// `status` has news by it that no entry tells.
    is_status: bool,
}

impl ToRecord {
    /// Where nothing is to be recorded, the caller is answered at once.
    pub(super) fn new(
        entries: Vec<Entry>,
        told: impl FnOnce(&[Arc<Stored>]) -> Reply + Send + 'static,
    ) -> Self {
        Self {
            entries,
            told: Box::new(told),
            is_status: false,
        }
    }

    /// The caller hears that it is done.
    pub(super) fn done(entries: Vec<Entry>) -> Self {
        Self::new(entries, |_| Reply::Done)
    }

    /// The caller hears which entry it is.
    pub(super) fn one(entry: Entry) -> Self {
        Self::new(vec![entry], |stored| {
            Reply::Recorded(Recorded::of(&stored[0].entry))
        })
    }

    /// Messages that its first entry brings about are recorded with it.
    pub(super) fn with_told(mut self, told: impl FnOnce(&Entry) -> Vec<Entry>) -> Self {
        let told = self.entries.first().map(told);
        self.entries.extend(told.into_iter().flatten());
        self
    }

    /// As it is, and `status` has news by it.
    pub(super) fn for_status(self, is_status: bool) -> Self {
        Self { is_status, ..self }
    }
}

impl Base {
    /// Records what a command wants, or refuses it.
    pub(super) fn append_wish(&mut self, wish: Result<ToRecord, Refusal>, reply: ReplySender) {
        let ToRecord {
            entries,
            told,
            is_status,
        } = match wish {
            Ok(wish) => wish,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        if entries.is_empty() {
            return answer(reply, Ok(told(&[])));
        }
        self.recorder.append(
            entries,
            Box::new(move |daemon, result| {
                track_told(daemon, result);
                let result = result.map(told).map_err(Clone::clone);
                if is_status {
                    daemon.base.clients.status_changed();
                }
                answer(reply, result);
            }),
        );
    }
}
