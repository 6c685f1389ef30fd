//! [`Daemon`]: the real machines, and a shell around them that dies between any two effects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::adapter::{Adapter, Order};
use super::checks::RUNG;
use super::claude::{ClaudeAct, HookText, Told};
use super::codex_waits::{CodexWait, is_in_queue};
use super::disk::Write;
use super::fault::Fault;
use super::leaving::{HandOut, NotOnDisk, RowWrite};
use super::limits::LIMITS;
use super::mutant::Mutant;
use super::world::{Draft, Event, World};
use crate::agent::Agent;
use crate::delivery::{
    Activity, Admissions, BEGINNING_CHARS, Backlog, CarriedFlow, ClaimedTexts, ClaudeInput,
    ClaudeSetting, ClaudeState, ClaudeStep, CodexFlow, CodexInput, CodexTimeouts, Delivery,
    DeliveryEffect, DeliveryMode, EndedTurns, Fit, HeldEffects, HookPoint, Ladder, LadderInput,
    LadderTimeouts, LaterInput, LaterInputs, Limit, LimitInput, Load, MessageCursor, Moment,
    RowsAhead, Shown, TurnEndSetting, Watchdog,
};
use crate::entry::DeliveryResult;
use crate::id::{AttemptId, EntryId, RuntimeSession, ThreadId, TurnId};

/// A turn that gives no sign for this long is suspect in these worlds, ms.
pub const SILENCE_MS: i64 = 1_500;

/// What a message takes with its envelope, in UTF-16 units: mostly a fraction of what one hook
/// carries, sometimes more than any.
fn units_of(id: &EntryId) -> usize {
    let number = id.as_str().trim_start_matches('m').parse().unwrap_or(0);
    let mut rng = fastrand::Rng::with_seed(number);
    match rng.u32(..12) {
        0 => rng.usize(8_000..20_000),
        1..4 => rng.usize(3_000..7_000),
        _ => rng.usize(200..2_500),
    }
}

/// One life of the daemon.
pub struct Daemon {
    pub incarnation: u64,
    pub backlog: Backlog,
    pub flow: CodexFlow,
    pub ladder: Ladder,
    pub claude: ClaudeState,
    /// The usage limit of Claude.
    pub limit: Limit,
    /// What died of it and is being recorded as sent again.
    pub again: BTreeSet<EntryId>,
    /// Claude's turns whose words are still being read.
    pub ended: EndedTurns,
    /// Until when words are being read, one turn's after the other's.
    pub reading_until: i64,
    pub watchdog: Watchdog,
    pub admissions: Admissions<(Agent, u32)>,
    pub mutant: Mutant,
    pub adapter: Adapter,
    /// Answers of the writer come in their order.
    pub told_until: i64,
    /// When the last fact of the adapter is heard.
    pub facts_until: i64,
    /// What of each lane waits for rows.
    pub held: HeldEffects<HandOut, NotOnDisk>,
    /// What the machines are still to be told.
    pub later: LaterInputs,
    /// Whether the row of a push that waits says that all of it leaves for the model.
    pub push_counts: BTreeMap<EntryId, bool>,
    /// Rows that the disk was given and nobody has heard of, by the token of their write.
    pub writing: BTreeMap<u64, Vec<EntryId>>,
    pub tokens: u64,
    /// Rows that were given to the disk before their messages were recorded.
    pub rows_ahead: RowsAhead,
    /// Of these, whose message has not left.
    pub unsent_ahead: BTreeSet<EntryId>,
    /// The last write of rows that was answered.
    pub rows_answered: u64,
    /// Answers of the rows' writer come in their order.
    pub rows_told_until: i64,
    /// Another process is to go on.
    pub is_leaving: bool,
    /// What a turn of Codex waits for.
    pub codex_wait: Option<CodexWait>,
    deadline: Option<i64>,
}

impl Daemon {
    fn is_claude_here(&self) -> bool {
        self.ladder.receiver().is_some() || self.ladder.bell().is_some()
    }

