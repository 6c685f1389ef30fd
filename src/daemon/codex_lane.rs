//! How messages reach Codex: one at a time, through the adapter, proven by the `userMessage`
//! item that carries our id.

mod carried;

pub(super) use carried::CarriedLane;

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::event::Answer;
use super::run::{Daemon, answer};
use crate::adapters::codex::adapter::CodexHandle;
use crate::adapters::codex::fact::{CodexFact, ThreadStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::adapters::hold;
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::{Delivery, DeliveryFact, DeliveryState, OnBusy, Outcome};
use crate::core::entry::{
    AgentChanged, DeliveryResult, EntryKind, Message, TurnRecord, TurnStatus,
};
use crate::core::id::{AttemptId, EntryId, RuntimeSession, ThreadId, TurnId};
use crate::wire::control::{CodexJoin, Refusal, Reply};
use crate::wire::status::{AppServerStatus, DeliveryStatus};

/// After a failure the lane rests this long before it tries by itself again.
const REST: Duration = Duration::from_secs(15);

/// The adapter's stop has a deadline of its own (interrupt, SIGTERM, 2 s, SIGKILL); this is above.
const STOP_WAIT: Duration = Duration::from_secs(6);

/// How long recovery may take to find out about a message whose request was never answered. It
/// waits for the thread to be idle, so this is generous.
const RECOVERY_WAIT: Duration = Duration::from_secs(60);

/// How many turns, receipts and attempts are remembered: more than can matter for a late fact.
const REMEMBERED_MAX: usize = 256;

/// What is known of Codex right now.
#[derive(Debug)]
pub struct CodexLane {
    adapter: CodexHandle,
    /// What became of messages whose senders may wait for it.
    pub receipts: Remembered<EntryId, Outcome>,
    attempts: Remembered<EntryId, AttemptId>,
    relayed: Remembered<TurnId, Vec<Relayed>>,
    answered: Remembered<TurnId, ()>,
    turns_noted: HashSet<TurnId>,
    server: Option<AppServerStatus>,
    port: Option<u16>,
    thread: Option<ThreadId>,
    status: Option<ThreadStatus>,
    turn: Option<TurnId>,
    tui: bool,
    tui_pid: Option<u32>,
    approvals: u64,
    context: Option<(u64, u64)>,
    limited: bool,
    /// Handed over and without proof. One at a time, besides those of an earlier daemon and those
    /// that join a running turn while the app-server holds others.
    in_flight: Vec<EntryId>,
    /// Was not taken the last time. Tried again at once only once, then after a rest.
    not_taken: Option<EntryId>,
    /// There is no app-server to be had; what is in flight cannot be found out about.
    unavailable: bool,
    resting_until: Option<Instant>,
    trouble: Option<String>,
    /// Sent without an answer; recovery has until then to find out.
    unanswered: HashMap<EntryId, Instant>,
}

/// A message that we brought into a turn. Kept here and not looked up when the turn ends: the
/// session may have been cleared meanwhile, and the answer is still owed.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Relayed {
    id: EntryId,
    from: Party,
    runtime_session: Option<RuntimeSession>,
}

/// A map that forgets its oldest.
#[derive(Debug)]
pub struct Remembered<K, V> {
    map: HashMap<K, V>,
    order: VecDeque<K>,
}

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self {
            map: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Clone + Eq + std::hash::Hash, V> Remembered<K, V> {
    /// What is remembered under a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key)
    }

    fn insert(&mut self, key: K, value: V) {
        if self.map.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
            if self.order.len() > REMEMBERED_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.map.remove(&oldest);
            }
        }
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key)
    }
}

impl CodexLane {
    pub(super) fn new(adapter: CodexHandle) -> Self {
        Self {
            adapter,
            receipts: Remembered::default(),
            attempts: Remembered::default(),
            relayed: Remembered::default(),
            answered: Remembered::default(),
            turns_noted: HashSet::new(),
            server: None,
            port: None,
            thread: None,
            status: None,
            turn: None,
            tui: false,
            tui_pid: None,
            approvals: 0,
            context: None,
            limited: false,
            in_flight: Vec::new(),
            not_taken: None,
            unavailable: false,
            resting_until: None,
            trouble: None,
            unanswered: HashMap::new(),
        }
    }

    pub(super) fn last_attempt(&self, id: &EntryId) -> Option<AttemptId> {
        self.attempts.get(id).cloned()
    }

