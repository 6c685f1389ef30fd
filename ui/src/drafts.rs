//! [`Drafts`]: what was being written when a composer was closed; nothing typed is lost.

use std::collections::BTreeMap;

use crate::model::Agent;

/// What is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Writing {
    /// A message to an agent.
    Message,
    /// Work for an agent.
    Handoff,
    /// A note, for whoever reads the record.
    Note,
}

/// One thing being written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Draft {
    pub(crate) text: String,
    pub(crate) reason: String,
}

/// Drafts by kind and receiver.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drafts {
    by_key: BTreeMap<(Writing, Option<Agent>), Draft>,
    /// Given to the caller, who has not said yet what became of it.
    on_its_way: Option<(Agent, Writing, Draft)>,
}

/// A note has no receiver.
fn key(to: Agent, writing: Writing) -> (Writing, Option<Agent>) {
    (writing, (writing != Writing::Note).then_some(to))
}

impl Drafts {
    /// Keeps a draft, or forgets it when there is nothing in it.
    pub(crate) fn keep(&mut self, to: Agent, writing: Writing, draft: Draft) {
        if draft.text.trim().is_empty() && draft.reason.trim().is_empty() {
            self.by_key.remove(&key(to, writing));
        } else {
            self.by_key.insert(key(to, writing), draft);
        }
    }

    /// It is given away; [`Self::came_back`] has it again.
    pub(crate) fn give(&mut self, to: Agent, writing: Writing, draft: Draft) {
        self.on_its_way = Some((to, writing, draft));
    }

    /// What was given away is recorded.
    pub(crate) fn arrived(&mut self) {
        self.on_its_way = None;
    }

    /// What was given away was refused: it is a draft again, unless another one is there by now.
    /// Whether it is.
    pub(crate) fn came_back(&mut self) -> bool {
        let Some((to, writing, draft)) = self.on_its_way.take() else {
            return false;
        };
        let is_free = !self.by_key.contains_key(&key(to, writing));
        if is_free {
            self.keep(to, writing, draft);
        }
        is_free
    }

    /// The draft, taken.
    pub(crate) fn take(&mut self, to: Agent, writing: Writing) -> Draft {
        self.by_key.remove(&key(to, writing)).unwrap_or_default()
    }
}
