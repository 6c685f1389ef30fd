//! [`HookParams`] and [`ToolBeginsParams`]: what a hook of Claude's reports.

use serde::{Deserialize, Serialize};

/// The plugin's monitor: its description, by which it stands in the list of running tasks that
/// Claude gives to a `Stop` hook (Claude Code 2.1.330, observed).
pub const MONITOR: &str = "ctxrelay";

/// The same in a Claude that was started with the plugin of an earlier build.
pub const MONITOR_BEFORE: &str = "contextrelay inbox";

/// The event under which the person's status line is told of and asked for: none of Claude's own.
pub const STATUS_LINE: &str = "StatusLine";

/// What a hook of ours in Codex reports as its event: a context was compacted.
pub const CODEX_COMPACTED: &str = "CodexCompacted";

/// Hook events that ctxrelay listens to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct HookParams {
    /// The event's name as Claude writes it.
    pub event: String,
    /// `CLAUDE_PID`.
    pub claude_pid: Option<u32>,
    /// Its plugin has each call of a tool judged before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_judged: bool,
    /// Claude's own session id.
    #[serde(default)]
    pub claude_session_id: Option<String>,
    /// The prompt is a monitor event and not the human speaking.
    #[serde(default)]
    pub from_monitor: bool,
    /// `source` of a `SessionStart`, `reason` of a `SessionEnd`, `error` of a `StopFailure`,
    /// `notification_type` of a `Notification`, `trigger` of a `PreCompact`.
    #[serde(default)]
    pub detail: Option<String>,
    /// `Stop`: a stop has prolonged this turn already.
    #[serde(default)]
    pub stop_hook_active: bool,
    /// `Stop`: whether our monitor is among the tasks that run; `None` where that is not told.
    #[serde(default)]
    pub monitor_runs: Option<bool>,
    /// `PostToolUse`, `PostToolUseFailure`: names the use of the tool that has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
    /// The same, by Claude's own id of that use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Claude's own file of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// `PostToolUse`: the tool, where it reads or writes one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// `PostToolUse`: that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `Stop`: what Claude said last. `PostCompact`: the summary. `PreToolUse`: why a rule of the
    /// operator's kept Claude from the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `UserPromptSubmit`: how the person's prompt begins. For who looks, and never for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The status line: what Claude says of its context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextFigures>,
    /// The status line: how wide the terminal is, in columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<u16>,
}

/// Arguments of [`Command::ToolBegins`](super::Command::ToolBegins): what Claude's hook before a tool
/// says of it. A secret may be in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolBeginsParams {
    /// `CLAUDE_PID`.
    pub claude_pid: Option<u32>,
    /// As of [`HookParams`].
    pub is_judged: bool,
    /// Claude's own id of this use of the tool.
    pub tool_use_id: String,
    /// The tool, as Claude calls it.
    pub tool: String,
    /// A command's beginning.
    pub command: Option<String>,
    /// The file that it is about.
    pub path: Option<String>,
}

/// What Claude gives to the person's status line of its context, in tokens. Before the first answer
/// and after a compaction it says only what fits into it (Claude Code 2.1.330, observed).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextFigures {
    /// In the context now.
    pub used: Option<u64>,
    /// What fits into it.
    pub window: Option<u64>,
}