    pub(super) fn is_busy(&self) -> bool {
        matches!(self.status, Some(ThreadStatus::Active { .. }))
    }

    /// Whether it is worth a sender's second to wait for proof.
    pub(super) fn may_deliver_soon(&self) -> bool {
        !self.limited && self.resting_until.is_none()
    }

    /// Nothing is on its way.
    pub(super) fn is_quiet(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// A detached daemon must not end now.
    pub(super) fn is_needed(&self) -> bool {
        self.tui || self.is_busy() || (!self.in_flight.is_empty() && !self.unavailable)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let unanswered = self.unanswered.values().min().copied();
        self.resting_until.into_iter().chain(unanswered).min()
    }

    /// A tool call of this turn answered the peer: its final answer need not be relayed.
    pub(super) fn answered_by_tool(&mut self, from: Option<Agent>, turn: Option<String>) {
        if from == Some(Agent::Codex)
            && let Some(turn) = turn.map(TurnId::new).or_else(|| self.turn.clone())
        {
            self.answered.insert(turn, ());
        }
    }

    /// It is known what became of a message.
    fn landed(&mut self, id: &EntryId) {
        self.in_flight.retain(|flying| flying != id);
        self.unanswered.remove(id);
    }

    /// The last message that we brought into a turn.
    pub(super) fn relayed_into(&self, turn: &str) -> Option<EntryId> {
        self.relayed
            .get(&TurnId::new(turn))
            .and_then(|relayed| Some(relayed.last()?.id.clone()))
    }

    pub(super) async fn shutdown(&self) {
        let (reply, stopped) = oneshot::channel();
        if self
            .adapter
            .requests
            .try_send(CodexRequest::Stop { reply })
            .is_ok()
            && timeout(STOP_WAIT, stopped).await.is_err()
        {
            tracing::error!("the codex app-server did not end in time");
        }
    }

    pub(super) fn state(&self) -> AgentState {
        if self.limited {
            return AgentState::Limited;
        }
        match (&self.server, self.status) {
            (None, _) | (_, None | Some(ThreadStatus::NotLoaded)) => AgentState::Offline,
            (_, Some(ThreadStatus::Active { waiting: true })) => AgentState::Waiting,
            (_, Some(ThreadStatus::Active { .. })) => AgentState::Busy,
            (_, Some(ThreadStatus::Idle | ThreadStatus::SystemError)) => AgentState::Idle,
        }
    }

    pub(super) fn status_parts(&self) -> CodexParts {
        let rung = if self.server.is_some() {
            "queue"
        } else {
            "none"
        };
        let why = match (&self.trouble, &self.server) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(_)) if self.tui => {
                "the app-server's queue, proven by Codex's own record".to_owned()
            }
            (None, Some(_)) => {
                "the app-server's queue; no Codex terminal is open, turns run without one"
                    .to_owned()
            }
            (None, None) => "the app-server starts when Codex is first needed".to_owned(),
        };
        CodexParts {
            port: self.port,
            thread_id: self.thread.clone(),
            turn_id: self.turn.clone(),
            app_server: self.server.clone(),
            tui: self.tui,
            approvals: self.approvals,
            context: self.context,
            delivery: DeliveryStatus {
                mode: "push".to_owned(),
                rung: rung.to_owned(),
                proven: false,
                why,
            },
            trouble: self.trouble.clone(),
        }
    }
}

/// What the status shows of Codex.
#[derive(Debug)]
pub(super) struct CodexParts {
    pub port: Option<u16>,
    pub thread_id: Option<ThreadId>,
    pub turn_id: Option<TurnId>,
    pub app_server: Option<AppServerStatus>,
    pub tui: bool,
    pub approvals: u64,
    pub context: Option<(u64, u64)>,
    pub delivery: DeliveryStatus,
    pub trouble: Option<String>,
}

