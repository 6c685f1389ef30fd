//! [`Watchdog`]: whether a turn has fallen silent, judged only by its own signs of life.
//!
//! Decides what is shown. It ends nothing: that is for the operator.

use crate::word::words;

words! {
    /// What is shown of a turn.
    #[derive(PartialOrd, Ord, Default)]
    pub closed enum Watched {
        /// No turn runs, or it gives signs.
        #[default]
        Fine = "fine",
        /// Nothing for a while.
        Quiet = "quiet",
        /// Nothing for as long as is usual at most.
        Suspect = "suspect",
        /// Nothing for twice that.
        Stuck = "stuck",
    }
}

/// While a tool is known to run, a turn may be silent for so many times as long. Most tools end by
/// themselves within minutes, a helper that is waited for may take an hour, and what never ends is
/// to be told of too.
const TOOL_PATIENCE: i64 = 3;

/// Watches one agent's turn.
#[derive(Debug)]
pub struct Watchdog {
    silence_ms: i64,
    /// A tool of the turn has begun and not ended, as far as is known.
    runs_tool: bool,
    /// Since when the turn gives no sign, ms; `None` without a turn. Moves on while it waits for
    /// the human.
    silent_since: Option<i64>,
    /// Since when it waits for an approval or an answer.
    waiting_since: Option<i64>,
    /// The operator has snoozed the alert until then, ms.
    snoozed_until: Option<i64>,
}

impl Watchdog {
    /// A turn is suspect after this silence, quiet after a fifth of it, stuck after twice as much.
    pub fn new(silence_ms: i64) -> Self {
        Self {
            silence_ms,
            runs_tool: false,
            silent_since: None,
            waiting_since: None,
            snoozed_until: None,
        }
    }

    /// The silence after which the turn is suspect as it is now, ms.
    pub fn silence_ms(&self) -> i64 {
        match self.runs_tool {
            true => self.silence_ms.saturating_mul(TOOL_PATIENCE),
            false => self.silence_ms,
        }
    }

    /// Another silence counts from now on, for the turn that runs too.
    pub fn set_silence(&mut self, silence_ms: i64) {
        self.silence_ms = silence_ms;
    }

    /// A tool of the turn runs, or none does any more.
    pub fn runs_tool(&mut self, runs: bool) {
        self.runs_tool = runs;
    }

    /// The turn began or did something. That we steered it is no sign of its life.
    pub fn sign(&mut self, now_ms: i64) {
        self.silent_since = Some(now_ms);
        self.snoozed_until = None;
        if self.waiting_since.is_some() {
            self.waiting_since = Some(now_ms);
        }
    }

    /// No turn runs.
    pub fn over(&mut self) {
        self.runs_tool = false;
        self.silent_since = None;
        self.waiting_since = None;
        self.snoozed_until = None;
    }

    /// A turn runs, as far as is known.
    pub fn is_on(&self) -> bool {
        self.silent_since.is_some()
    }

    /// An approval or a question is open, or no longer. The human may take their time.
    pub fn waits(&mut self, waits: bool, now_ms: i64) {
        match (waits, self.waiting_since) {
            (true, None) => self.waiting_since = Some(now_ms),
            (false, Some(since)) => {
                self.waiting_since = None;
                if let Some(silent) = &mut self.silent_since {
                    *silent += (now_ms - since).max(0);
                }
            }
            _ => {}
        }
    }

    /// The operator snoozes the alert for as long again as a turn may be silent.
    pub fn snooze(&mut self, now_ms: i64) {
        if self.is_on() {
            self.snoozed_until = Some(now_ms + self.silence_ms());
        }
    }

    /// Until when the operator has snoozed the alert, ms.
    pub fn snoozed_until(&self, now_ms: i64) -> Option<i64> {
        self.snoozed_until.filter(|until| *until > now_ms)
    }

    /// For how long the turn has given no sign, ms; `None` without a turn. Time that it spent
    /// waiting for the human does not count.
    pub fn silent_ms(&self, now_ms: i64) -> Option<i64> {
        let until = self.waiting_since.unwrap_or(now_ms);
        self.silent_since.map(|since| (until - since).max(0))
    }

    /// What is shown now.
    pub fn watched(&self, now_ms: i64) -> Watched {
        let Some(silent_ms) = self.silent_ms(now_ms) else {
            return Watched::Fine;
        };
        let silence_ms = self.silence_ms();
        let watched = match silent_ms {
            silent if silent >= 2 * silence_ms => Watched::Stuck,
            silent if silent >= silence_ms => Watched::Suspect,
            silent if silent >= silence_ms / 5 => Watched::Quiet,
            _ => Watched::Fine,
        };
        match self.snoozed_until(now_ms) {
            // It is still quiet; that it may be stuck the operator knows.
            Some(_) => watched.min(Watched::Quiet),
            None => watched,
        }
    }

    /// When that changes if nothing comes in, ms.
    pub fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let since = self.silent_since.filter(|_| self.waiting_since.is_none())?;
        let silence_ms = self.silence_ms();
        [silence_ms / 5, silence_ms, 2 * silence_ms]
            .into_iter()
            .map(|silence| since + silence)
            .chain(self.snoozed_until)
            .filter(|at| *at > now_ms)
            .min()
    }
}
