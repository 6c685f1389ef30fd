//! [`HandoffSnapshot`]: work that was handed over, and the [`HandoffColumn`] that it is in.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Snapshot, TaskHandoff};
use crate::agent::Party;
use crate::entry::Entry;
use crate::id::{EntryId, RuntimeSession, Seq};
use crate::word::words;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffSnapshot {
    pub id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// Who handed over.
    pub from: Party,
    /// To whom.
    pub to: Option<Party>,
    /// What is asked. Shared with the row of it on the screen.
    pub ask: Arc<str>,
    /// Why.
    pub reason: String,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// The pair that it belongs to.
    pub runtime_session: Option<RuntimeSession>,
    /// There is proof that the receiver has it.
    pub delivered: bool,
    /// It was refused, ran out or was taken back before its receiver had it: nobody was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub never_delivered: bool,
    /// It is over without a word of its receiver's: the operator or its sender closed it, or it was
    /// taken back before its receiver had it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// A message that answers it without closing it.
    pub answer: Option<EntryId>,
    /// The place of the final answer of the very turn that it started: its receiver is done with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_answer: Option<Seq>,
    /// A blocker note that names it.
    pub blocked_by: Option<EntryId>,
    /// The entry that closed it, and when. Where it is carried on as closed, that is its own.
    pub handled_by: Option<(EntryId, i64)>,
    /// Who wrote that entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Party>,
}

words! {
    /// The columns of the task board.
    pub closed enum HandoffColumn {
        /// Handed over, not with the receiver yet.
        Open = "open",
        /// With the receiver.
        Active = "active",
        /// Somebody noted a blocker.
        Blocked = "blocked",
        /// With the receiver for long.
        Stale = "stale",
        /// Answered, or closed without.
        Done = "done",
    }
}

/// A handoff is stale after this long without an answer, in ms.
pub const STALE_AFTER_MS: i64 = 60 * 60 * 1000;

impl Snapshot {
    /// The open handoffs that their receivers have or will have. Of the others nobody was asked:
    /// they are no agent's work, and stand in the way of nothing.
    pub fn standing_handoffs(&self) -> impl Iterator<Item = &Arc<HandoffSnapshot>> {
        let open = self.open_handoffs.values();
        open.filter(|handoff| !handoff.never_delivered)
    }

    /// The others: they are listed for the operator until they are closed.
    pub fn never_delivered_handoffs(&self) -> impl Iterator<Item = &Arc<HandoffSnapshot>> {
        let open = self.open_handoffs.values();
        open.filter(|handoff| handoff.never_delivered)
    }
}

impl Snapshot {
    /// Whether an entry answers an open handoff that does not count it: what was said later counts,
    /// or the operator's rejection left it without an answer.
    pub fn is_past_answer(&self, entry: &Entry) -> bool {
        let open = entry.answer_to().and_then(|id| self.open_handoffs.get(id));
        open.is_some_and(|handoff| {
            handoff.answer.as_ref() != Some(&entry.id) && handoff.final_answer != Some(entry.seq)
        })
    }

    /// What open tasks tell as open although nobody is asked for it any more: its session was put
    /// away, or nobody got it.
    pub fn open_for_tasks_alone(&self) -> BTreeMap<&EntryId, &TaskHandoff> {
        let of_tasks = self.open_tasks().flat_map(|task| &task.handoffs);
        let alone = of_tasks
            .filter(|handoff| !handoff.is_over && !self.open_handoffs.contains_key(&handoff.id));
        alone.map(|handoff| (&handoff.id, handoff)).collect()
    }

    /// Whether nobody owes an answer to a handoff any more. One that stands in this file for its task
    /// alone is not among the open ones, answered or not.
    pub fn is_handoff_over(&self, id: &EntryId) -> bool {
        match self.open_handoffs.get(id) {
            Some(open) => open.unanswered,
            None => self.handoff_of_task(id).is_none_or(|it| it.is_over),
        }
    }

    /// Whether it is over, and its receiver did not answer it.
    pub fn is_handoff_unanswered(&self, id: &EntryId) -> bool {
        let mut closed = self.closed_handoffs.iter();
        let open = self.open_handoffs.get(id).map(Arc::as_ref);
        match open.or_else(|| closed.find(|closed| closed.id == *id)) {
            Some(handoff) => handoff.unanswered,
            None => self.handoff_of_task(id).is_some_and(|it| it.is_unanswered),
        }
    }

    fn handoff_of_task(&self, id: &EntryId) -> Option<&TaskHandoff> {
        let mut of_tasks = self.tasks.values().flat_map(|task| &task.handoffs);
        of_tasks.find(|handoff| handoff.id == *id)
    }
}

impl HandoffSnapshot {
    /// The column in which it stands at a given time.
    pub fn column(&self, now_ms: i64) -> HandoffColumn {
        if self.handled_by.is_some() {
            HandoffColumn::Done
        } else if self.blocked_by.is_some() {
            HandoffColumn::Blocked
        } else if now_ms.saturating_sub(self.at_ms) > STALE_AFTER_MS {
            HandoffColumn::Stale
        } else if self.delivered {
            HandoffColumn::Active
        } else {
            HandoffColumn::Open
        }
    }
}
