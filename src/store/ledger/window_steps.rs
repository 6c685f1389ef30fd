//! [`WindowSteps`]: what became of the messages of a page, found in later entries.

use std::collections::BTreeMap;
use std::io;

use super::names::OTHER;
use super::shared::SharedLedger;
use super::unread_lines::UnreadLines;
use super::window_walk::Sieve;
use ctxrelay_core::agent::Agent;
use ctxrelay_core::entry::{DeliveryRecord, DeliveryResult, EntryKind};
use ctxrelay_core::wire::window::{DeliveryStep, RowQuery, WindowRow};

/// Deliveries to the receiver of a message that are read behind it, to find its own. So many may
/// have waited together with it, and more.
const READ_EACH: usize = 512;

/// Places behind a message among which these are looked for.
const WITHIN: usize = 4_096;

/// Deliveries that are read for one page; neighbours read the same ones.
const READ_MAX: usize = 4_096;

/// The deliveries that were read for one page.
pub(super) struct WindowSteps<'a> {
    shared: &'a SharedLedger,
    /// The deliveries by position; `None` if one cannot be read.
    read: BTreeMap<usize, Option<DeliveryStep>>,
    /// Those of them that belong to a message of the page.
    wanted: BTreeMap<usize, DeliveryStep>,
    unread: UnreadLines,
}

impl<'a> WindowSteps<'a> {
    pub(super) fn new(shared: &'a SharedLedger) -> Self {
        let (read, wanted, unread) = Default::default();
        Self {
            shared,
            read,
            wanted,
            unread,
        }
    }

    /// What became of the messages among these rows, in the order of the record.
    ///
    /// # Errors
    ///
    /// When the record cannot be read.
    pub(super) fn of(mut self, rows: &[WindowRow]) -> io::Result<Vec<DeliveryStep>> {
        for row in rows {
            let WindowRow::Entry { entry, .. } = row else {
                continue;
            };
            let Some(to) = entry.receiver() else { continue };
            for place in self.behind(entry.seq.0, to) {
                let Some(step) = self.step(place)? else {
                    continue;
                };
                if step.record.message_id != entry.id {
                    continue;
                }
                let step = step.clone();
                let is_end = is_end(&step.record);
                self.wanted.insert(place, step);
                if is_end {
                    break;
                }
            }
        }
        Ok(self.wanted.into_values().collect())
    }

    /// Where deliveries to this receiver stand behind an entry.
    fn behind(&self, seq: u64, to: Agent) -> Vec<usize> {
        let index = self.shared.index();
        let slots = index.slots();
        let target = index.words().targets.find(to.as_str());
        let sieve = Sieve::new(&RowQuery::default(), index.words());
        let from = slots.count_below(seq + 1);
        let behind = (from..slots.len()).take(WITHIN);
        let is_delivery = |place: &usize| {
            let slot = slots.at(*place);
            let is_for = slot.codes[2] == target || slot.codes[2] == OTHER;
            is_for && sieve.class(&slot).is_some_and(|class| class.is_delivery)
        };
        behind.filter(is_delivery).take(READ_EACH).collect()
    }

    /// The delivery at a place; none where it cannot be read, or enough was read for this page.
    fn step(&mut self, place: usize) -> io::Result<Option<&DeliveryStep>> {
        if !self.read.contains_key(&place) && self.read.len() < READ_MAX {
            let slot = self.shared.index().slots().at(place);
            let stored = self.unread.take(slot.seq.into(), self.shared.load(slot))?;
            let step = stored.and_then(|stored| match stored.entry.kind {
                EntryKind::Delivery(record) => Some(DeliveryStep {
                    record,
                    at_ms: stored.entry.timestamp_ms,
                    line: slot.seq.into(),
                }),
                _ => None,
            });
            self.read.insert(place, step);
        }
        Ok(self.read.get(&place).and_then(Option::as_ref))
    }
}

/// Whether nothing more becomes of its message.
fn is_end(record: &DeliveryRecord) -> bool {
    match record.result {
        DeliveryResult::Acknowledged
        | DeliveryResult::Rejected
        | DeliveryResult::Expired
        | DeliveryResult::Cancelled => true,
        DeliveryResult::Confirmed | DeliveryResult::Ambiguous | DeliveryResult::Requeued => false,
    }
}
