//! What clients ask for again and again.

use crate::core::agent::Agent;
use crate::core::delivery::DeliveryWay;
use crate::core::id::EntryId;
use crate::wire::control::{
    Command, IdsParams, QueueChange, QueueChangeParams, WaitMessagesParams,
};

/// Waits for a message to the agent, or for the answer to one.
pub fn wait_messages(agent: Agent, reply_to: Option<EntryId>, timeout_ms: u64) -> Command {
    Command::WaitMessages(WaitMessagesParams {
        agent,
        after: None,
        reply_to,
        timeout_ms,
        runtime_session_id: None,
    })
}

/// The agent was given these in the answer to a tool call.
pub fn fetched(agent: Agent, ids: Vec<EntryId>) -> Command {
    Command::Fetched(IdsParams {
        agent,
        ids,
        rung: None,
    })
}

/// The agent acknowledges these.
pub fn acked(agent: Agent, ids: Vec<EntryId>) -> Command {
    Command::Ack(IdsParams {
        agent,
        ids,
        rung: None,
    })
}

/// A hook handed these over to Claude.
pub fn handed(ids: Vec<EntryId>) -> Command {
    Command::HookHanded(IdsParams {
        agent: Agent::Claude,
        ids,
        rung: Some(DeliveryWay::Hook),
    })
}

/// The operator sends a message again, or takes it back.
pub fn change_queue(id: EntryId, change: QueueChange) -> Command {
    Command::QueueChange(QueueChangeParams {
        id,
        change,
        placed: false,
    })
}
