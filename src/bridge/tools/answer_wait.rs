//! [`AnswerWait`]: the wait for the answer to a recorded question.

use serde_json::{Value, json};

use super::answer::ToolResult;
use super::call::ToolCall;
use super::message::{ACKNOWLEDGE, wait_tool};
use super::message_view::MessageView;
use crate::core::agent::{Agent, Party};
use crate::core::id::EntryId;
use crate::wire::control::{Command, MessagePage, Refusal, WaitMessagesParams};

/// How long to wait when the caller does not say, in s.
pub(super) const ANSWER_WAIT_S_DEFAULT: u64 = 45;

/// Somebody was asked, and may answer in time.
pub(super) struct AnswerWait<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) question: EntryId,
    pub(super) timeout_ms: u64,
    /// An object: what the result says of the question, however it ends.
    pub(super) facts: Value,
    /// What is to be done with the answer.
    pub(super) when_answered: Option<String>,
    /// The answer is a person's, and is read with the call that it was for.
    pub(super) is_read: bool,
}

impl AnswerWait<'_> {
    /// The answer, or what is to be done without one, by why there is none.
    pub(super) async fn result(
        self,
        without: impl FnOnce(&str) -> String,
    ) -> Result<ToolResult, Refusal> {
        let Self {
            call,
            question,
            facts: mut structured,
            ..
        } = self;
        let waited = call.ask_for::<MessagePage>(Command::WaitMessages(WaitMessagesParams {
            agent: call.side,
            after: None,
            reply_to: Some(question.clone()),
            timeout_ms: self.timeout_ms,
            runtime_session_id: None,
        }));
        let why = match waited.await {
            Ok(MessagePage {
                ended: Some(ended), ..
            }) => {
                structured["status"] = json!("ended");
                structured["next"] = json!(ended);
                return Ok(ToolResult::new(structured, ended));
            }
            Ok(page) if page.cut => "the wait was cut because ctxrelay's daemon is being replaced",
            Ok(page) if page.messages.is_empty() => "the answer is not there yet",
            Ok(page) => {
                let view = MessageView::of(&page.messages);
                let mut text = view.text();
                // We ourselves say that nothing comes.
                let system = Party::System;
                let is_answered = page.messages.iter().any(|it| it.from != system.as_str());
                structured["status"] = json!(if is_answered { "answered" } else { "ended" });
                structured["answers"] = json!(view.messages);
                structured["cursor"] = json!(page.cursor);
                let mut next: Vec<String> = self.when_answered.into_iter().collect();
                next.retain(|_| is_answered);
                if call.side == Agent::Claude && !view.handed.is_empty() && !self.is_read {
                    next.insert(0, ACKNOWLEDGE.to_owned());
                }
                if !next.is_empty() {
                    let next = next.join(" ");
                    text.push_str(&format!("\n\n{next}"));
                    structured["next"] = json!(next);
                }
                if let (true, Some(cursor)) = (page.more, &page.cursor) {
                    structured["more"] = json!(true);
                    text.push_str(&format!(
                        "\n\nThere is more: call {} with handoff_id {question} and after {cursor}.",
                        wait_tool(call.side)
                    ));
                }
                return Ok(ToolResult {
                    structured,
                    text,
                    handed: view.handed,
                    are_read: self.is_read,
                });
            }
            // The question is recorded: an error would make the caller ask again.
            Err(refusal) => {
                tracing::warn!(code = %refusal.code, "waiting for an answer failed");
                "the wait for the answer failed"
            }
        };
        let next = without(why);
        structured["status"] = json!("still_waiting");
        structured["wait_on"] = json!(question);
        structured["next"] = json!(next);
        Ok(ToolResult::new(structured, next))
    }
}
