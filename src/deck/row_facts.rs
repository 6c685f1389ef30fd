//! [`RowFacts`]: the part of what the daemon told that rows are made of. The model keeps the rows and
//! lends it for each that it makes.

use std::collections::BTreeMap;

use ctxrelay_ui::model::LocalTime;

use crate::core::entry::DeliveryRecord;
use crate::core::id::EntryId;
use crate::core::snapshot::Snapshot;
use crate::wire::status::Status;

/// What became of messages, and when, by the lines of those steps.
pub type DeliverySteps = BTreeMap<EntryId, BTreeMap<u64, (DeliveryRecord, i64)>>;

/// What rows are made of, beside their entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowFacts<'a> {
    pub(super) world: &'a Snapshot,
    pub(super) deliveries: &'a DeliverySteps,
    pub(super) status: &'a Status,
    /// The daemon is away: the status is an old one.
    pub(super) is_lost: bool,
    /// What the clocks on the wall show.
    pub(super) local: &'a LocalTime,
}
