//! [`Timeline`]: the rows around the reader and the newest ones, as a window over the record.

use ctxrelay_ui::model as ui;

use crate::core::agent::{Agent, Party};
use crate::core::entry::{Entry, EntryKind};
use crate::core::row_class::{RowClass, RowKind, RowResult};
use crate::deck::followed::row_facts::RowFacts;
use crate::deck::followed::row_window::{RowWindow, is_proposal};
use crate::wire::window::{RecordMark, RowQuery, WindowPage, WindowParams, WindowPlace};

/// Rows of one page.
const PAGE: u32 = 200;

/// Stretches of the record of which each can have a mark.
const MARKS: u32 = 200;

/// Marks that are kept while new ones come; with the next jump they are read again.
const MARKS_KEPT: usize = 1_000;

/// What is shown of the record.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The newest rows.
    tail: RowWindow,
    /// Where the reader is, when that is elsewhere.
    away: Option<RowWindow>,
    chips: ui::Chips,
    query: RowQuery,
    unfolded: Vec<u64>,
    answered: u64,
    has_failed: bool,
    line: Option<u64>,
    head: u64,
    marks: Vec<RecordMark>,
}

impl Timeline {
    /// What is read for a wish, the newest rows first where they change with it.
    pub(in crate::deck) fn asks(
        &mut self,
        wish: &ui::TimelineWish,
        now_ms: i64,
    ) -> Vec<WindowParams> {
        let has_changed = self.chips != wish.chips || self.unfolded != wish.unfolded;
        self.chips.clone_from(&wish.chips);
        self.unfolded.clone_from(&wish.unfolded);
        self.query = query_of(&wish.chips, now_ms);
        self.answered = wish.number;
        self.has_failed = false;
        self.line = None;
        let current = self.away.as_ref().unwrap_or(&self.tail);
        let place = match wish.go {
            ui::TimelineGo::Newest => Some(WindowPlace::Newest),
            ui::TimelineGo::Oldest => Some(WindowPlace::Oldest),
            ui::TimelineGo::Line(line) | ui::TimelineGo::Entry(line) => {
                Some(WindowPlace::Line(line))
            }
            ui::TimelineGo::Time(at_ms) => Some(WindowPlace::Time(at_ms)),
            ui::TimelineGo::LandmarkOlder(line) => Some(WindowPlace::LandmarkBefore(line)),
            ui::TimelineGo::LandmarkNewer(line) => Some(WindowPlace::LandmarkAfter(line)),
            ui::TimelineGo::Older => current.older().map(WindowPlace::Before),
            ui::TimelineGo::Newer => current.newer().map(WindowPlace::After),
        };
        let is_slide = matches!(wish.go, ui::TimelineGo::Older | ui::TimelineGo::Newer);
        let newest = has_changed.then_some(WindowPlace::Newest);
        let place = place.filter(|place| newest != Some(*place));
        let places = newest.into_iter().chain(place);
        places
            .map(|place| WindowParams {
                place,
                marks: if is_slide { 0 } else { MARKS },
                ..self.params()
            })
            .collect()
    }

    /// What was asked last cannot be read.
    pub(in crate::deck) fn fail(&mut self) {
        self.has_failed = true;
    }

    /// The newest rows.
    pub(in crate::deck) fn params(&self) -> WindowParams {
        WindowParams {
            place: WindowPlace::Newest,
            limit: PAGE,
            query: self.query.clone(),
            unfolded: self.unfolded.clone(),
            marks: MARKS,
        }
    }

    /// A page has come for what was asked.
    pub(in crate::deck) fn take(
        &mut self,
        facts: &RowFacts<'_>,
        place: WindowPlace,
        page: WindowPage,
    ) {
        self.head = self.head.max(page.head);
        if !page.marks.is_empty() {
            self.marks.clone_from(&page.marks);
        }
        match place {
            WindowPlace::Newest => {
                self.line = page.at;
                self.tail = RowWindow::of(facts, page);
                self.away = None;
            }
            WindowPlace::Before(_) => {
                let mut window = self.away.take().unwrap_or_else(|| self.tail.clone());
                window.prepend(facts, page);
                self.away = Some(window);
            }
            WindowPlace::After(_) => {
                if let Some(window) = &mut self.away {
                    window.extend(facts, page);
                }
            }
            // There is no such place: the rows stay.
            _ if page.at.is_none() => self.line = None,
            _ => {
                self.line = page.at;
                self.away = Some(RowWindow::of(facts, page));
            }
        }
    }

    /// What is read to know what became of the rows where the reader is, from the line behind `after`
    /// on. `None`: those are the newest ones, which are read anyway.
    pub(in crate::deck) fn reads_again(&self, after: Option<u64>) -> Option<WindowParams> {
        let (first, last) = self.away.as_ref()?.span()?;
        let after = after.unwrap_or(first);
        (after < last).then(|| WindowParams {
            place: WindowPlace::After(after),
            marks: 0,
            ..self.params()
        })
    }

