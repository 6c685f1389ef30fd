//! A turn of Codex that asks Claude something, goes on, and waits for the answer: perhaps when that
//! lies in the app-server's queue already, behind this very turn.

use super::checks::Showing;
use super::claude::ClaudeAct;
use super::daemon::Call;
use super::leaving::HandOut;
use super::server::ServerStep;
use super::world::{Draft, Event, World};
use crate::agent::Agent;
use crate::delivery::{
    AdapterAnswer, ClaimedTexts, CodexInput, Delivery, DeliveryState, LaterInput, MessageCursor,
    Shown,
};
use crate::entry::{DeliveryResult, DeliveryWay, OnBusy};
use crate::id::{EntryId, TurnId};

/// How long one call waits, ms.
const WAIT_MS: i64 = 1_000;

/// How long what was given may take until it counts as taken or not, ms.
const CLAIM_MS: i64 = 1_500;

/// In the calm, an answer that has been there for this long while its turn waits is late, ms.
const LATE_MS: i64 = 500;

/// Since the calm began everything is at work again after this long, ms.
const SETTLED_MS: i64 = 10_000;

/// In the calm nothing is asked later than this, ms: it has to come to its end.
const ASKS_UNTIL_MS: i64 = 120_000;

/// A call of Codex that waits.
#[derive(Debug, Clone)]
pub struct CodexWait {
    turn: TurnId,
    since_ms: i64,
}

/// What a call of Codex gets, once its row is on the disk.
#[derive(Debug, Clone)]
pub struct CodexPage {
    turn: TurnId,
    id: EntryId,
    repeat: bool,
}

/// Whether this says that a message lies in the app-server's queue.
pub fn is_in_queue(input: &CodexInput) -> bool {
    let in_queue = [AdapterAnswer::Queued, AdapterAnswer::StillQueued];
    matches!(input, CodexInput::Answer { answer, .. } if in_queue.contains(answer))
}

impl World {
    fn turn_runs(&self, turn: &TurnId) -> bool {
        let running = self.server.as_ref().and_then(|server| server.turn.as_ref());
        running.is_some_and(|running| running.id == *turn)
    }

