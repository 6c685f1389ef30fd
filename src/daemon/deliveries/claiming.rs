//! Texts for an agent that asked, in whatever way: they leave once the rows that say so are on the
//! disk.

use crate::core::agent::Agent;
use crate::core::delivery::ClaimedTexts;
use crate::core::id::EntryId;
use crate::daemon::owners::Daemon;
use crate::daemon::owners::continuation::{ThenStored, ThenTaken};
use crate::wire::control::Refusal;

impl Daemon {
    /// Goes on in its turn: nothing was to be claimed.
    pub(in crate::daemon) fn hand_out_nothing(&mut self, then: ThenTaken) {
        let nothing: ThenStored = Box::new(|daemon, stored| {
            then(daemon, stored);
        });
        self.deliveries.held.go_on(nothing, Ok(()));
    }

    /// Goes on by `then`, with which the texts of these messages leave, once the rows of what was
    /// just claimed are `stored`.
    pub(in crate::daemon) fn hand_out_when_stored(
        &mut self,
        agent: Agent,
        stored: Result<(), Refusal>,
        ids: Vec<EntryId>,
        then: ThenTaken,
    ) {
        let claimed = ClaimedTexts::of(self.deliveries.outbox.backlog(), ids);
        let then: ThenStored = Box::new(move |daemon, stored| {
            let backlog = daemon.deliveries.outbox.backlog();
            let stored = stored.map_err(Clone::clone).and_then(|()| {
                let waits = claimed.still_wait(backlog);
                waits.then_some(()).ok_or_else(taken_back)
            });
            let took = then(daemon, stored.as_ref().copied()) && stored.is_ok();
            let now_ms = daemon.base.clock.now_ms();
            let outbox = &mut daemon.deliveries.outbox;
            for id in claimed.ids() {
                outbox
                    .following(id)
                    .in_scope(|| tracing::debug!(has_left = took, "handed out"));
            }
            for told in outbox.claims_are_over(claimed, took, now_ms) {
                daemon.tell(told);
            }
        });
        match stored {
            Ok(()) => self.deliveries.held.when_stored(agent, then),
            Err(refusal) => self.deliveries.held.go_on(then, Err(refusal)),
        }
    }
}

fn taken_back() -> Refusal {
    Refusal::in_flight("a message was taken back just now", "ask again")
}
