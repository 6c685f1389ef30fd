//! [`Rig`]: a daemon whose events the test hands in.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::adapters::codex::adapter::CodexHandle;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::passed::Passed;
use crate::adapters::codex::request::CodexRequest;
use crate::adapters::process::StartedProcess;
use crate::adapters::program_search::ProgramSearch;
use crate::core::agent::Agent;
use crate::core::delivery::{CodexInput, Moment, OnBusy};
use crate::core::entry::{NoteKind, TurnStatus};
use crate::core::id::{AttemptId, EntryId, RuntimeSession, ThreadId, TurnId};
use crate::core::redact::Redactor;
use crate::core::snapshot::Snapshot;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::attach::{ConnId, Outlet, OutletReceiver};
use crate::daemon::event::Event;
use crate::daemon::fault::DaemonFault;
use crate::daemon::handle::DaemonHandle;
use crate::daemon::owners::Daemon;
use crate::daemon::peer::ClientProcess;
use crate::daemon::start::{Builder, Claimed, Ground, Ready};
use crate::daemon::takeover::Takeover;
use crate::store::ledger::{self, Ledger, LedgerError, WriterEvent};
use crate::store::publisher::Board;
use crate::store::queue::{QueueError, QueueEvent};
use crate::store::registry::{self, Ports};
use crate::store::session;
use crate::store::testing::Place;
use crate::wire::control::{Command, Hello, NoteParams, Refusal, Reply, Role, SendParams};

/// A daemon. Dropped in the middle of something it has died there.
pub struct Rig {
    pub daemon: Box<Daemon>,
    pub requests: mpsc::Receiver<CodexRequest>,
    event_receiver: mpsc::Receiver<Event>,
    /// What came while rows were waited for.
    put_off: VecDeque<Event>,
    _handle: DaemonHandle,
    /// The lock goes last of what is the daemon's.
    ground: Ground,
    /// The place of a rig that has one of its own.
    place: Option<Place>,
}

/// A client.
#[derive(Debug)]
pub struct Guest {
    pub conn: ConnId,
    pub notifications: OutletReceiver,
    pub probes: Arc<Notify>,
}

/// A program that is there.
fn installed() -> ProgramSearch {
    ProgramSearch::new(std::env::current_exe().unwrap(), None)
}

/// A client of this version.
pub fn hello(role: Role, pid: u32, agent_pid: Option<u32>) -> Hello {
    Hello {
        agent_pid,
        ..Hello::of(role, pid)
    }
}

/// What a daemon in a place is made of.
pub fn builder(place: &Place) -> Builder {
    Builder {
        dirs: place.dirs.clone(),
        user_dirs: place.user.clone(),
        port_base: 4500,
        ports: None,
        detached: false,
        codex_program: ProgramSearch::new("codex", None),
        claude_program: installed(),
        own_program: std::env::current_exe().unwrap(),
        clears_kill: true,
        shown: Default::default(),
        reading: Default::default(),
    }
}

impl Rig {
    /// Starts in a place of its own, which goes with it.
    pub async fn fresh() -> Self {
        let place = Place::new();
        let mut rig = Self::start(&place).await;
        rig.place = Some(place);
        rig
    }

    /// As [`Self::fresh`], with an app-server that runs and an idle thread.
    pub async fn fresh_with_codex() -> Self {
        let mut rig = Self::fresh().await;
        rig.codex_runs().await;
        rig
    }

    /// Starts on what lies in the place.
    pub async fn start(place: &Place) -> Self {
        Self::start_after(place, None).await
    }

    /// Leaves everything to another process, and returns what that one gets. The app-server goes
    /// on.
    pub async fn leave(mut self) -> Takeover {
        self.begin_takeover().await.unwrap();
        self.let_go().await
    }

