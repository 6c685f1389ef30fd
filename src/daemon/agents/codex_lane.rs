//! [`CodexLane`]: how messages reach Codex: one at a time, through the adapter, proven by the
//! `userMessage` item that carries our id.
//!
//! Only [`CodexLane::apply`] changes the machine that delivers. What else the lane remembers comes
//! in by one call per fact (`remember`); requests to the adapter go out through `requests`. The
//! flows in `codex/` carry out what follows for other owners.

mod carried;
mod coordinator_news;
mod hook_packet;
mod news;
mod parts;
mod relayed;
mod remember;
mod requests;

use crate::adapters::codex::adapter::CodexHandle;
use crate::adapters::codex::compaction_hook::CompactionHook;
use crate::core::agent::AgentState;
use crate::core::delivery::{
    AdapterAnswer, Backlog, CodexFlow, CodexInput, DeliveryEffect, Moment, OnBusy, Outcome,
};
use crate::core::entry::{DeliveryResult, ReloadCause};
use crate::core::id::{AttemptId, EntryId, RuntimeSession, ThreadId, TurnId};
use crate::daemon::base::bounded_map::BoundedMap;
use crate::wire::status::{AppServerStatus, HookReview};

use coordinator_news::CoordinatorNews;
use hook_packet::HookPacket;

pub(in crate::daemon) use carried::LaneState;
pub(in crate::daemon) use coordinator_news::CoordinatorChange;
pub(in crate::daemon) use hook_packet::PacketDue;
pub(in crate::daemon) use news::{CodexNews, CodexOnRecord};
pub(in crate::daemon) use parts::{CodexParts, SIGN_IN};
pub(in crate::daemon) use relayed::Relayed;
pub(in crate::daemon) use requests::NotAsked;

/// What is known of Codex right now.
#[derive(Debug)]
pub struct CodexLane {
    adapter: CodexHandle,
    /// What became of messages whose senders may wait for it.
    receipts: BoundedMap<EntryId, Outcome>,
    attempts: BoundedMap<EntryId, AttemptId>,
    /// How many characters of ours the last attempt brought with a message that Codex has not shown.
    ours: BoundedMap<EntryId, usize>,
    relayed: BoundedMap<TurnId, Vec<Relayed>>,
    /// The Claudes that a tool call of a turn answered; an entry of an older process names none,
    /// and means all.
    answered: BoundedMap<TurnId, Option<Vec<RuntimeSession>>>,
    /// Turns of which the record says that they began.
    turns_noted: BoundedMap<TurnId, ()>,
    /// The app-server that runs, or ran last.
    server: Option<(AppServerStatus, Option<u16>)>,
    tui: bool,
    tui_pid: Option<u32>,
    approvals: u64,
    /// Helper threads that wait for the human.
    waiting_helpers: u64,
    /// What the turn that ended last died of.
    last_error: Option<String>,
    trouble: Option<String>,
    /// Its conversation is to be told of its work, and why.
    untold: Option<ReloadCause>,
    /// What it was told of who writes to git.
    coordinator: CoordinatorNews,
    /// This process has seen it in a conversation.
    has_conversed: bool,
    /// Our hook in the app-server, and what Codex says of it.
    hook: CompactionHook,
    review: Option<HookReview>,
    /// What our hook is to give it after a compaction.
    hook_packet: HookPacket,
    /// When it came into the state that it is in, ms.
    state_since_ms: Option<i64>,
    /// Knows what Codex is and does, decides what goes out, and what is made of the answers.
    flow: CodexFlow,
}

impl CodexLane {
    pub(in crate::daemon) fn new(adapter: CodexHandle, hook: CompactionHook) -> Self {
        Self {
            adapter,
            receipts: BoundedMap::default(),
            attempts: BoundedMap::default(),
            ours: BoundedMap::default(),
            relayed: BoundedMap::default(),
            answered: BoundedMap::default(),
            turns_noted: BoundedMap::default(),
            server: None,
            tui: false,
            tui_pid: None,
            approvals: 0,
            waiting_helpers: 0,
            last_error: None,
            trouble: None,
            untold: None,
            coordinator: CoordinatorNews::default(),
            has_conversed: false,
            hook,
            review: None,
            hook_packet: HookPacket::none(),
            state_since_ms: None,
            flow: CodexFlow::default(),
        }
    }

