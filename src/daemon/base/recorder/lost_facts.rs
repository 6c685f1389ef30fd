//! [`LostFacts`]: what happened and is not in the record, because the disk refused and more came
//! than is kept in memory.

use jiff::Timestamp;

use crate::core::entry::{Entry, EntryKind, TurnStatus};

/// The facts that were lost since the record last mentioned a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LostFacts {
    count: u64,
    /// How many of them are messages.
    messages: u64,
    /// When the first and the last of them happened, ms since the epoch.
    from_ms: i64,
    through_ms: i64,
}

impl LostFacts {
    /// With these. Nothing where nothing is lost with them.
    pub(super) fn and(before: Option<Self>, entries: &[Entry]) -> Option<Self> {
        entries.iter().fold(before, |lost, entry| {
            let at_ms = entry.timestamp_ms;
            let lost = lost.unwrap_or(Self {
                count: 0,
                messages: 0,
                from_ms: at_ms,
                through_ms: at_ms,
            });
            Some(Self {
                count: lost.count + 1,
                messages: lost.messages + u64::from(is_message(entry)),
                from_ms: lost.from_ms.min(at_ms),
                through_ms: lost.through_ms.max(at_ms),
            })
        })
    }

    pub(super) fn count(self) -> u64 {
        self.count
    }

    /// A sentence for people.
    pub(super) fn text(self) -> String {
        let at = |ms| {
            let at = Timestamp::from_millisecond(ms).unwrap_or_default();
            at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
        };
        let (things, were) = match self.count {
            1 => ("1 thing".to_owned(), "was"),
            count => (format!("{count} things"), "were"),
        };
        format!(
            "{things} that happened {were} not recorded, because the disk refused for too long \
             (from {} to {}); messages among them: {}",
            at(self.from_ms),
            at(self.through_ms),
            self.messages
        )
    }
}

fn is_message(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::Message(_) | EntryKind::Handoff(_))
}

/// Whether it counts more than what an agent was seen to do: a message, what became of one, or the end
/// of a turn.
pub(super) fn is_first(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Delivery(_) => true,
        EntryKind::Turn(turn) => turn.status != TurnStatus::InProgress,
        _ => is_message(entry),
    }
}
