//! [`TimelineWindow`]: which part of the record the rows show; [`TimelineWish`]: which part is
//! wanted.

use super::chips::Chips;

/// Which part of the record the rows of a view are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimelineWindow {
    /// The number of the last wish that the rows answer.
    pub answered: u64,
    /// That could not be read: these are the rows that there were.
    pub has_failed: bool,
    /// The line that it was for; `None` where there is no such row.
    pub line: Option<u64>,
    /// There are older rows than these.
    pub has_older: bool,
    /// There are newer rows than these.
    pub has_newer: bool,
    /// The last line of the record.
    pub head: u64,
    /// What stands out in the whole record.
    pub marks: Vec<TimelineMark>,
}

/// Something that stands out in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineMark {
    pub line: u64,
    /// A failure; otherwise a decision.
    pub failed: bool,
}

/// Where the reader wants to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineGo {
    /// At the end of the record.
    Newest,
    /// At its beginning.
    Oldest,
    /// At this line, or the row before it.
    Line(u64),
    /// At this line itself: where it is folded with others, these stand one by one.
    Entry(u64),
    /// At the first moment at or after this one, ms since the epoch.
    Time(i64),
    /// At the decision, failure or message of the operator's before this line.
    LandmarkOlder(u64),
    /// At the next one after this line.
    LandmarkNewer(u64),
    /// Where they are, with older rows.
    Older,
    /// Where they are, with newer rows.
    Newer,
}

/// Rows that are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineWish {
    /// Higher than that of each wish before it.
    pub number: u64,
    /// Where.
    pub go: TimelineGo,
    /// Which rows.
    pub chips: Chips,
    /// The first lines of folded rows that are wanted one by one.
    pub unfolded: Vec<u64>,
}
