//! Whether a body that waited for its rows still leaves, and what its machine is told if it does
//! not.

use super::{Backlog, CodexFlow, CodexInput, DeliveryEffect, Ladder, LadderInput, LaterInput};
use crate::id::{AttemptId, EntryId, RuntimeSession};

/// The rows before it are on the disk. What is not wanted any more does not leave: meanwhile it may
/// have been proven or taken back, or the human or a limit may have come.
///
/// # Errors
///
/// When it does not leave: what its machine is told, if anything.
pub fn leaves<'a>(
    effect: DeliveryEffect,
    backlog: &Backlog,
    codex: &CodexFlow,
    ladder: impl FnOnce(&RuntimeSession) -> Option<&'a Ladder>,
) -> Result<DeliveryEffect, Option<LaterInput>> {
    match &effect {
        DeliveryEffect::DeliverToAdapter { id, attempt, .. } => {
            if codex.may_leave(backlog, id, attempt) {
                return Ok(effect);
            }
            let is_of_now = is_attempt(backlog, id, attempt);
            Err(is_of_now.then(|| LaterInput::Codex(CodexInput::NotWanted { id: id.clone() })))
        }
        DeliveryEffect::Push { bridge, id, .. } => {
            let ladder = backlog.get(id).and_then(|row| ladder(&row.runtime_session));
            if ladder.is_some_and(|ladder| ladder.may_leave(backlog, *bridge, id)) {
                return Ok(effect);
            }
            Err(not_pushed(id, backlog))
        }
        _ => Err(None),
    }
}

/// The rows before it could not be written: it does not leave. What its machine is told, if anything.
pub fn stays(effect: &DeliveryEffect, backlog: &Backlog) -> Option<LaterInput> {
    match effect {
        DeliveryEffect::DeliverToAdapter { id, attempt, .. } => is_attempt(backlog, id, attempt)
            .then(|| LaterInput::Codex(CodexInput::NotSent { id: id.clone() })),
        DeliveryEffect::Push { id, .. } => not_pushed(id, backlog),
        _ => None,
    }
}

fn not_pushed(id: &EntryId, backlog: &Backlog) -> Option<LaterInput> {
    let pair = backlog.get(id)?.runtime_session.clone();
    let input = LadderInput::NotStored { id: id.clone() };
    Some(LaterInput::Ladder(pair, input))
}

/// Whether this is the attempt at a message that runs, or ran last.
fn is_attempt(backlog: &Backlog, id: &EntryId, attempt: &AttemptId) -> bool {
    let row = backlog.get(id);
    row.and_then(|row| row.attempt.as_ref()) == Some(attempt)
}
