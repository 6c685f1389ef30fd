//! What each tool is to an agent ([`list`]), and who answers it ([`run`]).

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

/// Runs a tool.
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

async fn answer(tool: Tool, call: &ToolCall) -> Result<ToolResult, Refusal> {
    match tool {
        Tool::Send => send::call(call).await,
        Tool::Handoff => handoff::call(call).await,
        Tool::Deliberate => deliberate::call(call).await,
        Tool::GetMessages => message::get(call).await,
        Tool::WaitForMessages => message::wait(call).await,
        Tool::AckMessages => message::ack(call).await,
        Tool::AppendNote => note::call(call).await,
        Tool::ReadContext => context::call(call).await,
        Tool::SearchRecord => search::call(call).await,
        Tool::ReadCapsules => capsule::call(call).await,
        Tool::RecordArtifact => artifact::call(call).await,
        Tool::TaskState => task::call(call).await,
        Tool::SessionInfo => session::call(call).await,
        Tool::AskUser => ask_user::call(call).await,
        Tool::ProposeFinal => finality::call(call).await,
    }
}
