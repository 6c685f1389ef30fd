//! [`TimelineRow`]: one entry of the ledger as the timeline shows it.

use super::agent::Party;
use crate::named::named;
use crate::text;

/// How a delivery or a deed stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OutcomeState {
    /// Offered, no proof yet.
    Unconfirmed,
    /// Proved.
    Done,
    /// Refused or failed.
    Failed,
    /// A person should look.
    Attention,
    /// Nothing to judge.
    #[default]
    Plain,
}

/// What became of the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowOutcome {
    /// Decides glyph and colour.
    pub state: OutcomeState,
    /// In words, for example `offered to Claude by doorbell · not yet acknowledged`.
    pub text: String,
    /// Since when it is so, ms since the epoch; drawn as an age while unconfirmed.
    pub since_ms: Option<i64>,
    /// How long it took, ms; drawn when done.
    pub took_ms: Option<u64>,
}

impl RowOutcome {
    /// An outcome without times.
    pub fn new(state: OutcomeState, text: impl Into<String>) -> Self {
        Self {
            state,
            text: text.into(),
            since_ms: None,
            took_ms: None,
        }
    }
}

/// What became of one of the operator's last messages, wherever the rows are that are loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// As [`TimelineRow::seq`].
    pub line: u64,
    pub outcome: RowOutcome,
}

named! {
    /// What an artifact came to.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Verdict {
        Passed = "passed",
        Failed = "failed",
        /// It could not go on.
        Blocked = "blocked",
        /// Nobody said.
        Unknown = "unknown",
        /// It was left out.
        Skipped = "skipped",
        /// It took too long.
        TimedOut = "timed out",
    }
    /// The word beside the glyph.
    pub fn as_str;
}

/// Where an entry stands, and so what it is: which session's record, and which line of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryPlace {
    /// As [`DeckView::session_id`](super::DeckView::session_id).
    pub session: String,
    /// As [`TimelineRow::seq`].
    pub line: u64,
}

/// Neighbouring lines of the record that could not be read as entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadLines {
    pub first: u64,
    /// The last one; the same where it is one line only.
    pub last: u64,
}

impl BadLines {
    /// `line 812`, `lines 812 to 830`.
    pub(crate) fn name(self) -> String {
        let first = text::grouped(self.first);
        if self.first == self.last {
            format!("line {first}")
        } else {
            format!("lines {first} to {}", text::grouped(self.last))
        }
    }
}

/// Neighbouring rows of the machine that stand as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldedRows {
    /// The last line; the first one is the row's own.
    pub last: u64,
    /// How many entries they are.
    pub count: u64,
}

/// A named detail of an entry, shown when it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// Its text, in full.
    pub text: String,
}

/// An entry that another one names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRef {
    /// How it is named: `answers`, `handles`, `decides on`.
    pub label: String,
    /// It, in the same record.
    pub row: TimelineRow,
}

/// Entries of which the screen makes something of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RowSort {
    /// A thread begins with it.
    Handoff,
    /// Something failed.
    Error,
    #[default]
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimelineRow {
    /// Line of the session's record, which in its chained part is the `seq`; identifies the row.
    pub seq: u64,
    /// Id of the entry.
    pub id: String,
    /// When, ms since the epoch.
    pub at_ms: i64,
    pub from: Party,
    /// For whom.
    pub to: Option<Party>,
    /// `message`, `handoff`, `note`, `artifact`, `finality`, `decision`, `session`, `turn`, `record` …;
    /// for people: foreign entries have words of their own.
    pub kind: String,
    /// What the screen makes of it.
    pub sort: RowSort,
    /// The text; raw. May be cut by the caller, then `text_cut` is set.
    pub text: String,
    /// `text` is not all of it; opening the row asks for the rest with
    /// [`crate::Effect::OpenEntry`].
    pub text_cut: bool,
    /// What an artifact came to.
    pub verdict: Option<Verdict>,
    /// A short mark at the right edge, for example `claimed` or `run by the daemon`.
    pub mark: Option<String>,
    /// Somebody else wrote it: nobody vouches for who it is from.
    pub is_foreign: bool,
    /// The short name of the handoff that it belongs to, for example `h7`.
    pub thread: Option<String>,
    /// What became of it.
    pub outcome: Option<RowOutcome>,
    /// The row is no entry: it stands for these lines.
    pub bad_lines: Option<BadLines>,
    /// The row stands for these entries of the machine.
    pub folded: Option<FoldedRows>,
}

impl TimelineRow {
    /// The row of lines that could not be read. `at_ms` is the time of an entry beside them, for
    /// the day that they stand under.
    pub fn of_bad_lines(lines: BadLines, at_ms: i64) -> Self {
        let text = format!("{} could not be read", lines.name());
        Self {
            bad_lines: Some(lines),
            ..Self::new(lines.first, at_ms, Party::System, None, "record", text)
        }
    }

    /// The row of entries of the machine, by the first one's line.
    pub fn of_folded(seq: u64, at_ms: i64, rows: FoldedRows, text: impl Into<String>) -> Self {
        Self {
            folded: Some(rows),
            mark: Some(format!("+{}", text::grouped(rows.count))),
            ..Self::new(seq, at_ms, Party::System, None, "system", text)
        }
    }

    /// The last line of the record that it stands for.
    pub(crate) fn last(&self) -> u64 {
        let folded = self.folded.map(|rows| rows.last);
        let bad = self.bad_lines.map(|lines| lines.last);
        folded.or(bad).unwrap_or(self.seq)
    }

    /// A row with only the columns.
    pub fn new(
        seq: u64,
        at_ms: i64,
        from: impl Into<Party>,
        to: Option<Party>,
        kind: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            seq,
            at_ms,
            from: from.into(),
            to,
            kind: kind.into(),
            text: text.into(),
            ..Self::default()
        }
    }
}
