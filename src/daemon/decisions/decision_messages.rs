//! How the operator's decisions reach the agents: one message for each, recorded in one step with
//! the decision. If a crash leaves a decision without its messages, the next start adds them: the
//! decision itself names the receivers.

use std::sync::Arc;

use crate::core::agent::{Agent, Party};
use crate::core::cut_text::cut_text;
use crate::core::delivery::OnBusy;
use crate::core::entry::{Entry, EntryKind, FinalityDecision, Message};
use crate::core::id::{EntryId, Seq};
use crate::core::line_hash::LineHash;
use crate::core::snapshot::ProposalSnapshot;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::base::tree_commit::TreeCommit;
use crate::daemon::deliveries::bodies::as_recorded;
use crate::daemon::deliveries::envelope::note_head;
use crate::daemon::deliveries::outbox::Outbox;
use crate::daemon::owners::{Base, Daemon};
use crate::store::ledger::Stored;
use crate::wire::control::Refusal;

/// How much of the proposal is repeated, in characters: enough to know which one it is.
const SUMMARY_CHARS: usize = 160;

/// How many handoffs a message names; `task_state` has all.
const HANDOFFS_NAMED: usize = 10;

/// The messages that tell these agents of a decision.
pub(in crate::daemon) fn decision_messages<T>(
    recorder: &Recorder<T>,
    commit: &TreeCommit,
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
        let mut message = recorder.entry(
            by,
            Some((*agent).into()),
            EntryKind::Message(Message {
                in_reply_to: Some(decision.proposal_id.clone()),
                decision: Some(entry.id.clone()),
                ..Message::new(OnBusy::Queue)
            }),
            in_words(decision, proposal, *agent),
            proposal.runtime_session.clone(),
        );
        note_head(commit, &mut message);
        message
    });
    messages.collect()
}

impl Base {
    /// Records messages that follow from what is recorded already, and takes them up.
    pub(in crate::daemon) fn append_messages(&mut self, messages: Vec<Entry>) {
        self.recorder.keep_then(messages, Box::new(track_told));
    }
}

/// What agents are told is on its way once it is recorded.
pub(in crate::daemon) fn track_told(
    daemon: &mut Daemon,
    recorded: Result<&[Arc<Stored>], &Refusal>,
) {
    let (base, outbox) = (&daemon.base, &mut daemon.deliveries.outbox);
    track_recorded(base, outbox, recorded.unwrap_or_default());
}

/// Takes messages up that were just recorded, as far as they have to be delivered.
pub(in crate::daemon) fn track_recorded(
    base: &Base,
    outbox: &mut Outbox,
    recorded: &[Arc<Stored>],
) {
    for stored in recorded {
        track(base, outbox, &stored.entry.id);
    }
}

/// As [`track_recorded`], of one entry.
pub(in crate::daemon) fn track(base: &Base, outbox: &mut Outbox, id: &EntryId) {
    if let Some(message) = base.recorder.world().unsettled.get(id) {
        outbox.track(id.clone(), message, base.clock.now_ms());
    }
}

/// After a start: the messages about decisions that a crash left without them.
pub(in crate::daemon) fn untold_messages<T>(
    recorder: &Recorder<T>,
    commit: &TreeCommit,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for untold in recorder.world().untold_decisions.values() {
        let mut decided = recorder.world().decided_proposals.iter();
        let proposal = decided.find(|decided| decided.id == untold.proposal_id);
        let stored = as_it_was_recorded(recorder, untold.seq, untold.hash);
        let Some((proposal, stored)) = proposal.zip(stored) else {
            tracing::warn!(seq = %untold.seq, "a decision that nobody was told of is not there");
            continue;
        };
        let to = &untold.to;
        entries.extend(decision_messages(
            recorder,
            commit,
            &stored.entry,
            proposal,
            to,
        ));
    }
    entries
}

/// The line of a decision, if it is the recorded one. Blocking: read before there is a loop.
fn as_it_was_recorded<T>(
    recorder: &Recorder<T>,
    seq: Seq,
    hash: Option<LineHash>,
) -> Option<Arc<Stored>> {
    let recent = recorder.recent_entry(seq);
    as_recorded(recorder.ledger(), recent, seq, hash)
        .ok()
        .flatten()
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
    cut_text(&words.join(" "), SUMMARY_CHARS).into_owned()
}
