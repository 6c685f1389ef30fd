//! [`RecorderAction`]: what the loop has to do about something that happened to the record.

use std::sync::Arc;

use crate::core::alarm::Alarm;
use crate::core::entry::Entry;
use crate::store::ledger::Stored;
use crate::wire::control::Refusal;

/// What the loop has to do about something that happened to the record. Several are done in
/// their order.
#[derive(Debug)]
pub(in crate::daemon) enum RecorderAction<T> {
    /// These entries are durable and folded: they are published, and who waited goes on.
    Recorded {
        /// As they lie on the disk, in their order.
        entries: Vec<Arc<Stored>>,
        /// Who waited for them, and has not given them up as too late.
        then: Option<T>,
    },
    /// Nothing of this append was recorded, and who waited for it hears why. So does who waited for
    /// a fact that is given up for good.
    Refused {
        /// Who waited for it.
        then: T,
        refusal: Refusal,
    },
    /// The disk refused what has happened already.
    FactRefused {
        /// What was to be recorded.
        entries: Vec<Entry>,
        /// Why it was not.
        refusal: Refusal,
        /// It is kept and tried again; otherwise it is given up for good.
        is_kept: bool,
    },
    /// The record cannot be written, and this is why.
    Unwritable(String),
    /// The record can be written again.
    Writable,
    /// Something that has happened is not in the record, and will not be.
    FactsLost(String),
    /// There is less room on the disk, or more.
    SpaceChanged,
    /// Somebody else wrote to the record.
    Foreign(Alarm),
    /// The writer has failed: nothing can be recorded any more.
    WriterGone,
}
