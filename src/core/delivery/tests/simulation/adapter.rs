//! [`Adapter`]: a shell around the real rules of handing over and of recovery, with a connection
//! that ends whenever the app-server or the daemon does. Its facts may come twice, late and in
//! another order.

use std::collections::{BTreeMap, VecDeque};

use super::daemon::Call;
use super::fault::Fault;
use super::server::{Message, Request};
use super::world::{Event, World};
use crate::delivery::recovery::Unconfirmed;
use crate::delivery::{Activity, AdapterAnswer, CodexInput, Way, way};
use crate::entry::{OnBusy, TurnStatus};
use crate::id::{AttemptId, EntryId, ThreadId, TurnId};

/// An idle thread that does not take a message at once is looked at after this long, ms.
const PROOF_WAIT_MS: i64 = 3_000;

/// What the daemon asks.
#[derive(Debug, Clone)]
pub enum Order {
    Deliver {
        id: EntryId,
        attempt: AttemptId,
        on_busy: OnBusy,
        repeat: bool,
        cut_off_in: Vec<TurnId>,
    },
    Recover(Vec<EntryId>),
    TakeBack(EntryId),
    Wake,
    Release,
}

/// What comes from the app-server, or from the adapter's own clock.
#[derive(Debug, Clone)]
pub enum Note {
    /// The request was carried out; `false`: refused, because the turn is another one.
    Done(bool),
    /// What waits in the queue.
    Queue(Vec<EntryId>),
    /// Which messages are in the history, in which turn, and whether as the first.
    History(BTreeMap<EntryId, (TurnId, bool)>),
    /// Subscribed.
    Resumed(Activity, Option<TurnId>),
    Status(Activity),
    TurnStarted(TurnId),
    /// Somebody's words are in the conversation.
    UserMessage(TurnId, Option<EntryId>, bool),
    TurnEnded(TurnId, TurnStatus, Vec<EntryId>, bool),
    /// Time to look.
    Look,
    /// The connection ended.
    Lost,
}

#[derive(Debug, Clone)]
pub(super) struct Unproven {
    pub(super) message: Message,
    pub(super) attempt: Option<AttemptId>,
    pub(super) steered_into: Option<TurnId>,
    pub(super) unconfirmed: Option<Unconfirmed>,
    /// It is to be taken out of the queue.
    pub(super) asked_back: bool,
}

/// What is waited for, one thing at a time.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Busy {
    Sending(EntryId),
    TakingBack(EntryId),
    /// The queue, before the thread is resumed: that starts its delivery.
    Noting,
    Resuming,
    LookingAtQueue,
    LookingAtHistory(Vec<EntryId>),
    Other,
}

/// The adapter of one daemon.
#[derive(Debug, Default)]
pub struct Adapter {
    pub life: u64,
    pub(super) is_starting: bool,
    pub(super) is_ready: bool,
    /// Another process is to go on.
    pub(super) is_released: bool,
    /// It let go, and hears nothing any more.
    pub(super) is_gone: bool,
    pub(super) busy: Option<Busy>,
    pub(super) orders: VecDeque<Order>,
    pub(super) waiting: VecDeque<(Message, Option<AttemptId>)>,
    pub(super) inflight: Vec<Unproven>,
    pub(super) activity: Option<Activity>,
    pub(super) turn: Option<TurnId>,
    /// The turn that ran when the process before let go.
    pub(super) open_before: Option<TurnId>,
    /// The turn that ran when the connection ended.
    pub(super) cut_off: Option<(TurnId, Vec<EntryId>)>,
    pub(super) in_turn: Vec<EntryId>,
    pub(super) wants_look: bool,
}

impl Adapter {
    pub(super) fn is_idle(&self) -> bool {
        self.activity == Some(Activity::Idle)
    }
}

impl World {
    pub(super) fn adapter(&mut self) -> Option<&mut Adapter> {
        self.daemon.as_mut().map(|daemon| &mut daemon.adapter)
    }

