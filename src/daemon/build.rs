//! [`Builder`]: takes the owner's lock, binds the ports, opens ledger and queue, and starts the
//! loop. The order is the order of what the next step relies on. A daemon that follows another one
//! inherits lock, ports and app-server instead, as an [`Estate`].

mod bind;
mod choice;
mod descriptors;
mod watches;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use futures::FutureExt as _;
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::choice::Choice;
use super::codex_lane::CodexLane;
use super::control::guard::Guard;
use super::control::listener;
use super::estate::{Estate, Remains};
use super::event::Event;
use super::fault::{Ended, Fault};
use super::handle::{DaemonHandle, EVENTS_MAX};
use super::identity::Identity;
use super::operator;
use super::outbox::Outbox;
use super::run::{Daemon, Keepers, now_ms};
use super::running::Running;
pub use super::start_error::StartError;
use crate::adapters::codex::adapter::{self as codex, CodexOptions};
use crate::adapters::hold;
use crate::core::agent::{Agent, Party};
use crate::core::entry::{DeliveryResult, EntryKind};
use crate::core::fold::{DAEMON_STARTED, DAEMON_TAKEN_OVER, forget_deliveries};
use crate::core::redact::Redactor;
use crate::store::child;
use crate::store::config;
use crate::store::contextrelay3;
use crate::store::dirs::{ProjectDirs, UserDirs, exists};
use crate::store::head::{HeadKeeper, Heads};
use crate::store::ledger::{self, CheckpointKeeper, WriterEvent};
use crate::store::mend::mend;
use crate::store::owner::OwnerLock;
use crate::store::published::Published;
use crate::store::publisher::{Imprint, Publisher};
use crate::store::queue::Queue;
use crate::store::registry::{self, Ports};
use crate::store::search::Search;
use crate::store::{secrets, sentinel, session, trust};
use crate::wire::control::PROTOCOL;

/// The longest that one step of an orderly shutdown may take.
pub const STEP: Duration = Duration::from_secs(4);

/// For calls over HTTP that are still being answered when another process is to go on.
const LAST_CALLS: Duration = Duration::from_millis(500);

/// What a daemon is made of. Everything that a test wants to be different is here.
#[derive(Debug, Clone)]
pub struct Builder {
    /// The project.
    pub dirs: ProjectDirs,
    /// Outside of it.
    pub user_dirs: UserDirs,
    /// The first port of the first project.
    pub port_base: u16,
    /// All three ports, named by the user: no others are tried.
    pub ports: Option<Ports>,
    /// End by itself when nothing is attached.
    pub detached: bool,
    /// The `codex` program; `None` when there is none.
    pub codex_program: Option<PathBuf>,
    /// The `claude` program was found.
    pub claude_installed: bool,
    /// Our own binary, for `ctxrelay hold`.
    pub own_program: PathBuf,
    /// Clear the `killed` sentinel: an explicit start by a person.
    pub clears_kill: bool,
}

