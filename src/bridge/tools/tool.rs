//! [`Tool`]: the closed list of tools, their names on each side, and who answers which.

use rmcp::model::{MetaObject, Tool as McpTool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::answer::ToolResult;
use super::call::ToolCall;
use super::{
    artifact, ask_user, capsule, context, deliberate, finality, handoff, message, note, search,
    send, session, task,
};
use crate::core::agent::Agent;
use crate::wire::control::Refusal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bridge) enum Tool {
    /// A message to the peer.
    Send,
    /// Work for the peer.
    Handoff,
    /// A question to the peer, with the wait for its answer.
    Deliberate,
    /// What waits for Claude. Codex gets its messages as turns.
    GetMessages,
    /// As the last, waiting for it.
    WaitForMessages,
    /// Claude has read it.
    AckMessages,
    /// Something to remember.
    AppendNote,
    /// The record.
    ReadContext,
    /// Words in the record.
    SearchRecord,
    /// The tasks that the work belongs to.
    ReadCapsules,
    /// A claim with evidence.
    RecordArtifact,
    /// The task board.
    TaskState,
    /// Counts and states.
    SessionInfo,
    /// A question to the person, with the wait for the answer.
    AskUser,
    /// The work is done, says the agent.
    ProposeFinal,
}

/// What an agent is told about a tool.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) description: String,
    pub(super) schema: Map<String, Value>,
    /// It records nothing.
    pub(super) read_only: bool,
}

impl Tool {
    /// All of them, in the order in which they are listed.
    pub(in crate::bridge) const ALL: [Self; 15] = [
        Self::Send,
        Self::Handoff,
        Self::Deliberate,
        Self::GetMessages,
        Self::WaitForMessages,
        Self::AckMessages,
        Self::AppendNote,
        Self::ReadContext,
        Self::SearchRecord,
        Self::ReadCapsules,
        Self::RecordArtifact,
        Self::TaskState,
        Self::SessionInfo,
        Self::AskUser,
        Self::ProposeFinal,
    ];

    /// Its name for an agent; `None` when that agent does not have it.
    pub(in crate::bridge) fn name(self, side: Agent) -> Option<&'static str> {
        let (claude, codex) = match self {
            Self::Send => ("reply", Some("send_to_claude")),
            Self::Handoff => ("handoff", Some("handoff_to_claude")),
            Self::Deliberate => ("deliberate_with_codex", Some("deliberate_with_claude")),
            Self::GetMessages => ("get_messages", None),
            Self::WaitForMessages => ("wait_for_messages", Some("wait_for_claude")),
            Self::AckMessages => ("ack_messages", None),
            Self::AppendNote => ("append_note", Some("append_note")),
            Self::ReadContext => ("read_context", Some("read_context")),
            Self::SearchRecord => ("search_record", Some("search_record")),
            Self::ReadCapsules => ("capsule", Some("capsule")),
            Self::RecordArtifact => ("record_artifact", Some("record_artifact")),
            Self::TaskState => ("task_state", Some("task_state")),
            Self::SessionInfo => ("session_info", Some("session_info")),
            Self::AskUser => ("ask_user", Some("ask_user")),
            Self::ProposeFinal => ("propose_final", Some("propose_final")),
        };
        match side {
            Agent::Claude => Some(claude),
            Agent::Codex => codex,
        }
    }

    /// The tool that an agent means.
    pub(in crate::bridge) fn find(side: Agent, name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|tool| tool.name(side) == Some(name))
    }

    /// The tools of an agent as MCP lists them.
    pub(in crate::bridge) fn list(side: Agent) -> Vec<McpTool> {
        Self::ALL
            .into_iter()
            .filter_map(|tool| {
                let name = tool.name(side)?;
                let Definition {
                    description,
                    schema,
                    read_only,
                } = tool.definition(side);
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

    fn definition(self, side: Agent) -> Definition {
        match self {
            Self::Send => send::definition(side),
            Self::Handoff => handoff::definition(side),
            Self::Deliberate => deliberate::definition(side),
            Self::GetMessages => message::get_definition(side),
            Self::WaitForMessages => message::wait_definition(side),
            Self::AckMessages => message::ack_definition(),
            Self::AppendNote => note::definition(),
            Self::ReadContext => context::definition(),
            Self::SearchRecord => search::definition(),
            Self::ReadCapsules => capsule::definition(),
            Self::RecordArtifact => artifact::definition(),
            Self::TaskState => task::definition(),
            Self::SessionInfo => session::definition(),
            Self::AskUser => ask_user::definition(),
            Self::ProposeFinal => finality::definition(),
        }
    }

    pub(super) async fn call(self, call: &ToolCall) -> Result<ToolResult, Refusal> {
        match self {
            Self::Send => send::call(call).await,
            Self::Handoff => handoff::call(call).await,
            Self::Deliberate => deliberate::call(call).await,
            Self::GetMessages => message::get(call).await,
            Self::WaitForMessages => message::wait(call).await,
            Self::AckMessages => message::ack(call).await,
            Self::AppendNote => note::call(call).await,
            Self::ReadContext => context::call(call).await,
            Self::SearchRecord => search::call(call).await,
            Self::ReadCapsules => capsule::call(call).await,
            Self::RecordArtifact => artifact::call(call).await,
            Self::TaskState => task::call(call).await,
            Self::SessionInfo => session::call(call).await,
            Self::AskUser => ask_user::call(call).await,
            Self::ProposeFinal => finality::call(call).await,
        }
    }
}
