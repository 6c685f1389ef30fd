//! [`SaidBefore`]: what sessions said of capsules, remembered for the life of the process.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use super::SessionSays;
use ctxrelay_core::lock::lock;

/// More than a project keeps capsules; beyond that all sessions are read again.
const REMEMBERED_MAX: usize = 10_000;

/// A sealed session is read whole for an answer, and the deck lists its tasks again and again.
static SAID: LazyLock<Mutex<HashMap<SaidBefore, SessionSays>>> = LazyLock::new(Mutex::default);

/// A capsule, and the session that was asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SaidBefore {
    digest: String,
    /// The hash of the session's last entry, which stands for all that it says; empty for the current
    /// one.
    head: String,
}

impl SaidBefore {
    /// Of a sealed session.
    pub(super) fn of(digest: &str, head: &str) -> Self {
        Self {
            digest: digest.to_owned(),
            head: head.to_owned(),
        }
    }

    /// Of one that names a place in a record which is as it says: what stands before that stays.
    pub(super) fn of_chain(digest: &str) -> Self {
        Self::of(digest, "")
    }

    /// What the session says of the capsule: `ask` where that was not asked before. Something else
    /// where it cannot be read, which is not remembered.
    pub(super) fn or_ask(self, ask: impl FnOnce() -> Option<SessionSays>) -> SessionSays {
        let said = || lock(&SAID);
        if let Some(says) = said().get(&self).copied() {
            return says;
        }
        let Some(says) = ask() else {
            return SessionSays::ELSE;
        };
        let mut said = said();
        if said.len() >= REMEMBERED_MAX {
            said.clear();
        }
        said.insert(self, says);
        says
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctxrelay_core::capsule::KeptSays;

    #[test]
    fn a_session_is_asked_once_for_each_capsule() {
        let same = SessionSays {
            says: KeptSays::Same,
            has_digest: true,
        };
        let says = |digest: &str, head: &str, says: Option<SessionSays>| {
            SaidBefore::of(digest, head).or_ask(|| says)
        };
        let (first, head) = ("a digest of this test", "its head");
        assert_eq!(says(first, head, None), SessionSays::ELSE);
        assert_eq!(says(first, head, Some(same)), same);
        assert_eq!(says(first, head, Some(SessionSays::ELSE)), same);
        for (digest, head) in [("another", head), (first, "another")] {
            let other = says(digest, head, Some(SessionSays::ELSE));
            assert_eq!(other, SessionSays::ELSE);
        }
    }
}
