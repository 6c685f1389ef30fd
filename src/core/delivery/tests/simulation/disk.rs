//! [`Disk`]: what outlives everybody: the ledger, folded as the real one is, and the rows.

use std::collections::BTreeMap;

use serde_json::Map;

use super::world::{Draft, Event, World};
use crate::agent::{Agent, Party};
use crate::delivery::{Delivery, DeliveryWay, OnBusy};
use crate::entry::{DeliveryRecord, DeliveryResult, Entry, EntryKind, Message};
use crate::fold::fold;
use crate::id::{EntryId, Seq, SessionId, TurnId};
use crate::snapshot::Snapshot;

/// What the ledger says of one message, kept apart from the fold to check it.
#[derive(Debug, Clone)]
pub struct Fate {
    pub seq: Seq,
    pub to: Agent,
    pub on_busy: OnBusy,
    pub results: Vec<DeliveryResult>,
}

impl Fate {
    pub fn is_proven(&self) -> bool {
        self.results.iter().any(|result| {
            matches!(
                result,
                DeliveryResult::Confirmed | DeliveryResult::Acknowledged
            )
        })
    }

    pub fn is_over(&self) -> bool {
        matches!(
            self.results.last(),
            Some(
                DeliveryResult::Acknowledged
                    | DeliveryResult::Rejected
                    | DeliveryResult::Expired
                    | DeliveryResult::Cancelled
            )
        )
    }

    /// Nobody knows, and the operator has not said what to do.
    pub fn is_ambiguous(&self) -> bool {
        !self.is_proven() && self.results.last() == Some(&DeliveryResult::Ambiguous)
    }
}

/// What is durable.
#[derive(Debug, Default)]
pub struct Disk {
    pub world: Snapshot,
    pub rows: BTreeMap<EntryId, Delivery>,
    pub fates: BTreeMap<EntryId, Fate>,
    /// The record says that the human stopped a turn of Codex.
    pub is_stopped: bool,
    /// Until when the writer is busy: entries reach the disk in their order.
    pub writing_until: i64,
    /// Until when the writer of the rows is busy: they reach the disk in their order.
    pub rows_until: i64,
}

/// What the writer is given, and who waits for it.
#[derive(Debug, Clone)]
pub enum Write {
    /// A message, and whether it is rejected at once.
    Message {
        id: EntryId,
        draft: Draft,
        rejected: bool,
    },
    /// What became of one.
    Result {
        id: EntryId,
        to: Agent,
        result: DeliveryResult,
        rung: Option<DeliveryWay>,
        turn: Option<TurnId>,
    },
}

impl World {
    /// Gives something to the writer: one after the other.
    pub fn append(&mut self, write: Write) {
        let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) else {
            return;
        };
        let at = self.disk.writing_until.max(self.now) + self.rng.i64(0..3);
        self.disk.writing_until = at;
        self.after(at - self.now, Event::Write(incarnation, write));
    }

    /// The writer's turn. It dies with its daemon.
    pub fn write(&mut self, incarnation: u64, write: Write) {
        if self
            .daemon
            .as_ref()
            .is_none_or(|d| d.incarnation != incarnation)
        {
            return;
        }
        if self.percent(self.nature.disk_refuses) {
            return self.not_written(write);
        }
        match &write {
            Write::Message {
                id,
                draft,
                rejected,
            } => {
                let message = EntryKind::Message(Message {
                    on_busy: draft.on_busy,
                    require_reply: false,
                    handles: Vec::new(),
                    in_reply_to: None,
                    from_turn: None,
                    decision: None,
                });
                let from = draft.to.peer().into();
                let seq = self.put(id.clone(), from, draft.to, message);
                let fate = Fate {
                    seq,
                    to: draft.to,
                    on_busy: draft.on_busy,
                    results: Vec::new(),
                };
                self.disk.fates.insert(id.clone(), fate);
                if *rejected {
                    self.put_result(id, draft.to, DeliveryResult::Rejected, None, None);
                }
            }
            Write::Result {
                id,
                to,
                result,
                rung,
                turn,
            } => {
                self.put_result(id, *to, *result, rung.clone(), turn.clone());
            }
        }
        // The daemon may die between the disk and this.
        let hop = self.rng.i64(0..2);
        self.after_in_order(hop, incarnation, write);
    }

    fn put_result(
        &mut self,
        id: &EntryId,
        to: Agent,
        result: DeliveryResult,
        rung: Option<DeliveryWay>,
        turn: Option<TurnId>,
    ) {
        let record = EntryKind::Delivery(DeliveryRecord {
            message_id: id.clone(),
            attempt_id: None,
            to,
            result,
            outcome: None,
            rung,
            turn_id: turn,
            given: None,
        });
        let entry = EntryId::new(format!("r{}", self.disk.world.seq.0 + 1));
        self.put(entry, Party::System, to, record);
        if let Some(fate) = self.disk.fates.get_mut(id) {
            fate.results.push(result);
        }
    }

    fn put(&mut self, id: EntryId, source: Party, target: Agent, kind: EntryKind) -> Seq {
        let seq = Seq(self.disk.world.seq.0 + 1);
        let entry = Entry {
            id,
            timestamp_ms: self.now,
            session_id: SessionId::new("s"),
            source,
            target: Some(target.into()),
            content: String::new(),
            whole: None,
            carried: None,
            kind,
            runtime_session: None,
            meta: Map::new(),
            seq,
        };
        fold(&mut self.disk.world, &entry);
        seq
    }

    fn after_in_order(&mut self, hop: i64, incarnation: u64, write: Write) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let at = daemon.told_until.max(self.now + hop);
        daemon.told_until = at;
        let call = super::daemon::Call::Written(write);
        self.after(at - self.now, Event::Daemon(incarnation, call));
    }
}
