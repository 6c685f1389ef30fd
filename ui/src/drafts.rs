//! [`Drafts`]: what was being written when a composer was closed; nothing typed is lost.

use std::collections::BTreeMap;

use crate::model::Agent;

/// One thing being written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) reason: String,
}

/// Drafts by receiver and kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drafts {
    by_key: BTreeMap<(Agent, bool), Draft>,
}

impl Drafts {
    /// Keeps a draft, or forgets it when there is nothing in it.
    pub(crate) fn keep(&mut self, to: Agent, handoff: bool, draft: Draft) {
        if draft.text.trim().is_empty() && draft.reason.trim().is_empty() {
            self.by_key.remove(&(to, handoff));
        } else {
            self.by_key.insert((to, handoff), draft);
        }
    }

    /// The draft, taken.
    pub(crate) fn take(&mut self, to: Agent, handoff: bool) -> Draft {
        self.by_key.remove(&(to, handoff)).unwrap_or_default()
    }
}
