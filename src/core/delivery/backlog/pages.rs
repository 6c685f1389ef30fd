//! What waits for a Claude that asks, without a walk over all of it.

use std::ops::Bound;

use super::lane::{LaneId, LaneRows};
use super::{Backlog, Delivery, DeliveryState};
use crate::delivery::MessageCursor;
use crate::id::{EntryId, RuntimeSession, Seq};

impl Backlog {
    /// The rows that a page for the Claude of a pair shows at this place, in the order of
    /// [`page_order`](crate::delivery::page_order), and the last repeat of this walk.
    pub fn page_of_pair<'a>(
        &'a self,
        pair: &RuntimeSession,
        cursor: &'a MessageCursor,
    ) -> (impl Iterator<Item = &'a Delivery> + use<'a>, Seq) {
        let lane = self.lanes.get(&LaneId::Claude(pair.clone()));
        let last = lane.and_then(|lane| lane.index().last_repeat());
        let until = cursor.until.unwrap_or_else(|| last.unwrap_or_default());
        let after = cursor.after;
        let cut = cursor.cut.as_ref().map(|cut| &cut.id);
        let goes_on = cut.and_then(|id| self.in_lane(id, lane?));
        let rest = lane.into_iter().flat_map(move |lane| {
            let again = (Bound::Excluded(after), Bound::Included(until));
            let again = (after < until).then(|| lane.index().repeats(again));
            let order = lane.index().news().chain(again.into_iter().flatten());
            order.filter_map(move |seq| Some(&lane.get(seq)?.delivery))
        });
        let rest = rest.filter(move |row| cut != Some(&row.id));
        let page = goes_on.into_iter().chain(rest);
        (page.filter(|row| self.may_be_asked_for(row)), until)
    }

    /// How much of a pair's messages waits for a Claude that asks.
    pub fn unread_of_pair(&self, pair: &RuntimeSession) -> usize {
        let Some(lane) = self.lanes.get(&LaneId::Claude(pair.clone())) else {
            return 0;
        };
        let ending = self
            .recording
            .keys()
            .filter_map(|id| self.in_lane(id, lane));
        let ending = ending.filter(|row| !self.may_be_asked_for(row));
        let ending = ending.filter(|row| !self.is_kept_back(&row.id)).count();
        let cancelled = lane.index().cancelled().filter_map(|seq| lane.get(seq));
        let cancelled = cancelled.filter(|row| {
            let id = &row.delivery.id;
            !self.is_recording(id) && !self.is_kept_back(id)
        });
        lane.len() - ending - cancelled.count() - self.kept_back_of(pair)
    }

    fn in_lane<'a>(&'a self, id: &EntryId, lane: &'a LaneRows) -> Option<&'a Delivery> {
        let (_, seq) = self.by_id.get(id)?;
        let row = &lane.get(*seq)?.delivery;
        (row.id == *id).then_some(row)
    }

    /// Neither was it taken back, nor is its end being recorded, nor is it kept back.
    pub fn may_be_asked_for(&self, row: &Delivery) -> bool {
        row.state != DeliveryState::Cancelled
            && !self.is_ending(&row.id)
            && !self.is_kept_back(&row.id)
    }
}

/// As [`Backlog::page_of_pair`] and [`Backlog::unread_of_pair`], by a walk.
#[cfg(test)]
pub fn page_afresh(
    backlog: &Backlog,
    pair: &RuntimeSession,
    cursor: &MessageCursor,
) -> (Vec<EntryId>, Seq, usize) {
    let rows = backlog.of_pair(pair);
    let rows: Vec<&Delivery> = rows.filter(|row| backlog.may_be_asked_for(row)).collect();
    let (order, until) = crate::delivery::page_order(&rows, cursor);
    let order = order.into_iter().map(|row| row.id.clone());
    (order.collect(), until, rows.len())
}
