//! The cards of the agents: their current status, and what the record has about them.

use ctxrelay_ui::model as ui;
use ctxrelay_ui::text::running as running_for;

use super::{small, state_of};
use crate::core::agent::{Agent, AgentState};
use crate::core::context_fill::ContextFill;
use crate::core::delivery::DeliveryWay;
use crate::core::live_turn::{LiveAct, LiveLine, LiveTurn, PlanStep, StepState};
use crate::core::snapshot::{ACTIVITY_MINUTES, AgentSnapshot, RecentActivity};
use crate::deck::attention;
use crate::deck::followed::model::Model;
use crate::deck::followed::queue_wait::{codex_of, waits_for};
use crate::deck::party::agent_of;
use crate::wire::status::{CodexStatus, LaneStatus, SilenceStatus, ToolSort, ToolStatus};

/// An agent that was started this long ago and is not there is worth a hint, ms.
const SLOW_START_MS: i64 = 5_000;

/// What an agent does and since when. Where nobody tells of it any more it is unknown from then on;
/// who was not there is not said to have come.
fn state(model: &Model, told: AgentState, since_ms: Option<i64>) -> (AgentState, Option<i64>) {
    match model.lost_ms() {
        Some(lost_ms) if told != AgentState::Offline => (AgentState::Stale, Some(lost_ms)),
        _ => (told, since_ms),
    }
}

/// How silent its turn is, as long as somebody would hear of a sign.
fn silence(model: &Model, told: Option<&SilenceStatus>, now_ms: i64) -> Option<ui::Silence> {
    let told = told.filter(|_| model.lost_ms().is_none());
    attention::silence(told, now_ms)
}

pub(super) fn agent_card(model: &Model, agent: Agent, now_ms: i64) -> ui::AgentCard {
    let (told, world) = (model.status.agents.of(agent), model.world.agent(agent));
    let codex = codex_of(&model.status, agent);
    let (state, since_ms) = state(model, told.state, told.since);
    let mut detail = Vec::new();
    if let Some(text) = told.turn_text.filter(|text| !text.is_empty()) {
        detail.push(format!("turn: {text}"));
    }
    if let Some(why) = told.why.filter(|why| !why.is_empty()) {
        detail.push(why.to_owned());
    } else if codex.is_some_and(|codex| codex.app_server.is_some() && !codex.tui) {
        detail.push("no terminal is open".to_owned());
    }
    ui::AgentCard {
        agent: agent_of(agent),
        state: state_of(state),
        since_ms,
        rung: rung(&told.delivery.rung),
        proven: told.delivery.proven,
        why: told.delivery.why.clone(),
        unread: match agent {
            Agent::Claude => small(model.status.agents.claude.unread),
            Agent::Codex => 0,
        },
        queue: queue(model.status.queue.of(agent)),
        waits_for: waits_for(&model.row_facts(), agent).map(|wait| wait.to_string()),
        last_note_ms: world.last_note_ms,
        detail,
        activity: activity(model, world, now_ms),
        context: context(told.context),
        silence: silence(model, told.silence, now_ms),
        limit: attention::limit(told.limit),
        cut_off: small(told.cut_off),
        compacting: told.continuity.compacting,
        tool: told.tool.and_then(|tool| running(state, tool)),
        turn: codex.map_or_else(ui::TurnView::default, |_| turn(&model.live_turn)),
        turn_id: codex.and_then(|codex| codex.turn_id.as_ref().map(ToString::to_string)),
        hint: slow_start(model, agent, now_ms).or_else(|| retrying(codex?, state, now_ms)),
        installed: told.installed,
        start_command: format!("ctxrelay {agent}"),
    }
}

/// What runs, while the agent is known to be in a turn: of one that has fallen silent nobody knows.
fn running(state: AgentState, tool: &ToolStatus) -> Option<ui::RunningTool> {
    let (act, text) = match tool.sort {
        ToolSort::Command => (ui::TurnAct::Ran, of_shell(&tool.text)),
        ToolSort::Change => (ui::TurnAct::Changed, tool.text.as_str()),
        ToolSort::Call | ToolSort::Other(_) => (ui::TurnAct::Called, tool.text.as_str()),
    };
    matches!(state, AgentState::Busy | AgentState::Waiting).then(|| ui::RunningTool {
        act,
        text: text.to_owned(),
        since_ms: tool.since,
    })
}

