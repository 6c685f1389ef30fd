//! [`RowWindow`]: neighbouring rows of the timeline, bounded, each made once.

use std::collections::VecDeque;

use ctxrelay_ui::model as ui;

use crate::core::entry::{Entry, EntryKind};
use crate::core::id::EntryId;
use crate::core::row_class::{MachineRow, RowClass};
use crate::deck::followed::row_facts::RowFacts;
use crate::deck::followed::rows::{machine_text, row};
use crate::wire::window::{MachineRun, RowQuery, WindowPage, WindowRow};

/// The most rows of a window.
pub(in crate::deck) const ROWS_MAX: usize = 600;

/// A row, and what it is made of.
#[derive(Debug, Clone)]
struct Item {
    row: ui::TimelineRow,
    of: Origin,
}

#[derive(Debug, Clone)]
enum Origin {
    /// An entry whose outcome may change; the machine's is a step that stands unfolded.
    Entry(Box<Entry>),
    Machine {
        run: MachineRun,
        text: String,
    },
    Bad {
        last: u64,
    },
}

impl Item {
    fn last(&self) -> u64 {
        match &self.of {
            Origin::Entry(_) => self.row.seq,
            Origin::Machine { run, .. } => run.last,
            Origin::Bad { last } => *last,
        }
    }

    fn is_shown(&self, query: &RowQuery) -> bool {
        match &self.of {
            Origin::Machine { run, .. } => query.shows_run(run),
            _ => true,
        }
    }

    fn of_run(run: MachineRun, text: String) -> Self {
        let rows = ui::FoldedRows {
            last: run.last,
            count: run.count(),
        };
        let told = machine_text(&run, &text);
        let mut row = ui::TimelineRow::of_folded(run.first, run.at_ms, rows, told);
        if run.findings > 0 {
            "finding".clone_into(&mut row.kind);
        }
        Self {
            row,
            of: Origin::Machine { run, text },
        }
    }

    /// Whether they are of one sort with nothing between them: parts of one run.
    fn joins(&self, later: &Self) -> bool {
        let both = self.machine().zip(later.machine());
        both.is_some_and(|(one, other)| one.folds_with(other)) && self.last() + 1 == later.row.seq
    }

    /// What it folds with.
    fn machine(&self) -> Option<MachineRow> {
        match &self.of {
            Origin::Entry(entry) => RowClass::of(entry).machine,
            Origin::Machine { run, .. } => Some(run.machine()),
            Origin::Bad { .. } => None,
        }
    }

    /// As a run; a finding that stands alone is one of one.
    fn into_run(self) -> Option<(MachineRun, String)> {
        match self.of {
            Origin::Entry(entry) => {
                let class = RowClass::of(&entry);
                let (line, at_ms) = (entry.seq.0, entry.timestamp_ms);
                let run = MachineRun::of(line, at_ms, class, class.machine?);
                Some((run, String::new()))
            }
            Origin::Machine { run, text } => Some((run, text)),
            Origin::Bad { .. } => None,
        }
    }

    fn of(facts: &RowFacts<'_>, row: WindowRow) -> Self {
        match row {
            WindowRow::Entry { entry, is_cut } => Self {
                row: self::row(facts, &entry, is_cut),
                of: Origin::Entry(entry),
            },
            WindowRow::Machine { run, text } => Self::of_run(run, text),
            WindowRow::Bad { first, last, at_ms } => Self {
                row: ui::TimelineRow::of_bad_lines(ui::BadLines { first, last }, at_ms),
                of: Origin::Bad { last },
            },
        }
    }
}

/// How a run of the machine at the end of the window goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum OpenEnd {
    /// The last entry was none of the machine's.
    #[default]
    None,
    /// Its row grows.
    Folded,
    /// Its entries stand one by one.
    Unfolded,
}