    /// Begins again with the newest rows; `is_same`: of the same record, so that the reader stays. Rows
    /// that came since the reader's were read are none of these: they are read where they are wanted.
    pub(in crate::deck) fn reset(&mut self, facts: &RowFacts<'_>, page: WindowPage, is_same: bool) {
        let away = self.away.take().filter(|_| is_same);
        let away = away.and_then(|window| window.behind(facts, page.head));
        self.head = 0;
        self.unfolded.retain(|_| is_same);
        self.take(facts, WindowPlace::Newest, page);
        self.line = None;
        self.away = away;
    }

    /// An entry was appended, and is folded into the world already.
    pub(in crate::deck) fn append(&mut self, facts: &RowFacts<'_>, entry: &Entry) {
        let line = entry.seq.0;
        self.head = self.head.max(line);
        let class = RowClass::of(entry);
        if class.is_landmark(&Party::System) && self.marks.len() < MARKS_KEPT {
            self.marks.push(RecordMark {
                line,
                failed: class.result == Some(RowResult::Failed),
            });
        }
        let waits = facts.world.unsettled.contains_key(&entry.id)
            || facts.world.pending_proposals.contains_key(&entry.id)
            || facts.world.open_questions.contains_key(&entry.seq);
        for window in [Some(&mut self.tail), self.away.as_mut()]
            .into_iter()
            .flatten()
        {
            window.append(facts, &self.query, entry, waits);
            match &entry.kind {
                EntryKind::Delivery(record) => {
                    window.refresh(facts, |of| of.id == record.message_id);
                }
                EntryKind::FinalityDecision(_)
                | EntryKind::FinalityProposal(_)
                | EntryKind::Note {
                    withdraws: Some(_), ..
                } => window.refresh(facts, is_proposal),
                // The end of a turn cuts off what is in it.
                EntryKind::Turn(_) | EntryKind::Lifecycle { .. } | EntryKind::AgentChanged(_) => {
                    window.refresh(facts, |of| facts.world.cut_off.contains_key(&of.id));
                }
                // What it answers or closes is not cut off any more.
                _ => {
                    let in_reply_to = match &entry.kind {
                        EntryKind::Message(message) => message.in_reply_to.as_ref(),
                        _ => None,
                    };
                    let closed = entry.handles();
                    window.refresh(facts, |of| {
                        in_reply_to == Some(&of.id) || closed.contains(&of.id)
                    });
                }
            }
        }
    }

    /// What messages wait for has changed: their rows say so.
    pub(in crate::deck) fn refresh_waiting(&mut self, facts: &RowFacts<'_>) {
        let windows = [Some(&mut self.tail), self.away.as_mut()];
        for window in windows.into_iter().flatten() {
            window.refresh(facts, |of| facts.world.unsettled.contains_key(&of.id));
        }
    }

    /// The rows that are shown, and which part of the record they are.
    pub(in crate::deck) fn shown(&self) -> (Vec<ui::TimelineRow>, ui::TimelineWindow) {
        let window = self.away.as_ref().unwrap_or(&self.tail);
        let marks = self.marks.iter().map(|mark| ui::TimelineMark {
            line: mark.line,
            failed: mark.failed,
        });
        let part = ui::TimelineWindow {
            answered: self.answered,
            has_failed: self.has_failed,
            line: self.line,
            has_older: window.older().is_some(),
            has_newer: window.newer().is_some(),
            head: self.head,
            marks: marks.collect(),
        };
        (window.rows(&self.query), part)
    }

    /// Whether a message is among the rows.
    pub(in crate::deck) fn has(&self, id: &crate::core::id::EntryId) -> bool {
        let away = self.away.iter().flat_map(RowWindow::messages);
        self.tail.messages().chain(away).any(|known| known == id)
    }
}

/// What the chips ask.
pub(in crate::deck) fn query_of(chips: &ui::Chips, now_ms: i64) -> RowQuery {
    let mut query = RowQuery::default();
    for chip in &chips.on {
        match chip {
            ui::Chip::Message => query.kinds.push(RowKind::Message),
            ui::Chip::Handoff => query.kinds.push(RowKind::Handoff),
            ui::Chip::Note => query.kinds.push(RowKind::Note),
            ui::Chip::Artifact => query.kinds.push(RowKind::Artifact),
            ui::Chip::Finality => query.kinds.push(RowKind::Finality),
            ui::Chip::Error => query.kinds.push(RowKind::Error),
            ui::Chip::System => query.kinds.push(RowKind::System),
            ui::Chip::Agent(ui::Agent::Claude) => query.parties.push(Agent::Claude.into()),
            ui::Chip::Agent(ui::Agent::Codex) => query.parties.push(Agent::Codex.into()),
            ui::Chip::You => query.parties.push(Party::Human),
            ui::Chip::Done => query.results.push(RowResult::Done),
            ui::Chip::Failed => query.results.push(RowResult::Failed),
            ui::Chip::Waits => query.results.push(RowResult::Waits),
            ui::Chip::Hour | ui::Chip::Day | ui::Chip::Week => {
                let span = chip.span_ms().unwrap_or_default();
                query.since_ms = Some(now_ms.saturating_sub(span));
            }
        }
    }
    query.thread = chips
        .thread
        .as_ref()
        .map(|thread| thread.id.as_str().into());
    query
}
