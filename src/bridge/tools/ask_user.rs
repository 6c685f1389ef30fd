//! `ask_user`: a question to the person, and the wait for the answer.

use serde::Deserialize;
use serde_json::json;

use super::answer::ToolResult;
use super::answer_wait::{ANSWER_WAIT_S_DEFAULT, AnswerWait};
use super::call::ToolCall;
use super::definition::Definition;
use super::message::wait_tool;
use super::{argument, schema};
use crate::wire::control::{AskUserParams, Command, Recorded, Refusal};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
    timeout_s: Option<u64>,
}

pub(super) fn definition() -> Definition {
    Definition {
        description: "Ask the operator what only a person can decide, and wait for the answer. \
                      When time runs out you get still_waiting: go on, the answer reaches you."
            .to_owned(),
        schema: schema::object(
            &["question"],
            [
                ("question", schema::string()),
                ("choices", schema::strings_about("up to 8 short answers")),
                ("timeout_s", schema::integer(0, argument::WAIT_S_MAX)),
            ],
        ),
        read_only: false,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    argument::text("question", &arguments.question)?;
    argument::texts("choices", &arguments.choices)?;
    let timeout_ms = argument::wait_ms(arguments.timeout_s.unwrap_or(ANSWER_WAIT_S_DEFAULT))?;
    let ask = Command::AskUser(AskUserParams {
        agent: call.side,
        question: arguments.question,
        choices: arguments.choices,
        timeout_ms,
        runtime_session_id: None,
    });
    let Recorded { entry_id: id, .. } = call.ask_for(ask).await?;
    let wait = wait_tool(call.side);
    let waiting = AnswerWait {
        call,
        question: id.clone(),
        timeout_ms,
        facts: json!({"question_id": id}),
        when_answered: None,
        is_read: true,
    };
    let without = |why: &str| {
        format!(
            "question {id} is in the operator's Inbox; {why}. Do not ask again: go on, and the \
             answer will reach you as a message; or call {wait} with handoff_id {id}."
        )
    };
    waiting.result(without).await
}
