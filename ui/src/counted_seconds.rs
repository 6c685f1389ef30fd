//! [`Deck::counted_since`]: what is drawn with its seconds.
//!
//! Every place that draws [`text::running`](crate::text::running) has to be named here; otherwise
//! its time stands still between two minutes.

use crate::deck::Deck;
use crate::model::{AgentCard, AgentState, OutcomeState, RowOutcome, TaskColumn};
use crate::overlays::{EntrySheet, Overlay, Subject};

/// Rows of a pane that are looked at. More do not fit a screen.
const ROWS_LOOKED_AT: usize = 100;

impl Deck {
    /// The moments from which seconds are counted, ms since the epoch.
    pub(crate) fn counted_since(&self) -> Vec<i64> {
        let agents = self.view.agents.iter().flat_map(of_agent);
        let shown = self.timeline.shown(&self.view);
        let rows = shown.filter_map(|row| of_outcome(row.outcome.as_ref()?));
        // Handoffs show the same ones.
        let active = self.view.tasks.column(TaskColumn::Active).iter();
        let tasks = active.take(ROWS_LOOKED_AT).map(|row| row.since_ms);
        let receipt = self.receipt.as_ref();
        let receipt = receipt.and_then(|receipt| of_outcome(receipt.outcome(self)?));
        let counted = agents.chain(rows).chain(tasks).chain(receipt);
        let counted = counted.chain(self.of_entry_in_front());
        counted.chain(self.unanswered_since_ms).collect()
    }

    /// Of the entry that is read, over the panes or beside them.
    fn of_entry_in_front(&self) -> Option<i64> {
        let opened = self.overlays.last().and_then(Overlay::subject);
        match opened.or_else(|| Subject::selected(self))? {
            Subject::Entry(place) => {
                let sheet = EntrySheet::new(place);
                of_outcome(sheet.row(self)?.outcome.as_ref()?)
            }
            _ => None,
        }
    }
}

fn of_agent(card: &AgentCard) -> impl Iterator<Item = i64> {
    let state = card.since_ms.filter(|_| counts_seconds(card.state));
    let tool = card.tool.as_ref().map(|tool| tool.since_ms);
    let silence = card.silence.as_ref().map(|silence| silence.since_ms);
    [state, tool, silence].into_iter().flatten()
}

/// Whether a state costs time, so that its seconds are counted. A rest says nothing in its first
/// minute, for an idle screen is not drawn more than once a minute.
pub(crate) fn counts_seconds(state: AgentState) -> bool {
    matches!(
        state,
        AgentState::Busy | AgentState::Waiting | AgentState::Limited | AgentState::Stale
    )
}

/// Since when an outcome is as it is, where that is counted.
pub(crate) fn of_outcome(outcome: &RowOutcome) -> Option<i64> {
    let counts = matches!(
        outcome.state,
        OutcomeState::Unconfirmed | OutcomeState::Attention
    );
    outcome.since_ms.filter(|_| counts)
}