impl Daemon {
    /// Hands the next message over when nothing is on its way.
    pub(super) fn pump_codex(&mut self) {
        // A turn that waits for messages gets them into that very turn.
        self.answer_waiters();
        if self.codex.limited || self.codex.resting_until.is_some() {
            return;
        }
        // What the app-server holds waits there for the end of the turn. What is to join that turn
        // does not wait with it.
        let is_free = self.codex.in_flight.is_empty();
        let all_held = self.codex.in_flight.iter().all(|id| {
            self.outbox
                .get(id)
                .is_none_or(|row| row.state == DeliveryState::Offered)
        });
        let may_overtake = all_held && self.codex.is_busy();
        if !is_free && !may_overtake {
            return;
        }
        // A steer overtakes; nothing else does.
        let next = self
            .outbox
            .lane(Agent::Codex)
            .filter(|row| row.state == DeliveryState::Queued && self.may_be_offered(row))
            .filter(|row| is_free || row.on_busy == OnBusy::Steer)
            .min_by_key(|row| (row.on_busy != OnBusy::Steer, row.seq))
            .map(|row| (row.id.clone(), row.seq, row.on_busy));
        let Some((message_id, seq, on_busy)) = next else {
            return;
        };
        let Some(stored) = self.stored(seq) else {
            return self.rest("a message could not be read from the record");
        };
        // Attempts that were not taken showed nothing to anybody.
        let repeat = self
            .world
            .unsettled
            .get(&message_id)
            .is_some_and(|message| message.result == Some(DeliveryResult::Requeued));
        let text = self.enveloped(&stored.entry, repeat).text;
        let attempt = AttemptId::new(uuid::Uuid::now_v7().to_string());
        // On disk before a byte leaves.
        if self
            .apply(&message_id, DeliveryFact::AttemptBegan(attempt.clone()))
            .is_err()
        {
            return self.rest("the queue could not be written");
        }
        self.codex.attempts.insert(message_id.clone(), attempt);
        let request = CodexRequest::Deliver {
            message_id: message_id.clone(),
            text,
            on_busy,
        };
        if self.codex.adapter.requests.try_send(request).is_err() {
            let _ = self.apply(&message_id, DeliveryFact::NotTaken);
            return self.rest("the Codex adapter takes no requests");
        }
        self.codex.in_flight.push(message_id);
    }

    fn rest(&mut self, why: &str) {
        self.codex.resting_until = Some(Instant::now() + REST);
        if self.codex.trouble.as_deref() != Some(why) {
            self.codex.trouble = Some(why.to_owned());
            self.status_changed();
        }
    }

    pub(super) fn codex_deadline(&mut self) {
        if self
            .codex
            .resting_until
            .is_some_and(|until| Instant::now() >= until)
        {
            self.codex.resting_until = None;
            self.pump_codex();
            // What is on its way is only found out about with a running app-server.
            if !self.codex.is_quiet() && self.codex.server.is_none() {
                self.wake_codex();
            }
        }
        let now = Instant::now();
        // Only an app-server with an idle thread can tell.
        let cannot_tell = self.codex.server.is_none() || self.codex.is_busy();
        let mut overdue = Vec::new();
        for (id, until) in &mut self.codex.unanswered {
            if *until <= now {
                *until = now + RECOVERY_WAIT;
                overdue.push(id.clone());
            }
        }
        for id in overdue.iter().filter(|_| !cannot_tell) {
            self.give_up_knowing(id);
        }
    }

    /// Has the app-server run; what comes of it comes as facts.
    fn wake_codex(&mut self) {
        let (reply, _) = oneshot::channel();
        if self
            .codex
            .adapter
            .requests
            .try_send(CodexRequest::Ensure { reply })
            .is_err()
        {
            tracing::warn!("the Codex adapter takes no requests");
        }
    }

    /// Nobody can find out any more whether Codex has the message.
    pub(super) fn give_up_knowing(&mut self, id: &EntryId) {
        let is_open = self.outbox.get(id).is_some_and(|row| {
            matches!(row.state, DeliveryState::Attempted | DeliveryState::Offered)
        });
        self.codex.landed(id);
        if !is_open {
            return;
        }
        let entry = self.delivery_entry(id, Agent::Codex, DeliveryResult::Ambiguous, None, None);
        let id = id.clone();
        self.record_fact(
            vec![entry],
            Box::new(move |daemon, _| {
                let _ = daemon.apply(&id, DeliveryFact::Unknowable);
                daemon.codex.receipts.insert(id, Outcome::Ambiguous);
            }),
        );
    }

    /// Codex began to work before the message reached it, and its sender wants no waiting.
    fn reject_late(&mut self, id: EntryId) {
        let entry = self.delivery_entry(&id, Agent::Codex, DeliveryResult::Rejected, None, None);
        self.record_fact(
            vec![entry],
            Box::new(move |daemon, _| {
                daemon.recent_handoffs.retain(|recent| recent.id != id);
                daemon.outbox.settle(&id);
                daemon.codex.receipts.insert(id, Outcome::Rejected);
            }),
        );
    }

