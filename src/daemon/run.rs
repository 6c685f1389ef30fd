//! [`Daemon`]: the loop. It takes one [`Event`] after the other, decides, appends, and only when
//! an entry is durable folds it, publishes it and lets it have effects.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::attach::{Attachment, ConnId};
use super::challenge::Challenges;
use super::claude_lane::ClaudeLane;
use super::clock::Clock;
use super::codex_lane::{CodexLane, Remembered};
use super::configuration::Configuration;
use super::event::{Answer, Event};
use super::limits::Limits;
use super::outbox::Outbox;
use super::silence::Silences;
use super::waiters::Waiter;
use super::watch::{Alarms, Watch};
use crate::core::agent::Party;
use crate::core::delivery::LimitInput;
use crate::core::entry::{Entry, EntryKind};
use crate::core::fold::fold;
use crate::core::id::{EntryId, RuntimeSession, Seq, SessionId};
use crate::core::redact::Redactor;
use crate::core::snapshot::Snapshot;
use crate::store::dirs::ProjectDirs;
use crate::store::head::{Head, HeadKeeper};
use crate::store::ledger::{CheckpointKeeper, Ledger, LedgerError, Stored, WriterEvent};
use crate::store::search::Search;
use crate::wire::control::{Notification, Refusal, Reply};

/// How many of the latest entries are kept in memory for reading context.
pub(super) const RECENT_ENTRIES_MAX: usize = 1000;

/// How long a stopping daemon waits for appends that are under way: a disk that hangs must not
/// keep it alive.
const LAST_APPENDS: Duration = super::build::STEP;

/// How long clients may take to receive their last answers when the daemon ends.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What happens once a batch is durable, or has failed.
pub(super) type Then = Box<dyn FnOnce(&mut Daemon, Result<&[Arc<Stored>], &Refusal>) + Send>;

/// What happens once a fact is durable.
pub(super) type ThenDurable = Box<dyn FnOnce(&mut Daemon, &[Arc<Stored>]) + Send>;

/// The code of an entry that can never be written, however much room there is.
const ENTRY_REFUSED: &str = "entry_refused";

/// After the disk refused what has happened already, it is asked again this often.
const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// The key of the sentence that the record cannot be written, which is also the code of the entry
/// that tells of it afterwards.
const LEDGER_UNWRITABLE: &str = "ledger_unwritable";

/// How many facts are kept while the disk refuses. Codex gets nothing new meanwhile, so that few
/// can come.
const UNWRITTEN_MAX: usize = 256;

/// The only owner of mutable world state.
pub struct Daemon {
    pub(super) dirs: ProjectDirs,
    pub(super) identity: Identity,
    pub(super) ledger: Ledger,
    pub(super) redactor: Arc<Redactor>,
    pub(super) keepers: Keepers,
    pub(super) session_id: SessionId,
    pub(super) world: Arc<Snapshot>,
    pub(super) recent: VecDeque<Arc<Stored>>,
    pub(super) outbox: Outbox,
    pub(super) clock: Clock,
    pub(super) attachments: BTreeMap<ConnId, Attachment>,
    pub(super) waiters: Vec<Waiter>,
    pub(super) claude: ClaudeLane,
    pub(super) codex: CodexLane,
    pub(super) silences: Silences,
    pub(super) limits: Limits,
    pub(super) challenges: Challenges,
    /// The first line of what was last given of each message, until the record has it.
    pub(super) given: Remembered<EntryId, String>,
    pub(super) notices: Notices,
    pub(super) recent_handoffs: VecDeque<super::commands::RecentHandoff>,
    /// Proposals whose decision is being recorded.
    pub(super) deciding: HashSet<EntryId>,
    /// Entries of which the record says already that their whole text is lost.
    pub(super) lost_texts: HashSet<EntryId>,
    /// Agents' processes with their start: an id alone may be somebody else's by now.
    pub(super) known_agent_pids: HashMap<u32, Option<String>>,
    pub(super) events: mpsc::WeakSender<Event>,
    pub(super) writer_events: Box<dyn Fn() -> Box<dyn Fn(WriterEvent) + Send> + Send>,
    pending: HashMap<u64, Pending>,
    unwritten: Vec<(Vec<Entry>, ThenDurable)>,
    write_again_at: Option<Instant>,
    next_token: u64,
    idle_since: Option<Instant>,
    pub(super) stopping: Option<Stop>,
    /// What `config.json` says; `None` until the builder has read it.
    pub(super) configuration: Option<Configuration>,
    pub(super) alarms: Alarms,
    /// Ends with the daemon.
    pub(super) watch: Option<Watch>,
}

