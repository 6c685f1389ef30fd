//! How the operator's decisions reach the agents: one message for each, recorded in one step with
//! the decision. A crash that leaves the decision without them is mended at the next start, which
//! the decision itself tells by whom it names.

use super::owners::Daemon;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{Entry, EntryKind, FinalityDecision, Message};
use crate::core::id::EntryId;
use crate::core::snapshot::ProposalSnapshot;

/// How much of the proposal is repeated, in characters: enough to know which one it is.
const SUMMARY_CHARS: usize = 160;

/// How many handoffs a message names; `task_state` has all.
const HANDOFFS_NAMED: usize = 10;

impl Daemon {
    /// The messages that tell these agents of a decision.
    pub(super) fn decision_messages(
        &self,
        entry: &Entry,
        proposal: &ProposalSnapshot,
        to: &[Agent],
    ) -> Vec<Entry> {
        let EntryKind::FinalityDecision(decision) = &entry.kind else {
            return Vec::new();
        };
        let messages = to.iter().map(|agent| {
            let by = match decision.is_auto() {
                true => Party::System,
                false => Party::Human,
            };
            let mut message = self.entry(
                by,
                Some((*agent).into()),
                EntryKind::Message(Message {
                    on_busy: OnBusy::Queue,
                    require_reply: false,
                    handles: Vec::new(),
                    in_reply_to: Some(decision.proposal_id.clone()),
                    from_turn: None,
                    decision: Some(entry.id.clone()),
                }),
                in_words(decision, proposal, *agent),
                proposal.runtime_session.clone(),
            );
            self.note_head(&mut message);
            message
        });
        messages.collect()
    }

    /// Takes a message up that was just recorded, if it is one that has to be delivered.
    pub(super) fn track_recorded(&mut self, id: &EntryId) {
        if let Some(message) = self.recorder.world().unsettled.get(id).cloned() {
            self.outbox.track(id.clone(), &message);
        }
    }

    /// After a start: records the messages about decisions that a crash left without them.
    pub(super) fn tell_decisions(&mut self) {
        let mut entries = Vec::new();
        for untold in self.recorder.world().untold_decisions.values() {
            let mut decided = self.recorder.world().decided_proposals.iter();
            let proposal = decided.find(|decided| decided.id == untold.proposal_id);
            let Some((proposal, stored)) = proposal.zip(self.untold(untold.seq, untold.hash))
            else {
                tracing::warn!(seq = %untold.seq, "a decision that nobody was told of is not there");
                continue;
            };
            entries.extend(self.decision_messages(&stored.entry, proposal, &untold.to));
        }
        if entries.is_empty() {
            return;
        }
        self.record_fact(
            entries,
            Box::new(|daemon, stored| {
                for stored in stored.unwrap_or_default() {
                    daemon.track_recorded(&stored.entry.id);
                }
            }),
        );
    }
}

/// What an agent reads of a decision. The operator's words come first and the agent's own last,
/// on one line that says whose they are: nobody's summary can pass for what the operator said.
fn in_words(decision: &FinalityDecision, proposal: &ProposalSnapshot, to: Agent) -> String {
    let id = &proposal.id;
    let mut text = match decision.is_auto() {
        true => format!(
            "The gates approved proposal {id}: all that are required are green on its very tree \
             (mode auto)."
        ),
        false => format!("The operator {} proposal {id}.", decision.verdict()),
    };
    if let Some(reason) = &decision.reason {
        text.push_str("\nReason: ");
        text.push_str(reason);
    }
    let handoffs = &proposal.proposal.handles;
    if !handoffs.is_empty() {
        let ids: Vec<&str> = handoffs
            .iter()
            .take(HANDOFFS_NAMED)
            .map(EntryId::as_str)
            .collect();
        let now = if decision.approved { "closed" } else { "open" };
        text.push_str(&format!(
            "\nHandoffs that are {now} now: {}",
            ids.join(", ")
        ));
    }
    let is_proposer = proposal.by == Party::Agent(to);
    text.push_str(match (decision.approved, is_proposer) {
        (true, _) => "\nIt is final; no answer is needed.",
        (false, true) => "\nYou proposed it, so you go on with it.",
        (false, false) => "\nYou did not propose it: act only if you are asked to.",
    });
    let by = proposal.by.agent().map_or("somebody", Agent::title);
    let summary = one_line(&proposal.proposal.summary);
    text.push_str(&format!(
        "\n(Proposed by {by}, in its own words: {summary})"
    ));
    text
}

/// The beginning of a text without what could end a line.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .take(SUMMARY_CHARS)
        .collect();
    let line = words.join(" ");
    match line.char_indices().nth(SUMMARY_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