    /// After a start: what was attempted before and has no proof is for the adapter to find out.
    pub(super) fn recover_codex(&mut self) {
        let message_ids: Vec<EntryId> = self
            .outbox
            .lane(Agent::Codex)
            .filter(|row| matches!(row.state, DeliveryState::Attempted | DeliveryState::Offered))
            .map(|row| row.id.clone())
            .collect();
        if !message_ids.is_empty() {
            // Nothing newer goes out before it is known what became of these.
            let until = Instant::now() + RECOVERY_WAIT;
            self.codex.in_flight.clone_from(&message_ids);
            self.codex.unanswered = message_ids.iter().map(|id| (id.clone(), until)).collect();
            if self
                .codex
                .adapter
                .requests
                .try_send(CodexRequest::Recover { message_ids })
                .is_err()
            {
                tracing::error!("the Codex adapter takes no requests");
            }
        }
    }

    pub(super) fn ensure_codex(&mut self, reply: Answer) {
        let (sender, thread) = oneshot::channel();
        self.codex.resting_until = None;
        if self
            .codex
            .adapter
            .requests
            .try_send(CodexRequest::Ensure { reply: sender })
            .is_err()
        {
            return answer(
                reply,
                Err(Refusal::new(
                    "codex_unavailable",
                    "the Codex adapter takes no requests",
                    "try again in a moment",
                )),
            );
        }
        let proxy_port = self.identity.proxy_port;
        tokio::spawn(async move {
            let result = match thread.await {
                Ok(Ok(thread_id)) => Ok(Reply::Codex(CodexJoin {
                    thread_id,
                    proxy_port,
                })),
                Ok(Err(why)) => Err(Refusal::new(
                    "codex_unavailable",
                    why,
                    "run `ctxrelay doctor` to see what is missing",
                )),
                Err(_) => Err(super::run::stopping()),
            };
            answer(reply, result);
        });
    }

    pub(super) fn on_codex(&mut self, fact: CodexFact) {
        match fact {
            CodexFact::ServerStarted { pid, version, port } => {
                self.codex.server = Some(AppServerStatus { pid, version });
                self.codex.port = Some(port);
                self.know_agent(pid);
                self.codex.unavailable = false;
                self.codex.not_taken = None;
                self.codex.trouble = None;
                self.codex.resting_until = None;
                self.notices.clear("codex");
                self.status_changed();
            }
            CodexFact::ServerLost { why, gave_up } => self.server_lost(&why, gave_up),
            CodexFact::Unavailable { code, why } => {
                self.codex.server = None;
                self.codex.status = None;
                self.codex.unavailable = true;
                if self.notices.set("codex", why.clone()) {
                    self.note_fact(Party::System, EntryKind::Error { code }, why.clone());
                }
                self.rest(&why);
            }
            CodexFact::ThreadAdopted { thread_id } => self.thread_adopted(thread_id),
            CodexFact::ThreadStatus { status } => self.thread_status(status),
            CodexFact::TurnStarted { turn_id, .. } => {
                self.codex.turn = Some(turn_id);
                self.status_changed();
            }
            CodexFact::UserMessage {
                turn_id,
                client_id,
                preview,
                steered,
            } => self.user_message(turn_id, client_id, &preview, steered),
            CodexFact::TurnCompleted {
                thread_id,
                turn_id,
                status,
                final_answer,
                client_ids,
                error,
                usage_limited,
            } => self.turn_completed(
                TurnEnd {
                    thread_id,
                    turn_id,
                    status,
                    error,
                    usage_limited,
                },
                final_answer,
                &client_ids,
            ),
            CodexFact::Queued { message_id } => {
                self.codex.trouble = None;
                self.held(message_id);
            }
            CodexFact::StillQueued { message_id } => {
                // An idle thread that leaves its queue alone was stopped by the human.
                self.codex.trouble = (self.codex.state() == AgentState::Idle)
                    .then(|| "a message waits for your next message in Codex".to_owned());
                self.held(message_id);
            }
            CodexFact::NotTaken { message_id, why } => self.not_taken(message_id, &why),
            CodexFact::Unanswered { message_id } => {
                tracing::info!(%message_id, "codex went away before it answered; recovery will tell");
                let until = Instant::now() + RECOVERY_WAIT;
                self.codex.unanswered.insert(message_id, until);
            }
            CodexFact::Tui { attached, pid } => self.tui(attached, pid),
            CodexFact::ProxyRefused { count } => {
                if self.notices.set(
                    "proxy",
                    "somebody came to the Codex proxy with a wrong token; start the terminal with `ctxrelay codex`",
                ) {
                    self.note_fact(
                        Party::System,
                        EntryKind::Error {
                            code: "proxy_refused".to_owned(),
                        },
                        format!("refused {count} connection(s) to the Codex proxy: wrong token"),
                    );
                    self.status_changed();
                }
            }
            CodexFact::ContextUsed { used, window } => {
                self.codex.context = Some((used, window));
                self.status_changed();
            }
            CodexFact::ApprovalsPending { count } => {
                self.codex.approvals = count;
                self.status_changed();
            }
        }
    }