    /// Tells the daemon, perhaps late, perhaps twice.
    pub(super) fn fact(&mut self, input: CodexInput) {
        let now = self.now;
        let Some(incarnation) = self.daemon.as_ref().map(|d| d.incarnation) else {
            return;
        };
        let mut delay = 0;
        if self.percent(self.nature.unruly) {
            delay = self.rng.i64(0..60);
        }
        if self.percent(self.nature.unruly) {
            let late = self.rng.i64(0..4_000);
            let again = Call::Codex(input.clone());
            self.after(late, Event::Daemon(incarnation, again));
        }
        if let Some(daemon) = &mut self.daemon {
            daemon.facts_until = daemon.facts_until.max(now + delay);
        }
        self.after(delay, Event::Daemon(incarnation, Call::Codex(input)));
    }

    pub(super) fn answer(
        &mut self,
        id: EntryId,
        attempt: Option<AttemptId>,
        answer: AdapterAnswer,
    ) {
        let Some(life) = self.adapter().map(|adapter| adapter.life) else {
            return;
        };
        self.fact(CodexInput::Answer {
            life,
            id,
            attempt,
            answer,
        });
    }

    pub fn adapter_orders(&mut self, order: Order) {
        if let Order::TakeBack(id) = &order
            && let Some(adapter) = self.adapter()
        {
            let mut inflight = adapter.inflight.iter_mut();
            if let Some(known) = inflight.find(|known| known.message.id == *id) {
                known.asked_back = true;
            }
        }
        if let Order::Recover(ids) = &order {
            let attempts: Vec<_> = ids
                .iter()
                .map(|id| {
                    let backlog = self.daemon.as_ref().map(|d| &d.backlog);
                    let row = backlog.and_then(|backlog| backlog.get(id));
                    let attempt = row.and_then(|row| row.attempt.clone());
                    let cut_off_in = row.map(|row| row.cut_off_in.clone());
                    let asked_back = backlog.is_some_and(|backlog| backlog.is_unwanted(id));
                    (
                        id.clone(),
                        attempt,
                        cut_off_in.unwrap_or_default(),
                        asked_back,
                    )
                })
                .collect();
            let Some(adapter) = self.adapter() else {
                return;
            };
            for (id, attempt, cut_off_in, asked_back) in attempts {
                let mut inflight = adapter.inflight.iter_mut();
                if let Some(known) = inflight.find(|known| known.message.id == id) {
                    // From the process before.
                    known.asked_back |= asked_back;
                    continue;
                }
                adapter.inflight.push(Unproven {
                    message: Message::of_before(id, cut_off_in),
                    attempt,
                    steered_into: None,
                    unconfirmed: Some(Unconfirmed::default()),
                    asked_back,
                });
            }
            adapter.wants_look = true;
        } else if let Some(adapter) = self.adapter() {
            adapter.orders.push_back(order);
        }
        self.adapter_goes_on();
    }

    /// The next thing, when nothing is waited for.
    fn adapter_goes_on(&mut self) {
        let Some(adapter) = self.adapter() else {
            return;
        };
        if adapter.is_released {
            return self.adapter_lets_go();
        }
        if !adapter.is_ready {
            if !adapter.is_starting && adapter.busy.is_none() {
                adapter.is_starting = true;
                let pause = self.rng.i64(50..900);
                let incarnation = self.incarnations;
                self.after(pause, Event::ServerUp(incarnation));
            }
            return;
        }
        if adapter.busy.is_some() {
            return;
        }
        let life = adapter.life;
        if std::mem::take(&mut adapter.wants_look) {
            if adapter
                .inflight
                .iter()
                .any(|message| message.unconfirmed.is_some())
            {
                adapter.busy = Some(Busy::LookingAtQueue);
                return self.request(life, Request::Queue);
            }
            return self.adapter_goes_on();
        }
        if adapter.is_idle()
            && adapter.turn.is_none()
            && adapter.inflight.is_empty()
            && let Some((message, attempt)) = adapter.waiting.pop_front()
        {
            return self.adapter_sends(message, attempt, &Way::Start);
        }
        match adapter.orders.pop_front() {
            None => {}
            Some(Order::Deliver {
                id,
                attempt,
                on_busy,
                repeat,
                cut_off_in,
            }) => {
                let message = Message {
                    id,
                    on_busy,
                    repeat,
                    cut_off_in,
                };
                let turn = adapter.turn.clone();
                let is_idle = adapter.is_idle();
                let chosen = way(on_busy, is_idle, turn.as_ref(), self.nature.has_queue);
                let chosen = match self.fault {
                    Some(Fault::BusyStart) if chosen != Way::Refuse => Way::Start,
                    _ => chosen,
                };
                self.adapter_sends(message, Some(attempt), &chosen);
            }
            Some(Order::Release) => {
                adapter.busy = Some(Busy::Other);
                self.request(life, Request::Release);
            }
            Some(Order::TakeBack(id)) => {
                if !adapter.inflight.iter().any(|known| known.message.id == id) {
                    return self.adapter_goes_on();
                }
                adapter.busy = Some(Busy::TakingBack(id.clone()));
                self.request(life, Request::TakeBack(id));
            }
            Some(Order::Wake | Order::Recover(_)) => self.adapter_goes_on(),
        }
    }