    /// A request was not recorded, or does not stand.
    pub fn refused(&mut self, id: &EntryId) {
        if self.mutant.hears_refusals() {
            self.admissions.refused(id);
        }
    }
}

/// What reaches the daemon.
#[derive(Debug, Clone)]
pub enum Call {
    Codex(CodexInput),
    Ladder(LadderInput),
    Claude(ClaudeInput),
    /// Claude says that it waits for a prompt.
    IdlePrompt,
    Written(Write),
    /// Rows were written, or the disk refused them.
    RowsWritten(u64, bool),
    Deadline,
    Send(Draft),
    /// `get_messages` of this Claude.
    Page(u32, MessageCursor),
    /// A hook of this Claude, at this point of its turn.
    Hook(u32, HookPoint),
    /// Its turn is at its end; perhaps a stop has prolonged it already.
    Stop(u32, bool),
    /// The words of a turn that ended were read, or could not be.
    TurnRead,
    /// Whether the next process can go on.
    Leave,
    /// A turn of Codex waits for an answer.
    CodexWaits(TurnId),
    /// It does no longer.
    CodexWaited(TurnId),
    /// It has it.
    CodexFetched(EntryId),
    /// The operator wants these once more, of which the turns that had them ended early.
    SendAgain(Vec<EntryId>),
}

impl World {
    pub fn start_daemon(&mut self) {
        if self.daemon.is_some() {
            return;
        }
        self.server = None;
        self.begin_daemon(None);
    }

    /// A process begins, perhaps with what the one before knew.
    pub fn begin_daemon(&mut self, known: Option<(CarriedFlow, Adapter)>) {
        self.incarnations += 1;
        let mut rows: Vec<Delivery> = self.disk.rows.values().cloned().collect();
        let is_forgetful = self.fault == Some(Fault::TakenBackForgotten);
        if is_forgetful {
            rows.iter_mut().for_each(|row| row.withdrawn = false);
        }
        let is_new = known.is_none();
        if is_new {
            let ids = self.disk.world.unsettled.keys();
            let over = ids.filter(|id| self.disk.is_taken_back(id));
            self.checks.over_before_start.extend(over.cloned());
        }
        if is_new {
            self.disk_hears_of_start();
        }
        let unsettled = &self.disk.world.unsettled;
        let unsettled = unsettled.iter().map(|(id, message)| {
            let message = self.as_remembered(message.as_ref().clone());
            (id.clone(), Arc::new(message))
        });
        let unsettled: BTreeMap<EntryId, _> = unsettled.collect();
        let mut restored = Backlog::restore(rows, &unsettled, false);
        for (id, message) in unsettled {
            let backlog = &mut restored.backlog;
            backlog.set_unwanted(id, message.closed_by_sender);
        }
        let mut flow = CodexFlow::new(CodexTimeouts {
            rest_ms: 2_000,
            recovery_ms: 6_000,
            expiry_ms: None,
        });
        let ladder = Ladder::new(
            RuntimeSession::default(),
            LadderTimeouts {
                idle_ms: 4_000,
                claim_ms: 1_500,
                push_ms: 300,
                bell_ms: 200,
                outlet_ms: 300,
                expiry_ms: None,
            },
            false,
        );
        let watchdog = Watchdog::new(SILENCE_MS);
        let admissions = Admissions::new(300_000);
        let mutant = Mutant::new(self.fault);
        let (carried, adapter) = known.unwrap_or_default();
        if !is_new {
            flow.take_over(mutant.carried(carried), self.server.is_some());
        }
        let is_stopped = is_new && self.disk.is_stopped;
        self.daemon = Some(Daemon {
            incarnation: self.incarnations,
            backlog: restored.backlog,
            flow,
            ladder,
            claude: ClaudeState::default(),
            limit: Limit::new(LIMITS),
            again: BTreeSet::new(),
            ended: EndedTurns::default(),
            reading_until: self.now,
            watchdog,
            admissions,
            mutant,
            adapter,
            told_until: self.now,
            facts_until: self.now,
            held: HeldEffects::default(),
            later: LaterInputs::default(),
            push_counts: BTreeMap::new(),
            writing: BTreeMap::new(),
            tokens: 0,
            rows_ahead: RowsAhead::default(),
            unsent_ahead: BTreeSet::new(),
            rows_answered: 0,
            rows_told_until: self.now,
            is_leaving: false,
            codex_wait: None,
            deadline: None,
        });
        if is_new {
            self.checks.daemon_began();
        }
        self.disk.writing_until = self.now;
        self.disk.rows_until = self.now;
        for id in restored.settled {
            self.disk.rows.remove(&id);
        }
        for id in restored.unknowable {
            let Some(daemon) = &mut self.daemon else {
                return;
            };
            let mut effects = Vec::new();
            let result = DeliveryResult::Ambiguous;
            daemon
                .backlog
                .mark_recording(&id, result, None, None, &mut effects);
            let _ = self.perform(Agent::Codex, effects);
        }
        if is_stopped {
            let thread = Some(ThreadId::new("t"));
            self.codex(CodexInput::Stopped { thread });
        }
        self.codex(CodexInput::Began);
        self.settle();
        self.claude_redials();
    }