    fn tell_daemon(&mut self, call: Call) {
        let hop = self.hop();
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            self.after(hop, Event::Daemon(incarnation, call));
        }
    }

    /// It asks; Claude answers sooner or later.
    pub(super) fn codex_asks(&mut self, turn: TurnId) {
        if !self.turn_runs(&turn) || self.now - ASKS_UNTIL_MS > self.calm_ms {
            return;
        }
        let pause = self.rng.i64(0..1_500);
        let draft = Draft {
            to: Agent::Codex,
            on_busy: OnBusy::Queue,
            handoff: None,
            answers: Some(turn.clone()),
            tries: 0,
        };
        self.after(pause, Event::Send(draft));
        let pause = self.rng.i64(0..1_500);
        let more = self.rng.u32(0..3);
        self.later(pause, ServerStep::Wait(turn, more));
    }

    /// It waits: its turn does not end before that.
    pub(super) fn codex_waits(&mut self, turn: TurnId, more: u32) {
        if !self.turn_runs(&turn) {
            return;
        }
        if let Some(turn) = self.server.as_mut().and_then(|server| server.turn.as_mut()) {
            turn.waits = true;
        }
        self.tell_daemon(Call::CodexWaits(turn.clone()));
        self.later(WAIT_MS + 20, ServerStep::WaitOver(turn, more));
    }

    /// In vain, or it has its answer already.
    pub(super) fn codex_waited(&mut self, turn: TurnId, more: u32) {
        let still_waits = self.turn_stops_waiting(&turn);
        if still_waits && more > 0 {
            let pause = self.rng.i64(0..300);
            self.later(pause, ServerStep::Wait(turn, more - 1));
        }
    }

    /// Whether it waited.
    fn turn_stops_waiting(&mut self, turn: &TurnId) -> bool {
        let running = self
            .server
            .as_mut()
            .and_then(|server| server.turn.as_mut())
            .filter(|running| running.id == *turn && running.waits);
        let Some(running) = running else { return false };
        if running.has_waited() {
            self.later(20, ServerStep::End(turn.clone()));
        }
        true
    }

    /// The result of its call, if the turn is still there to read it.
    pub(super) fn codex_reads(&mut self, turn: &TurnId, showing: Showing) {
        if !self.turn_stops_waiting(turn) {
            return;
        }
        let id = showing.id.clone();
        self.shown_to_codex(showing);
        self.tell_daemon(Call::CodexFetched(id));
    }

    /// Its call reaches the daemon.
    pub(super) fn codex_begins_to_wait(&mut self, turn: TurnId) {
        let since_ms = self.now;
        if let Some(daemon) = &mut self.daemon {
            daemon.codex_wait = Some(CodexWait {
                turn: turn.clone(),
                since_ms,
            });
            let incarnation = daemon.incarnation;
            let over = Call::CodexWaited(turn);
            self.after(WAIT_MS, Event::Daemon(incarnation, over));
        }
        self.answer_codex();
    }

    /// Its time is up.
    pub(super) fn codex_waited_in_vain(&mut self, turn: &TurnId) {
        let runs = self.turn_runs(turn);
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let mine = |wait: &mut CodexWait| wait.turn == *turn && wait.since_ms + WAIT_MS <= self.now;
        let Some(wait) = daemon.codex_wait.take_if(mine) else {
            return;
        };
        let is_settled = wait.since_ms >= self.calm_ms.saturating_add(SETTLED_MS);
        let late = daemon.backlog.lane(Agent::Codex).find(|row| {
            let mut queue = self.thread.queue.iter();
            self.answers.get(&row.id) == Some(turn)
                && row.changed_ms + LATE_MS <= self.now
                && queue.any(|message| message.id == row.id)
        });
        let wrong = late.filter(|_| is_settled && runs).map(|row| {
            let id = &row.id;
            format!("{turn} waited in vain for {id}, which lies behind it")
        });
        if let Some(wrong) = wrong {
            self.checks.fail(wrong);
        }
    }

    /// A call that waits is answered, if there is what it waits for.
    pub(super) fn answer_codex(&mut self) {
        let at = self.moment();
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let Some(CodexWait { turn, .. }) = daemon.codex_wait.clone() else {
            return;
        };
        let (answers, backlog) = (&self.answers, &mut daemon.backlog);
        let fits = |id: &EntryId| answers.get(id) == Some(&turn);
        let waits = |row: &&Delivery| row.state == DeliveryState::Queued && fits(&row.id);
        let free = backlog.lane(Agent::Codex).filter(waits);
        let found = free
            .filter(|row| !backlog.is_ending(&row.id))
            .map(|row| (row.id.clone(), row.is_repeat()))
            .next();
        let Some((id, repeat)) = found else {
            let behind = daemon
                .flow
                .to_ask_back(backlog)
                .find(|id| fits(id))
                .cloned();
            let awaited = behind.map(|id| LaterInput::Codex(CodexInput::Awaited { id }));
            return self.tell_later(awaited);
        };
        daemon.codex_wait = None;
        let mut effects = Vec::new();
        let now = at.now_ms;
        backlog.claim(&id, Shown::Whole, &at.attempt, CLAIM_MS, now, &mut effects);
        self.checks.asked_for(&id);
        self.checks.fetched.insert(id.clone());
        let claimed = id.clone();
        let out = HandOut {
            claimed: ClaimedTexts::default(),
            rows: Vec::new(),
            head: None,
            step: ClaudeAct::Page(Vec::new(), MessageCursor::default()),
            process: 0,
            left_over: None,
            is_stop: false,
            page_of_codex: Some(CodexPage { turn, id, repeat }),
        };
        self.claims(out, vec![claimed], effects);
    }

    /// What it gets leaves, if that still waits for it.
    pub(super) fn codex_page_leaves(&mut self, page: CodexPage, waits: bool) -> bool {
        if waits {
            let showing = Showing {
                id: page.id,
                repeat: page.repeat,
                counts: true,
            };
            self.later(2, ServerStep::Page(page.turn, showing));
        }
        waits
    }

    /// Codex's side of the call says that it arrived.
    pub(super) fn codex_has(&mut self, id: &EntryId) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let mut effects = Vec::new();
        if daemon.backlog.get(id).is_some_and(Delivery::can_be_proven) {
            let (result, rung) = (DeliveryResult::Confirmed, Some(DeliveryWay::Pull));
            daemon
                .backlog
                .mark_recording(id, result, rung, None, &mut effects);
        }
        let _ = self.perform(Agent::Codex, effects);
    }

    /// The app-server has it no more.
    pub(super) fn adapter_took_back(&mut self, id: EntryId) {
        let Some(adapter) = self.adapter() else {
            return;
        };
        let is_it = |known: &super::adapter::Unproven| known.message.id == id;
        let Some(at) = adapter.inflight.iter().position(is_it) else {
            return;
        };
        let attempt = adapter.inflight.remove(at).attempt;
        self.answer(id, attempt, AdapterAnswer::TakenBack);
    }
}
