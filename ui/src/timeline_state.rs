//! [`TimelineState`]: which rows are shown in which order, the search, and following.

use crate::model::{Agent, DeckView, OutcomeState, Party, TimelineRow};
use crate::widgets::ListState;

/// What the timeline shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Filter {
    /// Everything.
    #[default]
    All,
    /// Messages and handoffs.
    Talk,
    /// Proposals, decisions, approvals, notes.
    Decisions,
    /// What failed, is ambiguous, is not confirmed, or could not be read.
    Trouble,
    /// From or to one agent.
    Agent(Agent),
}

impl Filter {
    /// All, in the order of the dialogue.
    pub(crate) const ALL: [Self; 6] = [
        Self::All,
        Self::Talk,
        Self::Decisions,
        Self::Trouble,
        Self::Agent(Agent::Claude),
        Self::Agent(Agent::Codex),
    ];

    /// Its word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Talk => "talk",
            Self::Decisions => "decisions",
            Self::Trouble => "trouble",
            Self::Agent(agent) => agent.as_str(),
        }
    }

    /// What it shows.
    pub(crate) fn desc(self) -> &'static str {
        match self {
            Self::All => "every entry",
            Self::Talk => "messages and handoffs",
            Self::Decisions => "proposals, decisions, approvals, notes",
            Self::Trouble => "failed, unconfirmed or needing a look",
            Self::Agent(Agent::Claude) => "from or to Claude",
            Self::Agent(Agent::Codex) => "from or to Codex",
        }
    }

    fn shows(self, row: &TimelineRow) -> bool {
        match self {
            Self::All => true,
            Self::Talk => matches!(row.kind.as_str(), "message" | "handoff" | "reply"),
            Self::Decisions => matches!(
                row.kind.as_str(),
                "finality" | "proposal" | "decision" | "approval" | "note"
            ),
            Self::Trouble => {
                row.kind == "error"
                    || row.bad_lines.is_some()
                    || row.outcome.as_ref().is_some_and(|outcome| {
                        matches!(
                            outcome.state,
                            OutcomeState::Failed
                                | OutcomeState::Attention
                                | OutcomeState::Unconfirmed
                        )
                    })
            }
            Self::Agent(agent) => {
                let party = Party::Agent(agent);
                row.from == party || row.to.as_ref() == Some(&party)
            }
        }
    }
}

/// The state of the timeline.
#[derive(Debug, Clone)]
pub(crate) struct TimelineState {
    pub(crate) list: ListState,
    /// Indices into the view's rows, in the order of the screen.
    pub(crate) order: Vec<usize>,
    pub(crate) follow: bool,
    pub(crate) filter: Filter,
    /// What is searched for, lower case; empty when nothing is.
    pub(crate) search: String,
    /// How many rows match it; counted when something changes, not when it is drawn.
    pub(crate) found: usize,
    newest_first: bool,
    /// The newest entry when following was paused.
    paused_at_seq: Option<u64>,
    /// The rows that are meant to stand under the cursor and on top.
    cursor: TimelineCursor,
    /// The rows that did, when that was last settled: others where a filter hides what is meant.
    stood: TimelineCursor,
    /// Where they stood when that was last settled.
    placed: ListState,
    /// How many rows are on the screen.
    pub(crate) shown: usize,
}

/// The rows under the cursor and on top, by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimelineCursor {
    selected: Option<u64>,
    top: Option<u64>,
}

impl TimelineState {
    pub(crate) fn new(newest_first: bool) -> Self {
        Self {
            list: ListState::default(),
            order: Vec::new(),
            follow: true,
            filter: Filter::default(),
            search: String::new(),
            found: 0,
            newest_first,
            paused_at_seq: None,
            cursor: TimelineCursor::default(),
            stood: TimelineCursor::default(),
            placed: ListState::default(),
            shown: 0,
        }
    }

    /// Takes the rows of a new view; the row under the cursor and the one on top stay where they
    /// are unless the timeline follows.
    pub(crate) fn update(&mut self, rows: &[TimelineRow]) {
        self.arrange(rows);
        self.place(rows, self.stood);
        if self.follow {
            self.select_newest();
        }
    }

    /// Another filter; the selection stays on its row, or goes to its nearest neighbour.
    pub(crate) fn set_filter(&mut self, rows: &[TimelineRow], filter: Filter) {
        self.filter = filter;
        self.arrange(rows);
        self.place(rows, self.cursor);
        if self.follow {
            self.select_newest();
        }
    }

    /// The rows under the cursor and on top.
    pub(crate) fn cursor(&self) -> TimelineCursor {
        self.cursor
    }