    pub fn kill_daemon(&mut self, why: &str) {
        if let Some(daemon) = self.daemon.take() {
            let writing = daemon.writing.into_values().flatten();
            self.checks
                .unknown
                .extend(writing.chain(daemon.unsent_ahead));
            self.note(|| format!("the daemon dies: {why}"));
            // Its app-server hangs on it, and is asked to end.
            if self.rng.bool() {
                self.end_in_a_turn();
            }
            self.server = None;
            self.bridge_hears_nothing();
            let pause = self.rng.i64(30..1_500);
            self.after(pause, Event::StartDaemon);
        }
    }

    pub fn call(&mut self, call: Call) {
        let is_leaving = self.daemon.as_ref().is_some_and(|d| d.is_leaving);
        match call {
            // Refused as not carried out, and repeated at the next one.
            Call::Send(draft) if is_leaving => self.send_again(draft),
            Call::Page(..) | Call::Hook(..) if is_leaving => {}
            // Nobody hears of its end.
            Call::Stop(..) if is_leaving => self.turn_seems_over(),
            Call::SendAgain(_) if is_leaving => {}
            Call::SendAgain(ids) => self.sends_again(ids),
            Call::CodexWaits(_) if is_leaving => {}
            Call::CodexWaits(turn) => self.codex_begins_to_wait(turn),
            Call::CodexWaited(turn) => self.codex_waited_in_vain(&turn),
            Call::CodexFetched(id) => self.codex_has(&id),
            Call::Leave => self.daemon_may_go(),
            Call::Codex(input) => self.codex(input),
            Call::Ladder(input) => {
                let process = match &input {
                    LadderInput::Attached { process, .. } => *process,
                    _ => self.claude.as_ref().map(|claude| claude.process),
                };
                if let LadderInput::Proven { ids, .. } = &input {
                    let ids = ids.clone();
                    self.claude_hears(ClaudeInput::Given { ids });
                }
                self.ladder(input);
                self.claude_is_here(process);
            }
            Call::Claude(input) => {
                if matches!(input, ClaudeInput::Failed { .. }) {
                    self.reads_turn();
                }
                self.claude_hears(input);
            }
            Call::IdlePrompt => {
                if self.daemon.as_ref().is_some_and(|d| d.claude.is_in_turn()) {
                    self.claude_hears(ClaudeInput::Idle);
                }
            }
            Call::Written(write) => self.written(write),
            Call::RowsWritten(token, is_written) => self.rows_written(token, is_written),
            Call::Deadline => self.deadline(),
            Call::Send(draft) => self.received(draft),
            Call::Page(process, cursor) => self.page(process, cursor),
            Call::Hook(process, carrier) => {
                self.hook(process, carrier);
            }
            Call::TurnRead => self.turn_was_read(),
            Call::Stop(process, is_prolonged) => {
                self.reads_turn();
                if !is_prolonged {
                    self.ladder(LadderInput::TurnStops);
                }
                if is_prolonged || !self.hook(process, HookPoint::Stop) {
                    self.claude_hears(ClaudeInput::Worked);
                }
            }
        }
        self.settle();
        self.check_turn();
        self.arm();
    }

