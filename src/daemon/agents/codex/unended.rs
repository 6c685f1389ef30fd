//! The turn of Codex that was running when the previous daemon ended. Its app-server was given time
//! to end it, so it may have produced its answer: only Codex's history can tell, and nothing is
//! reported until it was read.

use crate::core::agent::Agent;
use crate::core::delivery::DeliveryWay;
use crate::core::id::{EntryId, TurnId};
use crate::core::snapshot::MessageSnapshot;
use crate::daemon::agents::codex_lane::Relayed;
use crate::daemon::owners::{Base, Daemon};

impl Daemon {
    /// Puts the lane back into the turn whose end the record does not have. Where a message of ours is
    /// in it Codex is asked at once, else when it is started next. Returns that turn; `None` where
    /// there is none, or nobody can be asked.
    pub(in crate::daemon) fn return_to_unended_turn(&mut self) -> Option<TurnId> {
        let world = self.base.recorder.world();
        let codex = world.agent(Agent::Codex);
        let (thread, turn) = codex.unended_turn.clone()?;
        if codex.thread_id.as_ref() != Some(&thread) {
            return None;
        }
        // The record says that it began.
        self.agents.codex.shows_message_of(&turn);
        let had = world.had_by(&turn);
        for (id, message) in &had {
            let relayed = self.base.relayed_before(id, message);
            self.agents.codex.relayed_into(&turn, relayed);
            if message.answered_in_turn {
                self.agents.codex.answered_by_tool(&turn, message.pair());
            }
        }
        let is_known = had.is_empty() || self.agents.codex.ensure().is_ok();
        is_known.then_some(turn)
    }
}

impl Base {
    fn relayed_before(&self, id: &EntryId, message: &MessageSnapshot) -> Relayed {
        let relayed = match self.recorder.stored_of(id) {
            Ok(Some(stored)) => self.relayed_of(&stored.entry),
            // Of what was cleared, or cannot be read, the world knows the rest.
            Ok(None) | Err(_) => Relayed::unread(id, self.recorder.world()),
        };
        Relayed {
            starts: message.rung == Some(DeliveryWay::Queue),
            ..relayed
        }
    }
}
