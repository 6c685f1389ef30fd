//! What leaves the daemon only once the rows before it are on the disk. They are
//! written beside it, and it may die when they are and it has not heard of it.

use super::checks::Showing;
use super::claude::{ClaudeAct, Told};
use super::codex_waits::CodexPage;
use super::daemon::Call;
use super::fault::Fault;
use super::world::{Event, World};
use crate::agent::Agent;
use crate::delivery::{
    ClaimedTexts, ClaudeInput, Delivery, DeliveryEffect, HeldEffect, HeldTooMuch, LadderInput,
    RowsDue, leaves, stays,
};
use crate::entry::OnBusy;
use crate::id::{EntryId, RuntimeSession, Seq};

/// Why a Claude that asked gets nothing: the rows that would say so are not on the disk.
#[derive(Debug)]
pub struct NotOnDisk;

impl From<HeldTooMuch> for NotOnDisk {
    fn from(_: HeldTooMuch) -> Self {
        Self
    }
}

/// Bodies for an agent that asked, by a call or a hook.
#[derive(Debug, Clone)]
pub struct HandOut {
    /// Known once they are claimed.
    pub claimed: ClaimedTexts,
    pub rows: Vec<(EntryId, bool)>,
    /// Of this the beginning.
    pub head: Option<EntryId>,
    /// The answer that holds them.
    pub step: ClaudeAct,
    pub process: u32,
    /// What a hook had no room for.
    pub left_over: Option<(Seq, Option<EntryId>)>,
    /// It would prolong a turn.
    pub is_stop: bool,
    /// It is the page of a call of Codex instead.
    pub page_of_codex: Option<CodexPage>,
}

