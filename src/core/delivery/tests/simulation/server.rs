//! [`Server`]: the app-server as it was observed (Codex 0.169.0). It does not recognise an id
//! that it has seen; a message leaves the queue 10-30 ms before it is in the conversation, and a
//! kill in between loses it; a steer that was accepted is lost without a word when its turn is
//! stopped before it was read; after the human stopped a turn the queue is held until their next
//! one, and so it is after a turn that began when it was asked to end; after a failed turn it is
//! not.

use std::collections::{BTreeMap, VecDeque};

use super::adapter::Note;
use super::checks::Showing;
use super::world::{Event, World};
use crate::delivery::Activity;
use crate::entry::{OnBusy, TurnStatus};
use crate::id::{EntryId, TurnId};

/// A message as the app-server gets it.
#[derive(Debug, Clone)]
pub struct Message {
    pub id: EntryId,
    pub on_busy: OnBusy,
    pub repeat: bool,
    /// The turns that had it before it was sent again; the adapter's own.
    pub cut_off_in: Vec<TurnId>,
}

impl Message {
    /// One that an earlier daemon handed over: only its id is known, and what the record says of it.
    pub fn of_before(id: EntryId, cut_off_in: Vec<TurnId>) -> Self {
        Self {
            id,
            on_busy: OnBusy::Queue,
            repeat: false,
            cut_off_in,
        }
    }
}

/// What is asked of it.
#[derive(Debug, Clone)]
pub enum Request {
    Add(Message),
    Steer(TurnId, Message),
    Start(Message),
    Queue,
    History,
    Resume,
    Release,
    TakeBack(EntryId),
}

/// What reaches it, and what its time brings.
#[derive(Debug, Clone)]
pub enum ServerStep {
    Request(Request),
    /// What left the queue is written to the conversation.
    Persist,
    /// The turn reads what was steered into it.
    Read(TurnId),
    /// The turn asks the human, or has its answer.
    Ask(TurnId, bool),
    End(TurnId),
    /// The turn asks Claude something.
    Question(TurnId),
    /// It waits for the answer, so many times more.
    Wait(TurnId, u32),
    /// It has waited long enough.
    WaitOver(TurnId, u32),
    /// It gets what it waits for.
    Page(TurnId, Showing),
}

/// What outlives the app-server.
#[derive(Debug, Default)]
pub struct Thread {
    pub(super) queue: VecDeque<Message>,
    /// In which turn each message is, and whether it joined it.
    history: BTreeMap<EntryId, (TurnId, bool)>,
    /// How each turn ended, with our messages in it, and whether by a usage limit.
    pub ended: BTreeMap<TurnId, (TurnStatus, Vec<EntryId>, bool)>,
    /// The human stopped a turn, or it seems so to Codex.
    held: bool,
    /// They did.
    is_humans: bool,
    turns: u32,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) id: TurnId,
    human: bool,
    ours: Vec<EntryId>,
    /// Accepted and not read.
    steered: Vec<Message>,
    asks: bool,
    /// For an answer of Claude's.
    pub(super) waits: bool,
    ends: bool,
}

/// One life of the app-server.
#[derive(Debug)]
pub struct Server {
    pub life: u64,
    loaded: bool,
    /// Out of the queue and not in the conversation yet.
    gap: Option<Message>,
    pub(super) turn: Option<Turn>,
    /// Notifications keep their order.
    told_until: i64,
}

impl World {
    pub fn start_server(&mut self) {
        self.lives += 1;
        self.server = Some(Server {
            life: self.lives,
            loaded: false,
            gap: None,
            turn: None,
            told_until: self.now,
        });
    }

    /// Somebody who has nothing to do with it asks it to end, or it dies.
    pub fn kill_server(&mut self) {
        if self.rng.bool() {
            self.end_in_a_turn();
        }
        let Some(server) = self.server.take() else {
            return;
        };
        self.note(|| "the app-server dies".to_owned());
        let hop = self.hop();
        let incarnation = self.incarnations;
        self.after(hop, Event::Adapter(incarnation, server.life, Note::Lost));
    }

