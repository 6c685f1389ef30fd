//! Requests for approval: asked, answered, over.

use crate::agent::Party;
use crate::entry::{ApprovalRecord, ApprovalStep, Entry, Message};
use crate::id::EntryId;
use crate::kept_text::cut;
use crate::snapshot::{APPROVALS_OPEN_MAX, ApprovalSnapshot, Snapshot};

/// Takes a step in. What somebody says who may not has no effect: the daemon tells what is asked
/// and what ended, the operator answers.
pub(super) fn fold_approval(world: &mut Snapshot, entry: &Entry, record: &ApprovalRecord) {
    let id = &record.approval_id;
    match (&record.step, &entry.source) {
        (ApprovalStep::Asked(request), Party::Agent(by)) if *by == record.agent => {
            if world.open_approvals.len() >= APPROVALS_OPEN_MAX {
                return;
            }
            let asked = ApprovalSnapshot {
                id: id.clone(),
                seq: entry.seq,
                agent: record.agent,
                at_ms: entry.timestamp_ms,
                request: (**request).clone(),
                text: cut(&entry.content),
                given: None,
                runtime_session: entry.runtime_session.clone(),
            };
            world.open_approvals.entry(id.clone()).or_insert(asked);
        }
        (ApprovalStep::Given { choice, .. }, Party::Human) => {
            if let Some(asked) = world.open_approvals.get_mut(id) {
                asked.given = Some((choice.clone(), entry.timestamp_ms));
            }
        }
        (ApprovalStep::Undelivered, Party::System) => {
            if let Some(asked) = world.open_approvals.get_mut(id) {
                asked.given = None;
            }
        }
        (ApprovalStep::Ended(_), Party::System) => {
            world.open_approvals.remove(id);
        }
        _ => {}
    }
}

/// The operator's answer to a question of `ask_user` ends it, whatever became of the entries behind
/// it: the agent gets this one.
pub(super) fn fold_answer(world: &mut Snapshot, entry: &Entry, message: &Message) {
    let Some(id) = &message.in_reply_to else {
        return;
    };
    let asked = world.open_approvals.get(id).filter(|asked| {
        asked.request.is_user_question()
            && entry.source == Party::Human
            && entry.receiver() == Some(asked.agent)
    });
    if asked.is_some() {
        world.open_approvals.remove(id);
    }
}

/// A note of the agent's that takes its own question back.
pub(super) fn withdraw_question(world: &mut Snapshot, entry: &Entry, id: &EntryId) {
    let asked = world.open_approvals.get(id);
    if asked.is_some_and(|asked| asked.is_question_of(&entry.source)) {
        world.open_approvals.remove(id);
    }
}

#[cfg(test)]
mod tests;
