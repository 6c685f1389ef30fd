//! [`Leaving`]: what leaves the daemon only once the rows before it are on the disk. They are
//! written beside it, and it may die when they are and it has not heard of it.

use super::checks::Showing;
use super::claude::{ClaudeStep, Told};
use super::daemon::Call;
use super::fault::Fault;
use super::world::{Event, World};
use crate::agent::Agent;
use crate::delivery::{CodexInput, Delivery, DeliveryEffect, LadderInput, OnBusy, RowsDue};
use crate::id::{AttemptId, EntryId, RuntimeSession, Seq};

/// What leaves the daemon.
#[derive(Debug, Clone)]
pub enum Leaving {
    /// To the adapter.
    HandOver(DeliveryEffect),
    /// Through this bridge.
    Push(u64, Showing),
    /// To a Claude that asked.
    HandOut(HandOut),
}

/// Bodies for a Claude that asked, by a call or a hook.
#[derive(Debug, Clone)]
pub struct HandOut {
    pub rows: Vec<(EntryId, bool)>,
    /// Of this the beginning.
    pub head: Option<EntryId>,
    /// The answer that holds them.
    pub step: ClaudeStep,
    pub process: u32,
    /// What a hook had no room for.
    pub left_over: Option<(Seq, Option<EntryId>)>,
    /// It would prolong a turn.
    pub is_stop: bool,
}

/// What is done to the rows.
#[derive(Debug, Clone)]
pub enum RowWrite {
    Put(u64, Vec<Delivery>),
    Remove(EntryId),
}

