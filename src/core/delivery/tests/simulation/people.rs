//! Senders, the operator and the terminal.

use super::daemon::Call;
use super::disk::Write;
use super::fault::Fault;
use super::leaving::RowWrite;
use super::world::{Draft, Event, World};
use crate::agent::Agent;
use crate::delivery::{Admission, CodexInput, DeliveryState};
use crate::entry::{DeliveryResult, OnBusy};
use crate::id::EntryId;
use crate::snapshot::MessageSnapshot;

/// How often a sender tries.
const TRIES_MAX: u32 = 5;

impl World {
    /// An agent calls its tool.
    pub fn send(&mut self, draft: Draft) {
        let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) else {
            return self.send_again(draft);
        };
        let hop = self.hop();
        self.after(hop, Event::Daemon(incarnation, Call::Send(draft.clone())));
        // The answer may be lost: the same is asked again, as agents do.
        if draft.handoff.is_some() && self.percent(15) {
            let again = self.rng.i64(0..6);
            self.send_later(draft, again);
        }
    }

    /// It was refused, or nobody was there.
    pub fn send_again(&mut self, draft: Draft) {
        let pause = self.rng.i64(20..400);
        self.send_later(draft, pause);
    }

    fn send_later(&mut self, draft: Draft, pause: i64) {
        let tries = draft.tries + 1;
        if tries <= TRIES_MAX {
            self.after(pause, Event::Send(Draft { tries, ..draft }));
        }
    }

    /// The daemon takes a message in.
    pub fn received(&mut self, draft: Draft) {
        let id = self.new_id();
        let now = self.now;
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        if let Some(handoff) = draft.handoff {
            let answer = daemon.admissions.ask((draft.to, handoff), &id, now);
            match daemon.mutant.admission(answer) {
                Admission::New => {}
                Admission::Same(first) => return self.checks.accepted.push(first),
                Admission::Undecided(_) => return self.send_again(draft),
            }
        }
        let busy = draft.to == Agent::Codex && daemon.flow.state().is_busy();
        let rejected = draft.on_busy == OnBusy::Reject && busy;
        if let Some(turn) = &draft.answers {
            self.answers.insert(id.clone(), turn.clone());
        }
        if draft.to == Agent::Claude {
            self.store_ahead(&id, draft.on_busy);
        }
        self.append(Write::Message {
            id,
            draft,
            rejected,
        });
    }

    /// The disk refused.
    pub fn not_written(&mut self, write: Write) {
        match write {
            Write::Message { id, draft, .. } => {
                if let Some(daemon) = &mut self.daemon {
                    daemon.refused(&id);
                    if daemon.rows_ahead.refused(&id) {
                        self.write_rows(RowWrite::Remove(id));
                    }
                }
                self.send_again(draft);
            }
            // What has happened is tried again until it is written.
            Write::Result { .. } | Write::TurnEnded { .. } | Write::Died(_) => self.append(write),
            // Whose word it was hears that.
            Write::Closed { .. } => {}
        }
    }

    /// The operator looks at the queue and does something about it.
    pub fn operator_acts(&mut self) {
        let Some(daemon) = &self.daemon else { return };
        let rows: Vec<(EntryId, Agent, DeliveryState)> = daemon
            .backlog
            .rows()
            .filter(|row| !daemon.backlog.is_recording(&row.id))
            .map(|row| (row.id.clone(), row.to, row.state))
            .collect();
        match self.rng.u32(..4) {
            0 => return self.operator_releases(),
            1 if !self.disk.world.cut_off.is_empty() => return self.operator_sends_again(),
            _ => {}
        }
        if rows.is_empty() {
            return;
        }
        let (id, to, state) = rows[self.rng.usize(..rows.len())].clone();
        if self.rng.u32(..4) == 0 {
            self.checks.taken_back.insert(id.clone());
            let by_operator = self.rng.bool();
            return self.append(Write::Closed { id, by_operator });
        }
        if to == Agent::Codex && state == DeliveryState::Offered {
            return self.operator_withdraws(id);
        }
        let result = match state {
            DeliveryState::Ambiguous if self.rng.bool() => DeliveryResult::Requeued,
            DeliveryState::Ambiguous | DeliveryState::Queued => DeliveryResult::Cancelled,
            _ => return,
        };
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        if result == DeliveryResult::Cancelled && daemon.backlog.has_left(&id) {
            return;
        }
        if result == DeliveryResult::Cancelled {
            self.checks.taken_back.insert(id.clone());
        }
        let mut effects = Vec::new();
        daemon
            .backlog
            .mark_recording(&id, result, None, None, &mut effects);
        let _ = self.perform(to, effects);
    }

    /// They take it out of Codex's own queue, and hear that it is asked back once its row says so.
    fn operator_withdraws(&mut self, id: EntryId) {
        self.checks.taken_back.insert(id.clone());
        self.codex(CodexInput::Withdrawn { id });
    }

    /// The record has the note that closes it: what its sender closes is seen to by the daemon, what the
    /// operator closes by the command that wrote the note. What is under way may arrive all the same.
    pub fn closed(&mut self, id: EntryId, by_operator: bool) {
        if !self.is_calm && self.percent(20) {
            return self.kill_daemon("behind a note");
        }
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let Some((to, state)) = daemon.backlog.get(&id).map(|row| (row.to, row.state)) else {
            return;
        };
        if by_operator && to == Agent::Codex && state == DeliveryState::Offered {
            return self.operator_withdraws(id);
        }
        let mut effects = Vec::new();
        if !by_operator {
            daemon.backlog.set_unwanted(id, true);
            daemon.backlog.end_unwanted(to, &mut effects);
        } else if state == DeliveryState::Queued
            && !daemon.backlog.has_left(&id)
            && !daemon.backlog.is_recording(&id)
        {
            let result = DeliveryResult::Cancelled;
            let backlog = &mut daemon.backlog;
            backlog.mark_recording(&id, result, None, None, &mut effects);
        }
        let _ = self.perform(to, effects);
    }

    /// They want once more what was cut off: once the rows that it had are gone for good.
    fn operator_sends_again(&mut self) {
        let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) else {
            return;
        };
        let ids = self.disk.world.cut_off.keys().cloned().collect();
        let rows_until = self.disk.rows_until.max(self.now);
        let call = Call::SendAgain(ids);
        self.after(rows_until - self.now, Event::Daemon(incarnation, call));
        if self.rng.bool() {
            self.operator_releases();
        }
    }

    /// The rows before it are on the disk: what is wanted still is recorded.
    pub fn sends_again(&mut self, ids: Vec<EntryId>) {
        for id in ids {
            if self.disk.world.cut_off.contains_key(&id) {
                self.append(Write::Result {
                    id,
                    to: Agent::Codex,
                    result: DeliveryResult::Requeued,
                    rung: None,
                    turn: None,
                });
            }
        }
    }

    /// What was cut off is in the backlog again once the record says that it is sent again.
    pub fn tracks_again(&mut self, id: &EntryId, result: DeliveryResult) {
        let message = self.disk.world.unsettled.get(id);
        let message = message.filter(|_| result == DeliveryResult::Requeued);
        let message = message.map(|message| self.as_remembered(message.as_ref().clone()));
        if let (Some(message), Some(daemon)) = (message, &mut self.daemon) {
            daemon.backlog.insert_again(message.delivery(id.clone()));
        }
    }

    /// A message as the daemon knows it.
    pub fn as_remembered(&self, mut message: MessageSnapshot) -> MessageSnapshot {
        if self.fault == Some(Fault::EarlierTurnBelieved) {
            message.cut_off_in.clear();
        }
        if self.fault == Some(Fault::TakenBackForgotten) {
            (message.closed_by_sender, message.closed_by_operator) = (false, false);
        }
        message
    }

    pub fn operator_releases(&mut self) {
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            let call = Call::Codex(CodexInput::Released);
            self.after(0, Event::Daemon(incarnation, call));
        }
    }

    /// The Codex terminal quits and comes again.
    pub fn terminal(&mut self) {
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            let left = Call::Codex(CodexInput::Terminal { attached: false });
            self.after(0, Event::Daemon(incarnation, left));
            let pause = self.rng.i64(10..2_000);
            let came = Call::Codex(CodexInput::Terminal { attached: true });
            self.after(pause, Event::Daemon(incarnation, came));
        }
    }

    pub fn terminal_comes(&mut self) {
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            let came = Call::Codex(CodexInput::Terminal { attached: true });
            self.after(0, Event::Daemon(incarnation, came));
        }
    }
}
