//! How messages reach Claude at the moment, for the operator to read.

use super::tools;
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryWay, Rung};
use crate::core::id::RuntimeSession;
use crate::daemon::deliveries::outbox::Outbox;
use crate::daemon::owners::{Agents, Base};
use crate::wire::control::DeliveryMode;
use crate::wire::status::DeliveryStatus;

impl Agents {
    /// What to do about an idle Claude of a pair whose monitor has ended, unless pushes reach it.
    pub(in crate::daemon) fn nothing_wakes_claude(
        &self,
        base: &Base,
        pair: &RuntimeSession,
    ) -> Option<String> {
        let process = base.clients.receiver(pair)?.hello.agent_pid?;
        let is_idle = !self.claude.state(pair)?.is_in_turn();
        let is_pushed_to = self.claude.ladder(pair)?.proven() == Some(Rung::Channel);
        let is_asleep = is_idle && !is_pushed_to;
        (is_asleep && self.claude_processes.is_monitor_off(process)).then(|| {
            format!(
                "{0}'s monitor has ended and {0} is idle: this waits until your operator prompts or \
                 restarts it",
                Agent::Claude.title()
            )
        })
    }

    /// How messages reach Claude now, in words.
    pub(in crate::daemon) fn claude_delivery(
        &self,
        base: &Base,
        outbox: &Outbox,
    ) -> DeliveryStatus {
        let default = RuntimeSession::default();
        let receiver = base.clients.receiver(&default).or_else(|| {
            base.clients
                .bridges()
                .map(|(_, bridge)| bridge)
                .find(|bridge| bridge.receiver)
        });
        let mode = receiver.map_or(DeliveryMode::Auto, |bridge| bridge.hello.mode);
        let pair = receiver.map_or(&default, |bridge| &bridge.hello.runtime_session_id);
        let Some((ladder, rung)) = self
            .claude
            .ladder(pair)
            .and_then(|ladder| Some((ladder, ladder.first_rung()?)))
        else {
            return DeliveryStatus {
                mode: mode.into(),
                rung: DeliveryWay::None,
                proven: false,
                why: tools::gone(&base.clients, &self.claude_processes, None).unwrap_or_else(
                    || "no Claude bridge is attached; messages wait here".to_owned(),
                ),
            };
        };
        let process = receiver.and_then(|bridge| bridge.hello.agent_pid);
        let is_monitor_off =
            process.is_some_and(|process| self.claude_processes.is_monitor_off(process));
        let mut why = match rung {
            Rung::Doorbell if receiver.is_none() => {
                "Claude's bridge died; messages still reach it by its doorbell and its hook"
            }
            Rung::Doorbell => {
                "the plugin's monitor wakes Claude, its hook hands the text into that turn"
            }
            Rung::Channel if mode == DeliveryMode::Push => {
                "CONTEXTRELAY_MODE=push: every message goes out as a channel notification first"
            }
            Rung::Channel if ladder.proven() == Some(Rung::Channel) => {
                "a message that was pushed as a channel notification was acknowledged"
            }
            Rung::Channel if is_monitor_off => {
                "the doorbell has ended; Claude never says whether a channel push arrived"
            }
            Rung::Channel => {
                "no doorbell is attached; Claude never says whether a channel push arrived"
            }
            Rung::Hooks if is_monitor_off => {
                "the doorbell has ended and a channel push had no effect: the text comes with \
                 Claude's next tool call, stop or prompt"
            }
            Rung::Hooks => {
                "no doorbell is attached and a channel push had no effect: the text comes with \
                 Claude's next tool call, stop or prompt"
            }
            Rung::Pull => "CONTEXTRELAY_MODE=pull: Claude asks by itself",
        }
        .to_owned();
        let since = receiver.map_or(0, |bridge| bridge.since_ms);
        let arrived_by = base
            .recorder
            .world()
            .agent(Agent::Claude)
            .proven_rung
            .as_ref()
            .filter(|(_, at_ms)| *at_ms >= since)
            .map(|(rung, _)| rung);
        let proven = ladder.proven() == Some(rung)
            || match (arrived_by, rung) {
                // The doorbell's line has no body: its turn's hook hands it over.
                (Some(by), Rung::Doorbell | Rung::Hooks) => *by == DeliveryWay::Hook,
                (Some(by), Rung::Pull) => *by == DeliveryWay::Pull,
                _ => false,
            };
        let tools_gone = tools::gone(&base.clients, &self.claude_processes, None);
        if let Some(gone) = &tools_gone {
            why = format!("{gone}. {why}");
        }
        // A way on which Claude cannot answer is not one that works.
        let proven = proven && tools_gone.is_none();
        if let Some(by) = arrived_by.filter(|_| !proven) {
            why = format!("{why}; the last message arrived by {by}");
        }
        let backlog = outbox.backlog();
        if let Some(worst) = backlog.worst_rung(pair).filter(|worst| *worst > rung) {
            why = match worst {
                Rung::Pull => format!("{why}; what had no effect so far waits until Claude asks"),
                _ => format!(
                    "{why}; what had no effect so far is tried by {}",
                    worst.as_str()
                ),
            };
        }
        DeliveryStatus {
            mode: mode.into(),
            rung: rung.into(),
            proven,
            why,
        }
    }
}
