//! The last stage: [`Bound`] becomes a [`Running`] daemon.

use std::future::Future;
use std::panic::AssertUnwindSafe;
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

use super::StartError;
use super::bound::{Bound, Left};
use super::claimed::Claimed;
use super::opened::Assembled;
use crate::adapters::codex::adapter::{self as codex, CodexOptions};
use crate::adapters::codex::compaction_hook::CompactionHook;
use crate::adapters::codex::fact::CodexFact;
use crate::daemon::clock::now_ms;
use crate::daemon::codex_lane::CodexLane;
use crate::daemon::control::guard::Guard;
use crate::daemon::control::listener;
use crate::daemon::event::Event;
use crate::daemon::fault::{DaemonFault, Ended};
use crate::daemon::handle::DaemonHandle;
use crate::daemon::identity::Identity;
use crate::daemon::operator;
use crate::daemon::registering::tell_agents;
use crate::daemon::running::Running;
use crate::daemon::takeover::{Listeners, LoopState, Takeover};
use crate::daemon::work_lane::supervise;
use crate::store::child;
use crate::store::dirs::ProjectDirs;
use crate::store::published::Published;
use crate::store::publisher::{Imprint, Publisher};
use crate::wire::control::PROTOCOL;

/// For calls over HTTP that are still being answered when another process is to go on.
const LAST_CALLS: Duration = Duration::from_millis(500);

