//! [`RunningTools`]: the tools that an agent's turn is running, for viewers.
//!
//! Held in memory only: none of it is in the record. After a takeover Claude's are known as before,
//! and Codex's return with the next tool.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::core::between_words::cut_between_words;
use crate::core::cut_text::excerpt;
use crate::core::redact::Redactor;
use crate::wire::status::{CommandStatus, ToolSort, ToolStatus};

/// How many that run at once are kept.
const RUNNING_MAX: usize = 16;

/// The most that is shown of a text, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// What is looked at of a text, in characters: a secret in what is shown is whole in it.
const LOOKED_AT_CHARS_MAX: usize = 2_000;

/// The tools that have begun and not ended, the latest one last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(in crate::daemon) struct RunningTools {
    running: VecDeque<(String, ToolStatus)>,
}

impl RunningTools {
    /// One begins; its text is free of secrets.
    pub(in crate::daemon) fn began(&mut self, id: String, sort: ToolSort, text: &str, at_ms: i64) {
        self.ended(&id);
        if self.running.len() == RUNNING_MAX {
            self.running.pop_front();
        }
        let tool = ToolStatus {
            sort,
            text: first_line(text),
            since: at_ms,
        };
        self.running.push_back((id, tool));
    }

    /// One ended. Returns whether it was known.
    pub(in crate::daemon) fn ended(&mut self, id: &str) -> bool {
        let before = self.running.len();
        self.running.retain(|(running, _)| running != id);
        self.running.len() < before
    }

    /// Nothing runs any more. Returns whether something did.
    pub(in crate::daemon) fn are_over(&mut self) -> bool {
        let ran = !self.running.is_empty();
        self.running.clear();
        ran
    }

    /// The same, by a clock that is ahead by so much.
    pub(in crate::daemon) fn later_by(&self, ahead_ms: i64) -> Self {
        let mut later = self.clone();
        for (_, tool) in &mut later.running {
            tool.since = tool.since.saturating_add(ahead_ms);
        }
        later
    }

    /// Whether one is known to run.
    pub(in crate::daemon) fn is_any(&self) -> bool {
        !self.running.is_empty()
    }

    /// The one that began last.
    pub(in crate::daemon) fn latest(&self) -> Option<ToolStatus> {
        self.running.back().map(|(_, tool)| tool.clone())
    }

    /// The command that began last.
    pub(in crate::daemon) fn latest_command(&self) -> Option<CommandStatus> {
        let mut latest_first = self.running.iter().rev();
        let (_, tool) = latest_first.find(|(_, tool)| tool.sort == ToolSort::Command)?;
        Some(CommandStatus {
            text: tool.text.clone(),
            since: tool.since,
        })
    }
}

/// The first line with words in it, without what a terminal obeys, and no longer than is shown.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    excerpt(line, SHOWN_CHARS_MAX)
}

/// [`first_line`] of a text that may hold secrets, and may be of any length.
pub(in crate::daemon) fn first_words(redactor: &Redactor, text: &str) -> String {
    let beginning = cut_between_words(text, LOOKED_AT_CHARS_MAX);
    first_line(&redactor.redact_text(beginning).0)
}