    /// Begins to leave, or is told why it cannot. Hands in what the ledger's writer says until then,
    /// and nothing else.
    pub async fn begin_takeover(&mut self) -> Result<(), Refusal> {
        let (reply, mut begun) = oneshot::channel();
        self.daemon.on_event(Event::BeginTakeover { reply });
        let mut others = VecDeque::new();
        let begun = loop {
            match begun.try_recv() {
                Ok(begun) => break begun,
                Err(TryRecvError::Empty) => match self.next().await {
                    event @ Event::Ledger(_) => self.daemon.on_event(event),
                    event => others.push_back(event),
                },
                Err(TryRecvError::Closed) => panic!("no answer"),
            }
        };
        others.append(&mut self.put_off);
        self.put_off = others;
        begun
    }

    /// Ends, with an adapter that has ended already.
    pub async fn finish(self) -> Result<(), DaemonFault> {
        drop(self.requests);
        self.daemon.finish(true).await
    }

    /// The adapter lets go, after the daemon has begun to leave.
    pub async fn let_go(mut self) -> Takeover {
        loop {
            match self.requests.try_recv() {
                Ok(CodexRequest::Release { reply }) => {
                    reply.send(Passed::with_server()).unwrap();
                    break;
                }
                Ok(_) => {}
                // Not before the rows are written of what it was to be given first.
                Err(_) => {
                    let event = self.next().await;
                    self.daemon.on_event(event);
                }
            }
        }
        self.daemon.on_event(Event::CodexSilent);
        while !self.daemon.deliveries.may_stop(&self.daemon.base) {
            let event = self.next().await;
            self.daemon.on_event(event);
        }
        self.daemon.dismiss_waiters();
        let loop_state = self.daemon.loop_state().unwrap();
        let Ground {
            endpoints, lock, ..
        } = self.ground;
        Takeover {
            detached: false,
            publisher: None,
            lock,
            endpoints,
            loop_state,
        }
    }

    /// As `start`, in place of a daemon that left its app-server. Goes through the stages of every
    /// start, on ports that are free, with an adapter of the test's; the loop is not run.
    pub async fn start_after(place: &Place, takeover: Option<Takeover>) -> Self {
        let mut rig = Self::begin_after(place, takeover).await;
        rig.settle().await;
        rig
    }

    /// As `start_after`, and the disk has nothing of it yet.
    pub async fn begin_after(place: &Place, takeover: Option<Takeover>) -> Self {
        // Else it is taken for a copy from elsewhere.
        registry::allocate(&place.user, &place.dirs, 4500, None).unwrap();
        let builder = Builder {
            ports: Some(Ports {
                control: 0,
                proxy: 0,
                codex: 0,
            }),
            codex_program: installed(),
            own_program: "ctxrelay".into(),
            ..builder(place)
        };
        let claimed = Claimed::claim(builder, takeover).await.unwrap();
        let bound = claimed.open().unwrap().bind().await.unwrap();
        let identity = bound.identity();
        let (requests, requested) = mpsc::channel(64);
        // What an adapter would tell, the test hands in.
        let (_, told) = mpsc::channel(1);
        let Ready {
            daemon,
            channel,
            ground,
        } = bound.take_on(identity, Board::default(), |options| {
            let adapter = CodexHandle { requests };
            (CodexLane::new(adapter, options.hook), told)
        });
        Self {
            daemon,
            requests: requested,
            event_receiver: channel.event_receiver,
            put_off: VecDeque::new(),
            _handle: channel.handle,
            ground,
            place: None,
        }
    }

    /// With an app-server that runs and an idle thread.
    pub async fn with_codex(place: &Place) -> Self {
        let mut rig = Self::start(place).await;
        rig.codex_runs().await;
        rig
    }

    pub async fn codex_runs(&mut self) {
        self.codex_runs_as(4_000_000).await;
    }