    /// The app-server has it in its queue.
    fn held(&mut self, id: EntryId) {
        let _ = self.apply(&id, DeliveryFact::Offered);
        self.codex.landed(&id);
        self.codex.not_taken = None;
        if self.outbox.get(&id).is_some() {
            self.codex.in_flight.push(id);
        }
        self.status_changed();
        // What is to join the running turn may overtake it.
        self.pump_codex();
    }

    fn not_taken(&mut self, id: EntryId, why: &str) {
        tracing::info!(message_id = %id, why, "codex did not take a message");
        self.codex.landed(&id);
        let rejects = |row: &Delivery| row.on_busy == OnBusy::Reject;
        if self.codex.is_busy() && self.outbox.get(&id).is_some_and(rejects) {
            return self.reject_late(id);
        }
        let _ = self.apply(&id, DeliveryFact::NotTaken);
        let twice = self.codex.not_taken.as_ref() == Some(&id);
        self.codex.not_taken = Some(id);
        // Once more at once: the conversation may have moved on. A message that is refused again
        // would be offered and refused for ever.
        if self.codex.server.is_some() && !twice {
            self.pump_codex();
        } else {
            self.rest(why);
        }
    }

    /// Codex works again after a usage limit.
    fn limit_is_over(&mut self) {
        if !std::mem::replace(&mut self.codex.limited, false) {
            return;
        }
        let state = self.codex.state();
        self.note_fact(
            Party::System,
            EntryKind::AgentChanged(AgentChanged {
                agent: Agent::Codex,
                state,
                pid: None,
                thread_id: None,
                why: None,
            }),
            "Codex works again: the usage limit is over",
        );
    }

    fn server_lost(&mut self, why: &str, gave_up: bool) {
        if let Some(server) = self.codex.server.take() {
            self.known_agent_pids.remove(&server.pid);
            self.note_fact(
                Party::System,
                EntryKind::AgentChanged(AgentChanged {
                    agent: Agent::Codex,
                    state: AgentState::Offline,
                    pid: None,
                    thread_id: None,
                    why: Some(why.to_owned()),
                }),
                format!("the codex app-server is gone: {why}"),
            );
        }
        self.codex.status = None;
        self.codex.turn = None;
        self.codex.port = None;
        self.codex.approvals = 0;
        if gave_up {
            self.codex.unavailable = true;
            self.rest(why);
        }
        self.status_changed();
    }

    fn thread_adopted(&mut self, thread_id: ThreadId) {
        let known = self.world.agent(Agent::Codex);
        let changed = known.thread_id.as_ref() != Some(&thread_id) || !known.state.is_attached();
        self.codex.thread = Some(thread_id.clone());
        // Another conversation may take what this one refused.
        self.codex.not_taken = None;
        self.codex.resting_until = None;
        if changed {
            let pid = self.codex.server.as_ref().map(|server| server.pid);
            self.note_fact(
                Party::System,
                EntryKind::AgentChanged(AgentChanged {
                    agent: Agent::Codex,
                    state: AgentState::Idle,
                    pid,
                    thread_id: Some(thread_id.clone()),
                    why: None,
                }),
                format!("Codex works on thread {thread_id}"),
            );
        }
        self.status_changed();
        self.pump_codex();
    }

    fn thread_status(&mut self, status: ThreadStatus) {
        let was = self.codex.state();
        self.codex.status = Some(status);
        if !self.codex.is_busy() {
            self.codex.turn = None;
        }
        let now = self.codex.state();
        if was != now && (was == AgentState::Waiting || now == AgentState::Waiting) {
            self.note_fact(
                Party::System,
                EntryKind::AgentChanged(AgentChanged {
                    agent: Agent::Codex,
                    state: now,
                    pid: None,
                    thread_id: None,
                    why: None,
                }),
                match now {
                    AgentState::Waiting => "Codex waits for an approval or an answer",
                    _ => "Codex goes on",
                },
            );
        }
        self.status_changed();
        self.pump_codex();
    }

