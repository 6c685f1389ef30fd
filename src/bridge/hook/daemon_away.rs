//! [`DaemonAway`]: how long a request of Claude's waits for the daemon and the deck to return.

use std::time::Duration;

use tokio::time::Instant;

/// How long a daemon may take to be back; one that takes longer is not started again.
const DAEMON_WAIT: Duration = Duration::from_secs(60);

/// How long a deck is looked for where the daemon has changed its process: the deck comes back as the
/// hook does, and may do so behind it.
const DECK_WAIT: Duration = Duration::from_secs(3);

/// Since when the daemon that was asked is gone, and until when a deck of the next one is looked for.
#[derive(Debug, Default)]
pub(super) struct DaemonAway {
    since: Option<Instant>,
    /// From the first answer of the next daemon on, however long its start took.
    until: Option<Instant>,
}

impl DaemonAway {
    /// The daemon is gone with the question.
    pub(super) fn is_lost(&mut self, now: Instant) {
        self.since = Some(now);
        self.until = None;
    }

    /// Whether one that does not answer may come back.
    pub(super) fn may_return(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| now < since + DAEMON_WAIT)
    }

    /// A daemon says that nobody looks. Whether somebody may soon.
    pub(super) fn may_be_looked_at(&mut self, now: Instant) -> bool {
        self.since.is_some() && now < *self.until.get_or_insert(now + DECK_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deck_is_looked_for_from_the_first_answer_of_the_next_daemon_on() {
        let now = Instant::now();
        let mut away = DaemonAway::default();
        assert!(!away.may_be_looked_at(now) && !away.may_return(now));
        for lost in [now, now + DAEMON_WAIT] {
            away.is_lost(lost);
            // Its start takes longer than a deck would.
            let back = lost + DECK_WAIT * 2;
            assert!(away.may_return(back));
            assert!(away.may_be_looked_at(back));
            assert!(!away.may_be_looked_at(back + DECK_WAIT));
            assert!(!away.may_return(lost + DAEMON_WAIT));
        }
    }
}
