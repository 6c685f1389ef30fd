//! What the adapter tells of the app-server, its thread and the terminal, taken into the lane.

use tokio::time::Instant;

use super::RECOVERY_WAIT;
use super::turns::TurnEnd;
use crate::adapters::codex::fact::{CodexFact, ThreadStatus};
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::{Delivery, DeliveryFact, OnBusy};
use crate::core::entry::{AgentChanged, EntryKind};
use crate::core::id::{EntryId, ThreadId};
use crate::daemon::run::Daemon;
use crate::wire::status::AppServerStatus;

impl Daemon {
    pub(in crate::daemon) fn on_codex(&mut self, fact: CodexFact) {
        match fact {
            CodexFact::ServerStarted { pid, version, port } => {
                self.codex.server = Some(AppServerStatus { pid, version });
                self.codex.port = Some(port);
                self.know_agent(pid);
                self.codex.unavailable = false;
                self.codex.not_taken = None;
                self.codex.trouble = None;
                self.codex.resting_until = None;
                self.notices.clear("codex");
                self.status_changed();
            }
            CodexFact::ServerLost { why, gave_up } => self.server_lost(&why, gave_up),
            CodexFact::Unavailable { code, why } => {
                self.codex.server = None;
                self.codex.status = None;
                self.codex.unavailable = true;
                if self.notices.set("codex", why.clone()) {
                    self.note_fact(Party::System, EntryKind::Error { code }, why.clone());
                }
                self.rest(&why);
            }
            CodexFact::ThreadAdopted { thread_id } => self.thread_adopted(thread_id),
            CodexFact::ThreadStatus { status } => self.thread_status(status),
            CodexFact::TurnStarted { turn_id, .. } => {
                self.codex.turn = Some(turn_id);
                self.status_changed();
            }
            CodexFact::UserMessage {
                turn_id,
                client_id,
                preview,
                steered,
            } => self.user_message(turn_id, client_id, &preview, steered),
            CodexFact::TurnCompleted {
                thread_id,
                turn_id,
                status,
                final_answer,
                client_ids,
                error,
                usage_limited,
            } => self.turn_completed(
                TurnEnd {
                    thread_id,
                    turn_id,
                    status,
                    error,
                    usage_limited,
                },
                final_answer,
                &client_ids,
            ),
            CodexFact::Queued { message_id } => {
                self.codex.trouble = None;
                self.held(message_id);
            }
            CodexFact::StillQueued { message_id } => {
                // An idle thread that leaves its queue alone was stopped by the human.
                self.codex.trouble = (self.codex.state() == AgentState::Idle)
                    .then(|| "a message waits for your next message in Codex".to_owned());
                self.held(message_id);
            }
            CodexFact::NotTaken { message_id, why } => self.not_taken(message_id, &why),
            CodexFact::Unanswered { message_id } => {
                tracing::info!(%message_id, "codex went away before it answered; recovery will tell");
                let until = Instant::now() + RECOVERY_WAIT;
                self.codex.unanswered.insert(message_id, until);
            }
            CodexFact::Tui { attached, pid } => self.tui(attached, pid),
            CodexFact::ProxyRefused { count } => {
                if self.notices.set(
                    "proxy",
                    "somebody came to the Codex proxy with a wrong token; start the terminal with `ctxrelay codex`",
                ) {
                    self.note_fact(
                        Party::System,
                        EntryKind::Error {
                            code: "proxy_refused".to_owned(),
                        },
                        format!("refused {count} connection(s) to the Codex proxy: wrong token"),
                    );
                    self.status_changed();
                }
            }
            CodexFact::ContextUsed { used, window } => {
                self.codex.context = Some((used, window));
                self.status_changed();
            }
            CodexFact::ApprovalsPending { count } => {
                self.codex.approvals = count;
                self.status_changed();
            }
        }
    }

    /// The app-server has it in its queue.
    pub(super) fn held(&mut self, id: EntryId) {
        let _ = self.apply(&id, DeliveryFact::Offered);
        self.codex.landed(&id);
        self.codex.not_taken = None;
        if self.outbox.get(&id).is_some() {
            self.codex.in_flight.push(id);
        }
        self.status_changed();
        // What is to join the running turn may overtake it.
        self.pump_codex();
    }

