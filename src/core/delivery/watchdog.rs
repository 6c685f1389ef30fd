//! [`Watchdog`]: whether a turn has fallen silent, by its own signs of life and nothing else.
//!
//! Decides what is shown. It ends nothing: the operator has the keys.

/// What is shown of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Watched {
    /// No turn runs, or it gives signs.
    #[default]
    Fine,
    /// Nothing for a while.
    Quiet,
    /// Nothing for as long as is usual at most.
    Suspect,
    /// Nothing for twice that.
    Stuck,
}

/// Watches one agent's turn.
#[derive(Debug)]
pub struct Watchdog {
    silence_ms: i64,
    /// Since when the turn gives no sign, ms; `None` without a turn. Moves on while it waits for
    /// the human.
    silent_since: Option<i64>,
    /// Since when it waits for an approval or an answer.
    waiting_since: Option<i64>,
    #[cfg(test)]
    pub(super) fault: Option<super::fault::Fault>,
}

impl Watchdog {
    /// A turn is suspect after this silence, quiet after a fifth of it, stuck after twice as much.
    pub fn new(silence_ms: i64) -> Self {
        Self {
            silence_ms,
            silent_since: None,
            waiting_since: None,
            #[cfg(test)]
            fault: None,
        }
    }

    /// The turn began or did something. That we steered it is no sign of its life.
    pub fn sign(&mut self, now_ms: i64) {
        self.silent_since = Some(now_ms);
        if self.waiting_since.is_some() {
            self.waiting_since = Some(now_ms);
        }
    }

    /// No turn runs.
    pub fn over(&mut self) {
        self.silent_since = None;
        self.waiting_since = None;
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

    /// What is shown now.
    pub fn watched(&self, now_ms: i64) -> Watched {
        let Some(since) = self.silent_since else {
            return Watched::Fine;
        };
        let until = self.waiting_since.unwrap_or(now_ms);
        #[cfg(test)]
        let until = match self.fault {
            Some(super::fault::Fault::WatchdogDuringApproval) => now_ms,
            _ => until,
        };
        match until - since {
            silent if silent >= 2 * self.silence_ms => Watched::Stuck,
            silent if silent >= self.silence_ms => Watched::Suspect,
            silent if silent >= self.silence_ms / 5 => Watched::Quiet,
            _ => Watched::Fine,
        }
    }

    /// When that changes if nothing comes in, ms.
    pub fn next_ms(&self, now_ms: i64) -> Option<i64> {
        let since = self.silent_since.filter(|_| self.waiting_since.is_none())?;
        [self.silence_ms / 5, self.silence_ms, 2 * self.silence_ms]
            .into_iter()
            .map(|silence| since + silence)
            .find(|at| *at > now_ms)
    }
}
