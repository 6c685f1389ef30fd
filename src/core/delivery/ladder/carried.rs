//! [`RungMessage`]: what the next process must know of the doorbell. What it was rung for Claude
//! has heard, or hears yet: another ring would be another turn for the same message.

use serde::{Deserialize, Serialize};

use super::{Ladder, Rung};
use crate::delivery::Backlog;
use crate::delivery::offer::Offer;
use crate::id::EntryId;

/// A message that the doorbell of a Claude was rung for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RungMessage {
    id: EntryId,
    at_ms: i64,
    /// For the second time.
    #[serde(default)]
    is_second: bool,
    /// A turn has begun since.
    #[serde(default)]
    turn_began: bool,
}

impl Ladder {
    /// What the next process gets.
    pub fn rung_for(&self, backlog: &Backlog) -> Vec<RungMessage> {
        let rung = self.waiting(backlog).filter_map(|row| {
            let offer = backlog.offer(&row.id).filter(|offer| offer.is_rung())?;
            Some(RungMessage {
                id: row.id.clone(),
                at_ms: offer.at_ms,
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

    /// Everything may be offered again, but what the doorbell of the same Claude was rung for.
    pub(super) fn forget_unrung(&mut self, backlog: &mut Backlog) {
        backlog.change_offers(&self.pair, |_, offer| offer.is_rung());
        self.retry_at = None;
    }
}