    /// Takes something in, and says what is to be done.
    pub(in crate::daemon) fn apply(
        &mut self,
        input: CodexInput,
        backlog: &mut Backlog,
        at: &Moment,
    ) -> Vec<DeliveryEffect> {
        if let CodexInput::Answer { answer, .. } = &input {
            self.trouble_by(*answer);
        }
        if let CodexInput::NotSent { id }
        | CodexInput::Answer {
            id,
            answer: AdapterAnswer::NotTaken | AdapterAnswer::TakenBack,
            ..
        }
        | CodexInput::Durable {
            id,
            result: DeliveryResult::Ambiguous,
        } = &input
        {
            self.coordinator.came_back(id);
        }
        let was = self.state();
        let effects = self.flow.apply(backlog, input, at);
        if self.state() != was {
            self.state_since_ms = Some(at.now_ms);
        }
        for effect in &effects {
            if let DeliveryEffect::Receipt { id, outcome } = effect {
                self.receipts.insert(id.clone(), *outcome);
            }
        }
        effects
    }

    /// Messages were settled without it.
    pub(in crate::daemon) fn forget_settled(&mut self, backlog: &Backlog) {
        self.flow.forget_settled(backlog);
        self.coordinator.forget_settled(backlog);
    }

    /// An answer about a message may say why the lane rests, or that it goes on.
    fn trouble_by(&mut self, answer: AdapterAnswer) {
        match answer {
            AdapterAnswer::Queued => self.trouble = None,
            // An idle thread that leaves its queue alone was stopped by the human.
            AdapterAnswer::StillQueued => {
                self.trouble = (self.state() == AgentState::Idle)
                    .then(|| "a message waits for your next message in Codex".to_owned());
            }
            AdapterAnswer::NotTaken | AdapterAnswer::Unanswered | AdapterAnswer::TakenBack => {}
        }
    }

    /// Whether this message is to tell it of this change of who writes to git.
    pub(in crate::daemon) fn tells_of_coordinator(
        &mut self,
        id: &EntryId,
        change: CoordinatorChange,
    ) -> bool {
        self.coordinator.rides_with(id, change)
    }

    /// A message is in the conversation. The change of who writes to git that it told of.
    pub(in crate::daemon) fn heard_of_coordinator(
        &mut self,
        id: &EntryId,
    ) -> Option<CoordinatorChange> {
        self.coordinator.arrived(id)
    }

    /// What was not attempted for this long expires, ms; `None`: never.
    pub(in crate::daemon) fn set_expiry(&mut self, expiry_ms: Option<i64>) {
        self.flow.set_expiry(expiry_ms);
    }

    /// Another process is to go on: no attempt begins here any more.
    pub(in crate::daemon) fn begin_takeover(&mut self) {
        self.flow.begin_takeover();
    }

    pub(in crate::daemon) fn state(&self) -> AgentState {
        self.flow.state().agent_state()
    }

    /// When it came into that state, as far as this process was told, ms.
    pub(in crate::daemon) fn state_since_ms(&self) -> Option<i64> {
        self.state_since_ms
    }

    /// Which app-server's a fact of now is: each start of one is a life of its own.
    pub(in crate::daemon) fn life(&self) -> u64 {
        self.flow.state().life()
    }

    /// The thread that we follow.
    pub(in crate::daemon) fn thread(&self) -> Option<&ThreadId> {
        self.flow.state().thread()
    }

    /// The turn that runs.
    pub(in crate::daemon) fn running_turn(&self) -> Option<TurnId> {
        self.flow.state().turn().cloned()
    }

