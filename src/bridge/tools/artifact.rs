//! `record_artifact`: a claim with evidence.

use serde::Deserialize;
use serde_json::json;

use super::answer::ToolResult;
use super::call::ToolCall;
use super::definition::Definition;
use super::{argument, schema};
use crate::core::entry::ArtifactStatus;
use crate::wire::control::{ArtifactParams, Command, Recorded, Refusal};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    kind: String,
    title: String,
    summary: String,
    #[serde(default)]
    status: ArtifactStatus,
    #[serde(default)]
    evidence: Vec<String>,
}

pub(super) fn definition() -> Definition {
    Definition {
        description: "Record a result with its evidence: a test run, review, benchmark, diff. It \
                      stands as your claim; what a gate runs is verified."
            .to_owned(),
        schema: schema::object(
            &["kind", "title", "summary"],
            [
                ("kind", schema::string_about("e.g. test_run, review")),
                ("title", schema::string()),
                ("summary", schema::string()),
                (
                    "status",
                    schema::one_of(&[
                        "passed",
                        "failed",
                        "blocked",
                        "unknown",
                        "skipped",
                        "timed_out",
                    ]),
                ),
                (
                    "evidence",
                    schema::strings_about("commands, files, figures"),
                ),
            ],
        ),
        read_only: false,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    argument::word("kind", &arguments.kind)?;
    argument::line("title", &arguments.title)?;
    argument::text("summary", &arguments.summary)?;
    argument::texts("evidence", &arguments.evidence)?;
    let command = Command::RecordArtifact(ArtifactParams {
        agent: call.side,
        kind: arguments.kind,
        title: arguments.title,
        summary: arguments.summary,
        status: arguments.status,
        evidence: arguments.evidence,
        runtime_session_id: None,
    });
    let Recorded { entry_id, seq } = call.ask_for(command).await?;
    Ok(ToolResult::new(
        json!({"entry_id": entry_id, "seq": seq, "standing": "claimed"}),
        format!("recorded as {entry_id} (seq {seq}), claimed"),
    ))
}
