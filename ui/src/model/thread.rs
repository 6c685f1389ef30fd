//! [`ThreadView`]: a handoff or question with everything that belongs to it.

use super::timeline::{EntryPlace, TimelineRow};

/// What was read of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadView {
    /// The entry whose thread was asked for.
    pub asked: EntryPlace,
    /// Its short name, for example `h7`.
    pub name: String,
    /// Its entries, oldest first; [`TimelineRow::seq`] is their line in the record.
    pub rows: Vec<TimelineRow>,
    /// There are more than these.
    pub is_cut: bool,
    /// Why there is nothing, one sentence.
    pub fault: Option<String>,
}
