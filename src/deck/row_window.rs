//! [`RowWindow`]: neighbouring rows of the timeline, bounded, each made once.

use std::collections::VecDeque;

use ctxrelay_ui::model as ui;

use super::model::Model;
use super::present::{machine_text, row};
use crate::core::entry::{Entry, EntryKind};
use crate::core::id::EntryId;
use crate::core::row_class::RowClass;
use crate::wire::window::{MachineRun, RowQuery, WindowPage, WindowRow};

/// The most rows of a window.
pub(super) const ROWS_MAX: usize = 600;

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
            Origin::Machine { run, .. } => run.news > 0 || query.shows_steps(),
            _ => true,
        }
    }

    fn of_run(run: MachineRun, text: String) -> Self {
        let rows = ui::FoldedRows {
            last: run.last,
            count: run.count(),
        };
        Self {
            row: ui::TimelineRow::of_folded(run.first, run.at_ms, rows, machine_text(&run, &text)),
            of: Origin::Machine { run, text },
        }
    }

    fn of(model: &Model, row: WindowRow) -> Self {
        match row {
            WindowRow::Entry { entry, is_cut } => Self {
                row: self::row(model, &entry, is_cut),
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
pub(super) struct RowWindow {
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
    pub(super) fn of(model: &Model, page: WindowPage) -> Self {
        let mut window = Self {
            through: page.head,
            ..Self::default()
        };
        let (has_older, has_newer, head) = (page.has_older, page.has_newer, page.head);
        let (stopped_at, newer_at) = (page.stopped_at, page.newer_stopped_at);
        window.items = page
            .rows
            .into_iter()
            .map(|row| Item::of(model, row))
            .collect();
        let first = window.items.front().map_or(head + 1, |item| item.row.seq);
        let last = window.items.back().map_or(head, Item::last);
        window.older = has_older.then(|| stopped_at.unwrap_or(first));
        window.newer = has_newer.then(|| newer_at.unwrap_or(last));
        window.settle_end();
        window
    }

    pub(super) fn older(&self) -> Option<u64> {
        self.older
    }

    pub(super) fn newer(&self) -> Option<u64> {
        self.newer
    }

    /// All rows that are shown, oldest first.
    pub(super) fn rows(&self, query: &RowQuery) -> Vec<ui::TimelineRow> {
        let shown = self.items.iter().filter(|item| item.is_shown(query));
        shown.map(|item| item.row.clone()).collect()
    }

    /// Ids of the messages among the rows.
    pub(super) fn messages(&self) -> impl Iterator<Item = &EntryId> {
        self.items.iter().filter_map(|item| match &item.of {
            Origin::Entry(entry) => Some(&entry.id),
            _ => None,
        })
    }

    /// Rows before these; as many are let go of at the other end.
    pub(super) fn prepend(&mut self, model: &Model, page: WindowPage) {
        let before = self.older.unwrap_or_default();
        for row in page.rows.into_iter().rev() {
            self.items.push_front(Item::of(model, row));
        }
        let first = self.items.front().map_or(before, |item| item.row.seq);
        self.older = page.has_older.then(|| page.stopped_at.unwrap_or(first));
        while self.items.len() > ROWS_MAX {
            self.items.pop_back();
            self.newer = self.items.back().map(Item::last);
        }
    }

    /// Rows behind these; as many are let go of at the other end.
    pub(super) fn extend(&mut self, model: &Model, page: WindowPage) {
        let after = self.newer.unwrap_or_default();
        for row in page.rows {
            let item = Item::of(model, row);
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
        if let (Some(last), Origin::Machine { run: new, text }) = (self.items.back_mut(), &item.of)
            && let Origin::Machine { run, text: news } = &mut last.of
        {
            if run.news == 0 {
                news.clone_from(text);
            }
            run.extend(new);
            *last = Item::of_run(*run, std::mem::take(news));
            return;
        }
        self.items.push_back(item);
    }

    fn settle_end(&mut self) {
        self.end = match self.items.back().map(|item| &item.of) {
            Some(Origin::Machine { .. }) => OpenEnd::Folded,
            Some(Origin::Entry(entry)) if RowClass::of(entry).machine.is_some() => {
                OpenEnd::Unfolded
            }
            _ => OpenEnd::None,
        };
    }

    fn trim(&mut self) {
        while self.items.len() > ROWS_MAX {
            self.items.pop_front();
            self.older = self.items.front().map(|item| item.row.seq);
        }
    }

    /// An entry was appended to the record.
    pub(super) fn append(&mut self, model: &Model, query: &RowQuery, entry: &Entry, waits: bool) {
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
                self.push_entry(model, entry);
            }
            return;
        };
        if !query.takes(entry, || waits) {
            return;
        }
        if self.end == OpenEnd::Unfolded {
            return self.push_entry(model, entry);
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
        if self.end == OpenEnd::Folded {
            self.push(item);
        } else {
            self.items.push_back(item);
        }
        self.end = OpenEnd::Folded;
        self.trim();
    }

    fn push_entry(&mut self, model: &Model, entry: &Entry) {
        self.items
            .push_back(Item::of(model, WindowRow::of(entry.clone())));
        self.trim();
    }

    /// Something happened to these entries: their rows are made anew.
    pub(super) fn refresh(&mut self, model: &Model, is_of: impl Fn(&Entry) -> bool) {
        for item in &mut self.items {
            if let Origin::Entry(entry) = &item.of
                && is_of(entry)
            {
                item.row = row(model, entry, item.row.text_cut);
            }
        }
    }
}

/// Whether a row's outcome may change by what others decide.
pub(super) fn is_proposal(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::FinalityProposal(_))
}