/// What writes down, beside the ledger, how far it has come.
#[derive(Debug)]
pub(super) struct Keepers {
    pub heads: HeadKeeper,
    pub checkpoints: CheckpointKeeper,
    pub search: Search,
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").finish_non_exhaustive()
    }
}

/// What does not change in a daemon's life.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The project's instance.
    pub instance_id: String,
    /// A prefix of the SHA-256 of the secret identity.
    pub fingerprint: String,
    /// When it started, ms since the epoch.
    pub started_ms: i64,
    /// The control port.
    pub control_port: u16,
    /// The proxy port.
    pub proxy_port: u16,
    /// It ends by itself when nothing is attached.
    pub detached: bool,
    /// Claude's program was found.
    pub claude_installed: bool,
    /// Codex's program was found.
    pub codex_installed: bool,
}

/// Sentences for the operator that hold now; each under its own key, so that a repeated fault is
/// one line and not a flood.
#[derive(Debug, Default)]
pub struct Notices(BTreeMap<&'static str, String>);

impl Notices {
    /// Says it. Returns whether it is new.
    pub fn set(&mut self, key: &'static str, text: impl Into<String>) -> bool {
        let text = text.into();
        self.0.insert(key, text.clone()).as_ref() != Some(&text)
    }

    /// It is over. Returns whether it was there.
    pub fn clear(&mut self, key: &'static str) -> bool {
        self.0.remove(key).is_some()
    }

    /// Whether it holds now.
    pub fn has(&self, key: &'static str) -> bool {
        self.0.contains_key(key)
    }

    /// All of them.
    pub fn lines(&self) -> Vec<String> {
        self.0.values().cloned().collect()
    }
}

/// How the daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) kill: bool,
    /// When appends that are under way are no longer waited for.
    pub(super) by: Instant,
}

impl Stop {
    pub(super) fn now(kill: bool) -> Self {
        let by = Instant::now() + LAST_APPENDS;
        Self { kill, by }
    }
}

struct Pending {
    then: Then,
}

