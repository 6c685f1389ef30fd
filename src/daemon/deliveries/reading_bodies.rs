//! Has bodies read that are not in memory; see [`crate::daemon::deliveries::bodies`].

use std::borrow::Cow;

use crate::core::agent::Party;
use crate::core::delivery::LaterInput;
use crate::core::entry::ErrorCode;
use crate::core::id::EntryId;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::deliveries::bodies::{
    AlteredLine, BodiesRead, Body, BodyOrder, LostText, NotRead, READ_AT_ONCE, ReadBodies,
    as_recorded,
};
use crate::daemon::deliveries::envelope::says_whether_head_moved;
use crate::daemon::event::Event;
use crate::daemon::owners::continuation::ThenRead;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::store::blobs::BlobError;

impl Deliveries {
    /// What a message that waits is given from; nothing when it cannot be read, or its line is not
    /// as it was recorded. The loop hears of that. `read`: what was read for this.
    ///
    /// # Errors
    ///
    /// When the disk has to be asked first; see [`Self::on_disk`].
    pub(in crate::daemon) fn body<'a>(
        &self,
        base: &Base,
        id: &EntryId,
        read: &'a ReadBodies,
    ) -> Result<Option<Cow<'a, Body>>, NotRead> {
        if let Some(body) = read.get(id) {
            return Ok(body.as_ref().map(Cow::Borrowed));
        }
        let Some(order) = self.body_order(base, id) else {
            return Ok(None);
        };
        match base.at_hand(&order).ok_or(NotRead)? {
            Ok(body) => Ok(Some(Cow::Owned(body))),
            Err(AlteredLine) => {
                // Looking changes nothing. A full queue loses only this hint: the next one who looks
                // gives it again.
                if let Some(events) = base.events.upgrade() {
                    let _ = events.try_send(Event::Altered(id.clone()));
                }
                Ok(None)
            }
        }
    }

    /// Of these messages the first that the disk has to be asked for.
    pub(in crate::daemon) fn on_disk<'a>(
        &self,
        base: &Base,
        ids: impl IntoIterator<Item = &'a EntryId>,
        read: &ReadBodies,
    ) -> Vec<BodyOrder> {
        ids.into_iter()
            .filter(|id| !read.contains_key(*id))
            .filter_map(|id| self.body_order(base, id))
            .filter(|order| base.at_hand(order).is_none())
            .take(READ_AT_ONCE)
            .collect()
    }

    fn body_order(&self, base: &Base, id: &EntryId) -> Option<BodyOrder> {
        let seq = self.outbox.get(id)?.seq;
        let known = base.recorder.world().unsettled.get(id);
        let recent = base.recorder.recent_entry(seq);
        Some(BodyOrder {
            id: id.clone(),
            seq,
            hash: known.and_then(|message| message.hash),
            wants_commit: recent
                .as_ref()
                .is_none_or(|stored| says_whether_head_moved(&base.identity, &stored.entry)),
            recent,
        })
    }

    /// Has bodies read beside the loop; `then` gets them with those that were `read` before.
    pub(in crate::daemon) fn read_bodies(
        &mut self,
        base: &Base,
        orders: Vec<BodyOrder>,
        mut read: ReadBodies,
        then: ThenRead,
    ) {
        // The loop has ended: nothing is given any more.
        let Some(events) = base.events.upgrade() else {
            return;
        };
        let reads = base.reads();
        // Of what fails nothing is given, and it is not asked for a second time.
        read.extend(orders.iter().map(|order| (order.id.clone(), None)));
        let mut found = BodiesRead {
            number: self.bodies.begin(then),
            bodies: read.clone(),
            altered: Vec::new(),
            lost: Vec::new(),
            under_way: base.operations.begin_beside(),
        };
        let failed = BodiesRead {
            number: found.number,
            bodies: read,
            altered: Vec::new(),
            lost: Vec::new(),
            under_way: base.operations.begin_beside(),
        };
        let (ledger, commit) = (base.recorder.ledger().clone(), base.commit.clone());
        let threads = self.bodies.threads();
        tokio::spawn(async move {
            // Nobody closes them.
            let _thread = threads.acquire().await;
            if orders.iter().any(|order| order.wants_commit) {
                commit.read().await;
            }
            let commit = commit.known();
            let read = move || {
                for order in orders {
                    order.read(&ledger, commit.as_ref(), &mut found);
                }
                found
            };
            let found = reads.read(WorkBeside::Bodies, read).await;
            let found = found.unwrap_or(failed);
            let _ = events.send(Event::BodiesRead(Box::new(found))).await;
        });
    }
}

impl Base {
    /// What is in memory, if that is all of it.
    fn at_hand(&self, order: &BodyOrder) -> Option<Result<Body, AlteredLine>> {
        let recent = order.recent.clone()?;
        let ledger = self.recorder.ledger();
        let stored = match as_recorded(ledger, Some(recent), order.seq, order.hash) {
            Ok(stored) => stored?,
            Err(altered) => return Some(Err(altered)),
        };
        let is_all = stored.entry.whole.is_none() && !order.wants_commit;
        is_all.then_some(Ok(Body {
            stored,
            text: None,
            commit: None,
        }))
    }

    /// Records it, once for each entry.
    fn on_text_lost(&mut self, lost: &LostText) {
        if !self.recorder.note_lost_text(&lost.entry) {
            return;
        }
        self.recorder.keep(
            Party::System,
            match lost.error {
                BlobError::Missing => ErrorCode::BlobMissing,
                BlobError::Altered => ErrorCode::BlobAltered,
                BlobError::Io(_) => ErrorCode::BlobUnreadable,
            },
            format!(
                "all of the text of entry {} was kept in a file of its own, and {}; its receiver \
                 got the beginning and was told so",
                lost.entry, lost.error
            ),
        );
    }
}

impl Daemon {
    /// Bodies were read for somebody.
    pub(in crate::daemon) fn on_bodies_read(&mut self, found: BodiesRead) {
        let BodiesRead {
            number,
            bodies,
            altered,
            lost,
            under_way: _heard,
        } = found;
        for id in altered {
            self.deliveries.on_altered(&mut self.base, id);
        }
        for lost in lost {
            self.base.on_text_lost(&lost);
        }
        if let Some(then) = self.deliveries.bodies.take(number) {
            then(self, bodies);
        }
        if self.deliveries.bodies.has_room_again() {
            self.base.later.push(LaterInput::News);
        }
    }
}
