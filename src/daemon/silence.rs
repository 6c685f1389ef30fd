//! [`Silences`]: turns that have fallen silent, for the status and the record. Nothing is ended
//! because of it: the operator has the keys.
//!
//! Codex's turns tell of themselves through the adapter, Claude's through its hooks and the tools
//! that it calls. Claude says nothing while it streams, nor that it was stopped with Esc (2.1.330,
//! observed).

use tokio::time::Instant;

use super::run::Daemon;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{ClaudeInput, Watchdog, Watched};
use crate::core::entry::ErrorCode;
use crate::core::envelope::age;
use crate::wire::config::Config;
use crate::wire::status::SilenceStatus;

/// What is watched of the two agents.
#[derive(Debug)]
pub(super) struct Silences {
    codex: Silence,
    claude: Silence,
}

/// One agent's turn.
#[derive(Debug)]
struct Silence {
    watchdog: Watchdog,
    silence_ms: i64,
    /// What the status said last.
    told: Watched,
    /// The record has it; once for each turn.
    is_recorded: bool,
}

impl Silence {
    fn new(silence_ms: i64) -> Self {
        Self {
            watchdog: Watchdog::new(silence_ms),
            silence_ms,
            told: Watched::Fine,
            is_recorded: false,
        }
    }

    fn set(&mut self, silence_ms: i64) {
        self.silence_ms = silence_ms;
        self.watchdog.set_silence(silence_ms);
    }
}

impl Default for Silences {
    fn default() -> Self {
        let [claude, codex] = silences_ms(&Config::default());
        Self {
            codex: Silence::new(codex),
            claude: Silence::new(claude),
        }
    }
}

impl Silences {
    fn of(&mut self, agent: Agent) -> &mut Silence {
        match agent {
            Agent::Claude => &mut self.claude,
            Agent::Codex => &mut self.codex,
        }
    }

    /// Whether a turn runs, as far as is known.
    pub(super) fn is_on(&self, agent: Agent) -> bool {
        match agent {
            Agent::Claude => self.claude.watchdog.is_on(),
            Agent::Codex => self.codex.watchdog.is_on(),
        }
    }
}

/// Claude's and Codex's, ms.
fn silences_ms(config: &Config) -> [i64; 2] {
    let watchdog = &config.watchdog;
    [
        watchdog.claude_silence_seconds.get(),
        watchdog.codex_silence_seconds.get(),
    ]
    .map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX / 4_000) * 1_000)
}

impl Daemon {
    /// Takes what the configuration says, for turns that run too.
    pub(super) fn set_silences(&mut self, config: &Config) {
        let [claude, codex] = silences_ms(config);
        self.silences.claude.set(claude);
        self.silences.codex.set(codex);
        self.look_at_silences();
    }

    /// A turn begins, or gives a sign.
    pub(super) fn turn_lives(&mut self, agent: Agent) {
        let now_ms = self.clock.now_ms();
        let silence = self.silences.of(agent);
        silence.watchdog.sign(now_ms);
        silence.is_recorded = false;
        self.look_at_silence(agent);
    }

    /// No turn runs any more.
    pub(super) fn turn_is_over(&mut self, agent: Agent) {
        let silence = self.silences.of(agent);
        silence.watchdog.over();
        silence.is_recorded = false;
        self.look_at_silence(agent);
    }

    /// A turn waits for the human, or no longer.
    pub(super) fn turn_waits(&mut self, agent: Agent, waits: bool) {
        let now_ms = self.clock.now_ms();
        self.silences.of(agent).watchdog.waits(waits, now_ms);
        self.look_at_silence(agent);
    }

    /// The operator lets a silent turn be. Returns whether there is one.
    pub(super) fn let_turn_be(&mut self, agent: Agent) -> bool {
        let now_ms = self.clock.now_ms();
        let silence = self.silences.of(agent);
        let is_silent = silence.watchdog.watched(now_ms) > Watched::Fine;
        if is_silent {
            silence.watchdog.snooze(now_ms);
            // What becomes of it after that is worth telling again.
            silence.is_recorded = false;
        }
        self.look_at_silence(agent);
        self.status_changed();
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
            | CodexFact::Unavailable { .. } => self.turn_is_over(Agent::Codex),
            CodexFact::TurnStarted { .. } | CodexFact::Sign => self.turn_lives(Agent::Codex),
            _ => {}
        }
    }

    /// When a silence is to be looked at again.
    pub(super) fn next_look_at_silence(&self) -> Option<Instant> {
        let now_ms = self.clock.now_ms();
        [&self.silences.claude, &self.silences.codex]
            .into_iter()
            .filter_map(|silence| {
                // Something else may have woken the loop in the very moment.
                let is_due = silence.watchdog.watched(now_ms) != silence.told;
                let next_ms = silence.watchdog.next_ms(now_ms);
                is_due.then_some(now_ms).or(next_ms)
            })
            .min()
            .map(|at_ms| self.clock.instant(at_ms))
    }

    pub(super) fn look_at_silences(&mut self) {
        for agent in Agent::ALL {
            self.look_at_silence(agent);
        }
    }

    fn look_at_silence(&mut self, agent: Agent) {
        let now_ms = self.clock.now_ms();
        let silence = self.silences.of(agent);
        let watched = silence.watchdog.watched(now_ms);
        let before = std::mem::replace(&mut silence.told, watched);
        if before == watched {
            return;
        }
        self.status_changed();
        let silence = self.silences.of(agent);
        if watched == Watched::Stuck && !std::mem::replace(&mut silence.is_recorded, true) {
            let silent_ms = silence.watchdog.silent_ms(now_ms).unwrap_or(0);
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
                self.claude_hears(ClaudeInput::Silent { why });
            }
            Agent::Codex => {
                self.note_fact(
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

    /// For the status.
    pub(super) fn silence_status(&self, agent: Agent) -> Option<SilenceStatus> {
        let now_ms = self.clock.now_ms();
        let silence = match agent {
            Agent::Claude => &self.silences.claude,
            Agent::Codex => &self.silences.codex,
        };
        let silent_ms = silence.watchdog.silent_ms(now_ms)?;
        let seconds = |ms: i64| u64::try_from(ms / 1_000).unwrap_or(0);
        Some(SilenceStatus {
            level: silence.watchdog.watched(now_ms),
            seconds: seconds(silent_ms),
            since: now_ms - silent_ms,
            suspect_after_seconds: seconds(silence.silence_ms),
            snoozed_until: silence.watchdog.snoozed_until(now_ms),
        })
    }
}
