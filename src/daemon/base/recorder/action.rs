//! [`RecorderAction`]: what the loop has to do about something that happened to the record.

use std::sync::Arc;

use crate::core::alarm::Alarm;
use crate::core::entry::Entry;
use crate::store::ledger::Stored;
use crate::wire::control::Refusal;

/// What the loop has to do after something happened to the record. Several are done in order.
#[derive(Debug)]
pub(in crate::daemon) enum RecorderAction<T> {
    /// These entries are durable and folded: publish them, and let the waiting flow go on.
    Recorded {
        /// As they are on the disk, in order.
        entries: Vec<Arc<Stored>>,
        /// The flow that waits for them, unless it has given up.
        then: Option<T>,
    },
    /// Nothing of this append was recorded, or a fact was given up for good: tell the waiting flow
    /// why.
    Refused {
        /// The waiting flow.
        then: T,
        refusal: Refusal,
    },
    /// The disk refused a fact: something that has already happened.
    FactRefused {
        /// What was to be recorded.
        entries: Vec<Entry>,
        /// Why it was not.
        refusal: Refusal,
        /// The fact is kept and sent again; otherwise it is given up for good.
        is_kept: bool,
    },
    /// The record cannot be written, for this reason.
    Unwritable(String),
    /// The record can be written again.
    Writable,
    /// A fact is not in the record, and will not be.
    FactsLost(String),
    /// The free space on the disk has changed.
    SpaceChanged,
    /// Somebody else wrote to the record.
    Foreign(Alarm),
    /// The writer has failed: nothing can be recorded any more.
    WriterGone,
}
