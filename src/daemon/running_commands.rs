//! [`RunningCommands`]: what Codex's turn runs right now, for whoever looks.
//!
//! Knowledge of this process: none of it is in the record. After a takeover it comes with the next
//! command.

use std::collections::VecDeque;

use crate::wire::status::CommandStatus;

/// How many commands that run at once are kept.
const RUNNING_MAX: usize = 16;

/// The most that is shown of a command, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// The commands that have begun and not ended, the latest one last.
#[derive(Debug, Default)]
pub(super) struct RunningCommands {
    running: VecDeque<(String, CommandStatus)>,
}

impl RunningCommands {
    /// A command begins; its text is free of secrets.
    pub(super) fn began(&mut self, id: String, text: &str, at_ms: i64) {
        self.ended(&id);
        if self.running.len() == RUNNING_MAX {
            self.running.pop_front();
        }
        let shown = text.trim().chars().take(SHOWN_CHARS_MAX);
        let mut shown: String = shown.collect();
        if shown.len() < text.trim().len() {
            shown.push('…');
        }
        let command = CommandStatus {
            text: shown,
            since: at_ms,
        };
        self.running.push_back((id, command));
    }

    /// A command ended. Returns whether it was known.
    pub(super) fn ended(&mut self, id: &str) -> bool {
        let before = self.running.len();
        self.running.retain(|(running, _)| running != id);
        self.running.len() < before
    }

    /// Nothing runs any more.
    pub(super) fn are_over(&mut self) {
        self.running.clear();
    }

    /// The one that began last.
    pub(super) fn latest(&self) -> Option<CommandStatus> {
        self.running.back().map(|(_, command)| command.clone())
    }
}