impl Bound {
    /// Shows where the daemon is, asks the one before to yield, and starts the loop.
    pub(super) async fn run<F>(
        self,
        yielded: impl Future<Output = bool> + Send,
        mcp: impl FnOnce(DaemonHandle) -> F + Send,
    ) -> Result<Running, StartError>
    where
        F: Future<Output = Router> + Send,
    {
        let identity = self.identity();
        // The last step that can fail. What was inherited is touched only behind it, and behind the
        // word of the owner before us, who can go on with it until then. Two that read from one
        // terminal would tear its stream apart.
        let imprint = self.imprint(&identity);
        let published = imprint.published.clone();
        let claimed = &self.opened.claimed;
        let (mut publisher, board) = claimed
            .lock
            .place()
            .and_then(|lock| {
                Publisher::start(&claimed.builder.dirs, lock, imprint, self.left.is_some())
            })
            .map_err(|source| claimed.builder.state_failed(source))?;
        if !yielded.await {
            return Err(StartError::NotYielded);
        }
        publisher.take_on();
        let Self {
            listeners,
            endpoints,
            socket_name,
            left,
            opened,
        } = self;
        socket_name.keep();
        let (codex_left, known) = match left {
            Some(Left { remains, publisher }) => {
                if let Some(before) = publisher {
                    before.leave();
                }
                let LoopState { codex, known } = remains;
                (Some(codex), Some(known))
            }
            None => (None, None),
        };
        let server_runs_on = codex_left.as_ref().is_some_and(|left| left.has_server());
        let terminal_stays = codex_left.as_ref().is_some_and(|left| left.has_terminal());
        let Listeners {
            control,
            proxy,
            operator,
        } = listeners;
        let builder = &opened.claimed.builder;
        let hook = CompactionHook::of(&builder.own_program);
        hook.want(opened.claimed.loaded.config.continuity.codex_hook);
        let (adapter, facts) = codex::start(CodexOptions {
            project_root: builder.dirs.root.clone(),
            program: builder.codex_program.clone(),
            preferred_port: endpoints.ports.codex,
            control_port: endpoints.ports.control,
            mcp_token: endpoints.mcp_token.clone(),
            proxy_listener: proxy,
            proxy_token: opened.claimed.secrets.proxy.clone(),
            resume_thread: opened.thread(),
            inherited: codex_left,
            hook: hook.clone(),
            hold_program: builder.own_program.clone(),
            instance_id: identity.instance_id.clone(),
            record_child: record_child(builder.dirs.clone(), opened.disowned()),
        });
        let is_read = opened.is_read();
        let Assembled {
            mut daemon,
            first_words,
            channel,
            mut claimed,
        } = opened.assemble(identity, CodexLane::new(adapter, hook));
        if let Some(known) = known {
            daemon.inherit(known, server_runs_on, terminal_stays);
        } else {
            daemon.recall_stop();
        }
        let (ask_successor, successors) = mpsc::channel(1);
        daemon.operations.take_successors(ask_successor);
        daemon.board = board;
        first_words.say(&mut daemon, &mut claimed, server_runs_on);
        let Claimed {
            builder,
            secrets,
            loaded,
            registration,
            lock,
            ..
        } = claimed;
        registration.keep();
        daemon.configure(builder.user_dirs.clone(), &loaded);
        if loaded.config.codex.autostart && builder.codex_program.is_some() {
            // Whoever waits for the answer is nobody: what goes wrong is a notice.
            let (reply, _) = oneshot::channel();
            daemon.ensure_codex(reply);
        }
        let weak = channel.weak();
        let watch = builder.watch(&daemon, &lock, loaded, !is_read, &weak);
        daemon.alarms.watch(watch);
        let space = Arc::clone(daemon.recorder.space());
        let owner_watch = builder.watch_owner(&lock, space, &weak);
        let handle = channel.handle;
        // Without it nobody would hear of Codex any more: that is the end of the adapter.
        let failed = Event::Codex(CodexFact::Failed);
        supervise(weak.clone(), failed, forward(facts, handle.clone()));
        let (stop, serving) = (CancellationToken::new(), TaskTracker::new());
        let guard = Guard::new(endpoints.ports.control, &secrets, &endpoints.mcp_token);
        let refusals = guard.refusals().clone();
        let (leave, takeover) = oneshot::channel();
        let (inbox, detached) = (channel.inbox, builder.detached);
        // Dropped in this order from below, be it by a panic: nothing goes on serving for a daemon
        // that is no more, and who waits for the end may take the lock.
        let (end, stop_serving) = (channel.ended.drop_guard(), stop.clone().drop_guard());
        let served = serving.clone();
        let fault = handle.fault_slot();
        daemon.operations.share_fault(fault.clone());
        let run = async move {
            let lock = lock;
            let endpoints = endpoints;
            let publisher = publisher;
            let stop_serving = stop_serving;
            let _owner_watch = owner_watch;
            let remains = match daemon.run(inbox).await {
                Ended::Left(remains) => *remains,
                Ended::Stopped => return None,
                Ended::Failed(fault) => return Some(fault),
            };
            // Nothing is accepted here any more; who comes waits for the next owner to do it.
            drop(stop_serving);
            served.close();
            let _ = timeout(LAST_CALLS, served.wait()).await;
            let left = Takeover {
                detached,
                publisher: Some(publisher),
                lock,
                endpoints,
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
                    fault.set(DaemonFault::Loop);
                    Some(DaemonFault::Loop)
                })
        });
        serving.spawn(listener::serve(
            control,
            handle.clone(),
            guard,
            mcp(handle.clone()).await,
            stop.clone(),
        ));
        serving.spawn(operator::serve(
            operator,
            handle.clone(),
            builder.user_dirs.registry,
            refusals,
            stop,
        ));
        Ok(Running {
            handle,
            published,
            takeover,
            successors,
            task,
        })
    }

    fn identity(&self) -> Identity {
        let Claimed {
            builder, secrets, ..
        } = &self.opened.claimed;
        Identity {
            instance_id: builder.dirs.instance_id(),
            fingerprint: fingerprint(&secrets.identity),
            started_ms: now_ms(),
            control_port: self.endpoints.ports.control,
            proxy_port: self.endpoints.ports.proxy,
            detached: builder.detached,
            claude_program: builder.claude_program.clone(),
            codex_installed: builder.codex_program.is_some(),
            own_program: builder.own_program.clone(),
        }
    }

    fn imprint(&self, identity: &Identity) -> Imprint {
        Imprint {
            published: Published {
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                protocol: PROTOCOL,
                control_port: identity.control_port,
                proxy_port: identity.proxy_port,
                started_at: identity.started_ms,
                detached: identity.detached,
            },
            fingerprint: identity.fingerprint.clone(),
            program: self.opened.claimed.builder.own_program.clone(),
            session: self.opened.session().clone(),
        }
    }
}

/// Keeps a record of the app-server for a daemon that comes after a crash.
fn record_child(dirs: ProjectDirs, disowned: Arc<AtomicBool>) -> codex::RecordChild {
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
}

/// Tells the loop what the adapter tells, and its end.
async fn forward(mut facts: mpsc::Receiver<CodexFact>, handle: DaemonHandle) {
    tracing::debug!("following what Codex's adapter tells");
    while let Some(fact) = facts.recv().await {
        tell_agents(handle.events(), agents_of(&fact)).await;
        if matches!(fact, CodexFact::TurnCompleted { .. }) {
            // Its last words may be a message.
            handle.commit().read().await;
        }
        if handle.events().send(Event::Codex(fact)).await.is_err() {
            return;
        }
    }
    let _ = handle.events().send(Event::CodexSilent).await;
}

/// The processes below which nobody is the operator.
fn agents_of(fact: &CodexFact) -> Vec<u32> {
    match fact {
        // What a command of Codex leaves behind becomes a child of the keeper.
        CodexFact::ServerStarted { pid, keeper, .. } => vec![*pid, *keeper],
        // Also a terminal that has just left may run on.
        CodexFact::Tui { pid, .. } => pid.iter().copied().collect(),
        _ => Vec::new(),
    }
}

fn fingerprint(secret: &str) -> String {
    Sha256::digest(secret.as_bytes())
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