    /// Its app-server is this process.
    pub async fn codex_runs_as(&mut self, pid: u32) {
        self.fact(CodexFact::ServerStarted {
            pid,
            keeper: 4_000_002,
            version: "0.169.0".to_owned(),
            port: 4500,
        });
        self.fact(CodexFact::ThreadAdopted {
            thread_id: ThreadId::new("thread-1"),
        });
        self.status(ReportedStatus::Idle);
        self.settle().await;
    }

    /// Something to be told after a compaction.
    pub async fn codex_says_its_goal(&mut self) {
        let codex = self.connect(Role::Codex, None, false);
        let note = Command::AppendNote(NoteParams::new(
            Agent::Codex,
            NoteKind::Goal,
            "Sort the pears",
        ));
        self.call(&codex, note).await.unwrap();
    }

    pub fn fact(&mut self, fact: CodexFact) {
        self.daemon.on_event(Event::Codex(fact));
        self.store();
    }

    pub fn status(&mut self, status: ReportedStatus) {
        self.fact(CodexFact::ThreadStatus { status });
    }

    /// The proof that Codex has a message.
    pub fn user_message(&mut self, turn: &str, id: Option<&EntryId>) {
        self.shows(turn, id, false);
    }

    /// As [`Self::user_message`], of one that came into a turn that ran.
    pub fn steered(&mut self, turn: &str, id: &EntryId) {
        self.shows(turn, Some(id), true);
    }

    fn shows(&mut self, turn: &str, id: Option<&EntryId>, steered: bool) {
        self.fact(CodexFact::UserMessage {
            turn_id: TurnId::new(turn),
            client_id: id.map(ToString::to_string),
            preview: "a text".to_owned(),
            steered,
        });
    }

    /// A turn ended well, with this final message.
    pub fn completed(&mut self, turn: &str, ids: &[EntryId], text: &str) {
        self.fact(CodexFact::TurnCompleted {
            thread_id: ThreadId::new("thread-1"),
            turn_id: TurnId::new(turn),
            status: TurnStatus::Completed,
            final_answer: Some(text.to_owned()),
            client_ids: ids.iter().map(ToString::to_string).collect(),
            error: None,
            usage_limited: false,
            died: false,
        });
    }

    /// Codex went away over a message, and nobody found out what became of it.
    pub fn nobody_knows(&mut self, id: &EntryId) {
        self.status(ReportedStatus::Idle);
        self.fact(CodexFact::Unanswered {
            message_id: id.clone(),
        });
        self.tick_codex(i64::MAX / 2);
    }

    /// It is this late by the clock of the lane to Codex.
    pub fn tick_codex(&mut self, now_ms: i64) {
        let at = Moment {
            now_ms,
            attempt: AttemptId::new("none"),
        };
        let (codex, outbox) = (
            &mut self.daemon.agents.codex,
            &mut self.daemon.deliveries.outbox,
        );
        let effects = outbox.decide(|backlog| codex.apply(CodexInput::Tick, backlog, &at));
        self.daemon.perform(Agent::Codex, effects).unwrap();
        self.store();
    }

    async fn next(&mut self) -> Event {
        match self.put_off.pop_front() {
            Some(event) => event,
            None => self.event_receiver.recv().await.unwrap(),
        }
    }

    /// Hands in what the queue's writer says until no row is being written, and nothing else.
    pub fn store(&mut self) {
        self.answer_rows(|event| event);
    }

    /// As `store`, on a disk that refuses them.
    pub fn fail_rows(&mut self) {
        let path = self.daemon.base.dirs.state_file("queue.db");
        self.answer_rows(|event| match event {
            QueueEvent::Durable { upto } => {
                let path = path.clone();
                let error = QueueError::Late(path);
                QueueEvent::Failed { upto, error }
            }
            event => event,
        });
    }

