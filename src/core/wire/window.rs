//! [`WindowParams`] and [`WindowPage`]: the record as rows of a timeline, around any position in
//! it.
//!
//! Adjacent rows of the machine are merged into one without being read: the index recognises them.
//! The index also answers filters, so that rare rows of a long record are found at once.

use serde::{Deserialize, Serialize};

use crate::agent::Party;
use crate::entry::{DeliveryRecord, Entry, EntryKind};
use crate::id::EntryId;
use crate::row_class::{MachineRow, RowClass, RowKind, RowResult};

/// The most rows of one page.
pub const WINDOW_ROWS_MAX: u32 = 500;

/// The most characters of an entry's text on its row.
pub const ROW_CHARS_MAX: usize = 400;

/// The most marks of one page.
pub const MARKS_MAX: u32 = 400;

/// Arguments of [`Command::LedgerWindow`](super::control::Command::LedgerWindow).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WindowParams {
    /// Where.
    pub place: WindowPlace,
    /// At most this many rows, [`WINDOW_ROWS_MAX`] at most.
    pub limit: u32,
    pub query: RowQuery,
    /// The first lines of folded rows that are wanted one by one.
    pub unfolded: Vec<u64>,
    /// Marks of the whole record, in so many stretches of it at most; none when 0.
    pub marks: u32,
}

/// A place in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub enum WindowPlace {
    /// Its end.
    #[default]
    Newest,
    /// Its beginning.
    Oldest,
    /// Around the row of this line, or the nearest one.
    Line(u64),
    /// The rows before this line.
    Before(u64),
    /// The rows after this line.
    After(u64),
    /// Around the first moment at or after this one, ms since the epoch. The clock may have jumped:
    /// it is the entry with the nearest time.
    Time(i64),
    /// Around the next decision, failure or word of the operator before this line.
    LandmarkBefore(u64),
    /// The same, after this line.
    LandmarkAfter(u64),
}

/// Which rows are wanted; all when empty. What is named within one member is enough, what stands in
/// different ones has to be true together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RowQuery {
    /// Sorts of rows.
    pub kinds: Vec<RowKind>,
    /// From or to one of these.
    pub parties: Vec<Party>,
    /// What came of it.
    pub results: Vec<RowResult>,
    /// Only what belongs to this handoff.
    pub thread: Option<EntryId>,
    /// Not before, ms since the epoch.
    pub since_ms: Option<i64>,
    /// Not after, ms since the epoch.
    pub until_ms: Option<i64>,
}

impl RowQuery {
    /// Everything is wanted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a class is wanted; `waits`: the row waits for somebody.
    pub fn takes_class(&self, class: RowClass, waits: impl Fn() -> bool) -> bool {
        let kind = self.kinds.is_empty() || self.kinds.contains(&class.kind);
        let result = self.results.is_empty()
            || class
                .result
                .is_some_and(|result| self.results.contains(&result))
            || self.results.contains(&RowResult::Waits) && waits();
        kind && result
    }

    /// Whether a row of these two parties is wanted.
    pub fn takes_parties(&self, source: &Party, target: Option<&Party>) -> bool {
        let wanted = &self.parties;
        wanted.is_empty()
            || wanted.contains(source)
            || target.is_some_and(|target| wanted.contains(target))
    }

    /// Whether a moment is wanted, ms since the epoch.
    pub fn takes_time(&self, at_ms: i64) -> bool {
        self.since_ms.is_none_or(|since| at_ms >= since)
            && self.until_ms.is_none_or(|until| at_ms <= until)
    }

    /// Whether an entry belongs to the handoff that is asked for.
    pub fn takes_thread(&self, entry: &Entry) -> bool {
        let Some(thread) = &self.thread else {
            return true;
        };
        let answers = match &entry.kind {
            EntryKind::Message(message) => message.in_reply_to.as_ref() == Some(thread),
            EntryKind::Delivery(record) => record.message_id == *thread,
            _ => false,
        };
        entry.id == *thread || answers || entry.handles().contains(thread)
    }

    /// Whether an entry is wanted; `waits`: it waits for somebody.
    pub fn takes(&self, entry: &Entry, waits: impl Fn() -> bool) -> bool {
        self.takes_class(RowClass::of(entry), waits)
            && self.takes_parties(&entry.source, entry.target.as_ref())
            && self.takes_time(entry.timestamp_ms)
            && self.takes_thread(entry)
    }

    /// Whether rows of the machine stand as one: not where what came of things is asked for, or one
    /// thread, for then each of them is an answer.
    pub fn folds(&self) -> bool {
        self.results.is_empty() && self.thread.is_none()
    }

    /// Whether steps of the machine alone are worth a row.
    pub fn shows_steps(&self) -> bool {
        self.kinds.contains(&RowKind::System)
    }

    /// Whether a run has a row: one of steps alone only where these are asked for.
    pub fn shows_run(&self, run: &MachineRun) -> bool {
        run.news > 0 || run.findings > 0 || self.shows_steps()
    }

    /// Whether lines that could not be read are wanted.
    pub fn takes_bad_lines(&self) -> bool {
        let is_any = self.kinds.is_empty() && self.results.is_empty();
        let failed = self.results.contains(&RowResult::Failed) && self.kinds.is_empty();
        let error = self.kinds.contains(&RowKind::Error)
            && (self.results.is_empty() || self.results.contains(&RowResult::Failed));
        let elsewhere = self.parties.is_empty() && self.thread.is_none();
        (is_any || failed || error) && elsewhere
    }
}

