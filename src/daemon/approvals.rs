//! [`Approvals`]: where each request for approval that waits can be answered.
//!
//! What waits stands in the record and its folded world; here is only what hangs on a connection
//! of now.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::agent::Agent;
use crate::core::id::EntryId;
use crate::core::snapshot::Snapshot;
use crate::wire::control::{Refusal, RefusalCode};

/// Requests that can be answered.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    /// Those of Codex's, by the request of its connection.
    codex: BTreeMap<String, EntryId>,
    /// Asked, by key, and not in the folded world yet.
    asked: BTreeMap<String, EntryId>,
    /// An answer of the operator's is being recorded or sent.
    answering: BTreeSet<EntryId>,
    /// Their end is on its way to the record.
    ending: BTreeSet<EntryId>,
}

impl Approvals {
    /// The request of this key, if it waits already.
    pub(super) fn known(&self, world: &Snapshot, agent: Agent, key: &str) -> Option<EntryId> {
        let mut open = world.open_approvals.values();
        let open = open.find(|asked| asked.agent == agent && asked.request.key == key);
        let id = open.map(|asked| &asked.id);
        id.or_else(|| self.asked.get(key)).cloned()
    }

    /// A new request is on its way to the record.
    pub(super) fn asked(&mut self, key: String, id: EntryId) {
        self.asked.insert(key, id);
    }

    /// It is in the record.
    pub(super) fn recorded(&mut self, key: &str) {
        self.asked.remove(key);
    }

    /// Codex can be answered under this number of its connection.
    pub(super) fn codex_waits(&mut self, request_id: String, id: EntryId) {
        // Under one number only: it was asked again on another connection.
        self.codex.retain(|_, waiting| *waiting != id);
        self.codex.insert(request_id, id);
    }

    /// Codex was answered, by whomever.
    pub(super) fn codex_resolved(&mut self, request_id: &str) -> Option<EntryId> {
        self.codex.remove(request_id)
    }

    /// The number under which Codex can be answered.
    pub(super) fn codex_request(&self, id: &EntryId) -> Option<&str> {
        let mut waiting = self.codex.iter();
        waiting.find_map(|(request, waiting)| (waiting == id).then_some(request.as_str()))
    }

    /// Nothing waits at Codex any more: all that did.
    pub(super) fn forget_codex(&mut self, world: &Snapshot) -> BTreeSet<EntryId> {
        let waiting = std::mem::take(&mut self.codex).into_values();
        let open = world.open_approvals.values();
        let open = open.filter(|asked| asked.agent == Agent::Codex);
        waiting.chain(open.map(|asked| asked.id.clone())).collect()
    }

    /// Whether the end of a request is to be recorded, for it is not on its way yet.
    pub(super) fn end(&mut self, id: &EntryId) -> bool {
        self.answering.remove(id);
        self.ending.insert(id.clone())
    }

    /// Its end is in the record.
    pub(super) fn ended(&mut self, id: &EntryId) {
        self.ending.remove(id);
    }

    /// Begins an answer.
    ///
    /// # Errors
    ///
    /// When another one is on its way.
    pub(super) fn begin(&mut self, id: &EntryId) -> Result<(), Refusal> {
        if self.answering.insert(id.clone()) {
            return Ok(());
        }
        Err(Refusal::new(
            RefusalCode::InFlight,
            "an answer to it is on its way",
            "look again: it ends when the agent's program has taken one",
        ))
    }

    /// The answer reached nobody: another one may be given.
    pub(super) fn failed(&mut self, id: &EntryId) {
        self.answering.remove(id);
    }
}
