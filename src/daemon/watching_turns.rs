//! What follows from a turn that lives, waits or has fallen silent.

use tokio::time::Instant;

use super::owners::Daemon;
use super::silence::SilenceStep;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{ClaudeInput, LaterInput};
use crate::core::entry::ErrorCode;
use crate::core::envelope::age;
use crate::wire::config::Config;

impl Daemon {
    /// Takes what the configuration says, for turns that run too.
    pub(super) fn set_silences(&mut self, config: &Config) {
        self.silences.configure(config);
        self.look_at_silences();
    }

    /// A turn begins, or gives a sign.
    pub(super) fn turn_lives(&mut self, agent: Agent) {
        self.silences.lives(agent, self.clock.now_ms());
        self.look_at_silence(agent);
    }

    /// No turn runs any more.
    pub(super) fn turn_is_over(&mut self, agent: Agent) {
        self.silences.is_over(agent);
        self.look_at_silence(agent);
    }

    /// A turn waits for the human, or no longer.
    pub(super) fn turn_waits(&mut self, agent: Agent, waits: bool) {
        self.silences.waits(agent, waits, self.clock.now_ms());
        self.look_at_silence(agent);
    }

    /// The operator lets a silent turn be. Returns whether there is one.
    pub(super) fn let_turn_be(&mut self, agent: Agent) -> bool {
        let is_silent = self.silences.snooze(agent, self.clock.now_ms());
        self.look_at_silence(agent);
        self.clients.status_changed();
        is_silent
    }

    /// What the adapter tells says whether the turn lives. What somebody else told the turn, we
    /// ourselves above all, is no sign of it.
    pub(super) fn watch_codex(&mut self, fact: &CodexFact) {
        match fact {
            CodexFact::ThreadStatus {
                status: ReportedStatus::Active { waiting },
            } => {
                if !self.silences.is_on(Agent::Codex) {
                    self.turn_lives(Agent::Codex);
                }
                self.turn_waits(Agent::Codex, *waiting);
            }
            CodexFact::ThreadStatus { .. }
            | CodexFact::TurnCompleted { .. }
            | CodexFact::ServerLost { .. }
            | CodexFact::Unavailable { .. } => {
                self.shown_turn.is_over();
                self.turn_is_over(Agent::Codex);
            }
            CodexFact::TurnStarted { .. } => {
                self.shown_turn.begin();
                self.turn_lives(Agent::Codex);
            }
            // A command may outlive its turn.
            CodexFact::Sign if self.silences.is_on(Agent::Codex) => self.turn_lives(Agent::Codex),
            CodexFact::ThreadAdopted { .. } => self.shown_turn.forget(),
            _ => {}
        }
    }

    /// When a silence is to be looked at again.
    pub(super) fn next_look_at_silence(&self) -> Option<Instant> {
        let next_ms = self.silences.next_ms(self.clock.now_ms())?;
        Some(self.clock.instant(next_ms))
    }

    pub(super) fn look_at_silences(&mut self) {
        for agent in Agent::ALL {
            self.look_at_silence(agent);
        }
    }

    fn look_at_silence(&mut self, agent: Agent) {
        let Some(step) = self.silences.look(agent, self.clock.now_ms()) else {
            return;
        };
        self.clients.status_changed();
        if let SilenceStep::Record { silent_ms } = step {
            self.record_silence(agent, &age(silent_ms / 1_000));
        }
    }

    fn record_silence(&mut self, agent: Agent, silent: &str) {
        match agent {
            Agent::Claude => {
                let why = format!(
                    "no sign of its turn for {silent}; stopped with Esc it says nothing, so it \
                     may be idle"
                );
                self.later
                    .push(LaterInput::Claude(ClaudeInput::Silent { why }));
            }
            Agent::Codex => {
                self.recorder.note_fact(
                    Party::System,
                    ErrorCode::TurnSilent,
                    format!(
                        "no sign of Codex's turn for {silent}: look at it, let it be, or stop it \
                         from the deck; nothing is stopped by itself"
                    ),
                );
            }
        }
    }
}
