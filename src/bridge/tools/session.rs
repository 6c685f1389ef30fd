//! `session_info`: counts and states.

use serde_json::{Value, json};

use super::answer::ToolResult;
use super::argument::ScopeArguments;
use super::call::ToolCall;
use super::definition::Definition;
use super::message::NOT_RECEIVER;
use super::{argument, schema};
use crate::client::Connection;
use crate::core::snapshot::HandoffColumn;
use crate::wire::control::{Command, ContextPage, ContextView, ReadContextParams, Refusal};
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
    let mut status: Box<Status> = call.ask_for(Command::ReadStatus).await?;
    if call.pair.is_some() && scope.is_none() {
        own_handoffs(call, &mut status).await?;
    }
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

/// Counts the open handoffs of the pair that asks alone, as `read_context` has them.
async fn own_handoffs(call: &ToolCall, status: &mut Status) -> Result<(), Refusal> {
    let command = Command::ReadContext(ReadContextParams {
        view: ContextView::Recent,
        limit: Some(1),
        ..ReadContextParams::default()
    });
    let page: ContextPage = call.ask_for(command).await?;
    let in_lane = |column: HandoffColumn| {
        let lanes = page.open_handoffs.iter().map(|handoff| &handoff["lane"]);
        lanes.filter(|lane| **lane == column.as_str()).count() as u64
    };
    status.handoffs.open = page.open_handoffs.len() as u64;
    let tasks = &mut status.tasks;
    tasks.open = in_lane(HandoffColumn::Open);
    tasks.active = in_lane(HandoffColumn::Active);
    tasks.blocked = in_lane(HandoffColumn::Blocked);
    tasks.stale = in_lane(HandoffColumn::Stale);
    Ok(())
}
