//! [`HookParams`] and [`ToolBeginsParams`]: what one of Claude's hooks reports.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::entry::CommandRun;
use crate::word::words;

/// The plugin's monitor: its description, by which it stands in the list of running tasks that
/// Claude gives to a `Stop` hook (Claude Code 2.1.330, observed).
pub const MONITOR: &str = "ctxrelay";

/// The same in a Claude that was started with the plugin of an earlier build.
pub const MONITOR_BEFORE: &str = "contextrelay inbox";

words! {
    /// An event of Claude's that ctxrelay listens to, as Claude writes it, and four of our own.
    pub enum HookEvent {
        SessionStart = "SessionStart",
        InstructionsLoaded = "InstructionsLoaded",
        UserPromptSubmit = "UserPromptSubmit",
        PreToolUse = "PreToolUse",
        PostToolUse = "PostToolUse",
        /// Without it a tool that failed would be shown as one that runs.
        PostToolUseFailure = "PostToolUseFailure",
        PermissionRequest = "PermissionRequest",
        Notification = "Notification",
        Stop = "Stop",
        StopFailure = "StopFailure",
        /// A helper of Claude's own ends.
        SubagentStop = "SubagentStop",
        PreCompact = "PreCompact",
        PostCompact = "PostCompact",
        SessionEnd = "SessionEnd",
        /// A helper of Claude's own has used a tool.
        HelperToolUse = "HelperToolUse",
        /// A helper of Claude's own asks the person, in Claude's terminal.
        HelperAsks = "HelperAsks",
        /// The person's status line is told of and asked for.
        StatusLine = "StatusLine",
        /// A hook of ours in Codex: a context was compacted.
        CodexCompacted = "CodexCompacted",
    }
}

impl HookEvent {
    /// Claude has it, and its plugin listens to it.
    pub fn is_claudes(&self) -> bool {
        !matches!(
            self,
            Self::HelperToolUse | Self::HelperAsks | Self::StatusLine | Self::CodexCompacted
        )
    }
}

words! {
    /// How a conversation of Claude's begins.
    pub enum SessionSource {
        Startup = "startup",
        Resume = "resume",
        Fork = "fork",
        Clear = "clear",
        /// In the middle of whatever is going on.
        Compact = "compact",
    }
}

words! {
    /// Of what Claude tells its person.
    pub enum NotificationKind {
        PermissionPrompt = "permission_prompt",
        AgentNeedsInput = "agent_needs_input",
        ElicitationDialog = "elicitation_dialog",
        IdlePrompt = "idle_prompt",
    }
}

words! {
    /// Why a turn of Claude's failed.
    pub enum TurnFailure {
        RateLimit = "rate_limit",
        BillingError = "billing_error",
    }
}

/// Hook events that ctxrelay listens to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct HookParams {
    pub event: HookEvent,
    /// `CLAUDE_PID`.
    pub claude_pid: Option<u32>,
    /// Its plugin has each call of a tool judged before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_judged: bool,
    /// Claude's own session id.
    pub claude_session_id: Option<String>,
    /// The prompt is a monitor event and not the human speaking.
    #[serde(default)]
    pub from_monitor: bool,
    /// `source` of a `SessionStart`, `reason` of a `SessionEnd`, `error` of a `StopFailure`,
    /// `notification_type` of a `Notification`, `trigger` of a `PreCompact`.
    pub detail: Option<String>,
    /// `Stop`: a stop has prolonged this turn already.
    #[serde(default)]
    pub stop_hook_active: bool,
    /// `Stop`: whether our monitor is among the tasks that run; `None` where that is not told.
    pub monitor_runs: Option<bool>,
    /// `SubagentStop`, `HelperToolUse`, `HelperAsks`: Claude's own id of the helper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helper: Option<String>,
    /// `PostToolUse`, `PostToolUseFailure`, `HelperToolUse`: names the use of the tool that has run;
    /// `PermissionRequest`, `HelperAsks`: that it asks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use: Option<String>,
    /// `PermissionRequest`, `HelperAsks`, `Notification`, `StopFailure`: for how long the hook has
    /// been running, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_ago_ms: Option<u64>,
    /// The use of a tool, by Claude's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Claude's own file of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// `PostToolUse`, `HelperToolUse`: the tool, where it reads or writes one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The same: that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `PostToolUse`, `PostToolUseFailure`: how a command of the shell ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<CommandRun>,
    /// The same: in which folder Claude is, as a whole path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
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

impl HookParams {
    /// How the conversation of a `SessionStart` begins.
    pub fn source(&self) -> Option<SessionSource> {
        self.detail.as_deref().map(SessionSource::from)
    }

    /// What a `Notification` is about.
    pub fn notification(&self) -> Option<NotificationKind> {
        self.detail.as_deref().map(NotificationKind::from)
    }

    /// Where the transcript is, unless what is told is no whole path.
    pub fn transcript_path(&self) -> Option<&Path> {
        let path = self.transcript.as_deref().map(Path::new);
        path.filter(|path| path.is_absolute())
    }
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

#[cfg(test)]
mod tests {
    use crate::word::assert_words;

    use super::*;

    #[test]
    fn every_word_of_a_hook_comes_back_as_it_was_written() {
        assert_words(HookEvent::ALL);
        assert_words(SessionSource::ALL);
        assert_words(NotificationKind::ALL);
        assert_words(TurnFailure::ALL);
        let claudes = HookEvent::ALL.iter().filter(|event| event.is_claudes());
        assert_eq!(claudes.count(), 14);
        assert_eq!(HookEvent::StatusLine.to_string(), "StatusLine");
        assert_eq!(SessionSource::Compact.to_string(), "compact");
    }
}
