//! [`Silences`]: turns that have fallen silent, for the status and the record. Silence ends
//! nothing: that is for the operator. Each agent's own state says whether a turn runs and whether
//! it waits for the human.
//!
//! Codex's turns report through the adapter, Claude's through its hooks and the tools that it
//! calls. Claude reports nothing while it streams, nor that it was stopped with Esc (2.1.330,
//! observed).

use std::collections::BTreeMap;

use crate::core::agent::Agent;
use crate::core::delivery::{Watchdog, Watched};
use crate::core::id::RuntimeSession;
use crate::wire::config::Config;
use crate::wire::status::SilenceStatus;

/// Whose turn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::daemon) enum TurnOf {
    /// The Claude of a pair.
    Claude(RuntimeSession),
    Codex,
}

impl TurnOf {
    fn agent(&self) -> Agent {
        match self {
            Self::Claude(_) => Agent::Claude,
            Self::Codex => Agent::Codex,
        }
    }
}

/// What is watched of the agents.
#[derive(Debug)]
pub(in crate::daemon) struct Silences {
    /// Turns that run, and those of which the status still says that they do.
    turns: BTreeMap<TurnOf, Silence>,
    claude_ms: i64,
    codex_ms: i64,
}

/// What is to be done about a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::daemon) enum SilenceStep {
    /// The status says something else now.
    Show,
    /// That, and the record is to have it; once for each turn.
    Record {
        /// For how long nothing was heard, ms.
        silent_ms: i64,
    },
}

/// One turn.
#[derive(Debug)]
struct Silence {
    watchdog: Watchdog,
    last_reported: Watched,
    /// The record has it; once for each turn.
    is_recorded: bool,
}

impl Silence {
    fn new(silence_ms: i64) -> Self {
        Self {
            watchdog: Watchdog::new(silence_ms),
            last_reported: Watched::Fine,
            is_recorded: false,
        }
    }
}

impl Default for Silences {
    fn default() -> Self {
        let [claude_ms, codex_ms] = silences_ms(&Config::default());
        Self {
            turns: BTreeMap::new(),
            claude_ms,
            codex_ms,
        }
    }
}

impl Silences {
    /// Takes what the configuration says, for turns that run too.
    pub(in crate::daemon) fn configure(&mut self, config: &Config) {
        [self.claude_ms, self.codex_ms] = silences_ms(config);
        for (of, silence) in &mut self.turns {
            silence.watchdog.set_silence(match of.agent() {
                Agent::Claude => self.claude_ms,
                Agent::Codex => self.codex_ms,
            });
        }
    }

    /// A turn begins, or gives a sign.
    pub(in crate::daemon) fn lives(&mut self, of: &TurnOf, now_ms: i64) {
        let silence_ms = match of.agent() {
            Agent::Claude => self.claude_ms,
            Agent::Codex => self.codex_ms,
        };
        let silence = self.turns.entry(of.clone());
        let silence = silence.or_insert_with(|| Silence::new(silence_ms));
        silence.watchdog.sign(now_ms);
        silence.is_recorded = false;
    }

    /// A turn runs, and waits for the human or not: no sign of it, but the first time.
    pub(in crate::daemon) fn runs(&mut self, of: &TurnOf, waits: bool, now_ms: i64) {
        if !self.turns.contains_key(of) {
            self.lives(of, now_ms);
        }
        self.waits(of, waits, now_ms);
    }

    /// No turn runs any more.
    pub(in crate::daemon) fn is_over(&mut self, of: &TurnOf) {
        if let Some(silence) = self.turns.get_mut(of) {
            silence.watchdog.over();
            silence.is_recorded = false;
        }
    }

    /// A turn waits for the human, or no longer.
    pub(in crate::daemon) fn waits(&mut self, of: &TurnOf, waits: bool, now_ms: i64) {
        if let Some(silence) = self.turns.get_mut(of) {
            silence.watchdog.waits(waits, now_ms);
        }
    }

    /// A tool of a turn runs, or none does any more: it may be silent for longer.
    pub(in crate::daemon) fn runs_tool(&mut self, of: &TurnOf, runs: bool) {
        if let Some(silence) = self.turns.get_mut(of) {
            silence.watchdog.runs_tool(runs);
        }
    }

    /// The operator lets an agent's silent turns be. Returns whether there is one.
    pub(in crate::daemon) fn snooze(&mut self, agent: Agent, now_ms: i64) -> bool {
        let mut is_any_silent = false;
        let of_agent = |(of, _): &(&TurnOf, &mut Silence)| of.agent() == agent;
        for (_, silence) in self.turns.iter_mut().filter(of_agent) {
            if silence.watchdog.watched(now_ms) > Watched::Fine {
                is_any_silent = true;
                silence.watchdog.snooze(now_ms);
                // What becomes of it after that is worth telling again.
                silence.is_recorded = false;
            }
        }
        is_any_silent
    }

    /// The turns that may be something else than what was reported last.
    pub(in crate::daemon) fn turns(&self) -> Vec<TurnOf> {
        self.turns.keys().cloned().collect()
    }

    /// How a turn is now, where that is something else than what was reported last.
    pub(in crate::daemon) fn look(&mut self, of: &TurnOf, now_ms: i64) -> Option<SilenceStep> {
        let silence = self.turns.get_mut(of)?;
        let watched = silence.watchdog.watched(now_ms);
        let last_reported = std::mem::replace(&mut silence.last_reported, watched);
        if watched == Watched::Stuck
            && last_reported != watched
            && !std::mem::replace(&mut silence.is_recorded, true)
        {
            let silent_ms = silence.watchdog.silent_ms(now_ms).unwrap_or(0);
            return Some(SilenceStep::Record { silent_ms });
        }
        if !silence.watchdog.is_on() {
            self.turns.remove(of);
        }
        (last_reported != watched).then_some(SilenceStep::Show)
    }

    /// When a turn is to be looked at again, ms.
    pub(in crate::daemon) fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let turns = self.turns.values();
        let next_ms = turns.filter_map(|silence| {
            // Something else may have woken the loop in the very moment.
            let is_due = silence.watchdog.watched(now_ms) != silence.last_reported;
            let next_ms = silence.watchdog.next_ms(now_ms);
            is_due.then_some(now_ms).or(next_ms)
        });
        next_ms.min()
    }

    /// For the status, the most silent of an agent's turns; `None` without a turn.
    pub(in crate::daemon) fn status(&self, agent: Agent, now_ms: i64) -> Option<SilenceStatus> {
        let turns = self.turns.iter().filter(|(of, _)| of.agent() == agent);
        let silent = turns.filter_map(|(_, silence)| {
            let silent_ms = silence.watchdog.silent_ms(now_ms)?;
            Some((silence.watchdog.watched(now_ms), silent_ms, silence))
        });
        let (level, silent_ms, silence) =
            silent.max_by_key(|(level, silent_ms, _)| (*level, *silent_ms))?;
        let seconds = |ms: i64| u64::try_from(ms / 1_000).unwrap_or(0);
        Some(SilenceStatus {
            level,
            seconds: seconds(silent_ms),
            since: now_ms - silent_ms,
            suspect_after_seconds: seconds(silence.watchdog.silence_ms()),
            snoozed_until: silence.watchdog.snoozed_until(now_ms),
        })
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
