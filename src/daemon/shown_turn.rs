//! [`ShownTurn`]: what Codex's turn does right now, for who looks: the commands that run, what it has
//! done so far, and its plan.
//!
//! Knowledge of this process: none of it is in the record. Secrets are masked on the way in.

use super::running_commands::RunningCommands;
use crate::core::live_turn::{LiveAct, LiveTurn, PlanStep};
use crate::core::redact::Redactor;
use crate::wire::status::CommandStatus;

/// Codex's turn, as it is shown.
#[derive(Debug, Default)]
pub(super) struct ShownTurn {
    commands: RunningCommands,
    live: LiveTurn,
}

impl ShownTurn {
    /// Another one begins.
    pub(super) fn begin(&mut self) {
        self.live.begin();
    }

    /// It is over; what it did can still be looked at.
    pub(super) fn is_over(&mut self) {
        self.commands.are_over();
        self.live.is_over();
    }

    /// Codex is in another thread, whose turns nobody has seen.
    pub(super) fn forget(&mut self) {
        self.commands.are_over();
        self.live = LiveTurn::default();
    }

    /// A command begins.
    pub(super) fn command_began(
        &mut self,
        redactor: &Redactor,
        now_ms: i64,
        item_id: String,
        command: &str,
    ) {
        let (text, _) = redactor.redact_text(command);
        self.commands.began(item_id, &text, now_ms);
        self.live.did(now_ms, LiveAct::Ran, &text);
    }

    /// A command ended. Returns whether it was known.
    pub(super) fn command_ended(&mut self, item_id: &str) -> bool {
        self.commands.ended(item_id)
    }

    /// It did something.
    pub(super) fn did(&mut self, redactor: &Redactor, now_ms: i64, act: LiveAct, text: &str) {
        let (text, _) = redactor.redact_text(text);
        self.live.did(now_ms, act, &text);
    }

    /// It has a plan, or another one.
    pub(super) fn planned(&mut self, redactor: &Redactor, steps: Vec<PlanStep>) {
        let masked = |step: PlanStep| PlanStep {
            text: redactor.redact_text(&step.text).0.into_owned(),
            ..step
        };
        let steps: Vec<PlanStep> = steps.into_iter().map(masked).collect();
        self.live.planned(steps);
    }

    /// The command that began last, of those that run.
    pub(super) fn command(&self) -> Option<CommandStatus> {
        self.commands.latest()
    }

    /// What it has done so far, and its plan.
    pub(super) fn live(&self) -> &LiveTurn {
        &self.live
    }
}
