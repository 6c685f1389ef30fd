//! [`Daemon`]: the loop. It takes one [`Event`] after the other, decides, appends, and only when
//! an entry is durable folds it, publishes it and lets it have effects.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::agent_processes::AgentProcesses;
use super::bounded_map::BoundedMap;
use super::claude_lane::ClaudeLane;
use super::claude_processes::ClaudeProcesses;
use super::clients::Clients;
use super::clock::Clock;
use super::codex_lane::CodexLane;
use super::configuration::Configuration;
use super::continuation::GoOn;
use super::event::Event;
use super::fault::{DaemonFault, Ended, FaultSlot};
use super::handoff_dedup::HandoffDedup;
use super::identity::Identity;
use super::limits::Limits;
use super::loop_times::LoopTimes;
use super::notices::Notices;
use super::outbox::Outbox;
use super::readers::Readers;
use super::recorder::Recorder;
use super::running::Replacement;
use super::silence::Silences;
use super::stop::Stop;
use super::takeover::Leaving;
use super::tamper::{Alarms, TamperWatch};
use crate::core::delivery::LimitInput;
use crate::core::id::EntryId;
use crate::store::dirs::ProjectDirs;
use crate::store::publisher::Board;

/// The only owner of mutable world state.
pub struct Daemon {
    pub(super) dirs: ProjectDirs,
    pub(super) identity: Identity,
    pub(super) recorder: Recorder<GoOn>,
    pub(super) outbox: Outbox,
    pub(super) clock: Clock,
    pub(super) clients: Clients,
    pub(super) claude: ClaudeLane,
    pub(super) claude_processes: ClaudeProcesses,
    pub(super) codex: CodexLane,
    pub(super) silences: Silences,
    pub(super) limits: Limits,
    /// The first line of what was last given of each message, until the record has it.
    pub(super) given: BoundedMap<EntryId, String>,
    pub(super) notices: Notices,
    pub(super) handoff_dedup: HandoffDedup,
    /// Proposals whose decision is being recorded.
    pub(super) deciding: HashSet<EntryId>,
    pub(super) agent_processes: AgentProcesses,
    pub(super) events: mpsc::WeakSender<Event>,
    pub(super) idle_since: Option<Instant>,
    pub(super) stopping: Option<Stop>,
    /// What of ours failed, so that it ends; told to whoever has a handle, too.
    pub(super) fault: FaultSlot,
    /// It stops because another process goes on.
    pub(super) leaving: Option<Leaving>,
    /// Where to ask for that; `None` where nobody can do it.
    pub(super) successors: Option<mpsc::Sender<Replacement>>,
    /// What `config.json` says; `None` until the builder has read it.
    pub(super) configuration: Option<Configuration>,
    pub(super) alarms: Alarms,
    /// Ends with the daemon.
    pub(super) watch: Option<TamperWatch>,
    /// What others read on the disk.
    pub(super) board: Board,
    pub(super) loop_times: LoopTimes,
    pub(super) readers: Readers,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").finish_non_exhaustive()
    }
}

impl Daemon {
    pub(super) fn new(
        dirs: ProjectDirs,
        identity: Identity,
        recorder: Recorder<GoOn>,
        outbox: Outbox,
        codex: CodexLane,
        events: mpsc::WeakSender<Event>,
    ) -> Self {
        let clock = Clock::start();
        let handoff_dedup = HandoffDedup::of(recorder.world(), clock.now_ms());
        Self {
            dirs,
            identity,
            recorder,
            outbox,
            clock,
            clients: Clients::default(),
            claude: ClaudeLane::default(),
            claude_processes: ClaudeProcesses::default(),
            codex,
            silences: Silences::default(),
            limits: Limits::default(),
            given: BoundedMap::default(),
            notices: Notices::default(),
            handoff_dedup,
            deciding: HashSet::new(),
            agent_processes: AgentProcesses::default(),
            events,
            idle_since: None,
            stopping: None,
            fault: FaultSlot::default(),
            leaving: None,
            successors: None,
            configuration: None,
            alarms: Alarms::default(),
            watch: None,
            board: Board::default(),
            loop_times: LoopTimes::default(),
            readers: Readers::default(),
        }
    }