/// Neighbouring rows.
#[derive(Debug, Clone, Default)]
pub(in crate::deck) struct RowWindow {
    items: VecDeque<Item>,
    /// The line before which older rows are read; `None` when there are none.
    older: Option<u64>,
    /// The line after which newer rows are read; `None` when there are none.
    newer: Option<u64>,
    /// All up to this line is known.
    through: u64,
    end: OpenEnd,
}

impl RowWindow {
    pub(in crate::deck) fn of(facts: &RowFacts<'_>, page: WindowPage) -> Self {
        let mut window = Self {
            through: page.head,
            ..Self::default()
        };
        let (has_older, has_newer, head) = (page.has_older, page.has_newer, page.head);
        let (stopped_at, newer_at) = (page.stopped_at, page.newer_stopped_at);
        window.items = page
            .rows
            .into_iter()
            .map(|row| Item::of(facts, row))
            .collect();
        let first = window.items.front().map_or(head + 1, |item| item.row.seq);
        let last = window.items.back().map_or(head, Item::last);
        window.older = has_older.then(|| stopped_at.unwrap_or(first));
        window.newer = has_newer.then(|| newer_at.unwrap_or(last));
        window.settle_end();
        window
    }

    pub(in crate::deck) fn older(&self) -> Option<u64> {
        self.older
    }

    pub(in crate::deck) fn newer(&self) -> Option<u64> {
        self.newer
    }

    /// All rows that are shown, oldest first.
    pub(in crate::deck) fn rows(&self, query: &RowQuery) -> Vec<ui::TimelineRow> {
        let shown = self.items.iter().filter(|item| item.is_shown(query));
        shown.map(|item| item.row.clone()).collect()
    }

    /// Ids of the messages among the rows.
    pub(in crate::deck) fn messages(&self) -> impl Iterator<Item = &EntryId> {
        self.items.iter().filter_map(|item| match &item.of {
            Origin::Entry(entry) => Some(&entry.id),
            _ => None,
        })
    }

    /// Rows before these; as many are let go of at the other end.
    pub(in crate::deck) fn prepend(&mut self, facts: &RowFacts<'_>, page: WindowPage) {
        let before = self.older.unwrap_or_default();
        for row in page.rows.into_iter().rev() {
            self.items.push_front(Item::of(facts, row));
        }
        let first = self.items.front().map_or(before, |item| item.row.seq);
        self.older = page.has_older.then(|| page.stopped_at.unwrap_or(first));
        while self.items.len() > ROWS_MAX {
            self.items.pop_back();
            self.newer = self.items.back().map(Item::last);
        }
    }

    /// Rows behind these; as many are let go of at the other end.
    pub(in crate::deck) fn extend(&mut self, facts: &RowFacts<'_>, page: WindowPage) {
        let after = self.newer.unwrap_or_default();
        for row in page.rows {
            let item = Item::of(facts, row);
            self.push(item);
        }
        let last = self.items.back().map_or(after, Item::last);
        self.newer = page.has_newer.then(|| page.stopped_at.unwrap_or(last));
        self.through = page.head;
        self.settle_end();
        self.trim();
    }

    /// A row at the newest end: one of the machine's joins the run that it goes on.
    fn push(&mut self, item: Item) {
        let is_run = |item: &Item| matches!(item.of, Origin::Machine { .. });
        if is_run(&item)
            && let Some(last) = self
                .items
                .pop_back_if(|last| is_run(last) && last.joins(&item))
        {
            return self.join(last, item);
        }
        self.items.push_back(item);
    }

    /// Two parts of one run, as one row.
    fn join(&mut self, first: Item, later: Item) {
        if let (Some((mut run, mut news)), Some((new, text))) = (first.into_run(), later.into_run())
        {
            if new.news > 0 {
                news = text;
            }
            run.extend(&new);
            self.items.push_back(Item::of_run(run, news));
        }
    }

