//! How messages reach Codex: one at a time, through the adapter, proven by the `userMessage`
//! item that carries our id.
//!
//! [`CodexLane`] is what is known; `deliver` hands over, `facts` takes in what the adapter tells,
//! `turns` keeps the record of turns and relays answers.

mod bounded_map;
mod carried;
mod deliver;
mod facts;
mod markers;
mod turn_end;
mod turns;

pub(super) use carried::LaneState;

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::adapters::codex::adapter::CodexHandle;
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::AgentState;
use crate::core::delivery::{Checked, CodexFlow, DeliveryWay, OnBusy, Outcome};
use crate::core::entry::TurnStatus;
use crate::core::id::{AttemptId, EntryId, ThreadId, TurnId};
use crate::wire::status::{AppServerStatus, DeliveryStatus};
pub(super) use bounded_map::BoundedMap;
use turn_end::Relayed;

/// Why a Codex without an account does nothing.
const SIGN_IN: &str =
    "Codex waits for you to sign in: in its terminal (`ctxrelay codex`), or with `codex login`";

/// The adapter's stop has a deadline of its own (interrupt, SIGTERM, 2 s, SIGKILL); this is above.
const STOP_WAIT: Duration = Duration::from_secs(6);

/// How many turns, receipts and attempts are remembered: more than can matter for a late fact.
const REMEMBERED_MAX: usize = 256;

/// What is known of Codex right now.
#[derive(Debug)]
pub struct CodexLane {
    adapter: CodexHandle,
    /// What became of messages whose senders may wait for it.
    pub receipts: BoundedMap<EntryId, Outcome>,
    attempts: BoundedMap<EntryId, AttemptId>,
    relayed: BoundedMap<TurnId, Vec<Relayed>>,
    answered: BoundedMap<TurnId, ()>,
    /// Ends of turns that were recorded, or are on their way to the record.
    ends: BoundedMap<(TurnId, TurnStatus), ()>,
    turns_noted: HashSet<TurnId>,
    /// The app-server that runs, or ran last.
    server: Option<(AppServerStatus, Option<u16>)>,
    tui: bool,
    tui_pid: Option<u32>,
    approvals: u64,
    context: Option<(u64, u64)>,
    /// What an entry that says so tells of the limit.
    pub(super) limit_why: Option<String>,
    pub(super) trouble: Option<String>,
    /// Knows what Codex is and does, decides what goes out, and what is made of the answers.
    pub(super) flow: CodexFlow,
}

impl CodexLane {
    pub(super) fn new(adapter: CodexHandle) -> Self {
        Self {
            adapter,
            receipts: BoundedMap::default(),
            attempts: BoundedMap::default(),
            relayed: BoundedMap::default(),
            answered: BoundedMap::default(),
            ends: BoundedMap::default(),
            turns_noted: HashSet::new(),
            server: None,
            tui: false,
            tui_pid: None,
            approvals: 0,
            context: None,
            limit_why: None,
            trouble: None,
            flow: CodexFlow::default(),
        }
    }

    pub(super) fn last_attempt(&self, id: &EntryId) -> Option<AttemptId> {
        self.attempts.get(id).cloned()
    }

    /// The app-server that runs.
    fn server(&self) -> Option<&AppServerStatus> {
        let is_running = self.flow.state().is_running();
        self.server
            .as_ref()
            .filter(|_| is_running)
            .map(|(server, _)| server)
    }

    /// What a fact of now is of.
    fn life(&self) -> u64 {
        self.flow.state().life()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.flow.state().is_busy()
    }

    /// Whether it is worth a sender's second to wait for proof. What waits for the end of a turn
    /// that runs has none before.
    pub(super) fn may_deliver_soon(&self, on_busy: OnBusy) -> bool {
        self.flow.may_deliver_soon() && (on_busy == OnBusy::Steer || !self.is_busy())
    }

    /// Nothing is on its way.
    pub(super) fn is_quiet(&self) -> bool {
        self.flow.is_quiet()
    }

    /// A detached daemon must not end now.
    pub(super) fn is_needed(&self) -> bool {
        self.tui || self.is_busy() || self.flow.is_awaited()
    }

    /// A tool call of this turn answered the peer: its final answer need not be relayed.
    pub(super) fn answered_by_tool(&mut self, turn: TurnId) {
        self.answered.insert(turn, ());
    }

    /// The last message that we brought into a turn.
    pub(super) fn last_relayed(&self, turn: &TurnId) -> Option<&Relayed> {
        self.relayed.get(turn)?.last()
    }

    /// The question that started a turn.
    pub(super) fn question_of(&self, turn: &TurnId) -> Option<&Relayed> {
        let first = self.relayed.get(turn)?.first()?;
        (first.starts && first.asks).then_some(first)
    }

    /// The turn that runs.
    pub(super) fn running_turn(&self) -> Option<TurnId> {
        self.flow.state().turn().cloned()
    }

    /// Has the app-server stop a turn; `None` when nobody can be asked.
    pub(super) fn interrupt(
        &self,
        turn_id: TurnId,
    ) -> Option<oneshot::Receiver<Result<(), String>>> {
        let (reply, stopped) = oneshot::channel();
        self.ask(CodexRequest::Interrupt { turn_id, reply })?;
        Some(stopped)
    }

    /// Asks whether the usage limit still holds; `None` when nobody can be asked.
    pub(super) fn ask_limit(&self) -> Option<oneshot::Receiver<Checked>> {
        let (reply, checked) = oneshot::channel();
        self.ask(CodexRequest::AskLimit { reply })?;
        Some(checked)
    }

    /// Asks the adapter for what is worth no start of an app-server.
    fn ask(&self, request: CodexRequest) -> Option<()> {
        self.server()?;
        self.adapter.requests.try_send(request).ok()
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
        self.flow.state().agent_state()
    }

    /// The app-server's port, while one runs.
    pub(super) fn app_server_port(&self) -> Option<u16> {
        self.server()?;
        self.server.as_ref()?.1
    }

    pub(super) fn status_parts(&self) -> CodexParts {
        let server = self.server();
        let rung = match server {
            Some(_) => DeliveryWay::Queue,
            None => DeliveryWay::None,
        };
        let trouble = self.trouble();
        let why = match (&trouble, server) {
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
            port: self.app_server_port(),
            thread_id: self.flow.state().thread().cloned(),
            turn_id: self.running_turn(),
            app_server: server.cloned(),
            tui: self.tui,
            approvals: self.approvals,
            context: self.context,
            delivery: DeliveryStatus {
                mode: "push".to_owned(),
                rung,
                proven: false,
                why,
            },
            trouble,
        }
    }

    /// Why what waits does not go out, and what lets it go on.
    fn trouble(&self) -> Option<String> {
        if self.flow.state().needs_sign_in() {
            return Some(SIGN_IN.to_owned());
        }
        if self.flow.state().is_held() {
            return Some(HELD.to_owned());
        }
        self.trouble.clone()
    }
}

/// What the operator reads while the lane to Codex is held.
const HELD: &str = "you stopped a turn in Codex (Esc or Ctrl-C): what waits goes on with your next \
    message there, with `r` on its row in the deck's Inbox, or with `ctxrelay queue retry` of a \
    waiting one";

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
