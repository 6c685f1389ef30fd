//! `handoff` and `handoff_to_claude`: work for the peer.

use serde::Deserialize;
use serde_json::json;

use super::answer::ToolResult;
use super::call::ToolCall;
use super::definition::Definition;
use super::message::not_receiver;
use super::{argument, schema, send};
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::wire::control::{Command, HandoffParams, Refusal, Sent};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    ask: String,
    reason: String,
    #[serde(default)]
    context_refs: Vec<String>,
    #[serde(default)]
    on_busy: OnBusy,
    handles_handoff_id: Option<String>,
    #[serde(rename = "runtimeSessionId")]
    runtime_session_id: Option<String>,
}

pub(super) fn definition(side: Agent) -> Definition {
    let peer = side.peer().title();
    Definition {
        description: format!(
            "Hand a piece of work to {peer}. It stays open on the task board until {peer} answers \
             it with handles_handoff_id. Say what is done, what is left and how to check it."
        ),
        schema: schema::object(
            &["ask", "reason"],
            [
                ("ask", schema::string_about("what to do")),
                ("reason", schema::string_about("why, and why the peer")),
                (
                    "context_refs",
                    schema::strings_about("files, entry ids, links"),
                ),
                ("on_busy", send::on_busy()),
                (
                    "handles_handoff_id",
                    schema::string_about("an earlier handoff this answers"),
                ),
                ("runtimeSessionId", schema::string()),
            ],
        ),
        read_only: false,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    argument::text("ask", &arguments.ask)?;
    argument::text("reason", &arguments.reason)?;
    argument::texts("context_refs", &arguments.context_refs)?;
    let params = HandoffParams {
        from: Some(call.side),
        to: Some(call.side.peer()),
        ask: arguments.ask,
        reason: arguments.reason,
        context_refs: arguments.context_refs,
        task: None,
        on_busy: arguments.on_busy,
        handles: argument::ids("handles_handoff_id", arguments.handles_handoff_id)?,
        runtime_session_id: send::runtime_session(arguments.runtime_session_id)?,
        turn_id: call.turn_id.clone(),
        thread_id: call.thread_id.clone(),
    };
    let sent: Sent = call.ask_for(Command::Handoff(params)).await?;
    send::follow(&sent);
    let words = match sent.duplicate {
        true => "the one from before".to_owned(),
        false => send::in_words(&sent, call.side.peer()),
    };
    let mut structured = json!({
        "handoff_id": sent.message_id,
        "message_id": sent.message_id,
        "delivery_attempt_id": sent.delivery_attempt_id,
        "outcome": sent.outcome,
        "duplicate": sent.duplicate,
        "seq": sent.seq,
    });
    let mut text = format!("handoff {} (seq {}): {words}", sent.message_id, sent.seq);
    if sent.receiver_missing {
        structured["receiver_installed"] = json!(false);
    }
    let said_before = || Sent::said_before(&sent.seq.to_string());
    let same = sent.duplicate.then(said_before);
    let notes: Vec<String> = same
        .into_iter()
        .chain(send::missing(&sent, call.side.peer()))
        .chain(not_receiver(call).map(str::to_owned))
        .collect();
    send::note(&mut structured, &mut text, &notes);
    Ok(ToolResult::new(structured, text))
}
