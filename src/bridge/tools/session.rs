//! `session_info`: counts and states.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::answer::ToolResult;
use super::argument::ScopeArguments;
use super::call::ToolCall;
use super::definition::Definition;
use super::message::NOT_RECEIVER;
use super::{argument, schema, task};
use crate::client::Connection;
use crate::core::snapshot::Snapshot;
use crate::wire::control::{Command, Refusal};
use crate::wire::status::Status;

pub(super) fn definition() -> Definition {
    Definition {
        description: "This project's relay: both agents, queues, record, sign-off.".to_owned(),
        schema: schema::object(&[], [("scope", schema::one_of(&["all"]))]),
        read_only: true,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let ScopeArguments { scope } = argument::parse(&call.arguments)?;
    let (snapshot, mut status): (Arc<Snapshot>, Box<Status>) = tokio::try_join!(
        call.ask_for(Command::ReadSnapshot),
        call.ask_for(Command::ReadStatus),
    )?;
    // As `task_state` counts them.
    let handoffs = task::handoffs(&snapshot, call.pair.as_ref().filter(|_| scope.is_none()));
    let now_ms = Timestamp::now().as_millisecond();
    let tasks = &mut status.tasks;
    [tasks.open, tasks.active, tasks.blocked, tasks.stale, _] = task::lanes(&handoffs, now_ms);
    status.handoffs.open = handoffs.len() as u64;
    let mut text = format!(
        "session {}: claude {}, codex {}; {} entries, chain {}; {} open handoffs, {} proposals wait.",
        status
            .session_id
            .as_ref()
            .map_or("none", |session| session.as_str()),
        status.agents.claude.state.as_str(),
        status.agents.codex.state.as_str(),
        status.ledger.entries,
        status.ledger.chain,
        status.handoffs.open,
        status.finality.pending.len(),
    );
    if let Some(last) = status.finality.decided.first() {
        text.push_str(&format!(
            " The operator {} proposal {} last.",
            last.verdict, last.proposal_id
        ));
    }
    let mut structured = serde_json::to_value(&*status).unwrap_or(Value::Null);
    let receiver = match &*call.client.connection().borrow() {
        Connection::Connected(welcome) => welcome.receiver,
        _ => true,
    };
    structured["receiver"] = json!(receiver);
    if !receiver {
        text.push(' ');
        text.push_str(NOT_RECEIVER);
    }
    for notice in &status.notices {
        text.push('\n');
        text.push_str(notice);
    }
    Ok(ToolResult::new(structured, text))
}
