//! `ask_user`: a question to the person, and the wait for the answer.

use serde::Deserialize;
use serde_json::json;

use super::answer::ToolResult;
use super::call::{ToolCall, unexpected};
use super::message::wait_tool;
use super::message_view::MessageView;
use super::tool::Definition;
use super::{argument, schema};
use crate::wire::control::{AskUserParams, Command, Refusal, Reply, WaitMessagesParams};

/// How long to wait when the caller does not say, in s.
const WAIT_S_DEFAULT: u64 = 45;

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
                      When time runs out you get still_waiting: go on, the answer will reach you."
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
    let timeout_ms = argument::wait_ms(arguments.timeout_s.unwrap_or(WAIT_S_DEFAULT))?;
    let ask = Command::AskUser(AskUserParams {
        agent: call.side,
        question: arguments.question,
        choices: arguments.choices,
        timeout_ms,
        runtime_session_id: None,
    });
    let id = match call.ask(ask).await? {
        Reply::Recorded(recorded) => recorded.entry_id,
        other => return Err(unexpected(&other)),
    };
    let wait = Command::WaitMessages(WaitMessagesParams {
        agent: call.side,
        after: None,
        reply_to: Some(id.clone()),
        timeout_ms,
        runtime_session_id: None,
    });
    let waited = call.ask(wait).await;
    let wait = wait_tool(call.side);
    let still_waiting = |why: &str| {
        let next = format!(
            "question {id} is in the operator's Inbox, {why}. Do not ask again: go on, and the \
             answer will reach you as a message; or call {wait} with handoff_id {id}."
        );
        ToolResult::new(
            json!({
                "question_id": id,
                "status": "still_waiting",
                "wait_on": id,
                "next": next,
            }),
            next,
        )
    };
    match waited {
        Ok(Reply::Messages(page)) if page.messages.is_empty() => {
            Ok(still_waiting("and not answered yet"))
        }
        Ok(Reply::Messages(page)) => {
            let view = MessageView::of(&page.messages);
            let mut answer = ToolResult::new(
                json!({
                    "question_id": id,
                    "status": "answered",
                    "answers": view.messages,
                    "cursor": page.cursor,
                }),
                view.text(),
            );
            if let (true, Some(cursor)) = (page.more, &page.cursor) {
                answer.structured["more"] = json!(true);
                answer.text.push_str(&format!(
                    "\n\nThere is more: call {wait} with handoff_id {id} and after {cursor}."
                ));
            }
            answer.handed = view.handed;
            Ok(answer)
        }
        Ok(other) => Err(unexpected(&other)),
        // The question is recorded: an error would make the caller ask again.
        Err(refusal) => {
            tracing::warn!(code = %refusal.code, "waiting for the operator's answer failed");
            Ok(still_waiting("and the wait for the answer failed"))
        }
    }
}
