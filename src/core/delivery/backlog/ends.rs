//! Messages that end although nobody got them: they waited too long, the operator took them back,
//! or their sender closed them.

use super::Backlog;
use crate::agent::Agent;
use crate::delivery::{Delivery, DeliveryEffect, DeliveryState};
use crate::entry::DeliveryResult;
use crate::id::EntryId;

impl Backlog {
    /// Whether its end is being appended, after which nobody gets it.
    pub fn is_ending(&self, id: &EntryId) -> bool {
        let ends = [
            DeliveryResult::Rejected,
            DeliveryResult::Expired,
            DeliveryResult::Cancelled,
        ];
        ends.into_iter()
            .any(|end| self.is_recording_result(id, end))
    }

    /// What has waited for too long without an attempt is recorded as expired.
    pub fn expire(&mut self, to: Agent, older_than_ms: i64, effects: &mut Vec<DeliveryEffect>) {
        let old = self.lanes_to(to).flat_map(|lane| {
            let queued = lane.index().queued_until(older_than_ms);
            queued.filter_map(move |seq| Some(lane.get(seq)?.delivery.id.clone()))
        });
        let old: Vec<EntryId> = old.collect();
        for id in old {
            self.mark_recording(&id, DeliveryResult::Expired, None, None, effects);
        }
    }

    /// Its own sender closed it, so that nobody is to get it any more; or that is not so any more. What
    /// is under way may still arrive: it ends when it is known that it did not. What the operator took
    /// back stays unwanted.
    pub fn set_unwanted(&mut self, id: EntryId, is_closed: bool) {
        let is_withdrawn = self.get(&id).is_some_and(|row| row.withdrawn);
        match is_closed || is_withdrawn {
            true => self.unwanted.insert(id.clone(), false),
            false => self.unwanted.remove(&id),
        };
        self.look_whether_free(&id);
    }

    /// The operator takes it back from where it cannot be ended at once. Its row says so, and each
    /// process that comes goes on with it.
    pub fn withdraw(&mut self, id: &EntryId, effects: &mut Vec<DeliveryEffect>) {
        let changed = self.change(id, |row| {
            !std::mem::replace(&mut row.delivery.withdrawn, true)
        });
        if changed == Some(true) {
            effects.push(DeliveryEffect::Store(id.clone()));
            self.set_unwanted(id.clone(), true);
        }
    }

    /// Its row could not be written: the operator is told that it is not taken back. Whether its
    /// sender wants it is for the next [`Self::set_unwanted`].
    pub fn withdraw_not(&mut self, id: &EntryId) {
        self.change(id, |row| row.delivery.withdrawn = false);
    }

    /// An end could not be recorded. What its sender closed waits for the next
    /// [`Self::set_unwanted`], or a disk that refuses would be asked again without end; what is proven
    /// to have arrived does not end otherwise.
    pub fn refuse_end(&mut self, id: &EntryId, result: DeliveryResult) {
        if matches!(
            result,
            DeliveryResult::Confirmed | DeliveryResult::Acknowledged
        ) {
            self.unwanted.remove(id);
        } else if let Some(is_refused) = self.unwanted.get_mut(id) {
            *is_refused = true;
        }
        self.not_recorded(id, result);
        self.look_whether_free(id);
    }

    pub(super) fn is_end_refused(&self, id: &EntryId) -> bool {
        self.unwanted.get(id) == Some(&true)
    }

    /// What nobody is to get any more.
    pub fn unwanted(&self) -> impl Iterator<Item = &EntryId> {
        self.unwanted.keys()
    }

    /// Whether nobody is to get it any more.
    pub fn is_unwanted(&self, id: &EntryId) -> bool {
        self.unwanted.contains_key(id)
    }

    /// Has end what nobody is to get any more, where the operator could take it back now. To be called
    /// before anything is offered.
    pub fn end_unwanted(&mut self, to: Agent, effects: &mut Vec<DeliveryEffect>) {
        let can_end = |row: &&Delivery| match row.state {
            DeliveryState::Queued => true,
            // What Codex is given may have begun a turn.
            DeliveryState::Attempted => to == Agent::Claude,
            _ => false,
        };
        let due = self.unwanted.iter().filter(|(_, is_refused)| !**is_refused);
        let rows = due.filter_map(|(id, _)| self.get(id));
        let rows = rows.filter(|row| row.to == to).filter(can_end);
        let rows = rows.filter(|row| !self.has_left(&row.id) && !self.is_recording(&row.id));
        let ids: Vec<EntryId> = rows.map(|row| row.id.clone()).collect();
        for id in ids {
            self.mark_recording(&id, DeliveryResult::Cancelled, None, None, effects);
        }
    }
}
