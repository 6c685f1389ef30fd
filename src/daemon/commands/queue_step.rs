//! The effect of one change by the operator on a queued message.

use super::checks::not_found;
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryState;
use crate::core::entry::DeliveryResult;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::deliveries::outbox::Outbox;
use crate::wire::control::{QueueChange, QueueChangeParams, QueueRow, Refusal, RefusalCode};

/// What is to be done with a message.
pub(super) enum QueueStep {
    /// The agents of its pair may go on answering each other. What the person stopped is another
    /// matter, and stays behind the stop.
    ReleaseExchange(RuntimeSession),
    /// What the person stopped in Codex goes on, because the operator says so.
    Release,
    /// It is asked back from Codex's own queue, and cancelled once it is out of it.
    Withdraw,
    /// This is recorded of it, which is for that agent.
    Settle(Agent, DeliveryResult),
}

/// Refuses what cannot be done with it now.
pub(super) fn queue_step(
    outbox: &Outbox,
    codex: &CodexLane,
    params: &QueueChangeParams,
) -> Result<QueueStep, Refusal> {
    let Some(row) = outbox.get(&params.id) else {
        let what = format!("message {} in the queue", params.id);
        return Err(not_found(&what, "see `ctxrelay queue list`"));
    };
    let (to, state) = (row.to, row.state);
    // Here, or in the app-server's own queue.
    let waits =
        to == Agent::Codex && matches!(state, DeliveryState::Queued | DeliveryState::Offered);
    let (result, allowed) = match params.change {
        QueueChange::Retry if outbox.backlog().is_kept_back(&params.id) => {
            return Ok(QueueStep::ReleaseExchange(row.runtime_session.clone()));
        }
        QueueChange::Retry if waits && codex.is_paused() => return Ok(QueueStep::Release),
        QueueChange::Remove if codex.has_in_its_queue(outbox.backlog(), &params.id) => {
            return Ok(QueueStep::Withdraw);
        }
        QueueChange::Retry => (DeliveryResult::Requeued, state == DeliveryState::Ambiguous),
        QueueChange::Remove => (
            DeliveryResult::Cancelled,
            QueueRow::can_be_removed(to, state),
        ),
    };
    if !allowed {
        return Err(Refusal::wrong_state(
            format!("{} is {}", params.id, state.as_str()),
            "retry what is ambiguous or cut off; remove what is queued, ambiguous or unread",
        ));
    }
    let in_flight = |message: String, hint: &str| {
        let code = RefusalCode::InFlight;
        Err(Refusal::new(code, message, hint))
    };
    if params.change == QueueChange::Remove && outbox.backlog().has_left(&params.id) {
        return in_flight(
            format!("{} is just being given to {}", params.id, to.title()),
            "look again in a moment: `ctxrelay queue list`",
        );
    }
    if outbox.backlog().is_recording(&params.id) {
        return in_flight(
            format!("another change of {} is just being recorded", params.id),
            "look again: `ctxrelay queue list`",
        );
    }
    Ok(QueueStep::Settle(to, result))
}