impl Builder {
    /// Starts the daemon on the current runtime, in place of the one that left an estate if there
    /// is one. `mcp` makes the service behind `/mcp`. `yielded`: asked for once nothing can fail any
    /// more, and says whether the one before lets go of the estate.
    ///
    /// # Errors
    ///
    /// See [`StartError`]; nothing is left running then.
    pub async fn start<F>(
        self,
        estate: Option<Estate>,
        yielded: impl Future<Output = bool> + Send,
        mcp: impl FnOnce(DaemonHandle) -> F + Send,
    ) -> Result<Running, StartError>
    where
        F: Future<Output = Router> + Send,
    {
        descriptors::raise_limit();
        // To be asked before the ports are allocated, which registers the project.
        let is_clone = estate.is_none()
            && exists(&self.dirs.sessions())
            && !registry::is_known(&self.user_dirs, &self.dirs)
                .map_err(|source| self.registry_failed(source))?;
        self.dirs
            .create()
            .map_err(|source| StartError::Unwritable {
                path: self.dirs.relay.clone(),
                source,
            })?;
        let unwritable = |source| StartError::Unwritable {
            path: self.dirs.state.clone(),
            source,
        };
        let (lock, before, inherited) = match estate {
            Some(Estate {
                lock,
                publisher,
                premises,
                remains,
                ..
            }) => (lock, publisher, Some((premises, remains))),
            None => {
                let lock = OwnerLock::try_acquire(&self.dirs).map_err(unwritable)?;
                (lock.ok_or(StartError::Owned)?, None, None)
            }
        };
        if self.clears_kill {
            sentinel::clear(&self.dirs).map_err(unwritable)?;
        } else if sentinel::is_killed(&self.dirs) {
            return Err(StartError::Killed);
        }
        // What a daemon that died left behind; nothing here depends on it any more.
        let server_runs_on = inherited
            .as_ref()
            .is_some_and(|(_, remains)| remains.codex.has_server());
        let record = child::read::<hold::ChildRecord>(&self.dirs);
        if let Some(record) = record.filter(|_| !server_runs_on) {
            let reaped = tokio::task::spawn_blocking(move || hold::reap(&record)).await;
            tracing::info!(?reaped, "looked for what an earlier daemon left");
            child::remove(&self.dirs).map_err(unwritable)?;
        }
        config::close_to_others(&self.dirs);
        let adopted = config::adopt(&self.dirs);
        if is_clone {
            trust::forget(&self.user_dirs, &self.dirs.instance_id())
                .map_err(|source| self.registry_failed(source))?;
        }
        let loaded = config::load(&self.dirs, &self.user_dirs);
        let secrets = secrets::ensure(&self.dirs, is_clone).map_err(unwritable)?;
        let foreign_queue = contextrelay3::set_aside(&self.dirs).map_err(unwritable)?;
        if is_clone {
            Queue::discard(&self.dirs).map_err(unwritable)?;
        }
        let (premises, remains) = match inherited {
            Some((premises, remains)) => (premises, Some(remains)),
            None => (self.bind().await?, None),
        };
        let ports = premises.ports;
        let listeners = premises.listen().map_err(unwritable)?;

        let ended = CancellationToken::new();
        let (events, inbox) = mpsc::channel(EVENTS_MAX);
        let handle = DaemonHandle::new(events.clone(), ended.clone());
        let weak = events.downgrade();
        let writer_events = {
            let weak = weak.clone();
            Box::new(move || {
                let weak = weak.clone();
                Box::new(move |event: WriterEvent| {
                    // The writer has a thread of its own: it may wait for the loop.
                    if let Some(events) = weak.upgrade() {
                        let _ = events.blocking_send(Event::Ledger(event));
                    }
                }) as Box<dyn Fn(WriterEvent) + Send>
            }) as Box<dyn Fn() -> Box<dyn Fn(WriterEvent) + Send> + Send>
        };
        let heads = Heads::open(&self.user_dirs, &self.dirs.instance_id())
            .map_err(|source| self.registry_failed(source))?;
        let believed_after = heads.kept().map_or(0, |kept| kept.foreign_through);
        let Choice {
            session: session_id,
            is_new,
            missing,
            lost,
        } = Choice::of(&self.dirs, heads.kept().as_ref())?;
        let mended = mend(&self.dirs, &session_id);
        let redactor = Arc::new(Redactor::with(loaded.rules.clone()));
        let checkpoint = ledger::read_checkpoint(&self.dirs, &self.user_dirs);
        let mut opened = ledger::open(
            ledger::OpenOptions {
                dirs: self.dirs.clone(),
                session: session_id.clone(),
                prev_head: None,
                redactor: Arc::clone(&redactor),
                checkpoint,
                outside: Some(ledger::Outside {
                    heads: heads.clone(),
                    origin: if is_clone {
                        ledger::Origin::Elsewhere
                    } else {
                        ledger::Origin::Known
                    },
                }),
            },
            writer_events(),
        )?;
        session::write_current(&self.dirs, &session_id).map_err(|source| {
            StartError::Unwritable {
                path: self.dirs.current(),
                source,
            }
        })?;
        // Entries and no chain: nobody of ours has written here yet.
        let is_adopted = opened.report.entries > 0 && opened.report.head.is_none();
        if is_adopted {
            forget_deliveries(&mut opened.snapshot);
        }
        let (queue, queue_was_older) = Outbox::queue_of(&self.dirs, &self.user_dirs)?;
        let (outbox, unknowable) = Outbox::open(queue, &opened.snapshot)?;

        let identity = Identity {
            instance_id: self.dirs.instance_id(),
            fingerprint: fingerprint(&secrets.identity),
            started_ms: now_ms(),
            control_port: ports.control,
            proxy_port: ports.proxy,
            detached: self.detached,
            claude_installed: self.claude_installed,
            codex_installed: self.codex_program.is_some(),
        };
        let published = Published {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            control_port: ports.control,
            proxy_port: ports.proxy,
            started_at: identity.started_ms,
            detached: self.detached,
        };
        let report = opened.report;
        let heads = HeadKeeper::start(heads).map_err(unwritable)?;
        let is_foreign = opened.snapshot.foreign_through.0 > believed_after && !is_adopted;
        let from = opened.snapshot.seq.0;
        let checkpoints =
            CheckpointKeeper::start(&self.dirs, &self.user_dirs, from).map_err(unwritable)?;
        // The index of a clone is somebody else's word about our record.
        let search = Search::start(
            &self.dirs,
            Arc::clone(&redactor),
            opened.ledger.clone(),
            session_id.clone(),
            is_clone,
        )
        .map_err(unwritable)?;
        // The last step that can fail. What was inherited is touched only behind it, and behind the
        // word of the owner before us, who can go on with it until then. Two that read from one
        // terminal would tear its stream apart.
        let imprint = Imprint {
            published: published.clone(),
            fingerprint: identity.fingerprint.clone(),
            program: self.own_program.clone(),
            session: session_id.clone(),
        };
        let place = lock.place().map_err(unwritable)?;
        let (mut publisher, board) =
            Publisher::start(&self.dirs, place, imprint, remains.is_some()).map_err(unwritable)?;
        if !yielded.await {
            return Err(StartError::NotYielded);
        }
        publisher.take_on();
        if let Some(before) = before {
            before.leave();
        }

        let (codex_left, known) = match remains {
            Some(Remains { codex, known }) => (Some(codex), Some(known)),
            None => (None, None),
        };
        let terminal_stays = codex_left.as_ref().is_some_and(|left| left.has_terminal());
        let mcp_token = premises.mcp_token.clone();
        let disowned = Arc::new(AtomicBool::new(false));
        let (adapter, mut facts) = codex::start(CodexOptions {
            project_root: self.dirs.root.clone(),
            program: self.codex_program.clone(),
            preferred_port: ports.codex,
            control_port: ports.control,
            mcp_token: mcp_token.clone(),
            proxy_listener: listeners.proxy,
            proxy_token: secrets.proxy.clone(),
            resume_thread: opened.snapshot.agent(Agent::Codex).thread_id,
            inherited: codex_left,
            hold_program: self.own_program.clone(),
            instance_id: self.dirs.instance_id(),
            record_child: {
                let (dirs, disowned) = (self.dirs.clone(), Arc::clone(&disowned));
                Box::new(move |record| {
                    // What lies there then is the next owner's.
                    if disowned.load(Ordering::Acquire) {
                        return;
                    }
                    let done = match record {
                        Some(record) => child::write(&dirs, &record),
                        None => child::remove(&dirs),
                    };
                    if let Err(error) = done {
                        tracing::warn!(%error, "the app-server's record could not be written");
                    }
                })
            },
        });
        let (ask_successor, successors) = mpsc::channel(1);
        let mut daemon = Daemon::new(
            self.dirs.clone(),
            identity,
            opened.ledger,
            redactor,
            Keepers {
                heads,
                checkpoints,
                search,
            },
            session_id.clone(),
            opened.snapshot,
            report.recent,
            outbox,
            CodexLane::new(adapter),
            weak.clone(),
            writer_events,
        );
        if let Some(known) = known {
            daemon.inherit(known, server_runs_on, terminal_stays);
        } else {
            daemon.recall_stop();
        }
        daemon.successors = Some(ask_successor);
        daemon.disowned = disowned;
        daemon.board = board;
        if is_new || report.entries == 0 {
            daemon.start_session();
        }
        if is_adopted {
            daemon.adopt(report.entries, &self.unread(is_clone));
        }
        if let Some(aside) = &foreign_queue {
            daemon.note_foreign_queue(aside);
        }
        if queue_was_older {
            daemon.note_older_queue();
        }
        if !server_runs_on {
            daemon.note_unfinished();
        }
        let (event, said) = if server_runs_on {
            (DAEMON_TAKEN_OVER, "the daemon goes on in another process")
        } else {
            (DAEMON_STARTED, "the daemon started")
        };
        daemon.note_fact(
            Party::System,
            EntryKind::Lifecycle {
                event: event.to_owned(),
            },
            said,
        );
        if let Some(missing) = missing {
            daemon.note_fact(
                Party::System,
                EntryKind::Error {
                    code: "ledger_missing".to_owned(),
                },
                format!(
                    ".contextrelay/current named {missing}, whose record does not exist: this \
                     session goes on in its place"
                ),
            );
        }
        daemon.note_failed();
        daemon.note_mended(mended);
        if let Some(torn) = &report.torn {
            daemon.note_fact(
                Party::System,
                EntryKind::Error {
                    code: "torn_tail".to_owned(),
                },
                format!(
                    "the last line was torn by a crash; its bytes are kept in {}",
                    torn.file_name().unwrap_or_default().display()
                ),
            );
        }
        let lost = lost.filter(|lost| !report.alarms.contains(lost));
        for alarm in lost.into_iter().chain(report.alarms) {
            daemon.raise_alarm(alarm);
        }
        daemon.say_alarms();
        if is_clone && !is_new {
            daemon.note_fact(
                Party::System,
                EntryKind::Error {
                    code: "foreign_history".to_owned(),
                },
                "this .contextrelay/ was not made here: it got new tokens and an empty queue; \
                 entries before this one are somebody else's word",
            );
        } else if is_foreign {
            daemon.note_fact(
                Party::System,
                EntryKind::Error {
                    code: "foreign_history".to_owned(),
                },
                format!(
                    "nothing outside of the project vouches for the entries up to {}: they are \
                     somebody else's word, and no decision or message of yours in them counts",
                    daemon.world.foreign_through
                ),
            );
        }
        for id in unknowable {
            if let Some(to) = daemon.outbox.get(&id).map(|row| row.to) {
                let entry = daemon.delivery_entry(&id, to, DeliveryResult::Ambiguous, None, None);
                daemon.record(vec![entry], Box::new(|_, _| {}));
            }
        }
        // Before anything is sent.
        daemon.recall_limits();
        if !is_clone {
            daemon.tell_decisions();
        }
        daemon.recover_codex();
        daemon.note_adopted_config(adopted);
        daemon.configure(self.user_dirs.clone(), &loaded);
        if loaded.config.codex.autostart && self.codex_program.is_some() {
            // Whoever waits for the answer is nobody: what goes wrong is a notice.
            let (reply, _) = oneshot::channel();
            daemon.ensure_codex(reply);
        }
        daemon.watch = self.watch(&daemon, &lock, loaded, !report.is_read, &weak);
        let forward = handle.clone();
        tokio::spawn(async move {
            while let Some(fact) = facts.recv().await {
                if forward.events().send(Event::Codex(fact)).await.is_err() {
                    return;
                }
            }
            let _ = forward.events().send(Event::CodexSilent).await;
        });
        let owner_watch = self.watch_owner(&lock, &weak);
        let (stop, serving) = (CancellationToken::new(), TaskTracker::new());
        let guard = Guard::new(ports.control, &secrets, &mcp_token);
        let refusals = guard.refusals().clone();
        let (leave, estate) = oneshot::channel();
        let detached = self.detached;
        // Dropped in this order from below, be it by a panic: nothing goes on serving for a daemon
        // that is no more, and who waits for the end may take the lock.
        let (end, stop_serving) = (ended.drop_guard(), stop.clone().drop_guard());
        let served = serving.clone();
        let fault = handle.fault_slot();
        daemon.fault = fault.clone();
        let run = async move {
            let lock = lock;
            let premises = premises;
            let publisher = publisher;
            let stop_serving = stop_serving;
            let _owner_watch = owner_watch;
            let (remains, fault) = match daemon.run(inbox).await {
                Ended::Left(remains) => (Some(*remains), None),
                Ended::Stopped => (None, None),
                Ended::Failed(fault) => (None, Some(fault)),
            };
            let Some(remains) = remains else {
                return fault;
            };
            // Nothing is accepted here any more; who comes waits for the next owner to do it.
            drop(stop_serving);
            served.close();
            let _ = timeout(LAST_CALLS, served.wait()).await;
            let left = Estate {
                detached,
                publisher: Some(publisher),
                lock,
                premises,
                remains,
            };
            // Nobody waits for it: then this is the end.
            let _ = leave.send(left);
            None
        };
        let task = tokio::spawn(async move {
            let _end = end;
            AssertUnwindSafe(run)
                .catch_unwind()
                .await
                .unwrap_or_else(|_| {
                    fault.set(Fault::Loop);
                    Some(Fault::Loop)
                })
        });
        serving.spawn(listener::serve(
            listeners.control,
            handle.clone(),
            guard,
            mcp(handle.clone()).await,
            stop.clone(),
        ));
        serving.spawn(operator::serve(
            listeners.operator,
            handle.clone(),
            self.user_dirs.registry.clone(),
            refusals,
            stop,
        ));
        Ok(Running {
            handle,
            published,
            estate,
            successors,
            task,
        })
    }

    fn registry_failed(&self, source: std::io::Error) -> StartError {
        StartError::Unwritable {
            path: self.user_dirs.instances(),
            source,
        }
    }
}

/// Enough to tell sessions of one millisecond apart.
pub(super) fn rand_u32() -> u32 {
    uuid::Uuid::new_v4().as_fields().0
}

fn fingerprint(secret: &str) -> String {
    Sha256::digest(secret.as_bytes())
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
