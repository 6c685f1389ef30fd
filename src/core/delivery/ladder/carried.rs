//! What the next process must know of the doorbell. Claude has heard of what it was rung for, or
//! will hear of it: another ring would be another turn for the same message.

use super::{Ladder, Rung, RungMessage};
use crate::delivery::Backlog;
use crate::delivery::offer::Offer;

impl Ladder {
    /// What the next process gets, whose clock is ahead of this one's by so much.
    pub fn rung_for(&self, backlog: &Backlog, ahead_ms: i64) -> Vec<RungMessage> {
        let rung = self.waiting(backlog).filter_map(|row| {
            let offer = backlog.offer(&row.id).filter(|offer| offer.is_rung())?;
            Some(RungMessage {
                id: row.id.clone(),
                at_ms: offer.at_ms.saturating_add(ahead_ms),
                is_second: offer.is_second,
                turn_began: offer.turn_began,
            })
        });
        rung.collect()
    }

    /// Takes on what the previous process has rung for.
    pub(super) fn was_rung(&mut self, backlog: &mut Backlog, rung: Vec<RungMessage>) {
        self.awaits_bell = !rung.is_empty();
        for message in rung {
            let offer = Offer {
                rung: Rung::Doorbell,
                at_ms: message.at_ms,
                is_told: true,
                is_second: message.is_second,
                turn_began: message.turn_began,
                was_pushed: false,
            };
            backlog.set_offer(&message.id, Some(offer));
        }
    }
}
