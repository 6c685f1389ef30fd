//! The agents of the scenes.

use super::pieces::ago;
use crate::model::{
    Agent, AgentCard, AgentState, ContextUse, QueueCounts, RunningTool, StepProgress, TurnAct,
    TurnLine, TurnView, WorkedMinute,
};

/// `.` nothing, `_` a turn that ran, a digit for entries too.
pub(super) fn minutes(text: &str) -> Vec<WorkedMinute> {
    let minutes = text.chars().map(|minute| WorkedMinute {
        worked: minute != '.',
        entries: minute.to_digit(10).unwrap_or(0),
    });
    minutes.collect()
}

pub(super) fn claude() -> AgentCard {
    AgentCard {
        state: AgentState::Idle,
        since_ms: Some(ago(95)),
        rung: "doorbell".to_owned(),
        proven: true,
        why: "The channel needs a flag that this Claude Code was not started with; the plugin's monitor wakes it, and a hook \
              hands the bodies into the turn."
            .to_owned(),
        unread: 1,
        queue: QueueCounts { pending: 0, in_flight: 1, ambiguous: 0 },
        last_note_ms: Some(ago(260)),
        activity: minutes("...__2__4_.."),
        ..AgentCard::offline(Agent::Claude)
    }
}

pub(super) fn codex() -> AgentCard {
    AgentCard {
        state: AgentState::Busy,
        since_ms: Some(ago(41)),
        rung: "queue".to_owned(),
        proven: true,
        why: "Messages join the thread's own queue; each is confirmed when its user message is completed.".to_owned(),
        detail: vec!["turn: review src/auth/refresh.rs".to_owned()],
        activity: minutes("._1.......14"),
        tool: Some(RunningTool {
            act: TurnAct::Ran,
            text: "cargo test -p auth -- refresh".to_owned(),
            since_ms: ago(12),
        }),
        context: Some(ContextUse { used: 98_304, window: 258_000 }),
        turn: turn(),
        ..AgentCard::offline(Agent::Codex)
    }
}

/// What Codex has done so far.
fn turn() -> TurnView {
    let line = |seconds, act, text: &str| TurnLine {
        at_ms: ago(seconds),
        act,
        text: text.to_owned(),
    };
    let step = |progress, text: &str| (progress, text.to_owned());
    TurnView {
        is_running: true,
        lines: vec![
            line(12, TurnAct::Ran, "cargo test -p auth -- refresh"),
            line(
                13,
                TurnAct::Said,
                "Two callers can both see an expired token: I run the tests with two refreshes at once.",
            ),
            line(19, TurnAct::Changed, "change tests/refresh.rs"),
            line(27, TurnAct::Called, "ctxrelay.append_note"),
            line(33, TurnAct::Ran, "rg -n 'fn refresh' src/auth"),
            line(
                38,
                TurnAct::Said,
                "I read src/auth/refresh.rs first.\u{1b}[2J",
            ),
        ],
        left_out: 0,
        plan: vec![
            step(StepProgress::Done, "read src/auth/refresh.rs"),
            step(StepProgress::Active, "test two refreshes at once"),
            step(StepProgress::Open, "look at what is kept of the old token"),
        ],
    }
}