impl Daemon {
    #[expect(
        clippy::too_many_arguments,
        reason = "the one place where the parts are put together"
    )]
    pub(super) fn new(
        dirs: ProjectDirs,
        identity: Identity,
        ledger: Ledger,
        redactor: Arc<Redactor>,
        keepers: Keepers,
        session_id: SessionId,
        world: Snapshot,
        recent: VecDeque<Arc<Stored>>,
        outbox: Outbox,
        codex: CodexLane,
        events: mpsc::WeakSender<Event>,
        writer_events: Box<dyn Fn() -> Box<dyn Fn(WriterEvent) + Send> + Send>,
    ) -> Self {
        Self {
            dirs,
            identity,
            ledger,
            redactor,
            keepers,
            session_id,
            world: Arc::new(world),
            recent,
            outbox,
            clock: Clock::start(),
            attachments: BTreeMap::new(),
            waiters: Vec::new(),
            claude: ClaudeLane::default(),
            codex,
            silences: Silences::default(),
            limits: Limits::default(),
            challenges: Challenges::default(),
            given: Remembered::default(),
            notices: Notices::default(),
            recent_handoffs: VecDeque::new(),
            deciding: HashSet::new(),
            lost_texts: HashSet::new(),
            known_agent_pids: HashMap::new(),
            events,
            writer_events,
            pending: HashMap::new(),
            unwritten: Vec::new(),
            write_again_at: None,
            next_token: 0,
            idle_since: None,
            stopping: None,
            configuration: None,
            alarms: Alarms::default(),
            watch: None,
        }
    }

    /// Runs until somebody ends it.
    pub(super) async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        loop {
            let deadline = self.next_deadline();
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                () = sleep_until(deadline) => {
                    self.on_deadline();
                    None
                }
            };
            if let Some(event) = event {
                self.on_event(event);
            }
            self.watch_idleness();
            if self
                .stopping
                .is_some_and(|stop| self.pending.is_empty() || Instant::now() >= stop.by)
            {
                break;
            }
        }
        // Whoever still asks hears at once that there is nobody, and neither the adapter nor the
        // ledger's writer waits for a place in a queue that is no longer read.
        self.part(&mut events).await;
        drop(events);
        self.finish().await;
    }

    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected {
                conn,
                hello,
                operator,
                outlet,
                reply,
            } => {
                let _ = reply.send(self.connect(conn, hello, operator, outlet));
            }
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
            Event::AgentPids { reply } => {
                let _ = reply.send(self.agent_pids());
            }
            Event::Metrics { reply } => {
                let _ = reply.send(super::metrics::render(self));
            }
            Event::Shutdown { kill } => self.stop(Stop::now(kill)),
        }
    }

    /// Appends, and calls back when it is durable or has failed.
    pub(super) fn record(&mut self, entries: Vec<Entry>, then: Then) {
        let token = self.next_token;
        self.next_token += 1;
        match self.ledger.append(token, entries) {
            Ok(()) => {
                self.pending.insert(token, Pending { then });
            }
            Err(_full) => {
                let refusal = Refusal::new(
                    "overloaded",
                    "the ledger's queue is full",
                    "nothing was recorded; try again in a moment",
                );
                then(self, Err(&refusal));
            }
        }
    }

    /// Appends what has happened already. While the disk refuses it is kept and tried again: it
    /// cannot be undone, and nobody else would tell it a second time.
    pub(super) fn record_fact(&mut self, entries: Vec<Entry>, then: ThenDurable) {
        let kept = entries.clone();
        self.record(
            entries,
            Box::new(move |daemon, result| match result {
                Ok(stored) => then(daemon, stored),
                Err(refusal)
                    if refusal.code != ENTRY_REFUSED && daemon.unwritten.len() < UNWRITTEN_MAX =>
                {
                    daemon.fact_refused(&kept, refusal, true);
                    daemon.unwritten.push((kept, then));
                    daemon
                        .write_again_at
                        .get_or_insert_with(|| Instant::now() + WRITE_AGAIN);
                }
                Err(refusal) => {
                    tracing::error!(code = refusal.code, "a fact could not be recorded");
                    daemon.fact_refused(&kept, refusal, false);
                }
            }),
        );
    }

    fn write_again(&mut self) {
        if self.write_again_at.is_some_and(|at| Instant::now() >= at) {
            self.write_again_at = None;
            for (mut entries, then) in std::mem::take(&mut self.unwritten) {
                // The session that they were of may be sealed by now.
                for entry in &mut entries {
                    entry.session_id = self.session_id.clone();
                }
                self.record_fact(entries, then);
            }
        }
    }

    /// Appends what nobody waits for.
    pub(super) fn note_fact(&mut self, source: Party, kind: EntryKind, content: impl Into<String>) {
        let entry = self.entry(source, None, kind, content, None);
        self.record(
            vec![entry],
            Box::new(|_, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = refusal.code, "a fact could not be recorded");
                }
            }),
        );
    }

    /// An entry of now.
    pub(super) fn entry(
        &self,
        source: Party,
        target: Option<Party>,
        kind: EntryKind,
        content: impl Into<String>,
        runtime_session: Option<RuntimeSession>,
    ) -> Entry {
        Entry {
            id: EntryId::new(uuid::Uuid::now_v7().to_string()),
            timestamp_ms: now_ms(),
            session_id: self.session_id.clone(),
            source,
            target,
            content: content.into(),
            whole: None,
            kind,
            runtime_session,
            carried: None,
            meta: Map::new(),
            seq: Seq(0),
        }
    }

    fn on_writer(&mut self, event: WriterEvent) {
        match event {
            WriterEvent::Durable { token, entries } => {
                for stored in &entries {
                    self.publish(stored);
                }
                self.come_to(&entries);
                match self.pending.remove(&token) {
                    Some(pending) => (pending.then)(self, Ok(&entries)),
                    None => self.forget_taken_back(&entries),
                }
                self.pump();
            }
            WriterEvent::Failed {
                token,
                error: error @ LedgerError::Refused { .. },
            } => {
                let refusal = Refusal::new(
                    ENTRY_REFUSED,
                    error.to_string(),
                    "nothing was recorded; say it in fewer words",
                );
                if let Some(pending) = self.pending.remove(&token) {
                    (pending.then)(self, Err(&refusal));
                }
            }
            WriterEvent::Failed { token, error } => {
                let refusal = Refusal::new(
                    LEDGER_UNWRITABLE,
                    format!("the record could not be written: {error}"),
                    "nothing was recorded; free space or make the project writable, it goes on by itself",
                );
                let begins = !self.is_read_only();
                if self.notices.set(LEDGER_UNWRITABLE, refusal.message.clone()) {
                    self.status_changed();
                }
                // A file that was taken away stays so until somebody restarts the daemon.
                if begins && !matches!(error, LedgerError::Gone { .. }) {
                    self.record_outage(refusal.message.clone());
                }
                if let Some(pending) = self.pending.remove(&token) {
                    (pending.then)(self, Err(&refusal));
                }
            }
            WriterEvent::Recovered => {
                if self.notices.clear(LEDGER_UNWRITABLE) {
                    self.status_changed();
                }
            }
        }
    }

    /// The last append failed, and none has succeeded since.
    pub(super) fn is_read_only(&self) -> bool {
        self.notices.has(LEDGER_UNWRITABLE)
    }

    /// Has the record say that it could not be written. Asking the disk again and again with this
    /// very entry is what finds out that it works again, though nobody else writes.
    fn record_outage(&mut self, why: String) {
        let kind = EntryKind::Error {
            code: LEDGER_UNWRITABLE.to_owned(),
        };
        let entry = self.entry(Party::System, None, kind, why, None);
        self.record_fact(vec![entry], Box::new(|_, _| {}));
    }

    /// Has everybody who follows the record know how far it is.
    pub(super) fn come_to(&mut self, entries: &[Arc<Stored>]) {
        self.keepers.search.grown();
        if let Some(last) = entries.last() {
            self.keepers.heads.set(Head {
                seq: last.entry.seq.0,
                hash: last.hash.clone(),
                session_id: self.session_id.clone(),
            });
            self.keepers
                .checkpoints
                .moved(&self.ledger, &self.session_id, &self.world, &last.hash);
        }
    }

    /// Fold, then tell. Only durable entries come here.
    pub(super) fn publish(&mut self, stored: &Arc<Stored>) {
        fold(Arc::make_mut(&mut self.world), &stored.entry);
        if self.recent.len() == RECENT_ENTRIES_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(stored));
        let mut value: Option<Value> = None;
        for attachment in self.attachments.values() {
            if attachment.subscribed {
                let value = value.get_or_insert_with(|| stored.to_value());
                attachment.outlet.send(Notification::Entry(value.clone()));
            }
        }
    }

    pub(super) fn pending_count(&self) -> usize {
        self.pending.len()
    }

    /// Tells subscribers that `status/read` has news which no entry tells.
    pub(super) fn status_changed(&self) {
        for attachment in self.attachments.values() {
            if attachment.subscribed {
                attachment.outlet.send(Notification::StatusChanged);
            }
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
        self.waiters
            .iter()
            .map(|waiter| waiter.deadline)
            .chain(self.delivery_deadline())
            .chain(self.claude_next())
            .chain(self.next_look_at_silence())
            .chain(self.next_limit_deadline())
            .chain(self.next_challenge())
            .chain(self.write_again_at)
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
        self.challenge_deadline();
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
        // The service behind `/mcp` is a client in this process that never leaves.
        let attached = self
            .attachments
            .values()
            .any(|attachment| attachment.hello.pid != std::process::id());
        let idle = self.identity.detached
            && !attached
            && self.pending.is_empty()
            && !self.codex.is_needed()
            && self.unwritten.is_empty();
        match (idle, self.idle_since) {
            (true, None) => self.idle_since = Some(Instant::now()),
            (false, Some(_)) => self.idle_since = None,
            _ => {}
        }
    }

    pub(super) fn stop(&mut self, stop: Stop) {
        if self.stopping.is_some() {
            return;
        }
        for attachment in self.attachments.values() {
            attachment
                .outlet
                .send(Notification::Stopping { killed: stop.kill });
        }
        let refusal = stopping();
        for waiter in self.waiters.drain(..) {
            waiter.refuse(&refusal);
        }
        self.note_fact(
            Party::System,
            EntryKind::Lifecycle {
                event: "daemon_stopped".to_owned(),
            },
            if stop.kill {
                "the daemon was killed by the operator"
            } else {
                "the daemon stopped"
            },
        );
        self.stopping = Some(stop);
    }

    /// Ends what the daemon owns, each step with a deadline of its own.
    async fn finish(self) {
        self.codex.shutdown().await;
        let (ledger, session, world) = (self.ledger, self.session_id, self.world);
        let Keepers {
            heads,
            checkpoints,
            search,
        } = self.keepers;
        let last = self.recent.back().map(|last| last.hash.clone());
        let closed = tokio::task::spawn_blocking(move || {
            ledger.clone().close();
            heads.close();
            checkpoints.close(ledger, session, world, last.unwrap_or_default());
            search.close();
        });
        if tokio::time::timeout(super::build::STEP, closed)
            .await
            .is_err()
        {
            tracing::error!("the ledger's writer did not end in time");
        }
    }
}

