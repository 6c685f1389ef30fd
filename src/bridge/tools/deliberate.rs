//! `deliberate_with_codex` and `deliberate_with_claude`: a question, and the wait for its answer.

use serde::Deserialize;
use serde_json::json;

use super::answer::ToolResult;
use super::answer_wait::{ANSWER_WAIT_S_DEFAULT, AnswerWait};
use super::call::ToolCall;
use super::definition::Definition;
use super::message::wait_tool;
use super::{argument, schema, send};
use crate::core::agent::Agent;
use crate::core::delivery::Outcome;
use crate::wire::control::{Command, Refusal, SendParams, Sent};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    opening_position: Option<String>,
    #[serde(default)]
    context_refs: Vec<String>,
    timeout_s: Option<u64>,
}

pub(super) fn definition(side: Agent) -> Definition {
    let peer = side.peer().title();
    let wait = wait_tool(side);
    Definition {
        description: format!(
            "Ask {peer} a question and wait for the answer, to settle a design, a doubt or a \
             review. When time runs out you get still_waiting and an id: go on with {wait}."
        ),
        schema: schema::object(
            &["question"],
            [
                ("question", schema::string()),
                (
                    "opening_position",
                    schema::string_about("what you think so far"),
                ),
                ("context_refs", schema::strings()),
                ("timeout_s", schema::integer(0, argument::WAIT_S_MAX)),
            ],
        ),
        read_only: false,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    argument::text("question", &arguments.question)?;
    argument::optional_text("opening_position", arguments.opening_position.as_deref())?;
    argument::texts("context_refs", &arguments.context_refs)?;
    let timeout_ms = argument::wait_ms(arguments.timeout_s.unwrap_or(ANSWER_WAIT_S_DEFAULT))?;
    let text = in_one(&arguments);
    argument::text("question", &text)?;

    let peer = call.side.peer();
    let send = Command::Send(SendParams {
        from: Some(call.side),
        to: Some(peer),
        text,
        require_reply: true,
        turn_id: call.turn_id.clone(),
        thread_id: call.thread_id.clone(),
        ..SendParams::default()
    });
    let sent: Sent = call.ask_for(send).await?;
    let id = &sent.message_id;
    if sent.outcome == Outcome::Rejected {
        return Ok(ToolResult::new(
            json!({"message_id": id, "outcome": sent.outcome, "status": "rejected"}),
            format!("question {id}: {}", send::in_words(&sent, peer)),
        ));
    }

    let wait = wait_tool(call.side);
    let missing = send::missing(&sent, peer);
    let waiting = AnswerWait {
        call,
        question: id.clone(),
        timeout_ms,
        facts: json!({"message_id": id, "outcome": sent.outcome}),
        when_answered: Some(format!(
            "When it is settled, record it: append_note, kind decision, handles_handoff_id {id}."
        )),
        is_read: false,
    };
    let without = |why: &str| {
        let why = missing.as_deref().unwrap_or(why);
        format!(
            "question {id} is recorded, {why}. Do not ask again: call {wait} with handoff_id {id}, \
             or go on; the answer will reach you."
        )
    };
    waiting.result(without).await
}

/// The message that the peer gets.
fn in_one(arguments: &Arguments) -> String {
    let mut text = arguments.question.clone();
    if let Some(position) = &arguments.opening_position {
        text.push_str("\n\nMy position so far:\n");
        text.push_str(position);
    }
    if !arguments.context_refs.is_empty() {
        text.push_str("\n\nLook at:");
        for reference in &arguments.context_refs {
            text.push_str("\n- ");
            text.push_str(reference);
        }
    }
    text
}
