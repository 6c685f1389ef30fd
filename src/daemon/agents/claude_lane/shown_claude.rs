//! [`ShownClaude`]: what Claude's turn is about and runs right now, as its hooks report it, for
//! viewers.
//!
//! Held in memory only: none of it is in the record. Secrets are masked on the way in.

use std::path::Path;

use super::{ClaudeLane, ClaudePair};
use crate::adapters::claude::plugin::ALLOWED_TOOLS;
use crate::core::id::RuntimeSession;
use crate::core::redact::Redactor;
use crate::daemon::agents::running_tools::{RunningTools, first_words};
use crate::wire::control::{HookEvent, HookParams, ToolBeginsParams};
use crate::wire::status::{ToolSort, ToolStatus};

/// Claude's tools that change a file (2.1.330).
const CHANGING: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// The longest name of a tool, or of a use of one, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// Claude's turn, as it is shown.
#[derive(Debug, Default)]
pub(in crate::daemon) struct ShownClaude {
    words: Option<String>,
    tools: RunningTools,
}

impl ClaudeLane {
    /// A hook tells of the turn of a pair's Claude. Returns whether something else is shown now.
    pub(in crate::daemon) fn turn_hears(
        &mut self,
        pair: &RuntimeSession,
        redactor: &Redactor,
        params: &HookParams,
    ) -> bool {
        let ClaudePair { state, turn, .. } = self.pair_mut(pair);
        match &params.event {
            HookEvent::UserPromptSubmit => {
                // What joins a turn comes when no tool of it runs, and a prompt may follow one that
                // was stopped, of which nothing tells (Claude Code 2.1.330, observed).
                let was_running = turn.tools.are_over();
                let words = params.prompt.as_deref();
                let words = words.map(|prompt| first_words(redactor, prompt));
                let words = words.filter(|words| !words.is_empty());
                // A message that wakes Claude has no words of its person, and in a turn of theirs it
                // changes nothing.
                if words.is_none() && state.is_in_turn() {
                    return was_running;
                }
                was_running | (std::mem::replace(&mut turn.words, words.clone()) != words)
            }
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure => match &params.tool_use_id {
                Some(id) => turn.tools.ended(id),
                None => turn.tools.are_over(),
            },
            // The turn may be prolonged; none of its tools runs on into that.
            HookEvent::Stop => turn.tools.are_over(),
            _ => false,
        }
    }

    /// Whether a tool of a pair's Claude is known to run.
    pub(in crate::daemon) fn runs_tool(&self, pair: &RuntimeSession) -> bool {
        let known = self.pairs.get(pair);
        known.is_some_and(|pair| pair.turn.tools.is_any())
    }

    /// No turn of a pair's Claude runs.
    pub(in crate::daemon) fn turn_ended(&mut self, pair: &RuntimeSession) {
        self.pair_mut(pair).turn = ShownClaude::default();
    }

    /// A tool of a pair's Claude begins.
    pub(in crate::daemon) fn tool_begins(
        &mut self,
        pair: &RuntimeSession,
        redactor: &Redactor,
        root: &Path,
        now_ms: i64,
        tool: &ToolBeginsParams,
    ) {
        if tool.tool_use_id.len() > NAME_BYTES_MAX || tool.tool.len() > NAME_BYTES_MAX {
            return;
        }
        let (sort, text) = match (&tool.command, &tool.path) {
            (Some(command), _) => (ToolSort::Command, command.clone()),
            (None, Some(path)) => {
                let below = Path::new(path).strip_prefix(root).ok();
                let path = below.map_or(path.into(), |below| below.to_string_lossy());
                let sort = match CHANGING.contains(&tool.tool.as_str()) {
                    true => ToolSort::Change,
                    false => ToolSort::Call,
                };
                (sort, format!("{} {path}", tool.tool))
            }
            (None, None) => (ToolSort::Call, called(&tool.tool)),
        };
        let text = first_words(redactor, &text);
        let turn = &mut self.pair_mut(pair).turn;
        turn.tools
            .began(tool.tool_use_id.clone(), sort, &text, now_ms);
    }
}

impl ShownClaude {
    /// How the prompt begins that the turn is about.
    pub(in crate::daemon) fn words(&self) -> Option<String> {
        self.words.clone()
    }

    /// The tools that run, for the next process, whose clock is ahead of this one's by so much.
    pub(super) fn tools_of_next(&self, ahead_ms: i64) -> RunningTools {
        self.tools.later_by(ahead_ms)
    }

    /// The turn of the process before goes on, with these tools.
    pub(super) fn goes_on(&mut self, tools: RunningTools) {
        self.tools = tools;
    }

    /// The tool that began last, of those that run.
    pub(in crate::daemon) fn tool(&self) -> Option<ToolStatus> {
        self.tools.latest()
    }
}

/// `server.tool` of a tool of an MCP server, as Codex says it too.
fn called(tool: &str) -> String {
    let ours = tool.strip_prefix(ALLOWED_TOOLS);
    if let Some(name) = ours.and_then(|rest| rest.strip_prefix("__")) {
        return format!("ctxrelay.{name}");
    }
    match tool
        .strip_prefix("mcp__")
        .and_then(|rest| rest.split_once("__"))
    {
        Some((server, name)) => format!("{server}.{name}"),
        None => tool.to_owned(),
    }
}