    /// It is asked to end when a turn has just begun: it writes of that turn what it writes of one
    /// that the human stopped, and nobody hears it.
    pub fn end_in_a_turn(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        let (gap, turn) = (server.gap.take(), server.turn.take());
        let ended = match (gap, turn) {
            (Some(message), _) => {
                self.thread.turns += 1;
                let id = TurnId::new(format!("t{}", self.thread.turns));
                let in_turn = (id.clone(), false);
                self.thread.history.insert(message.id.clone(), in_turn);
                self.shown_to_codex(Showing {
                    id: message.id.clone(),
                    repeat: message.repeat,
                    counts: true,
                });
                (id, vec![message.id])
            }
            (None, Some(turn)) => (turn.id, turn.ours),
            (None, None) => return,
        };
        let (turn, ours) = ended;
        let end = (TurnStatus::Interrupted, ours, false);
        self.thread.ended.insert(turn, end);
        self.thread.held = true;
        self.thread.is_humans = false;
        self.note(|| "the app-server ends in a turn".to_owned());
    }

    /// What waits in the queue of an idle thread goes on, or the human stopped a turn, or it is
    /// shown as if they had: that they went on may die with the daemon.
    pub fn check_queue(&mut self) {
        let is_stopped = self.thread.is_humans || self.disk.is_stopped;
        let waits = !self.thread.queue.is_empty() && !is_stopped;
        let is_idle = self
            .server
            .as_ref()
            .is_some_and(|server| server.loaded && server.turn.is_none() && server.gap.is_none());
        if waits && is_idle {
            let queue = &self.thread.queue;
            self.checks.fail(format!(
                "codex holds its queue, and nobody stopped a turn: {queue:?}"
            ));
        }
    }

    fn tell(&mut self, note: Note) {
        let hop = self.hop();
        let Some(server) = &mut self.server else {
            return;
        };
        let at = server.told_until.max(self.now + hop);
        server.told_until = at;
        let life = server.life;
        let incarnation = self.incarnations;
        self.after(at - self.now, Event::Adapter(incarnation, life, note));
    }

    pub(super) fn later(&mut self, delay_ms: i64, step: ServerStep) {
        if let Some(life) = self.server.as_ref().map(|server| server.life) {
            self.after(delay_ms, Event::Server(life, step));
        }
    }

    pub fn server_step(&mut self, step: ServerStep) {
        match step {
            ServerStep::Request(request) => self.serve(request),
            ServerStep::Persist => {
                let message = self.server.as_mut().and_then(|server| server.gap.take());
                if let Some(message) = message {
                    self.begin_turn(Some(message));
                }
            }
            ServerStep::Read(turn) => {
                self.read_steers(&turn);
            }
            ServerStep::Ask(turn, asks) => self.ask(&turn, asks),
            ServerStep::End(turn) => self.end_turn(&turn),
            ServerStep::Question(turn) => self.codex_asks(turn),
            ServerStep::Wait(turn, more) => self.codex_waits(turn, more),
            ServerStep::WaitOver(turn, more) => self.codex_waited(turn, more),
            ServerStep::Page(turn, showing) => self.codex_reads(&turn, showing),
        }
    }