    fn tui(&mut self, attached: bool, pid: Option<u32>) {
        if let Some(pid) = pid {
            if attached {
                self.know_agent(pid);
            } else {
                self.known_agent_pids.remove(&pid);
            }
        }
        if attached {
            self.notices.clear("proxy");
        }
        if self.codex.tui != attached {
            self.codex.tui = attached;
            self.codex.tui_pid = pid;
            self.note_fact(
                Party::System,
                EntryKind::Lifecycle {
                    event: if attached {
                        "codex_tui_attached"
                    } else {
                        "codex_tui_left"
                    }
                    .to_owned(),
                },
                if attached {
                    "the Codex terminal attached"
                } else {
                    "the Codex terminal left"
                },
            );
        }
        if attached && self.codex.resting_until.take().is_some() {
            self.pump_codex();
        }
        self.status_changed();
    }

    /// Proof, when it carries our id; a turn's beginning, when it is the turn's first.
    fn user_message(
        &mut self,
        turn_id: TurnId,
        client_id: Option<String>,
        preview: &str,
        steered: bool,
    ) {
        let message_id = client_id.map(EntryId::new);
        if let Some(id) = &message_id {
            // Whatever else is known of it, it is no longer on its way.
            self.codex.landed(id);
            self.codex.not_taken = None;
            self.codex.trouble = None;
        }
        let message_id = message_id
            .filter(|id| self.outbox.get(id).is_some() || self.codex.receipts.get(id).is_some());
        if self.codex.turns_noted.insert(turn_id.clone()) {
            if self.codex.turns_noted.len() > REMEMBERED_MAX {
                self.codex.turns_noted.retain(|noted| *noted == turn_id);
            }
            // A human's turn shows that a limit is over.
            if message_id.is_none() {
                self.limit_is_over();
            }
            let started_by = self.sender_of(message_id.as_ref());
            // Of a message of ours the text itself: what Codex shows of it begins with the
            // envelope.
            let about = message_id
                .as_ref()
                .and_then(|id| self.stored(self.ledger.seq_of(id)?))
                .map_or_else(
                    || first_line(preview),
                    |stored| first_line(&stored.entry.content),
                );
            let thread_id = self
                .codex
                .thread
                .clone()
                .unwrap_or_else(|| ThreadId::new(""));
            self.note_fact(
                Party::Agent(Agent::Codex),
                EntryKind::Turn(TurnRecord {
                    thread_id,
                    turn_id: turn_id.clone(),
                    status: TurnStatus::InProgress,
                    started_by,
                }),
                about,
            );
        }
        let Some(id) = message_id else {
            return;
        };
        let stored = self.ledger.seq_of(&id).and_then(|seq| self.stored(seq));
        if let Some(stored) = stored {
            let relayed = Relayed {
                id: id.clone(),
                from: stored.entry.source.clone(),
                runtime_session: stored.entry.runtime_session.clone(),
            };
            match self.codex.relayed.get_mut(&turn_id) {
                Some(known) if known.iter().any(|known| known.id == id) => {}
                Some(known) => known.push(relayed),
                None => self.codex.relayed.insert(turn_id.clone(), vec![relayed]),
            }
        }
        let outcome = if steered {
            Outcome::JoinedActiveWork
        } else {
            Outcome::StartedNewTurn
        };
        if self
            .outbox
            .get(&id)
            .is_none_or(|row| row.state == DeliveryState::Confirmed)
        {
            return;
        }
        let entry = self.delivery_entry(
            &id,
            Agent::Codex,
            DeliveryResult::Confirmed,
            Some(if steered { "steer" } else { "queue" }),
            Some(turn_id),
        );
        self.record_fact(
            vec![entry],
            Box::new(move |daemon, _| {
                daemon.codex.receipts.insert(id.clone(), outcome);
                daemon.outbox.settle(&id);
            }),
        );
    }

