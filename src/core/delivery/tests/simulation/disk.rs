//! [`Disk`]: what outlives everybody: the ledger, folded as the real one is, and the rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Map;

use super::world::{Draft, Event, World};
use crate::agent::{Agent, Party};
use crate::delivery::Delivery;
use crate::entry::{
    DeliveryRecord, DeliveryResult, DeliveryWay, Entry, EntryKind, LifecycleEvent, Message, OnBusy,
    TurnRecord, TurnStatus,
};
use crate::fold::fold;
use crate::id::{EntryId, Seq, SessionId, ThreadId, TurnId};
use crate::snapshot::Snapshot;

/// What the ledger says of one message, kept apart from the fold to check it.
#[derive(Debug, Clone)]
pub struct Fate {
    pub seq: Seq,
    pub to: Agent,
    pub on_busy: OnBusy,
    pub results: Vec<DeliveryResult>,
    /// The last of them by which it was asked for once more after proof.
    pub again: usize,
}

impl Fate {
    pub fn is_proven(&self) -> bool {
        self.results[self.again..].iter().any(|result| {
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
    /// Nothing: behind what was given to the writer so far, these are sent to Claude again.
    Died(Vec<EntryId>),
    /// How a turn of Codex ended.
    TurnEnded { turn: TurnId, status: TurnStatus },
    /// A note of its sender's closes it, or of the operator's.
    Closed { id: EntryId, by_operator: bool },
}

impl Disk {
    /// Whether it says of a message on its way that nobody is to get it any more.
    pub fn is_taken_back(&self, id: &EntryId) -> bool {
        let Some(message) = self.world.unsettled.get(id) else {
            return false;
        };
        let is_withdrawn = self.rows.get(id).is_some_and(|row| row.withdrawn);
        let is_closed = message.closed_by_sender || message.closed_by_operator;
        message.result.is_none() && (is_withdrawn || is_closed)
    }
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
                    again: 0,
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
            Write::TurnEnded { turn, status } => self.put_turn(turn.clone(), *status),
            Write::Died(_) => {}
            Write::Closed { id, by_operator } => {
                if let Some(message) = self.disk.world.unsettled.get_mut(id) {
                    let message = Arc::make_mut(message);
                    message.closed = true;
                    message.closed_by_operator |= by_operator;
                    message.closed_by_sender |= !by_operator;
                }
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
        // What Claude had in a turn that died is under way still.
        let had = self.disk.fates.get(id).is_some_and(Fate::is_proven);
        let was_had = match to {
            Agent::Codex => self.disk.world.cut_off.contains_key(id),
            Agent::Claude => had && self.disk.world.unsettled.contains_key(id),
        };
        let is_again = result == DeliveryResult::Requeued && was_had;
        let entry = self.entry_id();
        self.put(entry, Party::System, to, record);
        if let Some(fate) = self.disk.fates.get_mut(id) {
            if is_again {
                fate.again = fate.results.len();
            }
            fate.results.push(result);
        }
        if is_again {
            self.checks.owed.insert(id.clone());
        }
        if result != DeliveryResult::Cancelled {
            // Wanted again, or nobody knows.
            self.checks.over_before_start.remove(id);
        }
        if result == DeliveryResult::Confirmed && self.checks.owed.contains(id) {
            let wrong = format!("{id} was sent again, and an earlier turn counts as its proof");
            self.checks.fail(wrong);
        }
    }

    fn put_turn(&mut self, turn_id: TurnId, status: TurnStatus) {
        let turn = EntryKind::Turn(TurnRecord {
            thread_id: ThreadId::new("t"),
            turn_id,
            status,
            started_by: Party::Human,
            stopped_by: None,
        });
        let entry = self.entry_id();
        self.put(entry, Agent::Codex.into(), Agent::Codex, turn);
    }

    /// The record says that a daemon started.
    pub fn disk_hears_of_start(&mut self) {
        let started = LifecycleEvent::DaemonStarted.into();
        let entry = self.entry_id();
        self.put(entry, Party::System, Agent::Codex, started);
    }

    fn entry_id(&self) -> EntryId {
        EntryId::new(format!("r{}", self.disk.world.seq.0 + 1))
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