    fn serve(&mut self, request: Request) {
        let Some(server) = &mut self.server else {
            return;
        };
        match request {
            Request::Add(message) => {
                self.thread.queue.push_back(message);
                self.advance();
                self.tell(Note::Done(true));
            }
            Request::Steer(turn, message) => {
                let running = server.turn.as_mut().filter(|known| known.id == turn);
                let joins = running.is_some();
                if let Some(running) = running {
                    running.steered.push(message);
                    let pause = self.rng.i64(1..250);
                    self.later(pause, ServerStep::Read(turn));
                }
                self.tell(Note::Done(joins));
            }
            Request::Start(message) => {
                // On a busy thread this silently is a steer.
                if let Some(running) = &mut server.turn {
                    let turn = running.id.clone();
                    running.steered.push(message);
                    let pause = self.rng.i64(1..250);
                    self.later(pause, ServerStep::Read(turn));
                } else if server.gap.is_some() {
                    // A turn is about to begin; it waits for its end.
                    self.thread.queue.push_front(message);
                } else {
                    self.leave_queue(message);
                }
                self.tell(Note::Done(true));
            }
            Request::Queue => {
                let ids = self.thread.queue.iter().map(|message| message.id.clone());
                let ids = ids.collect();
                self.tell(Note::Queue(ids));
            }
            Request::History => {
                let history = self.thread.history.clone();
                self.tell(Note::History(history));
            }
            Request::Resume => {
                server.loaded = true;
                let activity = server.activity();
                let turn = server.turn.as_ref().map(|turn| turn.id.clone());
                self.tell(Note::Resumed(activity, turn));
                self.advance();
            }
            Request::TakeBack(id) => {
                let waiting = self.thread.queue.len();
                self.thread.queue.retain(|message| message.id != id);
                let is_out = self.thread.queue.len() < waiting;
                self.tell(Note::Done(is_out));
            }
            Request::Release => {
                self.thread.held = false;
                self.thread.is_humans = false;
                self.advance();
                self.tell(Note::Done(true));
            }
        }
    }

    /// An idle thread takes what waits.
    fn advance(&mut self) {
        let Some(server) = &self.server else { return };
        let idle = server.loaded && server.turn.is_none() && server.gap.is_none();
        if idle
            && !self.thread.held
            && let Some(message) = self.thread.queue.pop_front()
        {
            self.leave_queue(message);
        }
    }

    fn leave_queue(&mut self, message: Message) {
        if self.checks.over_before_start.contains(&message.id) {
            let id = &message.id;
            self.checks.fail(format!(
                "{id} was taken back before this daemon began, and begins a turn"
            ));
        }
        if let Some(server) = &mut self.server {
            server.gap = Some(message);
        }
        self.tell(Note::Status(Activity::Busy { waiting: false }));
        let pause = self.rng.i64(10..30);
        self.later(pause, ServerStep::Persist);
    }

    fn begin_turn(&mut self, message: Option<Message>) {
        self.thread.turns += 1;
        let id = TurnId::new(format!("t{}", self.thread.turns));
        let Some(server) = &mut self.server else {
            return;
        };
        server.turn = Some(Turn {
            id: id.clone(),
            human: message.is_none(),
            ours: Vec::new(),
            steered: Vec::new(),
            asks: false,
            waits: false,
            ends: false,
        });
        self.tell(Note::Status(Activity::Busy { waiting: false }));
        self.tell(Note::TurnStarted(id.clone()));
        match message {
            Some(message) => self.persist(&id, message, false),
            None => self.tell(Note::UserMessage(id.clone(), None, false)),
        }
        let length = match self.rng.u32(..10) {
            0..6 => self.rng.i64(20..800),
            6..9 => self.rng.i64(500..4_000),
            _ => self.rng.i64(3_000..12_000),
        };
        if self.rng.u32(..5) == 0 {
            let asks = self.rng.i64(5..length.max(6));
            self.later(asks, ServerStep::Ask(id.clone(), true));
        }
        if self.rng.u32(..4) == 0 {
            let question = self.rng.i64(1..length);
            self.later(question, ServerStep::Question(id.clone()));
        }
        self.later(length, ServerStep::End(id));
    }

