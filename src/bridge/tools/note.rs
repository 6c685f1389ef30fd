//! `append_note`: something to remember.

use serde::Deserialize;
use serde_json::json;

use super::answer::ToolResult;
use super::call::ToolCall;
use super::definition::Definition;
use super::{argument, schema};
use crate::core::entry::NoteKind;
use crate::wire::control::{Command, NoteParams, Recorded, Refusal};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
    #[serde(default)]
    kind: NoteKind,
    handles_handoff_id: Option<String>,
    finding_id: Option<String>,
    withdraws: Option<String>,
}

pub(super) fn definition() -> Definition {
    Definition {
        description:
            "Write to the record that both agents and the operator read; it is not sent to the \
                      peer."
                .to_owned(),
        schema: schema::object(
            &["text"],
            [
                ("text", schema::string()),
                (
                    "kind",
                    schema::one_of(&[
                        "goal",
                        "plan",
                        "decision",
                        "blocker",
                        "next_step",
                        "question",
                        "hypothesis",
                        "constraint",
                        "assumption",
                        "done",
                        "note",
                    ]),
                ),
                (
                    "handles_handoff_id",
                    schema::string_about("the handoff or blocker note it settles"),
                ),
                (
                    "finding_id",
                    schema::string_about("a review finding you fixed"),
                ),
                (
                    "withdraws",
                    schema::string_about("your proposal or question, taken back"),
                ),
            ],
        ),
        read_only: false,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    argument::text("text", &arguments.text)?;
    if let Some(finding) = &arguments.finding_id {
        argument::word("finding_id", finding)?;
    }
    let command = Command::AppendNote(NoteParams {
        agent: Some(call.side),
        text: arguments.text,
        kind: arguments.kind,
        handles: argument::ids("handles_handoff_id", arguments.handles_handoff_id)?,
        finding: arguments.finding_id,
        withdraws: argument::ids("withdraws", arguments.withdraws)?
            .into_iter()
            .next(),
        runtime_session_id: None,
    });
    let Recorded { entry_id, seq } = call.ask_for(command).await?;
    Ok(ToolResult::new(
        json!({"entry_id": entry_id, "seq": seq}),
        format!("recorded as {entry_id} (seq {seq})"),
    ))
}
