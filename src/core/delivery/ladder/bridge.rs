//! [`Bridge`]: through whom messages are offered.

use super::DeliveryMode;

/// The bridge that gets the deliveries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bridge {
    pub(super) id: u64,
    pub(super) process: Option<u32>,
    pub(super) mode: DeliveryMode,
    /// Until then a doorbell may still come.
    pub(super) bell_due: i64,
}