    pub(in crate::daemon) fn is_busy(&self) -> bool {
        self.flow.state().is_busy()
    }

    /// The human stopped a turn, and nothing has gone on since.
    pub(in crate::daemon) fn is_paused(&self) -> bool {
        self.flow.state().is_paused()
    }

    /// It rests because of a usage limit.
    pub(in crate::daemon) fn rests_at_limit(&self) -> bool {
        self.flow.state().rests_at_limit()
    }

    /// Its context is being compacted, or its packet is not in the thread yet.
    pub(in crate::daemon) fn is_compacting(&self) -> bool {
        self.flow.is_compacting()
    }

    /// The operator asked for the compaction that goes on.
    pub(in crate::daemon) fn is_compaction_asked(&self) -> bool {
        self.flow.is_compaction_asked()
    }

    pub(in crate::daemon) fn needs_sign_in(&self) -> bool {
        self.flow.state().needs_sign_in()
    }

    /// Whether a message lies in the app-server's queue, and can be taken out of it.
    pub(in crate::daemon) fn has_in_its_queue(&self, backlog: &Backlog, id: &EntryId) -> bool {
        self.flow.is_in_its_queue(backlog, id)
    }

    /// The lane rests after a failure.
    pub(in crate::daemon) fn is_resting(&self) -> bool {
        self.flow.is_resting()
    }

    /// Whether it is worth a sender's second to wait for proof. What waits for the end of a turn
    /// that runs has none before.
    pub(in crate::daemon) fn may_deliver_soon(&self, on_busy: OnBusy) -> bool {
        self.flow.may_deliver_soon() && (on_busy == OnBusy::Steer || !self.is_busy())
    }

    /// What decides what goes out.
    pub(in crate::daemon) fn flow(&self) -> &CodexFlow {
        &self.flow
    }

    /// No turn runs, and none is about to.
    pub(in crate::daemon) fn is_between_turns(&self) -> bool {
        self.state() == AgentState::Idle && self.is_quiet()
    }

    /// Its conversation is to be told of its work before the next turn.
    pub(in crate::daemon) fn is_to_be_told(&mut self, why: ReloadCause) {
        self.untold = Some(why);
    }

    /// Why its conversation is to be told of its work.
    pub(in crate::daemon) fn untold(&self) -> Option<&ReloadCause> {
        self.untold.as_ref()
    }

    /// As [`Self::untold`]; it counts as told from here on.
    pub(in crate::daemon) fn take_untold(&mut self) -> Option<ReloadCause> {
        self.untold.take()
    }

    /// It is in a conversation. Returns whether this process has seen it in none before.
    pub(in crate::daemon) fn converses(&mut self) -> bool {
        !std::mem::replace(&mut self.has_conversed, true)
    }

    /// Nothing is on its way.
    pub(in crate::daemon) fn is_quiet(&self) -> bool {
        self.flow.is_quiet()
    }

    /// Something is on its way, and it can be found out what becomes of it.
    pub(in crate::daemon) fn is_awaited(&self) -> bool {
        self.flow.is_awaited()
    }

    /// A detached daemon must not end now.
    pub(in crate::daemon) fn is_needed(&self) -> bool {
        self.tui || self.is_busy() || self.flow.is_awaited()
    }

    /// When something about deliveries happens by itself, ms.
    pub(in crate::daemon) fn next_ms(&self, backlog: &Backlog) -> Option<i64> {
        self.flow.next_ms(backlog)
    }

    /// The app-server that runs.
    pub(in crate::daemon) fn server(&self) -> Option<&AppServerStatus> {
        let is_running = self.flow.state().is_running();
        self.server
            .as_ref()
            .filter(|_| is_running)
            .map(|(server, _)| server)
    }

    /// The app-server's port, while one runs.
    pub(in crate::daemon) fn app_server_port(&self) -> Option<u16> {
        self.server()?;
        self.server.as_ref()?.1
    }
}