    fn answer_rows(&mut self, said: impl Fn(QueueEvent) -> QueueEvent) {
        let mut waiting = std::mem::take(&mut self.put_off);
        while self.daemon.deliveries.outbox.is_writing() {
            let next = waiting
                .pop_front()
                .or_else(|| self.event_receiver.try_recv().ok());
            match next {
                Some(Event::Queue(event)) => self.daemon.on_event(Event::Queue(said(event))),
                Some(event) => self.put_off.push_back(event),
                None => std::thread::yield_now(),
            }
        }
        self.put_off.append(&mut waiting);
    }

    /// Hands in what the ledger's writer says until nothing is being recorded, and nothing of
    /// rows.
    pub async fn record(&mut self) {
        self.daemon.settle();
        let mut rows = VecDeque::new();
        while self.daemon.base.recorder.pending_count() > 0 {
            match self.next().await {
                event @ Event::Queue(_) => rows.push_back(event),
                event => self.daemon.on_event(event),
            }
        }
        rows.append(&mut self.put_off);
        self.put_off = rows;
    }

    /// Hands in what the writer says until nothing is being written.
    pub async fn settle(&mut self) {
        self.daemon.settle();
        while !self.daemon.deliveries.is_settled(&self.daemon.base) {
            let event = self.next().await;
            self.daemon.on_event(event);
        }
    }

    /// Hands in the next thing that happens; whether it was the state of the work tree.
    pub async fn next_is_tree(&mut self) -> bool {
        loop {
            let event = self.next().await;
            let (is_tree, is_rows) = match &event {
                Event::TreeRead { .. } => (true, false),
                event => (false, matches!(event, Event::Queue(_))),
            };
            self.daemon.on_event(event);
            if !is_rows {
                return is_tree;
            }
        }
    }

    /// Hands in what happens until something of this kind has, and what follows from it.
    pub async fn until(&mut self, kind: &str) {
        loop {
            let event = self.next().await;
            let is_it = event.kind() == kind;
            self.daemon.on_event(event);
            if is_it {
                return self.settle().await;
            }
        }
    }

    /// As `settle`, and hands in what the daemon told itself.
    pub async fn pump(&mut self) {
        self.daemon.settle();
        while let Some(event) = self
            .put_off
            .pop_front()
            .or_else(|| self.event_receiver.try_recv().ok())
        {
            self.daemon.on_event(event);
        }
        self.settle().await;
    }

    /// As `settle`, on a disk that refuses everything.
    pub async fn fail_writes(&mut self) {
        self.refuse_writes(LedgerError::Gone).await;
    }

    /// As `settle`, where nothing is recorded, for this reason.
    pub async fn refuse_writes(&mut self, why: impl Fn(std::path::PathBuf) -> LedgerError) {
        self.daemon.settle();
        while self.daemon.base.recorder.pending_count() > 0 {
            self.refuse_next(&why).await;
        }
    }

    /// As [`Self::refuse_writes`], of what is being recorded now and nothing that follows from it.
    pub async fn refuse_writes_so_far(&mut self, why: impl Fn(std::path::PathBuf) -> LedgerError) {
        self.daemon.settle();
        let asked = self.daemon.base.recorder.asked();
        while !self.daemon.base.recorder.has_answered(asked) {
            self.refuse_next(&why).await;
        }
    }

    /// Hands in the next thing that happens; what was to be recorded was refused.
    pub async fn refuse_next(&mut self, why: impl Fn(std::path::PathBuf) -> LedgerError) {
        let event = match self.next().await {
            Event::Ledger(WriterEvent::Durable { token, .. }) => {
                let path = self.daemon.base.recorder.ledger().path().to_owned();
                let error = why(path);
                Event::Ledger(WriterEvent::Failed { token, error })
            }
            event => event,
        };
        self.daemon.on_event(event);
    }