    pub(super) fn not_taken(&mut self, id: EntryId, why: &str) {
        tracing::info!(message_id = %id, why, "codex did not take a message");
        self.codex.landed(&id);
        let rejects = |row: &Delivery| row.on_busy == OnBusy::Reject;
        if self.codex.is_busy() && self.outbox.get(&id).is_some_and(rejects) {
            return self.reject_late(id);
        }
        let _ = self.apply(&id, DeliveryFact::NotTaken);
        let twice = self.codex.not_taken.as_ref() == Some(&id);
        self.codex.not_taken = Some(id);
        // Once more at once: the conversation may have moved on. A message that is refused again
        // would be offered and refused for ever.
        if self.codex.server.is_some() && !twice {
            self.pump_codex();
        } else {
            self.rest(why);
        }
    }

    /// Codex works again after a usage limit.
    pub(super) fn limit_is_over(&mut self) {
        if !std::mem::replace(&mut self.codex.limited, false) {
            return;
        }
        let state = self.codex.state();
        self.note_fact(
            Party::System,
            EntryKind::AgentChanged(AgentChanged {
                agent: Agent::Codex,
                state,
                pid: None,
                thread_id: None,
                why: None,
            }),
            "Codex works again: the usage limit is over",
        );
    }

    pub(super) fn server_lost(&mut self, why: &str, gave_up: bool) {
        if let Some(server) = self.codex.server.take() {
            self.known_agent_pids.remove(&server.pid);
            self.note_fact(
                Party::System,
                EntryKind::AgentChanged(AgentChanged {
                    agent: Agent::Codex,
                    state: AgentState::Offline,
                    pid: None,
                    thread_id: None,
                    why: Some(why.to_owned()),
                }),
                format!("the codex app-server is gone: {why}"),
            );
        }
        self.codex.status = None;
        self.codex.turn = None;
        self.codex.port = None;
        self.codex.approvals = 0;
        if gave_up {
            self.codex.unavailable = true;
            self.rest(why);
        }
        self.status_changed();
    }

    pub(super) fn thread_adopted(&mut self, thread_id: ThreadId) {
        let known = self.world.agent(Agent::Codex);
        let changed = known.thread_id.as_ref() != Some(&thread_id) || !known.state.is_attached();
        self.codex.thread = Some(thread_id.clone());
        // Another conversation may take what this one refused.
        self.codex.not_taken = None;
        self.codex.resting_until = None;
        if changed {
            let pid = self.codex.server.as_ref().map(|server| server.pid);
            self.note_fact(
                Party::System,
                EntryKind::AgentChanged(AgentChanged {
                    agent: Agent::Codex,
                    state: AgentState::Idle,
                    pid,
                    thread_id: Some(thread_id.clone()),
                    why: None,
                }),
                format!("Codex works on thread {thread_id}"),
            );
        }
        self.status_changed();
        self.pump_codex();
    }

    pub(super) fn thread_status(&mut self, status: ThreadStatus) {
        let was = self.codex.state();
        self.codex.status = Some(status);
        if !self.codex.is_busy() {
            self.codex.turn = None;
        }
        let now = self.codex.state();
        if was != now && (was == AgentState::Waiting || now == AgentState::Waiting) {
            self.note_fact(
                Party::System,
                EntryKind::AgentChanged(AgentChanged {
                    agent: Agent::Codex,
                    state: now,
                    pid: None,
                    thread_id: None,
                    why: None,
                }),
                match now {
                    AgentState::Waiting => "Codex waits for an approval or an answer",
                    _ => "Codex goes on",
                },
            );
        }
        self.status_changed();
        self.pump_codex();
    }

    pub(super) fn tui(&mut self, attached: bool, pid: Option<u32>) {
        if let Some(pid) = pid {
            if attached {
                self.know_agent(pid);
            } else {
                self.known_agent_pids.remove(&pid);
            }
        }
        if attached {
            self.notices.clear("proxy");
        }
        if self.codex.tui != attached {
            self.codex.tui = attached;
            self.codex.tui_pid = pid;
            self.note_fact(
                Party::System,
                EntryKind::Lifecycle {
                    event: if attached {
                        "codex_tui_attached"
                    } else {
                        "codex_tui_left"
                    }
                    .to_owned(),
                },
                if attached {
                    "the Codex terminal attached"
                } else {
                    "the Codex terminal left"
                },
            );
        }
        if attached && self.codex.resting_until.take().is_some() {
            self.pump_codex();
        }
        self.status_changed();
    }
}