    fn turn_completed(
        &mut self,
        end: TurnEnd,
        final_answer: Option<String>,
        client_ids: &[String],
    ) {
        if self.codex.turn.as_ref() == Some(&end.turn_id) {
            self.codex.turn = None;
        }
        let relayed = self
            .codex
            .relayed
            .get(&end.turn_id)
            .cloned()
            .unwrap_or_default();
        let content = match (end.status, &end.error) {
            (TurnStatus::Completed, _) => "the turn ended".to_owned(),
            (TurnStatus::Interrupted, _) => "the turn was interrupted".to_owned(),
            (_, Some(error)) => format!("the turn failed: {error}"),
            (_, None) => "the turn failed".to_owned(),
        };
        let mut entries = Vec::new();
        entries.push(
            self.entry(
                Party::Agent(Agent::Codex),
                None,
                EntryKind::Turn(TurnRecord {
                    thread_id: end.thread_id.clone(),
                    turn_id: end.turn_id.clone(),
                    status: end.status,
                    started_by: relayed
                        .first()
                        .map_or(Party::Human, |first| first.from.clone()),
                }),
                content,
                None,
            ),
        );
        if end.usage_limited {
            self.codex.limited = true;
            entries.push(self.entry(
                Party::System,
                None,
                EntryKind::AgentChanged(AgentChanged {
                    agent: Agent::Codex,
                    state: AgentState::Limited,
                    pid: None,
                    thread_id: None,
                    why: end.error.clone(),
                }),
                "Codex is at its usage limit; messages for it are held",
                None,
            ));
        } else if end.status == TurnStatus::Completed {
            self.limit_is_over();
        }
        if let Some(answer) = self.relayed_answer(&end, final_answer, client_ids, &relayed) {
            entries.push(answer);
        }
        self.record_fact(
            entries,
            Box::new(|daemon, stored| {
                for stored in stored {
                    let id = &stored.entry.id;
                    if let Some(message) = daemon.world.unsettled.get(id).cloned() {
                        daemon.outbox.track(id.clone(), &message);
                    }
                }
            }),
        );
    }

    /// The final answer of a turn that a message from Claude had started, unless a tool call of
    /// the same turn answered already.
    fn relayed_answer(
        &mut self,
        end: &TurnEnd,
        final_answer: Option<String>,
        client_ids: &[String],
        relayed: &[Relayed],
    ) -> Option<crate::core::entry::Entry> {
        let answered = self.codex.answered.get(&end.turn_id).is_some();
        let text = final_answer.filter(|text| !text.trim().is_empty())?;
        if answered || end.status != TurnStatus::Completed {
            return None;
        }
        let question = relayed.iter().rev().find(|message| {
            message.from == Party::Agent(Agent::Claude)
                && client_ids.iter().any(|id| id == message.id.as_str())
        })?;
        Some(self.entry(
            Party::Agent(Agent::Codex),
            Some(Agent::Claude.into()),
            EntryKind::Message(Message {
                on_busy: OnBusy::Queue,
                require_reply: false,
                handles: Vec::new(),
                in_reply_to: Some(question.id.clone()),
                from_turn: Some(end.turn_id.clone()),
            }),
            text,
            question.runtime_session.clone(),
        ))
    }

    /// Who sent the message that began a turn; what came through no message of ours was typed
    /// into the Codex terminal.
    fn sender_of(&self, message: Option<&EntryId>) -> Party {
        message
            .and_then(|id| self.stored(self.ledger.seq_of(id)?))
            .map_or(Party::Human, |stored| stored.entry.source.clone())
    }

    /// Processes whose descendants may not decide.
    pub(super) fn agent_pids(&mut self) -> Vec<u32> {
        self.forget_dead_agents();
        self.known_agent_pids.keys().copied().collect()
    }

    /// This process is an agent's. Not so the first process of all: everybody descends from it,
    /// the operator too.
    pub(super) fn know_agent(&mut self, pid: u32) {
        if pid <= 1 {
            return;
        }
        if self.known_agent_pids.len() >= REMEMBERED_MAX {
            self.forget_dead_agents();
        }
        self.known_agent_pids.insert(pid, hold::started(pid));
    }

    /// An id of a process that has ended may become the operator's.
    fn forget_dead_agents(&mut self) {
        self.known_agent_pids
            .retain(|pid, started| started.is_some() && hold::started(*pid) == *started);
    }
}

/// How a turn ended.
#[derive(Debug)]
struct TurnEnd {
    thread_id: ThreadId,
    turn_id: TurnId,
    status: TurnStatus,
    error: Option<String>,
    usage_limited: bool,
}

/// One line for the timeline.
fn first_line(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect()
}