    /// There is one word about Claude's turn.
    fn check_turn(&mut self) {
        let Some(daemon) = &self.daemon else { return };
        let (ladder, state) = (daemon.ladder.is_in_turn(), daemon.claude.is_in_turn());
        if ladder != state {
            let wrong = format!("in a turn: the ladder says {ladder}, Claude's state {state}");
            self.checks.fail(wrong);
        }
    }

    /// As the daemon's loop: what the machines hear of what was just done, and who goes on, until
    /// nothing is left of it.
    fn settle(&mut self) {
        let incarnation = self.incarnations;
        while let Some(daemon) = &mut self.daemon
            && daemon.incarnation == incarnation
        {
            if let Some(input) = daemon.later.take_next() {
                self.machine_hears(input);
            } else if let Some((out, stored)) = daemon.held.next_ready() {
                self.goes_on(out, stored);
            } else {
                break;
            }
        }
    }

    pub fn machine_hears(&mut self, input: LaterInput) {
        match input {
            LaterInput::Codex(input) => self.codex(input),
            LaterInput::Ladder(_, input) | LaterInput::Ladders(input) => self.ladder(input),
            LaterInput::News => {
                if self.daemon.as_ref().is_some_and(|d| !d.is_leaving) {
                    // A turn that waits for messages gets them into that very turn.
                    self.answer_codex();
                    self.codex(CodexInput::News);
                    self.ladder(LadderInput::News);
                }
                self.remove_wrong_rows();
            }
            LaterInput::Claude(_, input) | LaterInput::Claudes(input) => self.claude_hears(input),
            LaterInput::Limit(_, input) => self.limit(input),
        }
    }

    /// Has the machines told behind what is being done.
    pub fn tell_later(&mut self, input: impl Into<Option<LaterInput>>) {
        if let Some(daemon) = &mut self.daemon {
            daemon.later.extend(input.into());
        }
    }

    /// Hands something to the lane to Codex.
    pub fn codex(&mut self, input: CodexInput) {
        let at = self.moment();
        let now = self.now;
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        self.checks.hears(&input, daemon.flow.state().life());
        match &input {
            CodexInput::Activity { life, activity } if *life == daemon.adapter.life => {
                match activity {
                    Activity::Busy { waiting } => {
                        if !*waiting && !daemon.flow.state().is_busy() {
                            daemon.watchdog.sign(now);
                        }
                        let waits = *waiting && daemon.mutant.hears_approvals();
                        daemon.watchdog.waits(waits, now);
                        self.checks.waits(*waiting, daemon.watchdog.watched(now));
                    }
                    Activity::Idle | Activity::NotLoaded => {
                        daemon.watchdog.over();
                        self.checks.waits(false, daemon.watchdog.watched(now));
                    }
                }
            }
            CodexInput::TurnStarted { .. } => daemon.watchdog.sign(now),
            CodexInput::TurnEnded { turn, status, .. } => {
                let (turn, status) = (turn.clone(), *status);
                self.append(Write::TurnEnded { turn, status });
            }
            _ => {}
        }
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let (is_in_queue, comes_back) = (is_in_queue(&input), input.comes_back());
        let (flow, backlog) = (&mut daemon.flow, &mut daemon.backlog);
        let effects = daemon.mutant.codex(flow, backlog, input, &at);
        let _ = self.perform(Agent::Codex, effects);
        if comes_back {
            self.tell_later(LaterInput::News);
        }
        if is_in_queue {
            self.answer_codex();
        }
    }

