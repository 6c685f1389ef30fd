//! [`missing`]: what the pair still needs in order to work, for the key that shows it.

use ctxrelay_ui::model as ui;

use super::notice_about::about;
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryWay;
use crate::deck::party::agent_of;
use crate::wire::status::Status;

/// What keeps the pair from working, and what is there already; and whatever the daemon has to say.
pub(super) fn missing(status: &Status) -> Vec<ui::FirstStep> {
    let mut steps: Vec<ui::FirstStep> = of_pair(status).into_iter().map(|of| of.step).collect();
    let notices = status.notices.iter().enumerate();
    steps.extend(notices.map(|(at, notice)| {
        // A daemon of an earlier build names none.
        let key = status.notice_keys.get(at);
        ui::FirstStep {
            text: notice.clone(),
            command: about(key).command.to_owned(),
            act: ui::StepAct::Beside,
            done: false,
        }
    }));
    steps
}

/// What a step of the pair is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairNeed {
    /// An agent only has to be started.
    Start,
    /// Its program is not there.
    Install,
    /// Nothing wakes Claude.
    Wake,
}

pub(super) struct PairStep {
    pub(super) need: PairNeed,
    pub(super) step: ui::FirstStep,
}

/// Both agents, and what wakes Claude.
pub(super) fn of_pair(status: &Status) -> Vec<PairStep> {
    let agents = &status.agents;
    let mut steps: Vec<PairStep> = Agent::ALL
        .into_iter()
        .map(|agent| {
            let (installed, package) = match agent {
                Agent::Claude => (agents.claude.installed, "@anthropic-ai/claude-code"),
                Agent::Codex => (agents.codex.installed, "@openai/codex"),
            };
            let done = status.is_attached(agent);
            if installed || done {
                let step = ui::FirstStep {
                    text: format!("Start {}", agent.title()),
                    command: format!("ctxrelay {agent}"),
                    act: ui::StepAct::Start(agent_of(agent)),
                    done,
                };
                let need = PairNeed::Start;
                PairStep { need, step }
            } else {
                let step = ui::FirstStep {
                    text: format!("{} is not installed", agent.title()),
                    command: format!("npm install -g {package}"),
                    act: ui::StepAct::Copy,
                    done: false,
                };
                let need = PairNeed::Install;
                PairStep { need, step }
            }
        })
        .collect();
    let wakes = &agents.claude.delivery;
    if status.is_attached(Agent::Claude)
        && matches!(wakes.rung, DeliveryWay::Hook | DeliveryWay::Pull)
    {
        let step = ui::FirstStep {
            text: format!("Nothing wakes Claude Code: {}", wakes.why),
            command: "ctxrelay claude".to_owned(),
            act: ui::StepAct::Copy,
            done: false,
        };
        let need = PairNeed::Wake;
        steps.push(PairStep { need, step });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::agent::AgentState;
    use crate::wire::status::NoticeKey;

    fn whole() -> Status {
        let mut status = Status::default();
        status.agents.claude.installed = true;
        status.agents.claude.state = AgentState::Idle;
        status.agents.claude.delivery.rung = DeliveryWay::Doorbell;
        status.agents.codex.installed = true;
        status.agents.codex.tui = true;
        status
    }

    fn open(status: &Status) -> Vec<(String, String)> {
        missing(status)
            .into_iter()
            .filter(|step| !step.done)
            .map(|step| (step.text, step.command))
            .collect()
    }

    fn pair(text: &str, command: &str) -> (String, String) {
        (text.to_owned(), command.to_owned())
    }

    #[test]
    fn nothing_is_missing_where_both_agents_are_reached_and_all_is_quiet() {
        assert_eq!(open(&whole()), []);
    }

    #[test]
    fn an_agent_that_is_not_there_is_missing_with_the_way_to_get_it() {
        let mut status = whole();
        status.agents.claude.state = AgentState::Offline;
        status.agents.codex.installed = false;
        status.agents.codex.tui = false;
        assert_eq!(
            open(&status),
            [
                pair("Start Claude", "ctxrelay claude"),
                pair("Codex is not installed", "npm install -g @openai/codex"),
            ]
        );
    }

    #[test]
    fn a_claude_that_nothing_wakes_and_what_the_daemon_says_are_missing_too() {
        let mut status = whole();
        status.agents.claude.delivery.rung = DeliveryWay::Hook;
        status.agents.claude.delivery.why = "no monitor is attached".to_owned();
        status.notices = vec![
            "config.json: gates waits for your trust".to_owned(),
            "somebody named a file `ctxrelay kill`".to_owned(),
            "of an earlier build: `ctxrelay kill`".to_owned(),
        ];
        status.notice_keys = vec![NoticeKey::ConfigTrust, NoticeKey::Disk];
        assert_eq!(
            open(&status),
            [
                pair(
                    "Nothing wakes Claude Code: no monitor is attached",
                    "ctxrelay claude"
                ),
                pair(&status.notices[0], "ctxrelay trust"),
                pair(&status.notices[1], ""),
                pair(&status.notices[2], ""),
            ]
        );
    }
}