    fn adapter_sends(&mut self, message: Message, attempt: Option<AttemptId>, way: &Way) {
        let Some(adapter) = self.adapter() else {
            return;
        };
        let life = adapter.life;
        let request = match way {
            Way::Refuse => {
                self.answer(message.id, attempt, AdapterAnswer::NotTaken);
                return self.adapter_goes_on();
            }
            Way::Wait => {
                adapter.waiting.push_back((message, attempt));
                return self.adapter_goes_on();
            }
            Way::Steer(turn) => Request::Steer(turn.clone(), message.clone()),
            Way::Enqueue => Request::Add(message.clone()),
            Way::Start => Request::Start(message.clone()),
        };
        adapter.busy = Some(Busy::Sending(message.id.clone()));
        let steered_into = match way {
            Way::Steer(turn) => Some(turn.clone()),
            _ => None,
        };
        adapter.inflight.push(Unproven {
            message,
            attempt,
            steered_into,
            unconfirmed: None,
            asked_back: false,
        });
        self.request(life, request);
    }

    /// The app-server is up.
    pub fn server_up(&mut self) {
        self.start_server();
        let life = self.server.as_ref().map_or(0, |server| server.life);
        // One that let go while it was starting asks nothing: the next process does.
        let Some(adapter) = self.adapter().filter(|adapter| !adapter.is_gone) else {
            return;
        };
        adapter.is_starting = false;
        adapter.life = life;
        adapter.busy = Some(Busy::Noting);
        self.fact(CodexInput::ServerStarted { life });
        self.request(life, Request::Queue);
    }

    pub fn adapter_hears(&mut self, life: u64, note: Note) {
        let Some(adapter) = self.adapter() else {
            return;
        };
        if adapter.life != life || adapter.is_gone {
            return;
        }
        let is_answer = matches!(note, Note::Queue(_) | Note::Resumed(..) | Note::Lost);
        if !adapter.is_ready && !is_answer {
            // Not subscribed.
            return;
        }
        match note {
            Note::Done(done) => self.adapter_is_answered(done),
            Note::Queue(queue) => {
                for message in &mut adapter.inflight {
                    if let Some(unconfirmed) = &mut message.unconfirmed
                        && adapter.busy == Some(Busy::Noting)
                        && queue.contains(&message.message.id)
                    {
                        unconfirmed.was_queued = true;
                    }
                }
                if adapter.busy == Some(Busy::Noting) {
                    adapter.busy = Some(Busy::Resuming);
                    self.adapter_takes_out(life);
                    return self.request(life, Request::Resume);
                }
                adapter.busy = Some(Busy::LookingAtHistory(queue));
                self.request(life, Request::History);
            }
            Note::Resumed(activity, turn) => self.adapter_adopts(activity, turn),
            Note::History(history) => self.adapter_judges(&history),
            Note::Status(activity) => {
                adapter.activity = Some(activity);
                adapter.wants_look |= activity == Activity::Idle;
                self.fact(CodexInput::Activity { life, activity });
            }
            Note::TurnStarted(turn) => {
                adapter.turn = Some(turn.clone());
                adapter.in_turn.clear();
                self.fact(CodexInput::TurnStarted { life, turn });
            }
            Note::UserMessage(turn, Some(id), steered) => {
                adapter.inflight.retain(|message| message.message.id != id);
                adapter.in_turn.push(id.clone());
                self.fact(CodexInput::Proof { id, turn, steered });
            }
            Note::UserMessage(turn, None, _) => self.fact(CodexInput::HumanMessage { life, turn }),
            Note::TurnEnded(turn, status, ids, limited) => {
                let died = false;
                adapter.turn = None;
                for message in &mut adapter.inflight {
                    if message.steered_into.as_ref() == Some(&turn) {
                        message.steered_into = None;
                        message.unconfirmed = Some(Unconfirmed::default());
                        adapter.wants_look = true;
                    }
                }
                self.fact(CodexInput::TurnEnded {
                    life,
                    turn,
                    status,
                    ids,
                    limited,
                    died,
                });
            }
            Note::Look => adapter.wants_look = true,
            Note::Lost => return self.adapter_lost(),
        }
        self.adapter_goes_on();
    }

