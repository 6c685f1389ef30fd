//! `session_info`: counts and states.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::ToolResult;
use super::call::ToolCall;
use super::definition::Definition;
use super::message::NOT_RECEIVER;
use super::{argument, schema};
use crate::client::Connection;
use crate::wire::control::{Command, Refusal};
use crate::wire::status::Status;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

pub(super) fn definition() -> Definition {
    Definition {
        description: "This project's relay: both agents, queues, record, sign-off.".to_owned(),
        schema: schema::object(&[], []),
        read_only: true,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let NoArguments {} = argument::parse(&call.arguments)?;
    let status: Box<Status> = call.ask_for(Command::ReadStatus).await?;
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