    /// As `settle`, on a disk that refuses the first write and then every other one.
    pub async fn refuse_every_other_write(&mut self) {
        self.daemon.settle();
        let mut writes = 0;
        while self.daemon.base.recorder.pending_count() > 0 {
            let event = match self.next().await {
                Event::Ledger(WriterEvent::Durable { token, entries }) => {
                    writes += 1;
                    assert!(writes < 50, "there is no end of it");
                    if writes % 2 == 1 {
                        let path = self.daemon.base.recorder.ledger().path().to_owned();
                        let error = LedgerError::NoSpace(path);
                        Event::Ledger(WriterEvent::Failed { token, error })
                    } else {
                        let recovered = Event::Ledger(WriterEvent::Recovered);
                        self.daemon.on_event(recovered);
                        Event::Ledger(WriterEvent::Durable { token, entries })
                    }
                }
                event => event,
            };
            self.daemon.on_event(event);
        }
    }

    /// Waits until the writer has refused all that it was given, and nobody hears it yet.
    pub async fn wait_for_refusals(&mut self) {
        let mut refused = 0;
        while refused < self.daemon.base.recorder.pending_count() {
            let event = self.event_receiver.recv().await.unwrap();
            if let Event::Ledger(event) = &event {
                assert!(matches!(event, WriterEvent::Failed { .. }), "{event:?}");
                refused += 1;
            }
            self.put_off.push_back(event);
        }
    }

    /// Lets time pass, with what happens by itself meanwhile.
    pub async fn later(&mut self, ms: i64) {
        self.daemon.base.clock.pass(ms);
        self.daemon.on_deadline();
        self.settle().await;
    }

    pub fn connect(&mut self, role: Role, agent_pid: Option<u32>, operator: bool) -> Guest {
        self.connect_from(4_000_001, role, agent_pid, operator)
    }

    pub fn connect_from(
        &mut self,
        pid: u32,
        role: Role,
        agent_pid: Option<u32>,
        operator: bool,
    ) -> Guest {
        let hello = hello(role, pid, agent_pid);
        self.greet(hello, operator)
    }

    /// The bridge or a hook of a `claude -p`.
    pub fn connect_in_print_mode(&mut self, role: Role, agent_pid: u32) -> Guest {
        let hello = Hello {
            in_print_mode: true,
            ..hello(role, 4_000_001, Some(agent_pid))
        };
        self.greet(hello, false)
    }

    pub fn connect_to(&mut self, pair: &str, role: Role, agent_pid: Option<u32>) -> Guest {
        let hello = Hello {
            runtime_session_id: RuntimeSession::new(pair),
            ..hello(role, 4_000_001, agent_pid)
        };
        self.greet(hello, false)
    }

    /// A client of which the kernel says the process.
    pub fn connect_by_kernel(&mut self, role: Role, process: u32) -> Guest {
        let hello = hello(role, process, None);
        let process = ClientProcess::of(process, role);
        self.greet_from(hello, false, Some(process))
    }

    /// The bridge of a Claude that is this process.
    pub fn connect_below(&mut self, claude: u32) -> Guest {
        let hello = hello(Role::Claude, 4_000_001, Some(claude));
        let process = ClientProcess {
            itself: StartedProcess::of(hello.pid),
            agent: Some(StartedProcess::of(claude)),
        };
        self.greet_from(hello, false, Some(process))
    }

    fn greet(&mut self, hello: Hello, operator: bool) -> Guest {
        self.greet_from(hello, operator, None)
    }

    fn greet_from(
        &mut self,
        hello: Hello,
        operator: bool,
        process: Option<ClientProcess>,
    ) -> Guest {
        self.try_greet(hello, operator, process).unwrap()
    }

    fn try_greet(
        &mut self,
        hello: Hello,
        operator: bool,
        process: Option<ClientProcess>,
    ) -> Result<Guest, Refusal> {
        let conn = ConnId::next();
        let (outlet, notifications) = Outlet::new(CancellationToken::new());
        let probes = outlet.probes();
        self.daemon
            .connect(conn, hello, operator, process, outlet)?;
        self.store();
        Ok(Guest {
            conn,
            notifications,
            probes,
        })
    }

