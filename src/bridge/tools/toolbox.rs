//! How each tool is described to an agent ([`list`]), and what answers it ([`run`]).

use futures::future::BoxFuture;
use rmcp::model::{MetaObject, Tool as McpTool, ToolAnnotations};
use serde_json::json;

use super::answer::ToolResult;
use super::call::ToolCall;
use super::definition::Definition;
use super::tool::Tool;
use super::{
    artifact, ask_user, capsule, context, deliberate, finality, handoff, message, note, search,
    send, session, task,
};
use crate::core::agent::Agent;
use crate::wire::control::Refusal;

/// The tools of an agent as MCP lists them.
pub(in crate::bridge) fn list(side: Agent) -> Vec<McpTool> {
    Tool::ALL
        .into_iter()
        .filter_map(|tool| {
            let name = tool.name(side)?;
            let Definition {
                description,
                schema,
                read_only,
            } = definition(tool, side);
            let mut listed = McpTool::new(name, description, schema);
            let mut hints = ToolAnnotations::new()
                .read_only(read_only)
                .open_world(false);
            if !read_only {
                hints = hints.destructive(false);
            }
            listed.annotations = Some(hints);
            if side == Agent::Claude {
                // Claude Code hides MCP tools behind a search otherwise (2.1.330, observed).
                let mut meta = MetaObject::new();
                meta.0
                    .insert("anthropic/alwaysLoad".to_owned(), json!(true));
                listed.meta = Some(meta);
            }
            Some(listed)
        })
        .collect()
}

pub(in crate::bridge) async fn run(tool: Tool, call: &ToolCall) -> Result<ToolResult, Refusal> {
    call.unless_cancelled(answer(tool, call)).await?
}

fn definition(tool: Tool, side: Agent) -> Definition {
    match tool {
        Tool::Send => send::definition(side),
        Tool::Handoff => handoff::definition(side),
        Tool::Deliberate => deliberate::definition(side),
        Tool::GetMessages => message::get_definition(side),
        Tool::WaitForMessages => message::wait_definition(side),
        Tool::AckMessages => message::ack_definition(),
        Tool::AppendNote => note::definition(),
        Tool::ReadContext => context::definition(),
        Tool::SearchRecord => search::definition(),
        Tool::ReadCapsules => capsule::definition(),
        Tool::RecordArtifact => artifact::definition(),
        Tool::TaskState => task::definition(),
        Tool::SessionInfo => session::definition(),
        Tool::AskUser => ask_user::definition(),
        Tool::ProposeFinal => finality::definition(),
    }
}

/// In a box: a call would hold, and move, as much as the tool with the longest way needs.
fn answer(tool: Tool, call: &ToolCall) -> BoxFuture<'_, Result<ToolResult, Refusal>> {
    match tool {
        Tool::Send => Box::pin(send::call(call)),
        Tool::Handoff => Box::pin(handoff::call(call)),
        Tool::Deliberate => Box::pin(deliberate::call(call)),
        Tool::GetMessages => Box::pin(message::get(call)),
        Tool::WaitForMessages => Box::pin(message::wait(call)),
        Tool::AckMessages => Box::pin(message::ack(call)),
        Tool::AppendNote => Box::pin(note::call(call)),
        Tool::ReadContext => Box::pin(context::call(call)),
        Tool::SearchRecord => Box::pin(search::call(call)),
        Tool::ReadCapsules => Box::pin(capsule::call(call)),
        Tool::RecordArtifact => Box::pin(artifact::call(call)),
        Tool::TaskState => Box::pin(task::call(call)),
        Tool::SessionInfo => Box::pin(session::call(call)),
        Tool::AskUser => Box::pin(ask_user::call(call)),
        Tool::ProposeFinal => Box::pin(finality::call(call)),
    }
}