/// What Codex's turn has done so far, the newest first.
fn turn(live: &LiveTurn) -> ui::TurnView {
    let line = |line: &LiveLine| ui::TurnLine {
        at_ms: line.at_ms,
        act: match line.act {
            LiveAct::Said => ui::TurnAct::Said,
            LiveAct::Ran => ui::TurnAct::Ran,
            LiveAct::Changed => ui::TurnAct::Changed,
            LiveAct::Called => ui::TurnAct::Called,
        },
        text: match line.act {
            LiveAct::Ran => of_shell(&line.text).to_owned(),
            _ => line.text.clone(),
        },
    };
    let step = |step: &PlanStep| {
        let progress = match step.state {
            StepState::Open => ui::StepProgress::Open,
            StepState::Active => ui::StepProgress::Active,
            StepState::Done => ui::StepProgress::Done,
        };
        (progress, step.text.clone())
    };
    ui::TurnView {
        is_running: live.is_running(),
        lines: live.lines().rev().map(line).collect(),
        left_out: live.left_out(),
        plan: live.plan().iter().map(step).collect(),
    }
}

/// What a shell was given: Codex runs each command by `/bin/bash -lc '…'` (0.169.0, observed). The
/// text itself where it is anything else.
fn of_shell(text: &str) -> &str {
    text.split_once(" -lc '")
        .filter(|(shell, _)| shell.starts_with('/') && !shell.contains(char::is_whitespace))
        .and_then(|(_, rest)| rest.strip_suffix('\''))
        .filter(|command| !command.contains('\''))
        .unwrap_or(text)
}

/// What an agent did lately, as far back as this session goes: of minutes before it nobody says that no
/// turn ran. Where nobody tells of it any more, no turn is said to run on.
fn activity(model: &Model, agent: &AgentSnapshot, now_ms: i64) -> Vec<ui::WorkedMinute> {
    let minutes = match model.link().is_live() {
        true => agent.activity_until(now_ms),
        false => agent.activity.until(now_ms),
    };
    let since = model.world.follows_since_ms;
    let told = since.map_or(ACTIVITY_MINUTES, |since| {
        RecentActivity::minutes_since(since, now_ms)
    });
    let minutes = minutes.into_iter().skip(ACTIVITY_MINUTES - told);
    let minutes = minutes.map(|minute| ui::WorkedMinute {
        worked: minute.worked,
        entries: u32::from(minute.entries),
    });
    minutes.collect()
}

/// A gauge needs both.
fn context(fill: &ContextFill) -> Option<ui::ContextUse> {
    let (used, window) = fill.used.zip(fill.window)?;
    Some(ui::ContextUse { used, window })
}

/// `none` is no rung.
fn rung(way: &DeliveryWay) -> String {
    match way {
        DeliveryWay::None => String::new(),
        way => way.to_string(),
    }
}

fn slow_start(model: &Model, agent: Agent, now_ms: i64) -> Option<String> {
    let started = *model.started.get(&agent)?;
    (now_ms - started >= SLOW_START_MS)
        .then(|| "started, not connected yet: look for its trust question".to_owned())
}

/// What keeps its turn from its model, while it is known to be in one.
fn retrying(codex: &CodexStatus, state: AgentState, now_ms: i64) -> Option<String> {
    let retrying = codex.retrying.as_ref();
    let retrying = retrying.filter(|_| matches!(state, AgentState::Busy | AgentState::Waiting))?;
    let since = running_for(now_ms, retrying.since);
    Some(format!("retrying for {since}: {}", retrying.why))
}

fn queue(lane: &LaneStatus) -> ui::QueueCounts {
    ui::QueueCounts {
        pending: small(lane.pending),
        in_flight: small(lane.in_flight),
        ambiguous: small(lane.ambiguous),
    }
}

#[cfg(test)]
mod tests {
    use super::{of_shell, retrying};
    use crate::core::agent::AgentState;
    use crate::wire::status::{CodexStatus, RetryStatus};

    #[test]
    fn a_turn_that_tries_its_model_again_says_for_how_long_and_why() {
        let codex = CodexStatus {
            retrying: Some(RetryStatus {
                why: "connection refused".to_owned(),
                since: 1_000,
            }),
            ..CodexStatus::default()
        };
        let said = |state| retrying(&codex, state, 121_000);
        let told = said(AgentState::Busy);
        assert_eq!(told.as_deref(), Some("retrying for 2m: connection refused"));
        assert_eq!(said(AgentState::Stale), None);
    }

    #[test]
    fn a_command_is_shown_without_the_shell_that_runs_it() {
        assert_eq!(of_shell("/bin/bash -lc 'cargo test'"), "cargo test");
        for other in [
            "cargo test",
            "/bin/bash -lc ls",
            "/bin/bash -lc 'cargo te…",
            "/bin/rm x -lc 'cargo test'",
            "/bin/bash -lc 'a' 'b'",
            "/bin/bash -lc '",
            "",
        ] {
            assert_eq!(of_shell(other), other);
        }
    }
}
