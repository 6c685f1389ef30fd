//! [`Silences`]: turns that have fallen silent, for the status and the record. Nothing is ended
//! because of it: the operator has the keys.
//!
//! Codex's turns tell of themselves through the adapter, Claude's through its hooks and the tools
//! that it calls. Claude says nothing while it streams, nor that it was stopped with Esc (2.1.330,
//! observed).

use crate::core::agent::Agent;
use crate::core::delivery::{Watchdog, Watched};
use crate::wire::config::Config;
use crate::wire::status::SilenceStatus;

/// What is watched of the two agents.
#[derive(Debug)]
pub(super) struct Silences {
    codex: Silence,
    claude: Silence,
}

/// What is to be done about a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SilenceStep {
    /// The status says something else now.
    Show,
    /// That, and the record is to have it; once for each turn.
    Record {
        /// For how long nothing was heard, ms.
        silent_ms: i64,
    },
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
    /// Takes what the configuration says, for turns that run too.
    pub(super) fn configure(&mut self, config: &Config) {
        let [claude, codex] = silences_ms(config);
        self.claude.set(claude);
        self.codex.set(codex);
    }

    /// A turn begins, or gives a sign.
    pub(super) fn lives(&mut self, agent: Agent, now_ms: i64) {
        let silence = self.of(agent);
        silence.watchdog.sign(now_ms);
        silence.is_recorded = false;
    }

    /// No turn runs any more.
    pub(super) fn is_over(&mut self, agent: Agent) {
        let silence = self.of(agent);
        silence.watchdog.over();
        silence.is_recorded = false;
    }

    /// A turn waits for the human, or no longer.
    pub(super) fn waits(&mut self, agent: Agent, waits: bool, now_ms: i64) {
        self.of(agent).watchdog.waits(waits, now_ms);
    }

    /// The operator lets a silent turn be. Returns whether there is one.
    pub(super) fn snooze(&mut self, agent: Agent, now_ms: i64) -> bool {
        let silence = self.of(agent);
        let is_silent = silence.watchdog.watched(now_ms) > Watched::Fine;
        if is_silent {
            silence.watchdog.snooze(now_ms);
            // What becomes of it after that is worth telling again.
            silence.is_recorded = false;
        }
        is_silent
    }

    /// How a turn is now, where that is something else than was told last.
    pub(super) fn look(&mut self, agent: Agent, now_ms: i64) -> Option<SilenceStep> {
        let silence = self.of(agent);
        let watched = silence.watchdog.watched(now_ms);
        if std::mem::replace(&mut silence.told, watched) == watched {
            return None;
        }
        if watched == Watched::Stuck && !std::mem::replace(&mut silence.is_recorded, true) {
            let silent_ms = silence.watchdog.silent_ms(now_ms).unwrap_or(0);
            return Some(SilenceStep::Record { silent_ms });
        }
        Some(SilenceStep::Show)
    }

    /// Whether a turn runs, as far as is known.
    pub(super) fn is_on(&self, agent: Agent) -> bool {
        self.get(agent).watchdog.is_on()
    }

    /// When a turn is to be looked at again, ms.
    pub(super) fn next_ms(&self, now_ms: i64) -> Option<i64> {
        [&self.claude, &self.codex]
            .into_iter()
            .filter_map(|silence| {
                // Something else may have woken the loop in the very moment.
                let is_due = silence.watchdog.watched(now_ms) != silence.told;
                let next_ms = silence.watchdog.next_ms(now_ms);
                is_due.then_some(now_ms).or(next_ms)
            })
            .min()
    }

    /// For the status; `None` without a turn.
    pub(super) fn status(&self, agent: Agent, now_ms: i64) -> Option<SilenceStatus> {
        let silence = self.get(agent);
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

    fn of(&mut self, agent: Agent) -> &mut Silence {
        match agent {
            Agent::Claude => &mut self.claude,
            Agent::Codex => &mut self.codex,
        }
    }

    fn get(&self, agent: Agent) -> &Silence {
        match agent {
            Agent::Claude => &self.claude,
            Agent::Codex => &self.codex,
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