/// A piece of the timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WindowPage {
    /// Oldest first.
    pub rows: Vec<WindowRow>,
    /// What became of messages among the rows, as far as it stands close behind them.
    pub steps: Vec<DeliveryStep>,
    /// The line that was asked for, or the nearest one before it that is an entry; `None` where
    /// there is none.
    pub at: Option<u64>,
    /// There are rows before these.
    pub has_older: bool,
    /// There are rows after these.
    pub has_newer: bool,
    /// So much was read without coming to an end: go on before or after this line. Rows that were
    /// found until then are there.
    pub stopped_at: Option<u64>,
    /// The same at the newer end of rows around a place.
    pub newer_stopped_at: Option<u64>,
    /// The last line of the record.
    pub head: u64,
    /// What stands out in the whole record, oldest first.
    pub marks: Vec<RecordMark>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WindowRow {
    Entry {
        /// The entry with its line as number, without what no row shows.
        entry: Box<Entry>,
        /// Its text is cut after [`ROW_CHARS_MAX`] characters.
        is_cut: bool,
    },
    /// Neighbouring rows of the machine, or findings of reviews.
    Machine {
        run: MachineRun,
        /// The text of the latest news in it; empty without news.
        text: String,
    },
    /// Lines that could not be read.
    Bad {
        first: u64,
        last: u64,
        /// When the entry beside them was recorded, ms since the epoch.
        at_ms: i64,
    },
}

impl WindowRow {
    /// The row of an entry: its text is cut, and what no row shows is taken away, so that a window
    /// is small whatever is in the record.
    pub fn of(mut entry: Entry) -> Self {
        let cut = entry.content.char_indices().nth(ROW_CHARS_MAX);
        let cut = cut.map(|(at, _)| at);
        if let Some(at) = cut {
            // A new text: that of ten megabytes is let go of.
            entry.content = entry.content[..at].to_owned();
        }
        entry.meta.clear();
        match &mut entry.kind {
            EntryKind::Handoff(handoff) => {
                handoff.reason.clear();
                handoff.context_refs.clear();
            }
            EntryKind::Artifact(artifact) => {
                artifact.summary.clear();
                artifact.evidence.clear();
            }
            EntryKind::Other { detail, .. } => detail.clear(),
            _ => {}
        }
        Self::Entry {
            is_cut: cut.is_some() || entry.whole.is_some(),
            entry: Box::new(entry),
        }
    }

    /// The first line.
    pub fn first(&self) -> u64 {
        match self {
            Self::Entry { entry, .. } => entry.seq.0,
            Self::Machine { run, .. } => run.first,
            Self::Bad { first, .. } => *first,
        }
    }

    /// The last line.
    pub fn last(&self) -> u64 {
        match self {
            Self::Entry { entry, .. } => entry.seq.0,
            Self::Machine { run, .. } => run.last,
            Self::Bad { last, .. } => *last,
        }
    }
}

/// Something that became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryStep {
    pub record: DeliveryRecord,
    /// When, ms since the epoch.
    pub at_ms: i64,
    pub line: u64,
}

/// Rows of the machine, or findings of reviews, that stand next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineRun {
    /// The first line: by it the row stays the same while it grows.
    pub first: u64,
    /// The last line.
    pub last: u64,
    /// Of the latest news in it, or without news of its last entry, ms since the epoch: a row that
    /// grows is as new as what it says.
    pub at_ms: i64,
    /// Steps of deliveries.
    pub deliveries: u64,
    /// Other steps: turns, agents that work or rest.
    pub steps: u64,
    /// News: the daemon, agents that left.
    pub news: u64,
    /// The line of the latest of them.
    pub news_line: Option<u64>,
    /// Findings of reviews, imported or changed; with these nothing else is in it.
    #[serde(default)]
    pub findings: u64,
}

impl MachineRun {
    /// A run of one.
    pub fn of(line: u64, at_ms: i64, class: RowClass, machine: MachineRow) -> Self {
        let is_news = machine == MachineRow::News;
        let is_step = machine == MachineRow::Step && !class.is_delivery;
        Self {
            first: line,
            last: line,
            at_ms,
            deliveries: u64::from(class.is_delivery),
            steps: u64::from(is_step),
            news: u64::from(is_news),
            news_line: is_news.then_some(line),
            findings: u64::from(machine == MachineRow::Finding),
        }
    }

    /// How many entries it stands for.
    pub fn count(&self) -> u64 {
        self.deliveries + self.steps + self.news + self.findings
    }

    /// What is in it, as far as that decides what joins it.
    pub fn machine(&self) -> MachineRow {
        match self.findings {
            0 => MachineRow::Step,
            _ => MachineRow::Finding,
        }
    }

    /// With what comes right behind it.
    pub fn extend(&mut self, later: &Self) {
        if later.news > 0 || self.news == 0 {
            self.at_ms = later.at_ms;
        }
        self.news_line = later.news_line.or(self.news_line);
        self.last = later.last;
        self.deliveries += later.deliveries;
        self.steps += later.steps;
        self.news += later.news;
        self.findings += later.findings;
    }
}

/// Something that stands out in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordMark {
    /// Where.
    pub line: u64,
    /// A failure; otherwise a decision.
    pub failed: bool,
}
