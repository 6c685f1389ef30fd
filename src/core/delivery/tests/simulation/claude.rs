//! [`Claude`]: one process with its bridge, its doorbell and its hooks, as observed (Claude Code
//! 2.1.330): a channel notification is dropped without a word where channels are off; a hook can
//! die before it prints or after; a call can be cancelled.

use super::checks::Showing;
use super::daemon::Call;
use super::world::{Event, World};
use crate::delivery::{ClaudeInput, HookPoint, LadderInput, MessageCursor, Rung};
use crate::entry::DeliveryWay;
use crate::id::{EntryId, RuntimeSession};

/// A call is given up after this long, ms.
const CALL_MS: i64 = 1_600;

/// A hook or a call has answered after this long, ms. Claude does one after the other.
const HOOK_MS: i64 = 16;

/// A doorbell's line is shown at once while less than ten were shown of late, and one more can be
/// every two seconds, ms; otherwise it waits for the next one.
const LINE_MS: i64 = 2_000;
const LINES: i64 = 10;

/// What a model does with what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// It says what it has read.
    Acknowledges,
    /// It never says so.
    Silent,
    /// It fetches with every step, also what it has.
    Fetches,
}

/// What a hook puts into the context.
#[derive(Debug, Clone)]
pub struct HookText {
    pub bodies: Vec<Showing>,
    /// Of this the beginning.
    pub cut: Option<EntryId>,
    /// It says that something has to be fetched.
    pub asks: bool,
    pub carrier: HookPoint,
}

#[derive(Debug)]
pub struct Claude {
    pub process: u32,
    bridge: Option<u64>,
    bell: Option<u64>,
    /// When as many lines could be shown at once as ever.
    lines_ms: i64,
    turn: Option<u32>,
    turns: u32,
    /// A stop has prolonged the turn.
    is_prolonged: bool,
    /// It was told to fetch something.
    is_to_fetch: bool,
    /// Seen and not acknowledged.
    unread: Vec<EntryId>,
    /// Where its next call for messages goes on.
    cursor: MessageCursor,
    /// When it last asked: it waits for the answer before it asks again.
    asked_ms: i64,
    /// When its last hook began.
    hook_ms: i64,
}

/// What a client is told by itself.
#[derive(Debug, Clone)]
pub enum Told {
    Push(Showing),
    Ring { asks: bool },
}

/// What reaches Claude.
#[derive(Debug, Clone)]
pub enum ClaudeAct {
    DialBridge,
    DialBell,
    /// Somebody or something prompted it a moment ago.
    Prompted,
    /// Through the connection of this number.
    Told(u64, Told),
    HookReply(HookText),
    /// The answer to a call for messages, and where the next goes on.
    Page(Vec<Showing>, MessageCursor),
    Tool(u32),
    End(u32),
}

impl World {
    pub fn start_claude(&mut self) {
        if self.claude.is_some() {
            return;
        }
        self.processes += 1;
        self.claude = Some(Claude {
            process: self.processes,
            bridge: None,
            bell: None,
            lines_ms: 0,
            turn: None,
            turns: 0,
            is_prolonged: false,
            is_to_fetch: false,
            unread: Vec::new(),
            cursor: MessageCursor::default(),
            asked_ms: 0,
            hook_ms: 0,
        });
        self.claude_redials();
        self.tell_ladder(LadderInput::NewContext);
    }

    /// Bridge and doorbell find a daemon that has just started, or look again.
    pub fn claude_redials(&mut self) {
        let Some(process) = self.claude.as_ref().map(|claude| claude.process) else {
            return;
        };
        for step in [ClaudeAct::DialBridge, ClaudeAct::DialBell] {
            let pause = self.rng.i64(1..150);
            self.after(pause, Event::Claude(process, step));
        }
    }

    /// The daemon is gone: so are the connections.
    pub fn bridge_hears_nothing(&mut self) {
        if let Some(claude) = &mut self.claude {
            claude.bridge = None;
            claude.bell = None;
        }
    }

    pub fn kill_claude(&mut self) {
        let Some(claude) = self.claude.take() else {
            return;
        };
        self.note(|| "claude dies".to_owned());
        if let Some(bridge) = claude.bridge {
            self.tell_ladder(LadderInput::Left { bridge });
        }
        if let Some(bell) = claude.bell {
            self.tell_ladder(LadderInput::BellGone { bell });
        }
        self.checks.begun.clear();
        let pause = self.rng.i64(50..3_000);
        self.after(pause, Event::StartClaude);
    }

