//! [`RelayServer`]: the MCP server of one agent, over any transport.
//!
//! What it says about itself is static: `initialize` and `tools/list` never wait for a daemon.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::core::plain_value::PlainValue;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::handed::{Handed, HandedPage};
use super::http_call::HttpCall;
use super::instructions::instructions;
use super::tools::answer::to_result;
use super::tools::argument::NAME_CHARS;
use super::tools::call::ToolCall;
use super::tools::tool::Tool;
use super::tools::toolbox;
use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::cut_text::cut_text;
use crate::core::id::{RuntimeSession, ThreadId};

/// The name of this server on both sides.
pub(super) const SERVER_NAME: &str = "contextrelay";

/// The newest protocol spoken. The next one has no `initialize`, and with it no place for
/// unasked notifications; Claude Code 2.1.330 and Codex 0.169.0 fall back to this one (observed).
const PROTOCOL_MAX: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// Codex's `_meta` key with the calling turn.
const TURN_META: &str = "x-codex-turn-metadata";

/// One agent's server.
#[derive(Debug, Clone)]
pub(super) struct RelayServer {
    side: Agent,
    pair: Option<RuntimeSession>,
    client: Client,
    gone: CancellationToken,
    handed: Handed,
}

impl RelayServer {
    /// `pair` is Claude's. `gone` is cancelled when the agent has closed its side. What its answers
    /// hold is put into `handed` before they leave.
    pub(super) fn new(
        side: Agent,
        pair: Option<RuntimeSession>,
        client: Client,
        gone: CancellationToken,
        handed: Handed,
    ) -> Self {
        Self {
            side,
            pair,
            client,
            gone,
            handed,
        }
    }
}

impl ServerHandler for RelayServer {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if self.side == Agent::Claude {
            let channel = BTreeMap::from([("claude/channel".to_owned(), Map::new())]);
            capabilities.experimental = Some(channel);
        }
        let mut info = ServerConfig::new(capabilities).with_instructions(instructions(self.side));
        info.protocol_version = PROTOCOL_MAX;
        info.server_info = Implementation::new(SERVER_NAME, env!("CARGO_PKG_VERSION"));
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&PROTOCOL_MAX))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(toolbox::list(self.side)))
    }

    /// As rmcp says it, without the rest of a long name.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let unknown = cut_text(&request.method, NAME_CHARS).into_owned();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, unknown, None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::find(self.side, &request.name) else {
            let unknown = format!("no tool `{}`", cut_text(&request.name, NAME_CHARS));
            return Err(ErrorData::invalid_params(unknown, None));
        };
        let meta = &context.meta.0.0;
        let http = HttpCall::of(&context);
        let (gone, handed) = match &http {
            Some(call) => (&call.hangup, &call.handed),
            None => (&self.gone, &self.handed),
        };
        handed.take(&context.id);
        let call = ToolCall {
            side: self.side,
            pair: self.pair.clone(),
            client: self.client.clone(),
            arguments: request.arguments.unwrap_or_default(),
            thread_id: meta
                .get("threadId")
                .and_then(Value::as_str)
                .map(ThreadId::new),
            turn_id: turn_id(meta),
            cancelled: context.ct.clone(),
            gone: gone.clone(),
        };
        let answer = toolbox::run(tool, &call).await;
        if let Ok(answer) = &answer
            && !answer.handed.is_empty()
            && !call.is_cancelled()
        {
            let page = HandedPage {
                client: call.client,
                side: call.side,
                ids: answer.handed.clone(),
                are_read: answer.are_read,
            };
            handed.keep(context.id.clone(), page);
        }
        Ok(to_result(answer).into())
    }
}

/// The turn that calls; Codex sends the metadata as an object, a proxy may as its JSON text.
fn turn_id(meta: &Map<String, Value>) -> Option<String> {
    let turn = match meta.get(TURN_META)? {
        Value::String(text) => PlainValue::of(text).ok()?,
        value => value.clone(),
    };
    turn.get("turn_id")?.as_str().map(str::to_owned)
}
