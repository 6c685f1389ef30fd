//! What follows when a turn shows a sign of life, waits, or has fallen silent.

use tokio::time::Instant;

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{ClaudeInput, LaterInput};
use crate::core::entry::ErrorCode;
use crate::core::envelope::age;
use crate::core::id::{RuntimeSession, TurnId};
use crate::daemon::agents::silence::{SilenceStep, TurnOf};
use crate::daemon::owners::{Agents, Base};
use crate::wire::config::Config;

impl Agents {
    /// Takes what the configuration says, for turns that run too.
    pub(in crate::daemon) fn set_silences(&mut self, base: &mut Base, config: &Config) {
        self.silences.configure(config);
        self.look_at_silences(base);
    }

    /// A turn begins, or gives a sign.
    pub(in crate::daemon) fn turn_lives(&mut self, base: &mut Base, of: &TurnOf) {
        self.silences.lives(of, base.clock.now_ms());
        self.look_at_silence(base, of);
    }

    /// No turn runs any more.
    pub(in crate::daemon) fn turn_is_over(&mut self, base: &mut Base, of: &TurnOf) {
        self.silences.is_over(of);
        self.look_at_silence(base, of);
    }

    /// A turn waits for the human, or no longer.
    pub(in crate::daemon) fn turn_waits(&mut self, base: &mut Base, of: &TurnOf, waits: bool) {
        self.silences.waits(of, waits, base.clock.now_ms());
        self.look_at_silence(base, of);
    }

    /// A tool of Claude's has begun or ended: while one runs, its turn may be silent for longer.
    pub(in crate::daemon) fn watch_claudes_tools(
        &mut self,
        base: &mut Base,
        pair: &RuntimeSession,
    ) {
        let of = TurnOf::Claude(pair.clone());
        self.silences.runs_tool(&of, self.claude.runs_tool(pair));
        self.look_at_silence(base, &of);
    }

    /// The operator lets a silent turn be. Returns whether there is one.
    pub(in crate::daemon) fn snooze_turn(&mut self, base: &mut Base, agent: Agent) -> bool {
        let is_silent = self.silences.snooze(agent, base.clock.now_ms());
        self.look_at_silences(base);
        base.clients.status_changed();
        is_silent
    }

    /// Watches Codex's turn as the lane has it now. What somebody else told the turn, we ourselves
    /// above all, is no sign of it. `before`: the turn that ran until now.
    pub(in crate::daemon) fn watch_codex(&mut self, base: &mut Base, before: Option<TurnId>) {
        let turn = self.codex.running_turn();
        if turn != before {
            self.contexts.turn_ended(Agent::Codex);
            if turn.is_some() {
                self.shown_turn.begin();
                self.contexts.turn_began(Agent::Codex);
            }
        }
        let Some(waits) = self.codex.flow().state().turn_waits() else {
            self.shown_turn.is_over();
            return self.turn_is_over(base, &TurnOf::Codex);
        };
        let now_ms = base.clock.now_ms();
        self.silences.runs(&TurnOf::Codex, waits, now_ms);
    }

    /// Codex gives a sign, which is one of its turn where one runs: a command may outlive it.
    pub(in crate::daemon) fn codex_lives(&mut self, base: &mut Base) {
        if self.codex.flow().state().turn_waits().is_some() {
            self.turn_lives(base, &TurnOf::Codex);
        }
    }

    /// When a silence is to be looked at again.
    pub(in crate::daemon) fn next_look_at_silence(&self, base: &Base) -> Option<Instant> {
        let next_ms = self.silences.next_ms(base.clock.now_ms())?;
        Some(base.clock.instant(next_ms))
    }

    pub(in crate::daemon) fn look_at_silences(&mut self, base: &mut Base) {
        for of in self.silences.turns() {
            self.look_at_silence(base, &of);
        }
    }

    fn look_at_silence(&mut self, base: &mut Base, of: &TurnOf) {
        let Some(step) = self.silences.look(of, base.clock.now_ms()) else {
            return;
        };
        base.clients.status_changed();
        if let SilenceStep::Record { silent_ms } = step {
            base.append_silence(of, &age(silent_ms / 1_000));
        }
    }
}

impl Base {
    fn append_silence(&mut self, of: &TurnOf, silent: &str) {
        match of {
            TurnOf::Claude(pair) => {
                let why = format!(
                    "no sign of its turn for {silent}; stopped with Esc it says nothing, so it \
                     may be idle"
                );
                let silent = ClaudeInput::Silent { why };
                self.later.push(LaterInput::Claude(pair.clone(), silent));
            }
            TurnOf::Codex => {
                self.recorder.mention(
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