    /// Runs until somebody ends it, or until something of ours fails.
    ///
    /// A panic while one event is handled ends it: the state may be half changed by then, and to
    /// go on with it could deliver twice or forget. What was acknowledged is on the disk, and the
    /// next start folds that.
    pub(super) async fn run(mut self, mut events: mpsc::Receiver<Event>) -> Ended {
        let mut deadline = Instant::now();
        loop {
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                () = sleep_until(deadline) => None,
            };
            match catch_unwind(AssertUnwindSafe(|| self.turn(event, deadline))) {
                Ok(Some(next)) => deadline = next,
                Ok(None) if self.fault.get().is_none() => break,
                Ok(None) => {}
                Err(_) => self.fault.set(DaemonFault::Loop),
            }
            if let Some(fault) = self.fault.get() {
                return Ended::Failed(self.fail(fault, events).await);
            }
        }
        // What was being recorded may have made somebody wait for what becomes of it.
        self.dismiss_waiters();
        // Whoever still asks hears at once that there is nobody, and neither the adapter nor the
        // ledger's writer waits for a place in a queue that is no longer read.
        self.part(&mut events).await;
        drop(events);
        let remains = self.remains();
        let closed = self.finish(remains.is_none()).await;
        // A writer that hangs may still write: nobody else may begin before this process has ended.
        match remains.filter(|_| closed) {
            Some(remains) => Ended::Left(Box::new(remains)),
            None => Ended::Stopped,
        }
    }

    /// Takes one event, and what is due. When something is due next; `None` once it may stop.
    fn turn(&mut self, event: Option<Event>, deadline: Instant) -> Option<Instant> {
        let begun = Instant::now();
        let kind = event.as_ref().map_or("deadline", Event::kind);
        if let Some(event) = event {
            self.on_event(event);
        }
        // Also behind an event: however many wait, what is due waits for one of them.
        if deadline <= Instant::now() {
            self.on_deadline();
        }
        self.watch_idleness();
        self.show();
        self.loop_times.took(kind, begun.elapsed());
        (!self.may_stop()).then(|| self.next_deadline())
    }

    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected {
                conn,
                hello,
                operator,
                process,
                outlet,
                reply,
            } => {
                let welcome = self.connect(conn, hello, operator, process, outlet);
                let _ = reply.send(welcome);
            }
            Event::Outdated { role } => self.came_outdated(role),
            Event::Heard { conn } => self.heard(conn),
            Event::Disconnected { conn } => self.disconnect(conn),
            Event::Command {
                conn,
                command,
                reply,
            } => self.command(conn, *command, reply),
            Event::Ledger(event) => self.on_writer(event),
            Event::Codex(fact) => self.on_codex(fact),
            Event::LimitChecked { agent, checked } => {
                self.limit_input(agent, LimitInput::Checked(checked));
                self.status_changed();
            }
            Event::Watch(fact) => self.on_watch(fact),
            Event::TreeRead { purpose, tree } => self.on_tree(purpose, tree),
            Event::TextLost(lost) => self.on_text_lost(&lost),
            Event::Altered(id) => self.on_altered(id),
            Event::AgentPids { reply } => {
                let _ = reply.send(self.agent_processes.living());
            }
            Event::Metrics { reply } => {
                let _ = reply.send(super::metrics::render(self));
            }
            Event::CodexSilent => self.codex_silent(),
            Event::CodexLeft(passed) => self.codex_left(passed.map(|passed| *passed)),
            Event::Leave { reply } => self.leave(reply),
            Event::Shutdown { kill } => self.stop(Stop::now(kill)),
        }
    }

    /// Delivers what can be delivered now.
    pub(super) fn pump(&mut self) {
        if self.stopping.is_none() {
            self.pump_codex();
            self.pump_claude();
        }
    }

    pub(super) fn next_deadline(&self) -> Instant {
        let idle = self.idle_since.map(|since| since + self.idle_shutdown());
        let far = Instant::now() + Duration::from_secs(3600);
        let waiters = self.clients.waiters().next_deadline();
        waiters
            .into_iter()
            .chain(self.delivery_deadline())
            .chain(self.claude_next())
            .chain(self.next_look_at_silence())
            .chain(self.next_limit_deadline())
            .chain(self.next_probe())
            .chain(self.next_refusals())
            .chain(self.clients.outdated().next_deadline())
            .chain(self.recorder.next_deadline())
            .chain(self.alarms.next_deadline())
            .chain(idle)
            .chain(self.stopping.map(|stop| stop.by))
            .min()
            .unwrap_or(far)
    }

    pub(super) fn on_deadline(&mut self) {
        self.expire_waiters();
        self.expire_claims();
        self.codex_deadline();
        self.claude_deadline();
        self.look_at_silences();
        self.limit_deadline();
        self.probe_deadline();
        self.refusals_deadline();
        self.outdated_deadline();
        self.write_again();
        self.watch_deadline();
        if self
            .idle_since
            .is_some_and(|since| Instant::now() >= since + self.idle_shutdown())
        {
            tracing::info!("nothing is attached: the detached daemon ends");
            self.stop(Stop::now(false));
        }
    }

    /// A detached daemon that nobody needs counts down; anything that happens stops the count.
    pub(super) fn watch_idleness(&mut self) {
        let attached = self.clients.outside().next().is_some();
        let idle = self.identity.detached
            && !attached
            && !self.codex.is_needed()
            // What a file that was taken away would have been told keeps nobody here: the project
            // may be gone for good.
            && (self.recorder.pending_count() == 0
                && !self.recorder.has_unwritten()
                && !self.outbox.has_waiting()
                || self.recorder.is_ledger_gone());
        match (idle, self.idle_since) {
            (true, None) => self.idle_since = Some(Instant::now()),
            (false, Some(_)) => self.idle_since = None,
            _ => {}
        }
    }
}