    /// From here on the model has it.
    fn persist(&mut self, turn: &TurnId, message: Message, joins: bool) {
        self.thread
            .history
            .insert(message.id.clone(), (turn.clone(), joins));
        if let Some(running) = self.server.as_mut().and_then(|server| server.turn.as_mut()) {
            running.ours.push(message.id.clone());
        }
        // Without a queue a human's prompt can come in between; nothing can be done about that.
        if joins && message.on_busy != OnBusy::Steer && self.nature.has_queue {
            let id = &message.id;
            self.checks.fail(format!(
                "{id} was to wait for a turn of its own and joined {turn}"
            ));
        }
        self.shown_to_codex(Showing {
            id: message.id.clone(),
            repeat: message.repeat,
            counts: true,
        });
        self.tell(Note::UserMessage(turn.clone(), Some(message.id), joins));
    }

    fn read_steers(&mut self, turn: &TurnId) -> bool {
        let running = self
            .server
            .as_mut()
            .and_then(|server| server.turn.as_mut())
            .filter(|running| running.id == *turn);
        let Some(running) = running else { return false };
        let steered = std::mem::take(&mut running.steered);
        let any = !steered.is_empty();
        for message in steered {
            self.persist(turn, message, true);
        }
        any
    }

    fn ask(&mut self, turn: &TurnId, asks: bool) {
        let calm = self.is_calm;
        let Some(server) = &mut self.server else {
            return;
        };
        let Some(running) = server.turn.as_mut().filter(|known| known.id == *turn) else {
            return;
        };
        running.asks = asks;
        let ends = running.ends && !running.waits;
        self.tell(Note::Status(Activity::Busy { waiting: asks }));
        if asks {
            let patience = if calm { 500 } else { 7_000 };
            let pause = self.rng.i64(10..patience);
            self.later(pause, ServerStep::Ask(turn.clone(), false));
        } else if ends {
            self.later(20, ServerStep::End(turn.clone()));
        }
    }

    fn end_turn(&mut self, turn: &TurnId) {
        if self.read_steers(turn) {
            return self.later(60, ServerStep::End(turn.clone()));
        }
        let limited = self.now < self.limited_until;
        let Some(server) = &mut self.server else {
            return;
        };
        let Some(running) = server.turn.take_if(|known| known.id == *turn) else {
            return;
        };
        if running.asks || running.waits {
            server.turn = Some(Turn {
                ends: true,
                ..running
            });
            return;
        }
        if running.human {
            // What was held goes on after the human's next turn.
            self.thread.held = false;
            self.thread.is_humans = false;
        }
        let status = if limited {
            TurnStatus::Failed
        } else {
            TurnStatus::Completed
        };
        self.turn_is_over(running, status, limited);
        self.advance();
    }

    fn turn_is_over(&mut self, turn: Turn, status: TurnStatus, limited: bool) {
        let end = (status, turn.ours.clone(), limited);
        self.thread.ended.insert(turn.id.clone(), end);
        self.tell(Note::Status(Activity::Idle));
        self.tell(Note::TurnEnded(turn.id, status, turn.ours, limited));
    }

    pub fn human_prompts_codex(&mut self) {
        let Some(server) = &mut self.server else {
            // They start the terminal, and that the app-server.
            if self.daemon.is_some() {
                self.adapter_orders(super::adapter::Order::Wake);
            }
            return;
        };
        if server.loaded && server.turn.is_none() && server.gap.is_none() {
            self.begin_turn(None);
        }
    }

    pub fn human_stops_codex(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        if let Some(turn) = server.turn.take() {
            // What was steered and not read is gone.
            self.thread.held = true;
            self.thread.is_humans = true;
            self.turn_is_over(turn, TurnStatus::Interrupted, false);
        }
    }
}

impl Turn {
    /// It goes on; whether only its end is left.
    pub(super) fn has_waited(&mut self) -> bool {
        self.waits = false;
        self.ends && !self.asks
    }
}

impl Server {
    fn activity(&self) -> Activity {
        match &self.turn {
            Some(turn) => Activity::Busy { waiting: turn.asks },
            None if self.gap.is_some() => Activity::Busy { waiting: false },
            None => Activity::Idle,
        }
    }
}
