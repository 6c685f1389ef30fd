//! Texts that leave once the rows which say so are on the disk, by whatever way an agent asked.

use super::owners::Daemon;
use super::owners::continuation::{ThenStored, ThenTaken};
use crate::core::agent::Agent;
use crate::core::id::{AttemptId, EntryId};
use crate::wire::control::Refusal;

/// A message that is claimed, and the attempt by which it leaves.
pub(in crate::daemon) type HandedOut = (EntryId, Option<AttemptId>);

impl Daemon {
    /// Goes on in its turn: nothing was to be claimed.
    pub(in crate::daemon) fn hand_out_nothing(&mut self, then: ThenTaken) {
        let nothing: ThenStored = Box::new(|daemon, stored| {
            then(daemon, stored);
        });
        self.deliveries.held.go_on(nothing, Ok(()));
    }

    /// Goes on by `then`, with which the texts leave, once the rows of what is claimed are `stored`.
    /// What nobody took by then has not left: `give_back` gets those that nobody else has claimed
    /// since.
    pub(in crate::daemon) fn hand_out_when_stored(
        &mut self,
        agent: Agent,
        stored: Result<(), Refusal>,
        mut claimed: Vec<HandedOut>,
        then: ThenTaken,
        give_back: impl FnOnce(&mut Self, Vec<EntryId>) + Send + 'static,
    ) {
        let then: ThenStored = Box::new(move |daemon, stored| {
            let ids = ids_of(&claimed);
            let stored = stored.map_err(Clone::clone);
            let stored = stored.and_then(|()| daemon.deliveries.still_waiting(&ids));
            let has_left = then(daemon, stored.as_ref().copied()) && stored.is_ok();
            let now_ms = daemon.base.clock.now_ms();
            let outbox = &mut daemon.deliveries.outbox;
            for id in &ids {
                outbox
                    .following(id)
                    .in_scope(|| tracing::debug!(has_left, "handed out"));
                if has_left {
                    outbox.has_left(id, now_ms);
                }
            }
            if !has_left {
                // Where the disk took too long, somebody else may have it by now.
                claimed.retain(|(id, attempt)| outbox.is_of_attempt(id, attempt.as_ref()));
                give_back(daemon, ids_of(&claimed));
            }
        });
        match stored {
            Ok(()) => self.deliveries.held.when_stored(agent, then),
            Err(refusal) => self.deliveries.held.go_on(then, Err(refusal)),
        }
    }
}

fn ids_of(claimed: &[HandedOut]) -> Vec<EntryId> {
    claimed.iter().map(|(id, _)| id.clone()).collect()
}