    /// A client that may be refused.
    pub fn try_connect(&mut self, role: Role, operator: bool) -> Result<Guest, Refusal> {
        let hello = hello(role, 4_000_001, None);
        self.try_greet(hello, operator, None)
    }

    /// Lets the loop run by itself, on what is sent to it.
    pub fn run(self) -> (JoinHandle<()>, mpsc::Sender<Event>) {
        let Self {
            daemon,
            requests,
            event_receiver,
            put_off: _,
            _handle: handle,
            ground,
            place,
        } = self;
        let events = handle.events().clone();
        let looping = tokio::spawn(async move {
            // Nobody takes requests to the adapter.
            drop(requests);
            drop(daemon.run(event_receiver).await);
            drop(ground);
            drop(place);
        });
        (looping, events)
    }

    /// Hands a command in, and what the writer says of it not yet.
    pub fn ask(
        &mut self,
        guest: &Guest,
        command: Command,
    ) -> oneshot::Receiver<Result<Reply, Refusal>> {
        let (reply, answer) = oneshot::channel();
        self.daemon.command(guest.conn, command, reply);
        self.daemon.settle();
        self.store();
        answer
    }

    /// As `ask`, and nobody hears yet that rows are written.
    pub fn ask_only(
        &mut self,
        guest: &Guest,
        command: Command,
    ) -> oneshot::Receiver<Result<Reply, Refusal>> {
        let (reply, answer) = oneshot::channel();
        self.daemon.command(guest.conn, command, reply);
        self.daemon.settle();
        answer
    }

    pub async fn call(&mut self, guest: &Guest, command: Command) -> Result<Reply, Refusal> {
        let answer = self.ask(guest, command);
        self.settle().await;
        answer.await.unwrap()
    }

    /// Claude sends to Codex, or Codex to Claude. The answer is not waited for.
    pub async fn send(&mut self, guest: &Guest, from: Agent, on_busy: OnBusy) -> EntryId {
        let send = SendParams {
            from: Some(from),
            text: "please look".to_owned(),
            on_busy,
            ..SendParams::default()
        };
        drop(self.ask(guest, Command::Send(send)));
        self.settle().await;
        let newest = self.daemon.base.recorder.world().unsettled.iter();
        let newest = newest.max_by_key(|(_, message)| message.seq);
        newest.unwrap().0.clone()
    }

    /// The ids of what the adapter was asked to deliver since the last look, with their texts.
    pub fn delivered(&mut self) -> Vec<(EntryId, String)> {
        let mut delivered = Vec::new();
        while let Ok(request) = self.requests.try_recv() {
            if let CodexRequest::Deliver {
                message_id, text, ..
            } = request
            {
                delivered.push((message_id, text));
            }
        }
        delivered
    }

    pub fn delivered_ids(&mut self) -> Vec<EntryId> {
        self.delivered().into_iter().map(|(id, _)| id).collect()
    }

    pub fn world(&self) -> &Snapshot {
        self.daemon.base.recorder.world()
    }

    /// What the adapter was asked to take out of Codex's queue since the last look.
    pub fn taken_back(&mut self) -> Vec<EntryId> {
        let mut taken_back = Vec::new();
        while let Ok(request) = self.requests.try_recv() {
            if let CodexRequest::TakeBack { message_id } = request {
                taken_back.push(message_id);
            }
        }
        taken_back
    }

    /// What a reader of the file would see.
    pub fn replayed(place: &Place) -> (Snapshot, Ledger) {
        let opened = ledger::open(
            ledger::OpenOptions {
                dirs: place.dirs.clone(),
                session: session::read_current(&place.dirs).unwrap().unwrap(),
                prev_head: None,
                redactor: Arc::new(Redactor::new()),
                checkpoint: None,
                outside: None,
                space: None,
            },
            Box::new(|_| {}),
        )
        .unwrap();
        (opened.snapshot, opened.ledger)
    }
}
