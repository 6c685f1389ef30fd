//! What follows from a turn that lives, waits or has fallen silent.

use tokio::time::Instant;

use super::owners::Daemon;
use super::silence::{SilenceStep, TurnOf};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{ClaudeInput, LaterInput};
use crate::core::entry::ErrorCode;
use crate::core::envelope::age;
use crate::wire::config::Config;

impl Daemon {
    /// Takes what the configuration says, for turns that run too.
    pub(super) fn set_silences(&mut self, config: &Config) {
        self.agents.silences.configure(config);
        self.look_at_silences();
    }

    /// A turn begins, or gives a sign.
    pub(super) fn turn_lives(&mut self, of: &TurnOf) {
        self.agents.silences.lives(of, self.base.clock.now_ms());
        self.look_at_silence(of);
    }

    /// No turn runs any more.
    pub(super) fn turn_is_over(&mut self, of: &TurnOf) {
        self.agents.silences.is_over(of);
        self.look_at_silence(of);
    }

    /// A turn waits for the human, or no longer.
    pub(super) fn turn_waits(&mut self, of: &TurnOf, waits: bool) {
        self.agents
            .silences
            .waits(of, waits, self.base.clock.now_ms());
        self.look_at_silence(of);
    }

    /// The operator lets a silent turn be. Returns whether there is one.
    pub(super) fn let_turn_be(&mut self, agent: Agent) -> bool {
        let is_silent = self.agents.silences.snooze(agent, self.base.clock.now_ms());
        self.look_at_silences();
        self.base.clients.status_changed();
        is_silent
    }

    /// What the adapter tells says whether the turn lives. What somebody else told the turn, we
    /// ourselves above all, is no sign of it.
    pub(super) fn watch_codex(&mut self, fact: &CodexFact) {
        match fact {
            CodexFact::ThreadStatus {
                status: ReportedStatus::Active { waiting },
            } => {
                if !self.agents.silences.is_on(&TurnOf::Codex) {
                    self.turn_lives(&TurnOf::Codex);
                }
                self.turn_waits(&TurnOf::Codex, *waiting);
            }
            CodexFact::ThreadStatus { .. }
            | CodexFact::TurnCompleted { .. }
            | CodexFact::ServerLost { .. }
            | CodexFact::Unavailable { .. } => {
                self.agents.shown_turn.is_over();
                self.turn_is_over(&TurnOf::Codex);
            }
            CodexFact::TurnStarted { .. } => {
                self.agents.shown_turn.begin();
                self.turn_lives(&TurnOf::Codex);
            }
            // A command may outlive its turn.
            CodexFact::Sign if self.agents.silences.is_on(&TurnOf::Codex) => {
                self.turn_lives(&TurnOf::Codex);
            }
            CodexFact::ThreadAdopted { .. } => self.agents.shown_turn.forget(),
            _ => {}
        }
    }

    /// When a silence is to be looked at again.
    pub(super) fn next_look_at_silence(&self) -> Option<Instant> {
        let next_ms = self.agents.silences.next_ms(self.base.clock.now_ms())?;
        Some(self.base.clock.instant(next_ms))
    }

    pub(super) fn look_at_silences(&mut self) {
        for of in self.agents.silences.turns() {
            self.look_at_silence(&of);
        }
    }

    fn look_at_silence(&mut self, of: &TurnOf) {
        let Some(step) = self.agents.silences.look(of, self.base.clock.now_ms()) else {
            return;
        };
        self.base.clients.status_changed();
        if let SilenceStep::Record { silent_ms } = step {
            self.record_silence(of, &age(silent_ms / 1_000));
        }
    }

    fn record_silence(&mut self, of: &TurnOf, silent: &str) {
        match of {
            TurnOf::Claude(pair) => {
                let why = format!(
                    "no sign of its turn for {silent}; stopped with Esc it says nothing, so it \
                     may be idle"
                );
                let silent = ClaudeInput::Silent { why };
                self.base
                    .later
                    .push(LaterInput::Claude(pair.clone(), silent));
            }
            TurnOf::Codex => {
                self.base.recorder.note_fact(
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
