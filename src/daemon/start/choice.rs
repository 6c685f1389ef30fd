//! [`SessionChoice`]: which session a daemon begins with.

use super::StartError;
use crate::core::alarm::Alarm;
use crate::core::id::SessionId;
use crate::daemon::base::clock::{now_ms, rand_u32};
use crate::store::dirs::{ProjectDirs, exists};
use crate::store::head::{Head, Kept};
use crate::store::session;

/// The session that goes on, or begins.
#[derive(Debug)]
pub(super) struct SessionChoice {
    pub session: SessionId,
    /// It has no ledger yet.
    pub is_new: bool,
    /// What `current` names, when that has no ledger and another session goes on in its place.
    pub missing: Option<SessionId>,
    /// The session that is known outside of the project has no ledger any more.
    pub lost: Option<Alarm>,
    /// What is known outside is of a project that lay in another folder at this path.
    pub left_over: Option<Head>,
}

impl SessionChoice {
    /// The session whose head is kept outside of the project, where an agent cannot write; it is
    /// written there before `current` names it. When it has no ledger, or there is no head, the one
    /// that `current` names. A disk that failed at the wrong moment may leave that with the name of
    /// a session that never began: then the youngest that has a ledger goes on.
    pub(super) fn of(dirs: &ProjectDirs, kept: Option<&Kept>) -> Result<Self, StartError> {
        let known = kept.map(|kept| &kept.head);
        if let Some(head) = known.filter(|head| exists(&dirs.ledger(&head.session_id))) {
            return Ok(Self {
                session: head.session_id.clone(),
                is_new: false,
                missing: None,
                lost: None,
                left_over: None,
            });
        }
        let mut choice = Self::of_project(dirs)?;
        let lost = kept.filter(|kept| kept.is_lost(dirs));
        choice.lost = lost.map(|kept| lost_alarm(&kept.head, exists(&dirs.current())));
        let left_over = kept.filter(|kept| kept.is_left_over(dirs));
        choice.left_over = left_over.map(|kept| kept.head.clone());
        Ok(choice)
    }

    /// As far as the project itself tells.
    fn of_project(dirs: &ProjectDirs) -> Result<Self, StartError> {
        let unreadable = |path| move |source| StartError::unwritten(path, source, None);
        let named = session::read_current(dirs).map_err(unreadable(dirs.current()))?;
        if let Some(session) = named.as_ref().filter(|named| exists(&dirs.ledger(named))) {
            return Ok(Self {
                session: session.clone(),
                is_new: false,
                missing: None,
                lost: None,
                left_over: None,
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
                    lost: None,
                    left_over: None,
                })
            }
            None => Ok(Self {
                session: named.unwrap_or_else(|| session::new_id(now_ms(), rand_u32())),
                is_new: true,
                missing: None,
                lost: None,
                left_over: None,
            }),
        }
    }
}

fn lost_alarm(head: &Head, is_named: bool) -> Alarm {
    let (seq, sha256) = (head.seq, head.hash.clone());
    match is_named {
        true => Alarm::RecordCut { seq, sha256 },
        false => Alarm::RecordGone {
            session: head.session_id.clone(),
            seq,
            sha256,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::Place;

    #[test]
    fn what_current_names_goes_on_be_it_new() {
        let place = Place::new();
        let choice = SessionChoice::of(&place.dirs, None).unwrap();
        assert!(choice.is_new);
        let (older, newer) = (session::new_id(1_795_000_000_000, 1), choice.session);
        std::fs::write(place.dirs.ledger(&newer), "").unwrap();
        session::write_current(&place.dirs, &older).unwrap();
        std::fs::write(place.dirs.ledger(&older), "").unwrap();
        let choice = SessionChoice::of(&place.dirs, None).unwrap();
        assert_eq!(choice.session, older);
        assert!(!choice.is_new && choice.missing.is_none());

        let place = Place::new();
        session::write_current(&place.dirs, &older).unwrap();
        let choice = SessionChoice::of(&place.dirs, None).unwrap();
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
        let choice = SessionChoice::of(&place.dirs, None).unwrap();
        assert_eq!(choice.session, youngest);
        assert_eq!(choice.missing, Some(missing));
        assert!(!choice.is_new);
        // Where it names nothing, nothing is missed.
        std::fs::write(place.dirs.current(), "../../etc/passwd").unwrap();
        let choice = SessionChoice::of(&place.dirs, None).unwrap();
        assert_eq!((choice.session, choice.missing), (youngest, None));
    }

    #[test]
    fn the_session_that_is_known_outside_goes_on_whatever_current_names() {
        let place = Place::new();
        let [ours, forged, gone] = [0, 1, 2].map(|n| session::new_id(1_795_000_000_000 + n, 0));
        for session in [&ours, &forged] {
            std::fs::write(place.dirs.ledger(session), "").unwrap();
        }
        session::write_current(&place.dirs, &forged).unwrap();
        let mut kept = Kept::of_nothing(ours.clone());
        let choice = SessionChoice::of(&place.dirs, Some(&kept)).unwrap();
        assert_eq!((choice.session, choice.lost), (ours, None));
        kept.head.session_id = gone;
        kept.head.seq = 7;
        let choice = SessionChoice::of(&place.dirs, Some(&kept)).unwrap();
        assert_eq!(choice.session, forged);
        assert!(choice.lost.is_some());
    }
}
