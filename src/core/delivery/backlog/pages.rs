//! The messages that wait for an agent that asks, found without walking over all of them.

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
        let page = self.page_of_lane(lane, cursor, until);
        (page.filter(|row| self.may_be_asked_for(row)), until)
    }

    /// As [`Self::page_of_pair`], for Codex, which is one for all pairs.
    pub fn page_of_codex<'a>(
        &'a self,
        cursor: &'a MessageCursor,
    ) -> (impl Iterator<Item = &'a Delivery> + use<'a>, Seq) {
        let lane = self.lanes.get(&LaneId::Codex);
        let last = || {
            let mut repeats = lane?.index().repeats(..).rev();
            repeats.find(|seq| {
                let row = lane.and_then(|lane| lane.get(*seq));
                row.is_some_and(|row| self.waits_for_codex(&row.delivery, cursor))
            })
        };
        let until = cursor.until.or_else(last).unwrap_or_default();
        let page = self.page_of_lane(lane, cursor, until);
        (
            page.filter(move |row| self.waits_for_codex(row, cursor)),
            until,
        )
    }

    /// All rows of a lane that may stand on a page, in its order.
    fn page_of_lane<'a>(
        &'a self,
        lane: Option<&'a LaneRows>,
        cursor: &'a MessageCursor,
        until: Seq,
    ) -> impl Iterator<Item = &'a Delivery> + use<'a> {
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
        goes_on.into_iter().chain(rest)
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

    /// How much waits for Codex, which asks at this place.
    pub fn unread_of_codex(&self, cursor: &MessageCursor) -> usize {
        let Some(lane) = self.lanes.get(&LaneId::Codex) else {
            return 0;
        };
        let is_queued = |row: &Delivery| row.state == DeliveryState::Queued;
        let withheld = |id: &&EntryId| {
            let row = self.in_lane(id, lane);
            row.is_some_and(|row| is_queued(row) && !self.may_be_asked_for(row))
        };
        let ending = self.recording.keys().filter(withheld).count();
        let kept_back = self.kept_back.iter().filter(withheld);
        let kept_back = kept_back.filter(|id| !self.is_recording(id)).count();
        let cut = cursor.cut.as_ref();
        let cut = cut.and_then(|cut| self.in_lane(&cut.id, lane));
        let cut = cut.filter(|row| !is_queued(row) && self.waits_for_codex(row, cursor));
        lane.index().counts().queued - ending - kept_back + usize::from(cut.is_some())
    }

    /// Whether Codex gets it by asking: it waits, or a page ended in its middle and this asks for
    /// the rest.
    fn waits_for_codex(&self, row: &Delivery, cursor: &MessageCursor) -> bool {
        let is_cut = cursor.cut.as_ref().is_some_and(|cut| cut.id == row.id);
        let waits = row.state == DeliveryState::Queued || is_cut && self.is_claimed(&row.id);
        waits && self.may_be_asked_for(row)
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

/// As [`Backlog::page_of_codex`] and [`Backlog::unread_of_codex`], by a walk.
#[cfg(test)]
pub fn codex_page_afresh(backlog: &Backlog, cursor: &MessageCursor) -> (Vec<EntryId>, Seq, usize) {
    let rows = backlog.lane(crate::agent::Agent::Codex);
    let rows = rows.filter(|row| backlog.waits_for_codex(row, cursor));
    let rows: Vec<&Delivery> = rows.collect();
    let (order, until) = crate::delivery::page_order(&rows, cursor);
    let order = order.into_iter().map(|row| row.id.clone());
    (order.collect(), until, rows.len())
}