    /// Puts cursor and top on these rows, or on what stands nearest. They stay what is meant: a row
    /// that a filter hides is under the cursor again without it.
    pub(crate) fn put_back(&mut self, rows: &[TimelineRow], cursor: TimelineCursor) {
        self.cursor = cursor;
        self.place(rows, cursor);
    }

    fn place(&mut self, rows: &[TimelineRow], cursor: TimelineCursor) {
        if let Some(seq) = cursor.selected {
            self.list.selected = self.position(rows, seq);
        }
        if let Some(seq) = cursor.top {
            self.list.top = self.position(rows, seq);
        }
        self.placed = self.list;
    }

    /// Cursor and top are where they are meant to be.
    pub(crate) fn remember(&mut self, rows: &[TimelineRow]) {
        let seq_at = |index| self.row(rows, index).map(|row| row.seq);
        let cursor = TimelineCursor {
            selected: seq_at(self.list.selected),
            top: seq_at(self.list.top),
        };
        if self.follow
            || self.cursor.selected.is_none()
            || self.list.selected != self.placed.selected
        {
            self.cursor = cursor;
        } else if self.list.top != self.placed.top {
            self.cursor.top = cursor.top;
        }
        self.stood = cursor;
        self.placed = self.list;
    }

    fn arrange(&mut self, rows: &[TimelineRow]) {
        self.order = (0..rows.len())
            .filter(|index| self.filter.shows(&rows[*index]))
            .collect();
        if self.newest_first {
            self.order.reverse();
        }
        self.count(rows);
    }

    /// Where an entry stands on the screen, or the one that comes nearest.
    fn position(&self, rows: &[TimelineRow], seq: u64) -> usize {
        let place = |index: &usize| rows.get(*index).map_or(0, |row| row.seq);
        let found = if self.newest_first {
            self.order.partition_point(|index| place(index) > seq)
        } else {
            self.order.partition_point(|index| place(index) < seq)
        };
        found.min(self.order.len().saturating_sub(1))
    }

    /// Selects an entry and stops following, if it is shown.
    pub(crate) fn go_to(&mut self, rows: &[TimelineRow], seq: u64) {
        let at = self.position(rows, seq);
        if self.row(rows, at).is_some_and(|row| row.seq == seq) {
            self.pause(rows);
            self.list.selected = at;
        }
    }

    /// Stops following.
    pub(crate) fn pause(&mut self, rows: &[TimelineRow]) {
        if self.follow {
            self.follow = false;
            self.paused_at_seq = rows.last().map(|row| row.seq);
        }
    }

    /// Follows again, from the newest entry.
    pub(crate) fn resume(&mut self) {
        self.follow = true;
        self.paused_at_seq = None;
        self.select_newest();
    }

    /// Whether a step that way leads to older entries.
    pub(crate) fn goes_older(&self, forward: bool) -> bool {
        forward == self.newest_first
    }

    fn select_newest(&mut self) {
        let last = self.order.len().saturating_sub(1);
        self.list.selected = if self.newest_first { 0 } else { last };
        self.list.top = self.list.selected;
    }

    pub(crate) fn select_oldest(&mut self, rows: &[TimelineRow]) {
        self.pause(rows);
        self.list.selected = if self.newest_first {
            self.order.len().saturating_sub(1)
        } else {
            0
        };
    }

    /// The selection stands on the oldest row that is loaded.
    pub(crate) fn at_oldest(&self) -> bool {
        let last = self.order.len().saturating_sub(1);
        self.list.selected == if self.newest_first { last } else { 0 }
    }

    /// Rows that came while the timeline was paused and stand beyond the screen.
    pub(crate) fn missed(&self, rows: &[TimelineRow]) -> usize {
        let Some(seq) = self.paused_at_seq else {
            return 0;
        };
        let order = &self.order;
        let is_new = |index: &usize| rows.get(*index).is_some_and(|row| row.seq > seq);
        if self.newest_first {
            let new = order.partition_point(is_new);
            new.min(self.list.top)
        } else {
            let below = (self.list.top + self.shown).min(order.len());
            order.len() - order.partition_point(|index| !is_new(index)).max(below)
        }
    }

