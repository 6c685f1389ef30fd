//! [`ShownTurn`]: what Codex's turn is doing, for viewers: the tools that run, what it has done so
//! far, and its plan.
//!
//! Held in memory only: none of it is in the record. Secrets are masked on the way in.

use crate::core::live_turn::{LiveAct, LiveTurn, PlanStep};
use crate::core::redact::Redactor;
use crate::daemon::agents::running_tools::{RunningTools, first_words};
use crate::wire::status::{CommandStatus, RetryStatus, ToolSort, ToolStatus};

/// Codex's turn, as it is shown.
#[derive(Debug, Default)]
pub(in crate::daemon) struct ShownTurn {
    tools: RunningTools,
    live: LiveTurn,
    retrying: Option<RetryStatus>,
}

impl ShownTurn {
    /// Another one begins.
    pub(in crate::daemon) fn begin(&mut self) {
        self.retrying = None;
        self.tools.are_over();
        self.live.begin();
    }

    /// It is over; what it did can still be looked at.
    pub(in crate::daemon) fn is_over(&mut self) {
        self.retrying = None;
        self.tools.are_over();
        self.live.is_over();
    }

    /// Codex is in another thread, whose turns nobody has seen.
    pub(in crate::daemon) fn forget(&mut self) {
        self.retrying = None;
        self.tools.are_over();
        self.live = LiveTurn::default();
    }

    /// Its model cannot be reached, and it tries again by itself.
    pub(in crate::daemon) fn retries(&mut self, redactor: &Redactor, now_ms: i64, why: &str) {
        let since = self.retrying.as_ref().map_or(now_ms, |it| it.since);
        let why = first_words(redactor, why);
        self.retrying = Some(RetryStatus { why, since });
    }

    /// It gives a sign of life. Returns whether it had to try again until now.
    pub(in crate::daemon) fn goes_on(&mut self) -> bool {
        self.retrying.take().is_some()
    }

    /// Why and since when it tries again.
    pub(in crate::daemon) fn retrying(&self) -> Option<&RetryStatus> {
        self.retrying.as_ref()
    }

    /// A command, a call or a change of files begins.
    pub(in crate::daemon) fn tool_began(
        &mut self,
        redactor: &Redactor,
        now_ms: i64,
        item_id: String,
        act: LiveAct,
        text: &str,
    ) {
        let (text, _) = redactor.redact_text(text);
        let sort = match act {
            LiveAct::Ran => Some(ToolSort::Command),
            LiveAct::Changed => Some(ToolSort::Change),
            LiveAct::Called => Some(ToolSort::Call),
            LiveAct::Said => None,
        };
        // The end of what has no id would be nobody's.
        if let Some(sort) = sort.filter(|_| !item_id.is_empty()) {
            self.tools.began(item_id, sort, &text, now_ms);
        }
        self.live.did(now_ms, act, &text);
    }

    /// That ended. Returns whether it was known.
    pub(in crate::daemon) fn tool_ended(&mut self, item_id: &str) -> bool {
        self.tools.ended(item_id)
    }

    /// It did something.
    pub(in crate::daemon) fn did(
        &mut self,
        redactor: &Redactor,
        now_ms: i64,
        act: LiveAct,
        text: &str,
    ) {
        let (text, _) = redactor.redact_text(text);
        self.live.did(now_ms, act, &text);
    }

    /// It has a plan, or another one.
    pub(in crate::daemon) fn planned(&mut self, redactor: &Redactor, steps: Vec<PlanStep>) {
        let masked = |step: PlanStep| PlanStep {
            text: redactor.redact_text(&step.text).0.into_owned(),
            ..step
        };
        // No more of them are masked than are shown.
        self.live.planned(steps.into_iter().map(masked));
    }

    /// The command that began last, of those that run.
    pub(in crate::daemon) fn command(&self) -> Option<CommandStatus> {
        self.tools.latest_command()
    }

    /// The same of all tools.
    pub(in crate::daemon) fn tool(&self) -> Option<ToolStatus> {
        self.tools.latest()
    }

    /// What it has done so far, and its plan.
    pub(in crate::daemon) fn live(&self) -> &LiveTurn {
        &self.live
    }
}
