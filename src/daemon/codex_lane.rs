//! How messages reach Codex: one at a time, through the adapter, proven by the `userMessage`
//! item that carries our id.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::event::Answer;
use super::run::{Daemon, answer};
use crate::adapters::codex::adapter::CodexHandle;
use crate::adapters::codex::fact::{CodexFact, ThreadStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::{DeliveryFact, DeliveryState, OnBusy, Outcome};
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
    relayed: Remembered<TurnId, Vec<EntryId>>,
    answered: HashSet<TurnId>,
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
    in_flight: Option<EntryId>,
    resting_until: Option<Instant>,
    trouble: Option<String>,
    /// Sent without an answer; recovery has until then to find out.
    unanswered: Option<(EntryId, Instant)>,
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
            answered: HashSet::new(),
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
            in_flight: None,
            resting_until: None,
            trouble: None,
            unanswered: None,
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
        self.in_flight.is_none()
    }

    /// A detached daemon must not end now.
    pub(super) fn is_needed(&self) -> bool {
        self.tui || self.is_busy() || self.in_flight.is_some()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let unanswered = self.unanswered.as_ref().map(|(_, until)| *until);
        self.resting_until.into_iter().chain(unanswered).min()
    }

    /// A tool call of this turn answered the peer: its final answer need not be relayed.
    pub(super) fn answered_by_tool(&mut self, from: Option<Agent>, turn: Option<String>) {
        if from == Some(Agent::Codex)
            && let Some(turn) = turn.map(TurnId::new).or_else(|| self.turn.clone())
        {
            self.answered.insert(turn);
        }
    }

    /// The first message that we brought into a turn.
    pub(super) fn relayed_into(&self, turn: &str) -> Option<EntryId> {
        self.relayed
            .get(&TurnId::new(turn))
            .and_then(|ids| ids.last().cloned())
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
        if self.codex.in_flight.is_some()
            || self.codex.limited
            || self.codex.resting_until.is_some()
            || self.codex_waits()
        {
            return;
        }
        // A steer overtakes; nothing else does.
        let next = self
            .outbox
            .lane(Agent::Codex)
            .filter(|row| row.state == DeliveryState::Queued)
            .min_by_key(|row| (row.on_busy != OnBusy::Steer, row.seq))
            .map(|row| (row.id.clone(), row.seq, row.on_busy, row.attempts));
        let Some((message_id, seq, on_busy, attempts)) = next else {
            return;
        };
        let Some(stored) = self.stored(seq) else {
            return self.rest("a message could not be read from the record");
        };
        let text = self.enveloped(&stored.entry, attempts > 0).text;
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
        self.codex.in_flight = Some(message_id);
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
            if self.codex.in_flight.is_some() && self.codex.server.is_none() {
                self.wake_codex();
            }
        }
        if let Some((id, until)) = self.codex.unanswered.clone()
            && Instant::now() >= until
        {
            if self.codex.server.is_none() {
                self.codex.unanswered = Some((id, Instant::now() + RECOVERY_WAIT));
            } else {
                self.codex.unanswered = None;
                self.give_up_knowing(&id);
            }
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
    fn give_up_knowing(&mut self, id: &EntryId) {
        let is_open = self.outbox.get(id).is_some_and(|row| {
            matches!(row.state, DeliveryState::Attempted | DeliveryState::Offered)
        });
        if self.codex.in_flight.as_ref() == Some(id) {
            self.codex.in_flight = None;
        }
        if !is_open {
            return;
        }
        let entry = self.delivery_entry(id, Agent::Codex, DeliveryResult::Ambiguous, None, None);
        let id = id.clone();
        self.record(
            vec![entry],
            Box::new(move |daemon, result| {
                if result.is_ok() {
                    let _ = daemon.apply(&id, DeliveryFact::Unknowable);
                    daemon.codex.receipts.insert(id, Outcome::Ambiguous);
                }
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
                self.known_agent_pids.insert(pid);
                self.codex.trouble = None;
                self.codex.resting_until = None;
                self.notices.clear("codex");
                self.status_changed();
            }
            CodexFact::ServerLost { why, gave_up } => self.server_lost(&why, gave_up),
            CodexFact::Unavailable { code, why } => {
                self.codex.server = None;
                self.codex.status = None;
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
            CodexFact::Queued { message_id } | CodexFact::StillQueued { message_id } => {
                let _ = self.apply(&message_id, DeliveryFact::Offered);
                // Held by the app-server: it delivers in order, so the next may follow.
                if self.codex.in_flight.is_none() {
                    self.codex.in_flight = Some(message_id);
                }
                self.status_changed();
            }
            CodexFact::NotTaken { message_id, why } => {
                tracing::info!(%message_id, why, "codex did not take a message");
                let _ = self.apply(&message_id, DeliveryFact::NotTaken);
                if self.codex.in_flight.as_ref() == Some(&message_id) {
                    self.codex.in_flight = None;
                }
                if self.codex.server.is_some() {
                    self.pump_codex();
                } else {
                    self.rest(&why);
                }
            }
            CodexFact::Unanswered { message_id } => {
                tracing::info!(%message_id, "codex went away before it answered; recovery will tell");
                self.codex.unanswered = Some((message_id, Instant::now() + RECOVERY_WAIT));
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
            self.rest(why);
        }
        self.status_changed();
    }

    fn thread_adopted(&mut self, thread_id: ThreadId) {
        let known = self.world.agent(Agent::Codex);
        let changed = known.thread_id.as_ref() != Some(&thread_id) || !known.state.is_attached();
        self.codex.thread = Some(thread_id.clone());
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
                self.known_agent_pids.insert(pid);
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
        let message_id = client_id
            .map(EntryId::new)
            .filter(|id| self.outbox.get(id).is_some() || self.codex.receipts.get(id).is_some());
        if self.codex.turns_noted.insert(turn_id.clone()) {
            if self.codex.turns_noted.len() > REMEMBERED_MAX {
                self.codex.turns_noted.retain(|noted| *noted == turn_id);
            }
            // A human's turn shows that a limit is over.
            if message_id.is_none() {
                self.codex.limited = false;
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
        match self.codex.relayed.get_mut(&turn_id) {
            Some(ids) if ids.contains(&id) => {}
            Some(ids) => ids.push(id.clone()),
            None => self.codex.relayed.insert(turn_id.clone(), vec![id.clone()]),
        }
        let outcome = if steered {
            Outcome::JoinedActiveWork
        } else {
            Outcome::StartedNewTurn
        };
        if self.codex.in_flight.as_ref() == Some(&id) {
            self.codex.in_flight = None;
        }
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
        self.record(
            vec![entry],
            Box::new(move |daemon, result| {
                if result.is_ok() {
                    daemon.codex.receipts.insert(id.clone(), outcome);
                    daemon.outbox.settle(&id);
                }
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
        entries.push(self.entry(
            Party::Agent(Agent::Codex),
            None,
            EntryKind::Turn(TurnRecord {
                thread_id: end.thread_id.clone(),
                turn_id: end.turn_id.clone(),
                status: end.status,
                started_by: self.sender_of(relayed.first()),
            }),
            content,
            None,
        ));
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
            self.codex.limited = false;
        }
        if let Some(answer) = self.relayed_answer(&end, final_answer, client_ids, &relayed) {
            entries.push(answer);
        }
        self.record(
            entries,
            Box::new(|daemon, result| {
                let Ok(stored) = result else { return };
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
        relayed: &[EntryId],
    ) -> Option<crate::core::entry::Entry> {
        let answered = self.codex.answered.remove(&end.turn_id);
        let text = final_answer.filter(|text| !text.trim().is_empty())?;
        if answered || end.status != TurnStatus::Completed {
            return None;
        }
        let (question, runtime_session) = relayed
            .iter()
            .rev()
            .filter(|id| client_ids.iter().any(|client| client == id.as_str()))
            .find_map(|id| self.asked_by_claude(id))?;
        Some(self.entry(
            Party::Agent(Agent::Codex),
            Some(Agent::Claude.into()),
            EntryKind::Message(Message {
                on_busy: OnBusy::Queue,
                require_reply: false,
                handles: Vec::new(),
                in_reply_to: Some(question),
                from_turn: Some(end.turn_id.clone()),
            }),
            text,
            runtime_session,
        ))
    }

    /// Who sent the message that began a turn; what came through no message of ours was typed
    /// into the Codex terminal.
    fn sender_of(&self, message: Option<&EntryId>) -> Party {
        message
            .and_then(|id| self.stored(self.ledger.seq_of(id)?))
            .map_or(Party::Human, |stored| stored.entry.source.clone())
    }

    fn asked_by_claude(&self, id: &EntryId) -> Option<(EntryId, Option<RuntimeSession>)> {
        let stored = self.stored(self.ledger.seq_of(id)?)?;
        (stored.entry.source == Party::Agent(Agent::Claude))
            .then(|| (id.clone(), stored.entry.runtime_session.clone()))
    }

    /// Processes whose descendants may not decide.
    pub(super) fn agent_pids(&self) -> Vec<u32> {
        let mut pids: BTreeMap<u32, ()> =
            self.known_agent_pids.iter().map(|pid| (*pid, ())).collect();
        for attachment in self.attachments.values() {
            if let Some(pid) = attachment.hello.agent_pid {
                pids.insert(pid, ());
            }
        }
        pids.into_keys().collect()
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