impl World {
    /// Gives rows to their writer: one after the other.
    pub fn write_rows(&mut self, write: RowWrite) {
        let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) else {
            return;
        };
        let at = self.disk.rows_until.max(self.now) + self.rng.i64(0..3);
        self.disk.rows_until = at;
        self.after(at - self.now, Event::Rows(incarnation, write));
    }

    /// Writes rows as they are now. One that was never attempted needs none.
    pub fn store(&mut self, agent: Agent, ids: &[EntryId]) {
        let believes_ahead = self.fault == Some(Fault::RowAheadBelieved);
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let lane = daemon.held_of(agent).waits_for();
        let answered = if believes_ahead {
            u64::MAX
        } else {
            daemon.rows_answered
        };
        let RowsDue { rows, behind } =
            daemon
                .rows_ahead
                .due(&mut daemon.backlog, ids.iter(), answered, lane);
        if !rows.is_empty() {
            let token = self.put_rows(rows);
            self.wait_for_rows(agent, token);
        } else if let Some(token) = behind {
            self.wait_for_rows(agent, token);
        }
    }

    fn wait_for_rows(&mut self, agent: Agent, token: u64) {
        if let Some(daemon) = &mut self.daemon {
            daemon.held_of(agent).begin(token);
        }
    }

    fn put_rows(&mut self, rows: Vec<Delivery>) -> u64 {
        let Some(daemon) = &mut self.daemon else {
            return 0;
        };
        daemon.tokens += 1;
        let token = daemon.tokens;
        let ids = rows.iter().map(|row| row.id.clone());
        daemon.writing.insert(token, ids.collect());
        self.write_rows(RowWrite::Put(token, rows));
        token
    }

    /// A message is being recorded: its row goes to the disk beside it, when the ladder would push
    /// it at once.
    pub fn store_ahead(&mut self, id: &EntryId, on_busy: OnBusy) {
        let at = self.moment();
        let Some(daemon) = &self.daemon else { return };
        let pair = RuntimeSession::default();
        let row = Delivery::recorded(id.clone(), Seq(0), Agent::Claude, pair, on_busy, self.now);
        if let Some(row) = daemon.ladder.row_ahead(row, &at) {
            if !self.is_calm && self.percent(25) {
                // The entry is there much sooner.
                self.disk.rows_until = self.disk.rows_until.max(self.now) + self.rng.i64(0..60);
            }
            let token = self.put_rows(vec![row.clone()]);
            if let Some(daemon) = &mut self.daemon {
                daemon.unsent_ahead.insert(id.clone());
                daemon.rows_ahead.begin(row, token);
            }
        }
    }

    /// Rows that were written ahead of what did not happen go again.
    pub fn remove_wrong_rows(&mut self) {
        let wrong = self.daemon.as_mut().map(|d| d.rows_ahead.take_wrong());
        for id in wrong.unwrap_or_default() {
            self.write_rows(RowWrite::Remove(id));
        }
    }

    /// The writer's turn. It dies with its daemon.
    pub fn rows_reach_disk(&mut self, incarnation: u64, write: RowWrite) {
        if self.incarnations != incarnation || self.daemon.is_none() {
            return;
        }
        let (token, rows) = match write {
            RowWrite::Remove(id) => {
                self.disk.rows.remove(&id);
                if let Some(daemon) = &mut self.daemon {
                    daemon.unsent_ahead.remove(&id);
                }
                return;
            }
            RowWrite::Put(token, rows) => (token, rows),
        };
        let refuses = self.percent(self.nature.disk_refuses);
        if !refuses {
            let rows = rows.into_iter().map(|row| (row.id.clone(), row));
            self.disk.rows.extend(rows);
        }
        // The daemon may die between the disk and this.
        let hop = self.rng.i64(0..2);
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let at = daemon.rows_told_until.max(self.now + hop);
        daemon.rows_told_until = at;
        let call = Call::RowsWritten(token, !refuses);
        self.after(at - self.now, Event::Daemon(incarnation, call));
    }

    /// What the writer of the rows says.
    pub fn rows_written(&mut self, token: u64, is_written: bool) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let ids = daemon.writing.remove(&token).unwrap_or_default();
        daemon.rows_answered = token;
        if !is_written {
            daemon.rows_ahead.failed(token);
            self.checks.unknown.extend(ids);
        }
        for agent in Agent::ALL {
            if !is_written {
                let Some(daemon) = &mut self.daemon else {
                    return;
                };
                for leaving in daemon.held_of(agent).take_failed(token) {
                    self.stays(leaving);
                }
                continue;
            }
            while let Some(leaving) = self
                .daemon
                .as_mut()
                .and_then(|daemon| daemon.held_of(agent).next_durable(token))
            {
                self.leaves(leaving);
            }
        }
    }

    /// It leaves as soon as it may.
    pub fn let_leave(&mut self, agent: Agent, leaving: Leaving) {
        let is_hasty = self.fault == Some(Fault::SentBeforeDurable);
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let now = if is_hasty {
            Some(leaving)
        } else {
            daemon.held_of(agent).hold(leaving)
        };
        if let Some(leaving) = now {
            self.leaves(leaving);
        }
    }

    fn leaves(&mut self, leaving: Leaving) {
        let Some(daemon) = &self.daemon else { return };
        let may = match &leaving {
            Leaving::HandOver(DeliveryEffect::HandOver { id, attempt, .. }) => {
                daemon.flow.may_leave(&daemon.backlog, id, attempt)
            }
            Leaving::Push(bridge, body) => {
                daemon.ladder.may_leave(&daemon.backlog, *bridge, &body.id)
            }
            Leaving::HandOver(_) => true,
            Leaving::HandOut(out) => {
                let mut ids = out.rows.iter().map(|(id, _)| id).chain(&out.head);
                ids.all(|id| daemon.backlog.get(id).is_some())
            }
        };
        if !may {
            return match leaving {
                Leaving::HandOver(DeliveryEffect::HandOver { id, attempt, .. }) => {
                    self.is_not_sent(CodexInput::NotWanted { id: id.clone() }, &id, &attempt)
                }
                leaving => self.stays(leaving),
            };
        }
        match leaving {
            Leaving::HandOver(effect) => self.perform_one(effect),
            Leaving::Push(bridge, body) => self.pushes(bridge, body),
            Leaving::HandOut(out) => self.hands_out(out),
        }
    }

    /// It does not leave, and its machine hears of it.
    fn stays(&mut self, leaving: Leaving) {
        match leaving {
            Leaving::HandOver(DeliveryEffect::HandOver { id, attempt, .. }) => {
                self.is_not_sent(CodexInput::NotSent { id: id.clone() }, &id, &attempt);
            }
            Leaving::Push(_, body) => self.ladder(LadderInput::NotStored { id: body.id }),
            Leaving::HandOver(_) => {}
            Leaving::HandOut(out) => {
                for id in out.rows.into_iter().map(|(id, _)| id).chain(out.head) {
                    self.checks.unknown.insert(id.clone());
                    self.ladder(LadderInput::NotStored { id });
                }
                if out.is_stop {
                    self.ladder(LadderInput::TurnWorked);
                }
            }
        }
    }

    fn is_not_sent(&mut self, input: CodexInput, id: &EntryId, attempt: &AttemptId) {
        let row = self.daemon.as_ref().and_then(|d| d.backlog.get(id));
        if row.is_none_or(|row| row.attempt.as_ref() == Some(attempt)) {
            self.codex(input);
        }
    }

    fn pushes(&mut self, bridge: u64, body: Showing) {
        self.check_offer(&body.id, "pushed");
        // All of it leaves; that a channel may drop it is another matter.
        self.checks.begun.remove(&body.id);
        if let Some(daemon) = &mut self.daemon {
            daemon.unsent_ahead.remove(&body.id);
        }
        if body.counts {
            self.check_repeat(&body);
        }
        self.tell_claude(bridge, Told::Push(body));
    }

    /// Bodies leave after their rows are written, or not at all.
    fn hands_out(&mut self, out: HandOut) {
        let bodies: Vec<Showing> = out
            .rows
            .into_iter()
            .map(|(id, repeat)| Showing {
                id,
                repeat,
                counts: true,
            })
            .collect();
        for body in &bodies {
            self.check_repeat(body);
            self.checks.begun.remove(&body.id);
        }
        let mut step = out.step;
        match &mut step {
            ClaudeStep::Page(page) => *page = bodies,
            ClaudeStep::HookReply(text) => text.bodies = bodies,
            _ => {}
        }
        let hop = self.hop();
        let at = self.handed_until.max(self.now + hop);
        self.handed_until = at;
        self.after(at - self.now, Event::Claude(out.process, step));
        if let Some((upto, to_fetch)) = out.left_over {
            self.ladder(LadderInput::LeftOver { upto, to_fetch });
        }
    }
}
