//! [`Choice`]: which session a daemon begins with.

use super::{StartError, rand_u32};
use crate::core::id::SessionId;
use crate::daemon::run::now_ms;
use crate::store::dirs::{ProjectDirs, exists};
use crate::store::session;

/// The session that goes on, or begins.
#[derive(Debug)]
pub(super) struct Choice {
    pub session: SessionId,
    /// It has no ledger yet.
    pub is_new: bool,
    /// What `current` names, when that has no ledger and another session goes on in its place.
    pub missing: Option<SessionId>,
}

impl Choice {
    /// The session that `current` names. It lies where an agent can write it, and a disk that
    /// failed at the wrong moment may leave it with the name of a session that never began: when
    /// it names none that has a ledger, the youngest that has one goes on.
    pub(super) fn of(dirs: &ProjectDirs) -> Result<Self, StartError> {
        let unreadable = |path| move |source| StartError::Unwritable { path, source };
        let named = session::read_current(dirs).map_err(unreadable(dirs.current()))?;
        if let Some(session) = named.as_ref().filter(|named| exists(&dirs.ledger(named))) {
            return Ok(Self {
                session: session.clone(),
                is_new: false,
                missing: None,
            });
        }
        match session::latest(dirs).map_err(unreadable(dirs.sessions()))? {
            Some(session) => {
                if let Some(missing) = &named {
                    tracing::warn!(%missing, %session, "`current` names a session without ledger");
                }
                Ok(Self {
                    session,
                    is_new: false,
                    missing: named,
                })
            }
            None => Ok(Self {
                session: named.unwrap_or_else(|| session::new_id(now_ms(), rand_u32())),
                is_new: true,
                missing: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::store::testing::Place;

    #[test]
    fn what_current_names_goes_on_be_it_new() {
        let place = Place::new();
        let choice = Choice::of(&place.dirs).unwrap();
        assert!(choice.is_new);
        let (older, newer) = (session::new_id(1_795_000_000_000, 1), choice.session);
        std::fs::write(place.dirs.ledger(&newer), "").unwrap();
        session::write_current(&place.dirs, &older).unwrap();
        std::fs::write(place.dirs.ledger(&older), "").unwrap();
        let choice = Choice::of(&place.dirs).unwrap();
        assert_eq!(choice.session, older);
        assert!(!choice.is_new && choice.missing.is_none());

        let place = Place::new();
        session::write_current(&place.dirs, &older).unwrap();
        let choice = Choice::of(&place.dirs).unwrap();
        assert_eq!(choice.session, older);
        assert!(choice.is_new && choice.missing.is_none());
    }

    #[test]
    fn a_session_without_ledger_hides_none_that_has_one() {
        let place = Place::new();
        let [oldest, youngest, missing] =
            [0, 1, 2].map(|n| session::new_id(1_795_000_000_000 + n, 0));
        for session in [&oldest, &youngest] {
            std::fs::write(place.dirs.ledger(session), "").unwrap();
        }
        session::write_current(&place.dirs, &missing).unwrap();
        let choice = Choice::of(&place.dirs).unwrap();
        assert_eq!(choice.session, youngest);
        assert_eq!(choice.missing, Some(missing));
        assert!(!choice.is_new);
        // Where it names nothing, nothing is missed.
        std::fs::write(place.dirs.current(), "../../etc/passwd").unwrap();
        let choice = Choice::of(&place.dirs).unwrap();
        assert_eq!((choice.session, choice.missing), (youngest, None));
    }
}
