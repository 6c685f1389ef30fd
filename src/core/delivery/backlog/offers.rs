//! The places of Claude's messages on the ladder. They are stored with the rows, so every change of
//! one also changes the index.

use super::claims::Claim;
use super::index::{LaneIndex, LaneRow, Untold};
use super::lane::LaneId;
use super::{Backlog, Shown};
use crate::delivery::offer::Offer;
use crate::delivery::{Delivery, DeliveryEffect, Rung};
use crate::id::{EntryId, RuntimeSession, Seq, ThreadId};

impl Backlog {
    /// The attempt that began goes into this conversation of Codex's.
    pub(in crate::delivery) fn goes_into(&mut self, id: &EntryId, thread: Option<&ThreadId>) {
        self.change(id, |row| row.delivery.thread = thread.cloned());
    }

    /// The place of a message on the ladder, once it was offered.
    pub(in crate::delivery) fn offer(&self, id: &EntryId) -> Option<&Offer> {
        let (lane, seq) = self.by_id.get(id)?;
        self.lanes.get(lane)?.get(*seq)?.offer.as_ref()
    }

    /// The rung that a message has come to.
    #[cfg(test)]
    pub fn rung_of(&self, id: &EntryId) -> Option<Rung> {
        self.offer(id).map(|offer| offer.rung)
    }

    /// The worst rung that something unproven of a pair has come to.
    pub fn worst_rung(&self, pair: &RuntimeSession) -> Option<Rung> {
        self.index_of(pair)?.worst_rung()
    }

    /// What is kept of the rows for the Claude of a pair, where there are any.
    pub(in crate::delivery) fn index_of(&self, pair: &RuntimeSession) -> Option<&LaneIndex> {
        let lane = self.lanes.get(&LaneId::Claude(pair.clone()))?;
        Some(lane.index())
    }

    /// The first message of a pair behind that place that is to be told of.
    pub(in crate::delivery) fn next_untold(
        &self,
        pair: &RuntimeSession,
        after: Option<Seq>,
        untold: Untold,
    ) -> Option<&Delivery> {
        let lane = self.lanes.get(&LaneId::Claude(pair.clone()))?;
        let seq = lane.index().next_untold(after, untold)?;
        lane.get(seq).map(|row| &row.delivery)
    }

    /// Changes the place of a message, or has it forgotten.
    pub(in crate::delivery) fn set_offer(&mut self, id: &EntryId, offer: Option<Offer>) {
        self.change(id, |row| row.offer = offer);
    }

    /// Changes the places of a pair's messages; `false`: it is forgotten.
    pub(in crate::delivery) fn change_offers(
        &mut self,
        pair: &RuntimeSession,
        mut change: impl FnMut(&EntryId, &mut Offer) -> bool,
    ) {
        if let Some(lane) = self.lanes.get_mut(&LaneId::Claude(pair.clone())) {
            lane.change_all(
                |LaneRow {
                     delivery, offer, ..
                 }| {
                    offer.take_if(|offer| !change(&delivery.id, offer));
                },
            );
        }
    }

    /// Changes the places of these rows of a pair.
    pub(in crate::delivery) fn change_offers_at(
        &mut self,
        pair: &RuntimeSession,
        rows: &[Seq],
        mut change: impl FnMut(&EntryId, &mut Offer),
    ) {
        if let Some(lane) = self.lanes.get_mut(&LaneId::Claude(pair.clone())) {
            for seq in rows {
                lane.change(
                    *seq,
                    |LaneRow {
                         delivery, offer, ..
                     }| {
                        if let Some(offer) = offer {
                            change(&delivery.id, offer);
                        }
                    },
                );
            }
        }
    }

    /// Everything of a pair may be offered again.
    pub(in crate::delivery) fn forget_offers(&mut self, pair: &RuntimeSession) {
        self.change_offers(pair, |_, _| false);
    }

    /// A turn of a pair's Claude begins, or runs already. Of what is not told of yet it says nothing:
    /// that waits for the doorbell, or its push for its row. Nor does one that runs already say
    /// anything of a ring, which Claude may hear behind it: the doorbell rings again once Claude is
    /// idle for long.
    pub(in crate::delivery) fn turn_began(&mut self, pair: &RuntimeSession, begins: bool) {
        let claims = &self.claims;
        let is_leaving = |id: &EntryId| claims.get(id).is_some_and(Claim::is_leaving);
        if let Some(lane) = self.lanes.get_mut(&LaneId::Claude(pair.clone())) {
            lane.change_all(|row| {
                // What a hook of this turn hands over waits for its row too, and says that it is shown.
                let is_seen = row.delivery.shown != Shown::Nothing;
                let has_left = is_seen || !is_leaving(&row.delivery.id);
                if let Some(offer) = &mut row.offer
                    && (begins || offer.rung != Rung::Doorbell)
                {
                    offer.turn_began = has_left && !offer.waits_for_ring();
                }
            });
        }
    }

    /// Channels are on at the Claude of a pair: what was pushed to it has left for its model. A push
    /// that still waits for its row has not.
    pub(in crate::delivery) fn pushes_arrived(
        &mut self,
        pair: &RuntimeSession,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        let claims = &self.claims;
        let is_leaving = |id: &EntryId| claims.get(id).is_some_and(Claim::is_leaving);
        if let Some(lane) = self.lanes.get_mut(&LaneId::Claude(pair.clone())) {
            lane.change_all(|row| {
                let was_pushed = row.offer.as_ref().is_some_and(|offer| offer.was_pushed);
                let has_left = was_pushed && !is_leaving(&row.delivery.id);
                if has_left && row.delivery.show(Shown::Whole) {
                    effects.push(DeliveryEffect::Store(row.delivery.id.clone()));
                }
            });
        }
    }
}
