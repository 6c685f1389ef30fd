//! [`LaneRow`]: one row of a lane.

use crate::delivery::Delivery;
use crate::delivery::offer::Offer;

/// A message that is not settled.
#[derive(Debug)]
pub(super) struct LaneRow {
    pub(super) delivery: Delivery,
    /// Its place on the ladder, once it was offered.
    pub(super) offer: Option<Offer>,
    /// Its text is on its way to nobody, and nothing about it is being recorded.
    pub(super) is_free: bool,
}