impl HandOut {
    fn agent(&self) -> Agent {
        match self.page_of_codex {
            Some(_) => Agent::Codex,
            None => Agent::Claude,
        }
    }
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
    ///
    /// # Errors
    ///
    /// When the writer takes nothing more.
    pub fn store(&mut self, agent: Agent, ids: &[EntryId]) -> Result<(), NotOnDisk> {
        let is_full = self.percent(self.nature.disk_refuses);
        let believes_ahead = self.fault == Some(Fault::RowAheadBelieved);
        let Some(daemon) = &mut self.daemon else {
            return Ok(());
        };
        let lane = daemon.held.waits_for(agent);
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
            if is_full {
                self.checks
                    .unknown
                    .extend(rows.into_iter().map(|row| row.id));
                return Err(NotOnDisk);
            }
            let token = self.put_rows(rows);
            self.wait_for_rows(agent, token);
        } else if let Some(token) = behind {
            self.wait_for_rows(agent, token);
        }
        Ok(())
    }

    fn wait_for_rows(&mut self, agent: Agent, token: u64) {
        if let Some(daemon) = &mut self.daemon {
            daemon.held.begin(agent, token);
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
            self.checks.unknown.extend(ids.iter().cloned());
        }
        if !is_written {
            for (_, held) in daemon.held.take_failed(token) {
                match held {
                    HeldEffect::Leave(effect) => self.does_not_leave(&effect),
                    HeldEffect::Then(out) => self.goes_on(out, Err(NotOnDisk)),
                }
            }
            return;
        }
        let is_withdrawn = |id: &EntryId| self.disk.rows.get(id).is_some_and(|row| row.withdrawn);
        if ids.iter().any(is_withdrawn) && !self.is_calm && self.percent(20) {
            return self.kill_daemon("behind its word that a message is asked back");
        }
        while let Some(daemon) = &mut self.daemon
            && let Some((_, held)) = daemon.held.next_durable(token)
        {
            match held {
                HeldEffect::Leave(effect) => self.may_leave(effect),
                HeldEffect::Then(out) => self.goes_on(out, Ok(())),
            }
        }
    }

    /// It leaves as soon as it may.
    pub fn let_leave(&mut self, agent: Agent, effect: DeliveryEffect) {
        if self.fault == Some(Fault::SentBeforeDurable) {
            return self.may_leave(effect);
        }
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        match daemon.held.hold(agent, HeldEffect::Leave(effect)) {
            Ok(Some(HeldEffect::Leave(effect))) => self.may_leave(effect),
            Err(HeldEffect::Leave(effect)) => self.does_not_leave(&effect),
            Ok(_) | Err(_) => {}
        }
    }

    /// Does what follows from claiming these: the answer with them leaves behind that.
    pub fn claims(&mut self, mut out: HandOut, ids: Vec<EntryId>, effects: Vec<DeliveryEffect>) {
        let incarnation = self.incarnations;
        let stored = self.perform(out.agent(), effects);
        if self.incarnations != incarnation {
            return;
        }
        if let Some(daemon) = &self.daemon {
            out.claimed = ClaimedTexts::of(&daemon.backlog, ids);
        }
        match stored {
            Ok(()) => self.when_stored(out),
            Err(refusal) => self.goes_on_later(out, refusal),
        }
    }

    /// Who asked hears as soon as it may.
    fn when_stored(&mut self, out: HandOut) {
        if self.fault == Some(Fault::SentBeforeDurable) {
            return self.goes_on(out, Ok(()));
        }
        let agent = out.agent();
        if let Some(daemon) = &mut self.daemon {
            daemon.held.when_stored(agent, out);
        }
    }

    /// Who asked hears that it cannot be.
    fn goes_on_later(&mut self, out: HandOut, why: NotOnDisk) {
        if let Some(daemon) = &mut self.daemon {
            daemon.held.go_on(out, Err(why));
        }
    }

    fn may_leave(&mut self, effect: DeliveryEffect) {
        let Some(daemon) = &self.daemon else { return };
        let (backlog, ladder) = (&daemon.backlog, &daemon.ladder);
        match leaves(effect, backlog, &daemon.flow, |_| Some(ladder)) {
            Ok(DeliveryEffect::Push { bridge, id, repeat }) => {
                let counts = daemon.push_counts.get(&id).is_some_and(|counts| *counts);
                self.pushes(bridge, Showing { id, repeat, counts });
            }
            Ok(effect) => self.perform_one(effect),
            Err(told) => self.tell_later(told),
        }
    }

    pub fn does_not_leave(&mut self, effect: &DeliveryEffect) {
        let told = self.daemon.as_ref().and_then(|d| stays(effect, &d.backlog));
        self.tell_later(told);
    }

    /// Who asked hears, unless somebody took back meanwhile what it was to get, or it is gone.
    pub fn goes_on(&mut self, mut out: HandOut, stored: Result<(), NotOnDisk>) {
        let Some(daemon) = &self.daemon else { return };
        let claimed = std::mem::take(&mut out.claimed);
        let waits = stored.is_ok() && claimed.still_wait(&daemon.backlog);
        let agent = out.agent();
        let took = self.hands_out(out, waits);
        if !took && agent == Agent::Claude {
            self.checks.unknown.extend(claimed.ids().cloned());
        }
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        for told in claimed.are_over(&mut daemon.backlog, took, self.now) {
            self.machine_hears(told);
        }
    }

    fn pushes(&mut self, bridge: u64, body: Showing) {
        self.check_offer(&body.id, "pushed");
        // All of it leaves; that a channel may drop it is another matter.
        self.checks.begun.remove(&body.id);
        if let Some(daemon) = &mut self.daemon {
            daemon.unsent_ahead.remove(&body.id);
            daemon.backlog.pushed(&body.id, self.now);
        }
        if body.counts {
            self.check_repeat(&body);
        }
        self.tell_claude(bridge, Told::Push(body));
    }

    /// Bodies leave after their rows are written, or not at all. Whether somebody takes them.
    fn hands_out(&mut self, out: HandOut, waits: bool) -> bool {
        if let Some(page) = out.page_of_codex {
            return self.codex_page_leaves(page, waits);
        }
        let asker = self.claude.as_ref();
        let is_there = asker.is_some_and(|claude| claude.process == out.process);
        if !waits || !is_there {
            if out.is_stop && is_there {
                self.claude_hears(ClaudeInput::Worked);
            }
            return false;
        }
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
            ClaudeAct::Page(page, _) => *page = bodies,
            ClaudeAct::HookReply(text) => text.bodies = bodies,
            _ => {}
        }
        let hop = self.hop();
        let at = self.handed_until.max(self.now + hop);
        self.handed_until = at;
        self.after(at - self.now, Event::Claude(out.process, step));
        if let Some((upto, to_fetch)) = out.left_over {
            self.ladder(LadderInput::LeftOver { upto, to_fetch });
        }
        true
    }
}