impl Daemon {
    /// Sends the clients away, and waits until those from outside have their last answers and
    /// have left; whoever does not take them in time is left behind.
    async fn part(&mut self, events: &mut mpsc::Receiver<Event>) {
        // First, or a bridge that is sent away would start another daemon.
        if self.stopping.is_some_and(|stop| stop.kill)
            && let Err(error) = crate::store::sentinel::write(&self.dirs, now_ms())
        {
            tracing::error!(%error, "the killed sentinel could not be written");
        }
        for attachment in self.attachments.values() {
            attachment.outlet.close();
        }
        let own = std::process::id();
        let deadline = Instant::now() + LAST_ANSWERS;
        while self
            .attachments
            .values()
            .any(|attachment| attachment.hello.pid != own)
        {
            match tokio::time::timeout_at(deadline, events.recv()).await {
                Ok(Some(Event::Disconnected { conn })) => {
                    self.attachments.remove(&conn);
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}

/// Refuses because the daemon ends.
pub(super) fn stopping() -> Refusal {
    Refusal::new(
        "daemon_stopping",
        "the daemon is stopping",
        "the call was not carried out; try again once a daemon runs",
    )
}

/// Answers, unless the asker has gone.
pub(super) fn answer(reply: Answer, result: Result<Reply, Refusal>) {
    let _ = reply.send(result);
}

/// Wall clock, ms since the epoch.
pub(super) fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
}