    fn settle_end(&mut self) {
        let mut last = self.items.iter().rev();
        self.end = match (last.next(), last.next()) {
            // Something else came behind it, which is not wanted here.
            (Some(item), _) if item.last() < self.through => OpenEnd::None,
            (Some(item), before) => match (&item.of, item.machine()) {
                (Origin::Machine { .. }, _) => OpenEnd::Folded,
                // One finding alone is a row, and the next one joins it.
                (_, Some(MachineRow::Finding)) if !before.is_some_and(|it| it.joins(item)) => {
                    OpenEnd::Folded
                }
                (_, Some(_)) => OpenEnd::Unfolded,
                (_, None) => OpenEnd::None,
            },
            (None, _) => OpenEnd::None,
        };
    }

    fn trim(&mut self) {
        while self.items.len() > ROWS_MAX {
            self.items.pop_front();
            self.older = self.items.front().map(|item| item.row.seq);
        }
    }

    /// An entry was appended to the record.
    pub(in crate::deck) fn append(
        &mut self,
        facts: &RowFacts<'_>,
        query: &RowQuery,
        entry: &Entry,
        waits: bool,
    ) {
        let line = entry.seq.0;
        if self.newer.is_some() || line <= self.through {
            return;
        }
        self.through = line;
        let class = RowClass::of(entry);
        let machine = class.machine.filter(|_| query.folds());
        let Some(machine) = machine else {
            self.end = OpenEnd::None;
            if query.takes(entry, || waits) {
                self.push_entry(facts, entry);
            }
            return;
        };
        let last = self.items.back().and_then(Item::machine);
        if !last.is_some_and(|last| last.folds_with(machine)) {
            self.end = OpenEnd::None;
        }
        if !query.takes(entry, || waits) {
            return;
        }
        let is_alone = self.end == OpenEnd::None && machine == MachineRow::Finding;
        if self.end == OpenEnd::Unfolded || is_alone {
            if is_alone {
                self.end = OpenEnd::Folded;
            }
            return self.push_entry(facts, entry);
        }
        let run = MachineRun::of(line, entry.timestamp_ms, class, machine);
        let text = if run.news > 0 {
            match WindowRow::of(entry.clone()) {
                WindowRow::Entry { entry, .. } => entry.content,
                _ => String::new(),
            }
        } else {
            String::new()
        };
        let item = Item::of_run(run, text);
        match self.items.pop_back_if(|_| self.end == OpenEnd::Folded) {
            Some(last) => self.join(last, item),
            None => self.items.push_back(item),
        }
        self.end = OpenEnd::Folded;
        self.trim();
    }

    /// The record was read again up to `head`, and what was appended since may have been missed.
    /// `None`: these rows are not of it any more.
    pub(in crate::deck) fn behind(mut self, facts: &RowFacts<'_>, head: u64) -> Option<Self> {
        if head < self.through {
            return None;
        }
        if head > self.through && self.newer.is_none() {
            self.newer = Some(self.through);
        }
        self.refresh(facts, |_| true);
        Some(self)
    }

    /// The line before its first row, and that of its last one.
    pub(in crate::deck) fn span(&self) -> Option<(u64, u64)> {
        let (first, last) = (self.items.front()?, self.items.back()?);
        Some((first.row.seq.saturating_sub(1), last.last()))
    }

    fn push_entry(&mut self, facts: &RowFacts<'_>, entry: &Entry) {
        self.items
            .push_back(Item::of(facts, WindowRow::of(entry.clone())));
        self.trim();
    }

    /// Something happened to these entries: their rows are rebuilt.
    pub(in crate::deck) fn refresh(
        &mut self,
        facts: &RowFacts<'_>,
        is_of: impl Fn(&Entry) -> bool,
    ) {
        for item in &mut self.items {
            if let Origin::Entry(entry) = &item.of
                && is_of(entry)
            {
                item.row = row(facts, entry, item.row.text_cut);
            }
        }
    }
}

/// Whether a row's outcome may change by what others decide.
pub(in crate::deck) fn is_proposal(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::FinalityProposal(_))
}

#[cfg(test)]
mod tests;