    pub fn cut_bridge(&mut self) {
        let Some(claude) = &mut self.claude else {
            return;
        };
        let process = claude.process;
        if let Some(bridge) = claude.bridge.take() {
            self.tell_ladder(LadderInput::Left { bridge });
            let pause = self.rng.i64(20..1_000);
            self.after(pause, Event::Claude(process, ClaudeAct::DialBridge));
        }
    }

    pub fn cut_bell(&mut self) {
        let Some(claude) = &mut self.claude else {
            return;
        };
        let process = claude.process;
        if let Some(bell) = claude.bell.take() {
            self.tell_ladder(LadderInput::BellGone { bell });
            let pause = self.rng.i64(20..2_000);
            self.after(pause, Event::Claude(process, ClaudeAct::DialBell));
        }
    }

    /// Over a connection: in its order, and at once.
    fn tell_ladder(&mut self, input: LadderInput) {
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            self.after(0, Event::Daemon(incarnation, Call::Ladder(input)));
        }
    }

    pub fn tell_claude(&mut self, conn: u64, told: Told) {
        if let Some(process) = self.claude.as_ref().map(|claude| claude.process) {
            let mut at = self.now + self.hop();
            if matches!(told, Told::Push(..)) {
                // Through the connection by which the bridge gets its answers.
                at = at.max(self.handed_until);
                self.handed_until = at;
            }
            let step = ClaudeAct::Told(conn, told);
            self.after(at - self.now, Event::Claude(process, step));
        }
    }

    pub fn claude_step(&mut self, step: ClaudeAct) {
        let Some(claude) = &mut self.claude else {
            return;
        };
        match step {
            ClaudeAct::DialBridge => {
                if self.daemon.is_none() || claude.bridge.is_some() {
                    return;
                }
                self.conns += 1;
                claude.bridge = Some(self.conns);
                let process = Some(claude.process);
                let (bridge, mode) = (self.conns, self.mode());
                self.tell_ladder(LadderInput::Attached {
                    bridge,
                    process,
                    mode,
                });
            }
            ClaudeAct::DialBell => {
                if self.daemon.is_none() || claude.bell.is_some() || !self.nature.bell_hangs {
                    return;
                }
                self.conns += 1;
                claude.bell = Some(self.conns);
                let bell = self.conns;
                self.tell_ladder(LadderInput::BellHung { bell });
            }
            ClaudeAct::Prompted => self.begin_claude_turn(),
            ClaudeAct::Told(conn, Told::Push(showing)) => {
                if claude.bridge == Some(conn) && self.nature.channel_works {
                    if !showing.counts {
                        self.check_repeat(&showing);
                    }
                    self.sees(showing);
                    self.begin_claude_turn();
                }
            }
            ClaudeAct::Told(conn, Told::Ring { asks }) => {
                let is_shown = claude.lines_ms - self.now <= (LINES - 1) * LINE_MS;
                if claude.bell == Some(conn) && self.nature.bell_works && is_shown {
                    claude.lines_ms = claude.lines_ms.max(self.now) + LINE_MS;
                    claude.is_to_fetch |= asks;
                    self.begin_claude_turn();
                }
            }
            ClaudeAct::HookReply(text) => self.hook_prints(text),
            ClaudeAct::Page(bodies, cursor) => self.page_arrives(bodies, cursor),
            ClaudeAct::Tool(turn) => {
                if claude.turn == Some(turn) {
                    self.claude_works();
                }
            }
            ClaudeAct::End(turn) => {
                if claude.turn == Some(turn) {
                    self.end_claude_turn();
                }
            }
        }
    }

    /// The prompt's hook, and a turn unless one runs.
    fn begin_claude_turn(&mut self) {
        if let Some(claude) = &self.claude
            && self.now - claude.asked_ms < HOOK_MS
        {
            let process = claude.process;
            let pause = HOOK_MS;
            return self.after(pause, Event::Claude(process, ClaudeAct::Prompted));
        }
        self.claude_hook(HookPoint::Prompt);
        let Some(claude) = &mut self.claude else {
            return;
        };
        if claude.turn.is_none() {
            self.claude_turn_runs();
        }
    }

    fn claude_turn_runs(&mut self) {
        let Some(claude) = &mut self.claude else {
            return;
        };
        claude.turns += 1;
        claude.turn = Some(claude.turns);
        let (process, turn) = (claude.process, claude.turns);
        let length = self.rng.i64(30..3_000);
        for _ in 0..self.rng.u32(1..4) {
            let tool = self.rng.i64(10..length);
            self.after(tool, Event::Claude(process, ClaudeAct::Tool(turn)));
        }
        self.after(length, Event::Claude(process, ClaudeAct::End(turn)));
    }

    fn claude_hook(&mut self, carrier: HookPoint) {
        let now = self.now;
        let Some(claude) = &mut self.claude else {
            return;
        };
        claude.hook_ms = now;
        let process = claude.process;
        if !self.is_calm && self.percent(4) {
            // It was too slow, or found nobody.
            return;
        }
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            let hop = self.hop();
            let call = Call::Hook(process, carrier);
            self.after(hop, Event::Daemon(incarnation, call));
        }
    }

    fn hook_prints(&mut self, text: HookText) {
        let dies = !self.is_calm;
        let is_stop = text.carrier == HookPoint::Stop;
        let is_empty = text.bodies.is_empty() && text.cut.is_none();
        if is_empty && text.carrier != HookPoint::Prompt {
            return;
        }
        if dies && self.percent(4) {
            if is_stop {
                self.turn_seems_over();
            }
            return;
        }
        if let Some(claude) = &mut self.claude {
            claude.is_to_fetch |= text.asks;
            if is_stop && claude.turn.is_none() {
                claude.is_prolonged = true;
                self.claude_turn_runs();
            }
        }
        let ids: Vec<EntryId> = text.bodies.iter().map(|body| body.id.clone()).collect();
        for body in text.bodies {
            self.handed_to_claude(&body);
            self.sees(body);
        }
        self.checks.begun.extend(text.cut);
        let is_unheard = ids.is_empty() || (dies && self.percent(4));
        if !is_unheard {
            let rung = DeliveryWay::Hook;
            self.tell_ladder(LadderInput::Proven { ids, rung });
        }
    }

    /// Nobody heard of a turn's end: after a while Claude says that it waits for a prompt.
    pub fn turn_seems_over(&mut self) {
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            self.after(1_000, Event::Daemon(incarnation, Call::IdlePrompt));
        }
    }

    pub fn claude_asks(&mut self) {
        let now = self.now;
        let Some(claude) = &mut self.claude else {
            return;
        };
        let is_asking = now - claude.asked_ms < CALL_MS;
        let is_asking = is_asking || now - claude.hook_ms < HOOK_MS;
        if claude.bridge.is_none() || is_asking {
            return;
        }
        claude.asked_ms = now;
        claude.is_to_fetch = false;
        let call = Call::Page(claude.process, claude.cursor.clone());
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            let hop = self.hop();
            self.after(hop, Event::Daemon(incarnation, call));
        }
    }

    /// The bridge gives the page to Claude, and says so behind it: unless it is cut off, or ends.
    fn page_arrives(&mut self, bodies: Vec<Showing>, cursor: MessageCursor) {
        let is_cancelled = !self.is_calm && self.percent(10);
        let is_unheard = !self.is_calm && self.percent(4);
        let attached = self.claude.as_mut();
        let attached = attached.filter(|claude| claude.bridge.is_some());
        let Some(claude) = attached.filter(|_| !is_cancelled) else {
            return;
        };
        // Where there is more it asks on.
        claude.is_to_fetch |= cursor != MessageCursor::default();
        claude.cursor = cursor;
        if bodies.is_empty() {
            return;
        }
        let ids = bodies.iter().map(|body| body.id.clone()).collect();
        for body in bodies {
            self.sees(body);
        }
        if !is_unheard {
            let rung = DeliveryWay::Pull;
            self.tell_ladder(LadderInput::Proven { ids, rung });
        }
    }

    fn sees(&mut self, showing: Showing) {
        self.shown_to_claude(&showing);
        if let Some(claude) = &mut self.claude
            && !claude.unread.contains(&showing.id)
        {
            claude.unread.push(showing.id);
        }
    }

    fn claude_works(&mut self) {
        let habit = self.nature.habit;
        let diligent = habit != Habit::Silent && (self.is_calm || self.rng.u32(..10) < 4);
        let obeys = self.is_calm || self.rng.bool();
        let asks = habit == Habit::Fetches || self.rng.u32(..5) == 0;
        let Some(claude) = &mut self.claude else {
            return;
        };
        let asks = asks || (obeys && claude.is_to_fetch);
        if diligent && !claude.unread.is_empty() {
            let ids = std::mem::take(&mut claude.unread);
            self.tell_ladder(LadderInput::Acknowledged { ids });
        }
        if asks {
            self.claude_asks();
        } else {
            self.claude_hook(HookPoint::Tool);
        }
    }

    fn end_claude_turn(&mut self) {
        let limited = self.now < self.limited_until;
        let Some(claude) = &mut self.claude else {
            return;
        };
        if let Some(turn) = claude.turn
            && self.now - claude.hook_ms < HOOK_MS
        {
            // It waits for its hooks.
            let process = claude.process;
            return self.after(HOOK_MS, Event::Claude(process, ClaudeAct::End(turn)));
        }
        if let (true, Some(turn), true) = (self.is_calm, claude.turn, claude.is_to_fetch)
            && claude.bridge.is_some()
        {
            // Not before it has done what it was told to. It does one thing after the other.
            let process = claude.process;
            self.after(CALL_MS, Event::Claude(process, ClaudeAct::End(turn)));
            return self.claude_asks();
        }
        claude.turn = None;
        claude.hook_ms = self.now;
        let is_prolonged = std::mem::take(&mut claude.is_prolonged);
        let process = claude.process;
        if !limited && !self.is_calm && self.percent(4) {
            // The human stopped it, or its hook died.
            return self.turn_seems_over();
        }
        let pause = self.hop() + 4;
        if let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) {
            let call = if limited {
                let why = "rate_limit".to_owned();
                Call::Claude(ClaudeInput::Failed { limited, why })
            } else {
                Call::Stop(process, is_prolonged)
            };
            self.after(pause, Event::Daemon(incarnation, call));
        }
    }

    pub fn human_prompts_claude(&mut self) {
        if self.claude.is_some() {
            self.begin_claude_turn();
        }
    }

    /// `/clear`: the model forgets everything; bridge and doorbell stay.
    pub fn claude_clears(&mut self) {
        if self
            .claude
            .as_ref()
            .is_some_and(|claude| claude.turn.is_none())
        {
            self.checks.begun.clear();
            self.tell_ladder(LadderInput::NewContext);
        }
    }

    /// What came at once came without a human, and what hooks handed over counts as read.
    pub fn check_ebb(&mut self) {
        let Some(daemon) = &self.daemon else { return };
        if daemon.ended.is_reading_end(&RuntimeSession::default()) {
            if daemon.reading_until < self.now {
                return self
                    .checks
                    .fail("the words of a turn are read for ever".to_owned());
            }
            return self.after(1_000, Event::Ebb);
        }
        let reached = self.nature.bell_hangs && self.nature.bell_works;
        let works = |claude: &Claude| claude.turn.is_some();
        if !reached || self.claude.as_ref().is_some_and(works) || daemon.ladder.rests_at_limit() {
            return;
        }
        let lane = || daemon.backlog.lane(crate::agent::Agent::Claude);
        let stranded = lane().find(|row| daemon.backlog.may_be_offered(row));
        let unread = lane().find(|row| row.in_turn);
        let wrong = match (stranded, unread) {
            (Some(row), _) => format!("{} waits for a human beside an idle Claude", row.id),
            (None, Some(row)) => format!("the turn that had {} is over, and it is unread", row.id),
            (None, None) => return,
        };
        self.checks.fail(wrong);
    }

    /// Everything that waits was announced to the Claude that is there.
    pub fn check_announced(&mut self) {
        let Some(daemon) = &self.daemon else { return };
        let Some(bridge) = daemon.ladder.receiver() else {
            return;
        };
        // Where neither channel nor doorbell works there is nothing to announce with.
        if daemon.ladder.rests_at_limit() || daemon.ladder.first_rung() == Some(Rung::Hooks) {
            return;
        }
        let forgotten = daemon
            .backlog
            .lane(crate::agent::Agent::Claude)
            .filter(|row| daemon.backlog.may_be_offered(row))
            .find(|row| !self.checks.announced.contains(&(bridge, row.id.clone())));
        if let Some(row) = forgotten {
            let wrong = format!("{} was never announced to the bridge that is there", row.id);
            self.checks.fail(wrong);
        }
    }
}