    pub(crate) fn row<'v>(&self, rows: &'v [TimelineRow], index: usize) -> Option<&'v TimelineRow> {
        rows.get(*self.order.get(index)?)
    }

    pub(crate) fn selected<'v>(&self, rows: &'v [TimelineRow]) -> Option<&'v TimelineRow> {
        self.row(rows, self.list.selected)
    }

    /// The rows that may be on the screen.
    pub(crate) fn shown<'v>(&'v self, view: &'v DeckView) -> impl Iterator<Item = &'v TimelineRow> {
        self.order
            .iter()
            .skip(self.list.top)
            .take(self.shown.max(1))
            .filter_map(|index| view.timeline.get(*index))
    }

    /// Searches for this from now on.
    pub(crate) fn set_search(&mut self, rows: &[TimelineRow], text: &str) {
        self.search = text.to_lowercase();
        self.count(rows);
    }

    fn count(&mut self, rows: &[TimelineRow]) {
        self.found = if self.search.is_empty() {
            0
        } else {
            self.order
                .iter()
                .filter(|index| self.hit(&rows[**index]))
                .count()
        };
    }

    fn hit(&self, row: &TimelineRow) -> bool {
        !self.search.is_empty()
            && (row.text.to_lowercase().contains(&self.search)
                || row.kind.contains(&self.search)
                || row.id.contains(&self.search))
    }

    /// Moves to the next match from the selection, `forward` down the screen; the selection
    /// itself counts when `here`. False when there is none.
    pub(crate) fn find(&mut self, rows: &[TimelineRow], forward: bool, here: bool) -> bool {
        let len = self.order.len();
        let found = (usize::from(!here)..len + usize::from(!here)).find_map(|distance| {
            let distance = distance % len.max(1);
            let index = if forward {
                self.list.selected + distance
            } else {
                self.list.selected + len - distance
            } % len;
            self.row(rows, index)
                .is_some_and(|row| self.hit(row))
                .then_some(index)
        });
        if let Some(index) = found {
            self.pause(rows);
            self.list.selected = index;
        }
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Filter, TimelineState};
    use crate::model::{Agent, TimelineRow};

    fn rows(seqs: std::ops::RangeInclusive<u64>) -> Vec<TimelineRow> {
        seqs.map(|seq| {
            TimelineRow::new(
                seq,
                0,
                Agent::Claude,
                None,
                if seq % 2 == 0 { "note" } else { "message" },
                format!("text {seq}"),
            )
        })
        .collect()
    }

    fn selected(state: &TimelineState, rows: &[TimelineRow]) -> u64 {
        state.selected(rows).map_or(0, |row| row.seq)
    }

    #[test]
    fn following_stays_on_the_newest_and_paused_stays_on_its_row() {
        for newest_first in [true, false] {
            let mut state = TimelineState::new(newest_first);
            let first = rows(1..=5);
            state.update(&first);
            assert_eq!(selected(&state, &first), 5);
            state.go_to(&first, 3);
            let more = rows(1..=9);
            state.remember(&first);
            state.update(&more);
            assert_eq!(selected(&state, &more), 3);
            state.list.top = state.list.selected;
            state.shown = 2;
            assert_eq!(state.missed(&more), 4, "those beyond the screen");
            let older_gone = rows(4..=9);
            state.remember(&more);
            state.update(&older_gone);
            assert_eq!(
                selected(&state, &older_gone),
                4,
                "newest_first {newest_first}"
            );
            state.resume();
            assert_eq!(selected(&state, &older_gone), 9);
            assert_eq!(state.missed(&older_gone), 0);
        }
    }

    #[test]
    fn a_filter_keeps_the_nearest_row() {
        let mut state = TimelineState::new(true);
        let all = rows(1..=9);
        state.update(&all);
        state.remember(&all);
        state.go_to(&all, 4);
        state.remember(&all);
        state.set_filter(&all, Filter::Talk);
        assert_eq!(selected(&state, &all), 3);
        assert_eq!(state.order.len(), 5);
    }

    #[test]
    fn what_stands_for_a_hidden_row_stays_until_the_filter_goes() {
        let mut state = TimelineState::new(true);
        let all = rows(3..=9);
        state.update(&all);
        state.remember(&all);
        state.go_to(&all, 4);
        state.remember(&all);
        state.set_filter(&all, Filter::Talk);
        state.remember(&all);
        let before = selected(&state, &all);
        let more = rows(1..=12);
        state.update(&more);
        state.remember(&more);
        assert_eq!(selected(&state, &more), before, "nearer ones came");
        state.set_filter(&more, Filter::All);
        assert_eq!(selected(&state, &more), 4);
    }

    #[test]
    fn a_search_goes_round_the_end() {
        let mut state = TimelineState::new(true);
        let all = rows(1..=30);
        state.update(&all);
        state.remember(&all);
        state.set_search(&all, "Text 2");
        assert_eq!(state.found, 11);
        assert!(state.find(&all, true, true));
        assert_eq!(selected(&state, &all), 29);
        assert!(state.find(&all, false, false));
        assert_eq!(selected(&state, &all), 2);
        state.set_search(&all, "nowhere");
        assert!(!state.find(&all, true, false));
        assert!(!TimelineState::new(true).find(&[], true, false));
    }
}
