//! [`LiveTurn`]: what Codex's turn has done so far, for the person who looks at it.
//!
//! In memory only, and bounded: none of it is in the record, and no agent is told of it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::cut_text::cut_text;

/// Lines that are kept; the oldest give way.
const LINES_MAX: usize = 80;

/// Characters of a line.
const LINE_CHARS: usize = 400;

/// Steps of a plan that are kept.
const STEPS_MAX: usize = 30;

/// Characters of a step.
const STEP_CHARS: usize = 200;

/// What a turn did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LiveAct {
    /// The model said something.
    Said,
    /// It ran a command.
    Ran,
    /// It changed files.
    Changed,
    /// It called a tool.
    Called,
}

/// One thing that it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveLine {
    /// When, ms since the epoch.
    pub at_ms: i64,
    pub act: LiveAct,
    /// In its words, or the beginning of them; hostile.
    pub text: String,
}

/// How far a step of the plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepState {
    /// Not begun.
    Open,
    /// Under way.
    Active,
    /// Done, as the model says.
    Done,
}

/// One step of the plan that the model made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    /// In the model's words; hostile.
    pub text: String,
    /// How far it is.
    pub state: StepState,
}

/// The turn that runs, or the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveTurn {
    lines: VecDeque<LiveLine>,
    /// Lines that gave way.
    left_out: u64,
    plan: Vec<PlanStep>,
    is_running: bool,
}

impl LiveTurn {
    /// Another turn begins.
    pub fn begin(&mut self) {
        *self = Self {
            is_running: true,
            ..Self::default()
        };
    }

    /// It did something. `text` is free of secrets.
    pub fn did(&mut self, at_ms: i64, act: LiveAct, text: &str) {
        let text = cut_text(text.trim(), LINE_CHARS).into_owned();
        if text.is_empty() {
            return;
        }
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
            self.left_out += 1;
        }
        self.lines.push_back(LiveLine { at_ms, act, text });
    }

    /// It has made a plan, or another one. The texts are free of secrets.
    pub fn planned(&mut self, steps: impl IntoIterator<Item = PlanStep>) {
        let cut_step = |step: PlanStep| PlanStep {
            text: cut_text(step.text.trim(), STEP_CHARS).into_owned(),
            ..step
        };
        self.plan = steps.into_iter().take(STEPS_MAX).map(cut_step).collect();
    }

    /// It is over. What it did stays until another one begins.
    pub fn is_over(&mut self) {
        self.is_running = false;
    }

    /// Whether it runs.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// What it did, the oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &LiveLine> {
        self.lines.iter()
    }

    /// How many lines gave way.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub fn plan(&self) -> &[PlanStep] {
        &self.plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_lines_give_way_and_are_counted() {
        let mut turn = LiveTurn::default();
        turn.begin();
        for n in 0..LINES_MAX as i64 + 20 {
            turn.did(n, LiveAct::Ran, &format!("command {n}"));
        }
        assert_eq!(turn.lines().count(), LINES_MAX);
        assert_eq!(turn.left_out(), 20);
        assert_eq!(turn.lines().next().map(|line| line.at_ms), Some(20));
    }

    #[test]
    fn another_turn_begins_with_nothing_and_what_was_done_stays_till_then() {
        let mut turn = LiveTurn::default();
        turn.begin();
        turn.did(1, LiveAct::Said, &"x".repeat(9_000));
        turn.did(2, LiveAct::Said, "  \n ");
        turn.planned([PlanStep {
            text: "y".repeat(9_000),
            state: StepState::Open,
        }]);
        turn.is_over();
        let longest = turn.lines().map(|line| line.text.chars().count()).max();
        assert_eq!(longest, Some(LINE_CHARS + 1));
        assert_eq!(turn.plan()[0].text.chars().count(), STEP_CHARS + 1);
        assert_eq!(turn.lines().count(), 1, "blank ones are none");
        assert!(!turn.is_running());
        turn.begin();
        assert!(turn.lines().next().is_none() && turn.plan().is_empty());
    }
}
