//! [`RowFacts`]: the part of the daemon's reports from which rows are made. The model keeps the
//! rows, and lends these facts for each row that it makes.

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
pub(in crate::deck) struct RowFacts<'a> {
    pub(in crate::deck) world: &'a Snapshot,
    pub(in crate::deck) deliveries: &'a DeliverySteps,
    pub(in crate::deck) status: &'a Status,
    /// The daemon is away: the status is an old one.
    pub(in crate::deck) is_lost: bool,
    /// What the clocks on the wall show.
    pub(in crate::deck) local: &'a LocalTime,
}

/// Whether the turn that had a message ended early. Of Claude's turns the status alone tells, which
/// named `of_claude`: an entry may have settled one of these since, or have it sent again.
pub(in crate::deck) fn is_cut_off(world: &Snapshot, of_claude: &[EntryId], id: &EntryId) -> bool {
    let message = world.unsettled.get(id);
    world.cut_off.contains_key(id)
        || message.is_some_and(|message| message.is_proven()) && of_claude.contains(id)
}