    /// What is asked back leaves the queue before the thread goes on.
    fn adapter_takes_out(&mut self, life: u64) {
        let lives = self.server.as_ref().is_some_and(|it| it.life == life);
        let Some(adapter) = self.adapter().filter(|_| lives) else {
            return;
        };
        let asked = adapter.inflight.iter().filter(|known| known.asked_back);
        let asked: Vec<EntryId> = asked.map(|known| known.message.id.clone()).collect();
        for id in asked {
            let waiting = self.thread.queue.len();
            self.thread.queue.retain(|message| message.id != id);
            if self.thread.queue.len() < waiting {
                self.adapter_took_back(id);
            }
        }
    }

    fn adapter_is_answered(&mut self, done: bool) {
        let Some(adapter) = self.adapter() else {
            return;
        };
        let id = match adapter.busy.take() {
            Some(Busy::Sending(id)) => id,
            Some(Busy::TakingBack(id)) if done => return self.adapter_took_back(id),
            _ => return,
        };
        let is_idle = adapter.is_idle();
        let life = adapter.life;
        let Some(at) = adapter.inflight.iter().position(|m| m.message.id == id) else {
            // The proof came before the answer.
            return;
        };
        if !done {
            // Too late for that turn: the next one, then.
            let late = adapter.inflight.remove(at);
            let way = way(OnBusy::Queue, is_idle, None, self.nature.has_queue);
            return self.adapter_sends(late.message, late.attempt, &way);
        }
        let attempt = adapter.inflight[at].attempt.clone();
        if is_idle {
            adapter.inflight[at].unconfirmed = Some(Unconfirmed::default());
            let incarnation = self.incarnations;
            self.after(PROOF_WAIT_MS, Event::Adapter(incarnation, life, Note::Look));
        }
        self.answer(id, attempt, AdapterAnswer::Queued);
    }

    fn adapter_adopts(&mut self, activity: Activity, turn: Option<TurnId>) {
        let Some(adapter) = self.adapter() else {
            return;
        };
        let life = adapter.life;
        adapter.is_ready = true;
        adapter.busy = None;
        adapter.activity = Some(activity);
        adapter.turn.clone_from(&turn);
        adapter.wants_look = true;
        let cut_off = adapter.cut_off.take();
        let open_before = adapter.open_before.take();
        let thread = ThreadId::new("t");
        self.fact(CodexInput::Adopted { life, thread });
        self.fact(CodexInput::Activity { life, activity });
        if open_before != turn {
            // What the one before has is no part of the one that runs.
            if let Some(adapter) = self.adapter() {
                adapter.in_turn.clear();
            }
            self.adapter_catches_up(open_before, turn);
        }
        if let Some((turn, ids)) = cut_off {
            self.fact(CodexInput::TurnEnded {
                life,
                turn,
                status: TurnStatus::Interrupted,
                ids,
                limited: false,
                died: true,
            });
        }
    }

    /// Everything that was handed over is unconfirmed.
    fn adapter_lost(&mut self) {
        let Some(adapter) = self.adapter() else {
            return;
        };
        let life = adapter.life;
        adapter.is_ready = false;
        adapter.activity = None;
        adapter.wants_look = false;
        let sending = adapter.busy.take();
        if let Some(turn) = adapter.turn.take() {
            adapter.cut_off = Some((turn, std::mem::take(&mut adapter.in_turn)));
        }
        for message in &mut adapter.inflight {
            message.steered_into = None;
            message.unconfirmed = Some(Unconfirmed::default());
        }
        if let Some(Busy::Sending(id)) = sending {
            let attempt = adapter
                .inflight
                .iter()
                .find(|message| message.message.id == id)
                .and_then(|message| message.attempt.clone());
            self.answer(id, attempt, AdapterAnswer::Unanswered);
        }
        let gave_up = false;
        self.fact(CodexInput::ServerLost { life, gave_up });
        self.adapter_goes_on();
    }
}