    /// Hands something to the ladder of Claude.
    pub fn ladder(&mut self, input: LadderInput) {
        let at = self.moment();
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let (ladder, backlog) = (&mut daemon.ladder, &mut daemon.backlog);
        let effects = daemon.mutant.ladder(ladder, backlog, input, &at);
        let _ = self.perform(Agent::Claude, effects);
    }

    /// What Claude does. Its state drives the ladder, as in the daemon.
    pub fn claude_hears(&mut self, input: ClaudeInput) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let setting = ClaudeSetting {
            is_here: daemon.is_claude_here(),
            is_limited: daemon.limit.is_active(),
        };
        for step in daemon.claude.apply(input, setting) {
            self.ladder_hears_of(&step);
            match step {
                ClaudeStep::Worked => self.limit(LimitInput::Worked),
                ClaudeStep::Died(died) => {
                    let until_ms = None;
                    self.limit(LimitInput::Hit { until_ms, died });
                }
                _ => {}
            }
        }
    }

    fn ladder_hears_of(&mut self, step: &ClaudeStep) {
        let pair = RuntimeSession::default();
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let rests = daemon.ladder.rests_at_limit();
        let setting = TurnEndSetting {
            rests,
            rests_after_work: rests && daemon.limit.rests_after_work(self.now),
            is_read: !daemon.ended.is_reading_end(&pair),
        };
        if let Some(told) = step.told_ladder(setting) {
            daemon.ended.keep_unread(&pair, &told, &daemon.backlog);
            self.ladder(told);
        }
    }

    /// A hook tells that a turn of Claude's ends: its words may have to be read first.
    fn reads_turn(&mut self) {
        if !self.percent(self.nature.read_later) {
            return;
        }
        let takes = [5, 100, 2_000][self.rng.usize(..3)];
        let takes = self.rng.i64(0..takes);
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        daemon.ended.reads_end(&RuntimeSession::default());
        let at = daemon.reading_until.max(self.now) + takes;
        daemon.reading_until = at;
        let incarnation = daemon.incarnation;
        self.after(at - self.now, Event::Daemon(incarnation, Call::TurnRead));
    }

    /// What it had is settled, also where its words could not be read.
    fn turn_was_read(&mut self) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let had = daemon.ended.end_was_read(&RuntimeSession::default());
        let had = daemon.mutant.were_read(had);
        let mut effects = Vec::new();
        daemon.backlog.were_read(&had, &mut effects);
        let _ = self.perform(Agent::Claude, effects);
    }

    /// Its connections have come, or have gone.
    fn claude_is_here(&mut self, pid: Option<u32>) {
        let Some(daemon) = &self.daemon else { return };
        let is_known = daemon.claude.now().state.is_attached();
        match daemon.is_claude_here() {
            // A doorbell beside a bridge tells nothing new.
            true if !is_known || daemon.ladder.receiver().is_some() => {
                self.claude_hears(ClaudeInput::Attached { pid });
            }
            false if is_known => self.claude_hears(ClaudeInput::Gone),
            _ => {}
        }
    }

    pub fn moment(&mut self) -> Moment {
        self.lives += 1;
        Moment {
            now_ms: self.now,
            attempt: AttemptId::new(format!("a{}", self.lives)),
        }
    }

    /// Does what the machine of one agent wants, in its order, and may die before each of it. What
    /// leaves waits for its rows.
    ///
    /// # Errors
    ///
    /// When the rows are not taken; nothing leaves after them.
    pub fn perform(&mut self, agent: Agent, effects: Vec<DeliveryEffect>) -> Result<(), NotOnDisk> {
        let incarnation = self.incarnations;
        let stored: Vec<EntryId> = effects
            .iter()
            .filter_map(|effect| match effect {
                DeliveryEffect::Store(id) => Some(id.clone()),
                _ => None,
            })
            .collect();
        let taken = self.store(agent, &stored);
        for effect in effects {
            let mortal = self.nature.mortal;
            if mortal > 0 && self.rng.u32(..1_000) < mortal {
                self.kill_daemon("between two effects");
            }
            if self.daemon.is_none() || self.incarnations != incarnation {
                self.checks.unknown.extend(stored);
                return taken;
            }
            self.note(|| format!("  {effect:?}"));
            match effect {
                DeliveryEffect::DeliverToAdapter { .. } | DeliveryEffect::Push { .. }
                    if taken.is_err() =>
                {
                    self.does_not_leave(&effect);
                }
                DeliveryEffect::DeliverToAdapter { .. } => self.let_leave(agent, effect),
                DeliveryEffect::Push { ref id, .. } => {
                    if let Some(daemon) = &mut self.daemon {
                        let row = daemon.backlog.get(id);
                        let counts = row.is_some_and(|row| row.shown == Shown::Whole);
                        daemon.push_counts.insert(id.clone(), counts);
                    }
                    self.let_leave(agent, effect);
                }
                effect => self.perform_one(effect),
            }
        }
        taken
    }

    pub fn perform_one(&mut self, effect: DeliveryEffect) {
        match effect {
            DeliveryEffect::Store(_) => {}
            DeliveryEffect::Forget(id) => self.write_rows(RowWrite::Remove(id)),
            DeliveryEffect::Append {
                id,
                to,
                result,
                rung,
                turn,
            } => {
                if to == Agent::Codex && result == DeliveryResult::Confirmed {
                    self.check_proof(&id);
                }
                self.append(Write::Result {
                    id,
                    to,
                    result,
                    rung,
                    turn,
                });
            }
            DeliveryEffect::DeliverToAdapter {
                id,
                attempt,
                on_busy,
                repeat,
            } => {
                self.check_offer(&id, "handed over");
                let row = self.daemon.as_ref().and_then(|d| d.backlog.get(&id));
                let cut_off_in = row.map(|row| row.cut_off_in.clone()).unwrap_or_default();
                self.adapter_orders(Order::Deliver {
                    id,
                    attempt,
                    on_busy,
                    repeat,
                    cut_off_in,
                });
            }
            DeliveryEffect::Recover(ids) => self.adapter_orders(Order::Recover(ids)),
            DeliveryEffect::TakeBack(id) => self.adapter_orders(Order::TakeBack(id)),
            DeliveryEffect::Wake => self.adapter_orders(Order::Wake),
            DeliveryEffect::ReleaseQueue => {
                if self.disk.is_stopped {
                    let wrong = "what the human stopped goes on by itself".to_owned();
                    self.checks.fail(wrong);
                }
                self.adapter_orders(Order::Release);
            }
            // In the real ledger: how the turn ended, and that another began.
            DeliveryEffect::Paused(held) => self.disk.is_stopped = held,
            // They wait for their rows.
            DeliveryEffect::Push { .. } => {}
            DeliveryEffect::Ring { bell, ids, asks } => {
                for id in &ids {
                    self.check_offer(id, RUNG);
                }
                self.tell_claude(bell, Told::Ring { asks });
            }
            DeliveryEffect::Receipt { id, outcome } => self.check_receipt(&id, outcome),
            DeliveryEffect::CutOff { .. }
            | DeliveryEffect::Limit(_)
            | DeliveryEffect::Stale { .. } => {}
        }
    }

    fn written(&mut self, write: Write) {
        match write {
            Write::Message { id, rejected, .. } => {
                let message = self.disk.world.unsettled.get(&id).cloned();
                let Some(daemon) = &mut self.daemon else {
                    return;
                };
                daemon.admissions.admitted(&id);
                if rejected {
                    daemon.refused(&id);
                } else if let Some(message) = message {
                    daemon.backlog.insert(message.delivery(id.clone()));
                    daemon.rows_ahead.recorded(&id);
                }
                self.checks.accepted.push(id);
            }
            Write::TurnEnded { .. } => {}
            Write::Died(ids) => self.sends_what_died(ids),
            Write::Closed { id, by_operator } => self.closed(id, by_operator),
            Write::Result { id, to, result, .. } => match to {
                Agent::Codex => {
                    self.tracks_again(&id, result);
                    self.codex(CodexInput::Durable { id, result });
                }
                Agent::Claude => self.claudes_result(id, result),
            },
        }
        self.tell_later(LaterInput::News);
    }

    /// The record has what became of a message for Claude.
    fn claudes_result(&mut self, id: EntryId, result: DeliveryResult) {
        let is_tracked = |daemon: &Daemon| daemon.backlog.get(&id).is_some();
        let is_again = result == DeliveryResult::Requeued;
        if is_again {
            if !self.daemon.as_ref().is_some_and(is_tracked) {
                self.tracks_again(&id, result);
            }
            self.claude_hears(ClaudeInput::SentAgain { id: id.clone() });
        }
        let told = id.clone();
        self.ladder(LadderInput::Durable { id: told, result });
        if !self.daemon.as_ref().is_some_and(is_tracked) {
            self.claude_hears(ClaudeInput::Settled { id: id.clone() });
        }
        if is_again {
            self.is_sent_again(&id);
        }
    }

    /// What waits for Claude, for a call that asks. Reading takes nothing away.
    fn page(&mut self, process: u32, cursor: MessageCursor) {
        let limit = self.rng.usize(1..6) * if self.is_calm { 4 } else { 1 };
        let Some(daemon) = &self.daemon else { return };
        let pair = RuntimeSession::default();
        let (mut waiting, until) = daemon.backlog.page_of_pair(&pair, &cursor);
        let (mut rows, mut after) = (Vec::new(), cursor.after);
        for row in waiting.by_ref().take(limit) {
            rows.push((row.id.clone(), row.is_repeat()));
            if row.is_repeat() {
                after = after.max(row.seq);
            }
        }
        let more = waiting.next().is_some();
        let next = MessageCursor {
            after,
            until: Some(until),
            cut: None,
        };
        let next = if more { next } else { MessageCursor::default() };
        drop(waiting);
        for (id, _) in &rows {
            self.checks.asked_for(id);
        }
        self.hand_out(HandOut {
            claimed: ClaimedTexts::default(),
            rows,
            head: None,
            step: ClaudeAct::Page(Vec::new(), next),
            process,
            left_over: None,
            is_stop: false,
            page_of_codex: None,
        });
    }

    /// A hook asks what it may carry. Returns whether it gets something.
    fn hook(&mut self, process: u32, carrier: HookPoint) -> bool {
        let Some(daemon) = &mut self.daemon else {
            return false;
        };
        if !daemon.ladder.is_receivers(Some(process)) {
            return false;
        }
        if carrier == HookPoint::Tool {
            self.claude_hears(ClaudeInput::ToolUsed);
        }
        let Some(daemon) = &mut self.daemon else {
            return false;
        };
        let (mut load, mut rows) = (Load::default(), Vec::new());
        let (mut begun, mut to_fetch, mut left_over) = (None, None, None);
        let carried = daemon.ladder.carries(&daemon.backlog, carrier);
        for id in daemon.mutant.carries(carried) {
            let Some(row) = daemon.backlog.get(&id) else {
                continue;
            };
            let units = units_of(&id);
            let fit = load.fit(units);
            if left_over.is_none() && fit == Fit::Whole {
                load.put(units);
                rows.push((id, row.is_repeat()));
                continue;
            }
            if left_over.is_none() && fit == Fit::Fetch {
                let is_new = row.shown == Shown::Nothing;
                let is_shown = is_new && load.has_room(BEGINNING_CHARS);
                to_fetch = Some(id.clone()).filter(|_| !is_new || is_shown);
                begun = Some(id).filter(|_| is_shown);
            }
            left_over = Some(row.seq);
        }
        let is_something = !rows.is_empty() || begun.is_some();
        for (id, _) in &rows {
            self.check_offer(id, "handed to a hook");
        }
        if let Some(id) = &begun {
            self.check_offer(id, "begun by a hook");
        }
        let text = HookText {
            bodies: Vec::new(),
            cut: begun.clone(),
            asks: to_fetch.is_some(),
            carrier,
        };
        self.hand_out(HandOut {
            claimed: ClaimedTexts::default(),
            rows,
            head: begun,
            step: ClaudeAct::HookReply(text),
            process,
            left_over: left_over.map(|upto| (upto, to_fetch)),
            is_stop: carrier == HookPoint::Stop,
            page_of_codex: None,
        });
        if carrier == HookPoint::Prompt {
            self.claude_hears(ClaudeInput::TurnBegan);
        }
        is_something
    }

    fn hand_out(&mut self, out: HandOut) {
        let at = self.moment();
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let input = LadderInput::HandedOut {
            whole: out.rows.iter().map(|(id, _)| id.clone()).collect(),
            head: out.head.clone(),
        };
        let (ladder, backlog) = (&mut daemon.ladder, &mut daemon.backlog);
        let effects = daemon.mutant.ladder(ladder, backlog, input, &at);
        let ids = out.rows.iter().map(|(id, _)| id);
        let ids = ids.chain(&out.head).cloned().collect();
        self.claims(out, ids, effects);
    }

    fn deadline(&mut self) {
        let now = self.now;
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        if daemon.deadline != Some(now) {
            // It was set anew meanwhile.
            return;
        }
        daemon.deadline = None;
        let expired = daemon.backlog.expire_claims(now);
        for id in expired {
            let to = self
                .daemon
                .as_ref()
                .and_then(|d| Some(d.backlog.get(&id)?.to));
            if to == Some(Agent::Codex) {
                self.codex(CodexInput::ClaimEnded { id });
            }
            self.tell_later(LaterInput::News);
        }
        self.settle();
        self.ask_the_watchdog();
        // A machine is asked only when its time has come.
        let is_due = |next: Option<i64>| next.is_some_and(|next| next <= now);
        if let Some(daemon) = &self.daemon
            && is_due(daemon.flow.next_ms(&daemon.backlog))
        {
            self.codex(CodexInput::Tick);
            self.settle();
        }
        if let Some(daemon) = &self.daemon
            && is_due(daemon.ladder.next_ms(&daemon.backlog))
        {
            self.ladder(LadderInput::Tick);
            self.settle();
        }
        if let Some(daemon) = &self.daemon
            && is_due(daemon.limit.next_ms())
        {
            self.limit(LimitInput::Tick);
        }
    }

    /// Looks at what the deck would show of Codex's turn.
    pub fn ask_the_watchdog(&mut self) {
        if let Some(daemon) = &self.daemon {
            self.checks.watched(daemon.watchdog.watched(self.now));
        }
    }

    /// Sets the daemon's alarm.
    fn arm(&mut self) {
        let now = self.now;
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let next = [
            daemon.flow.next_ms(&daemon.backlog),
            daemon.ladder.next_ms(&daemon.backlog),
            daemon.backlog.next_claim_ms(),
            daemon.watchdog.next_ms(now),
            daemon.limit.next_ms(),
        ];
        let Some(next) = next.into_iter().flatten().min() else {
            return;
        };
        let next = next.max(now + 1);
        if daemon.deadline.is_some_and(|set| set <= next && set > now) {
            return;
        }
        daemon.deadline = Some(next);
        let incarnation = daemon.incarnation;
        self.after(next - now, Event::Daemon(incarnation, Call::Deadline));
    }

    /// The mode in which the bridges of these worlds attach.
    pub fn mode(&self) -> DeliveryMode {
        DeliveryMode::Auto
    }
}
