//! The last stage: [`Bound`] becomes a [`Running`] daemon.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use futures::FutureExt as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::StartError;
use super::bound::Bound;
use super::channel::Channel;
use super::ready::{Ground, Ready, StartedCodex};
use crate::adapters::codex::adapter::{self as codex, CodexOptions};
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::Agent;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::agents::registering::tell_agents;
use crate::daemon::base::identity::Identity;
use crate::daemon::control::guard::Guard;
use crate::daemon::control::listener;
use crate::daemon::event::Event;
use crate::daemon::fault::{DaemonFault, Ended, FaultSlot};
use crate::daemon::handle::DaemonHandle;
use crate::daemon::operator;
use crate::daemon::owners::Daemon;
use crate::daemon::running::Running;
use crate::daemon::supervise::{supervise, supervised, supervised_thread};
use crate::daemon::takeover::{Endpoints, Leaving, Takeover};
use crate::daemon::tamper::OwnerWatch;
use crate::store::owner::OwnerLock;
use crate::store::published::Published;
use crate::store::publisher::{Board, Imprint, Publisher};
use crate::wire::control::PROTOCOL;

/// What the loop's task holds while it runs. It is given up in this order, also by a panic: nothing
/// goes on serving for a daemon that is no more.
struct Held {
    owner_watch: Option<OwnerWatch>,
    stop_serving: DropGuard,
    publisher: Publisher,
    endpoints: Endpoints,
    /// Not given up with the rest, but by [`Self::close`]: until it is known that nothing of ours
    /// writes any more, only the end of the process gives it up. Another daemon's entries would be
    /// cut off by a writer that a disk had stalled, and covered by its head.
    lock: ManuallyDrop<OwnerLock>,
}

impl Held {
    /// Gives up everything but the lock, which is returned.
    fn close(self) -> OwnerLock {
        ManuallyDrop::into_inner(self.lock)
    }
}

/// The loop's task, and what hosts hear of it.
struct LoopTask {
    task: JoinHandle<Option<DaemonFault>>,
    takeover: oneshot::Receiver<Takeover>,
    /// What serves clients, and is waited for before another process goes on.
    serving: TaskTracker,
    stop: CancellationToken,
}

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
        // The last step that can fail where there is an owner before us. What was inherited is touched
        // only behind it, and behind the word of that owner, who can go on with it until then. Two that
        // read from one terminal would tear its stream apart.
        let imprint = self.imprint(&identity);
        let published = imprint.published.clone();
        let (mut publisher, board) = self.publish(imprint)?;
        if !yielded.await {
            return Err(StartError::NotYielded);
        }
        self.opened.take_mark()?;
        publisher.take_on();
        let ready = self.take_on(identity, board, start_codex);
        Ok(ready.run(publisher, published, mcp).await)
    }

    fn publish(&self, imprint: Imprint) -> Result<(Publisher, Board), StartError> {
        let claimed = &self.opened.claimed;
        claimed
            .lock
            .place()
            .and_then(|lock| {
                let (dirs, events) = (&claimed.builder.dirs, self.opened.channel.weak());
                let guarded = move |work| supervised_thread(&events, work);
                Publisher::start(dirs, lock, imprint, self.left.is_some(), guarded)
            })
            .map_err(|source| claimed.builder.state_failed(source))
    }

    fn imprint(&self, identity: &Identity) -> Imprint {
        Imprint {
            published: Published {
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                protocol: PROTOCOL,
                control_port: identity.control_port(),
                proxy_port: identity.proxy_port(),
                started_at: identity.started_ms(),
                detached: identity.is_detached(),
            },
            fingerprint: identity.fingerprint().to_owned(),
            program: self.opened.claimed.builder.own_program.clone(),
            session: self.opened.session().clone(),
        }
    }
}

impl Ready {
    /// Has the loop watch, run and serve.
    async fn run<F>(
        mut self,
        publisher: Publisher,
        published: Published,
        mcp: impl FnOnce(DaemonHandle) -> F + Send,
    ) -> Running
    where
        F: Future<Output = Router> + Send,
    {
        self.configure();
        let owner_watch = self.watch();
        let Self {
            daemon,
            channel,
            ground,
        } = self;
        let Ground {
            builder,
            secrets,
            facts,
            next_daemons,
            control,
            operator,
            endpoints,
            lock,
            ..
        } = ground;
        let handle = channel.handle.clone();
        // Without it nobody would hear of Codex any more: that is the end of the adapter.
        let failed = Event::Codex(CodexFact::Failed);
        supervise(channel.weak(), failed, forward(facts, handle.clone()));
        let guard = Guard::new(endpoints.ports.control, &secrets, &endpoints.mcp_token);
        let refusals = guard.refusals().clone();
        let stop = CancellationToken::new();
        let held = Held {
            owner_watch,
            stop_serving: stop.clone().drop_guard(),
            publisher,
            endpoints,
            lock: ManuallyDrop::new(lock),
        };
        let events = channel.weak();
        let LoopTask {
            task,
            takeover,
            serving,
            stop,
        } = LoopTask::spawn(daemon, channel, held, builder.detached, stop);
        let mcp = mcp(handle.clone()).await;
        let control = listener::serve(control, handle.clone(), guard, mcp, stop.clone());
        let registry = builder.user_dirs.registry;
        let operator = operator::serve(operator, handle.clone(), registry, refusals, stop);
        serving.spawn(supervised(events.clone(), Event::ServiceFailed, control));
        serving.spawn(supervised(events, Event::ServiceFailed, operator));
        Running {
            handle,
            published,
            takeover,
            next_daemons,
            task,
        }
    }

    /// What the settings say counts; Codex is there at once where they want it.
    fn configure(&mut self) {
        let Ground {
            builder, loaded, ..
        } = &self.ground;
        self.daemon.configure(builder.user_dirs.clone(), loaded);
        let is_there = self.daemon.base.programs.is_installed(Agent::Codex);
        if loaded.config.codex.autostart && is_there {
            // Nobody waits for this reply; errors become a notice.
            let (reply, _) = oneshot::channel();
            self.daemon.ensure_codex(reply);
        }
    }

    /// Watches the project's files; the lock and the disk for as long as what it returns lives.
    fn watch(&mut self) -> Option<OwnerWatch> {
        let weak = self.channel.weak();
        let Ground {
            builder,
            loaded,
            is_read,
            lock,
            ..
        } = &self.ground;
        let watch = builder.watch(&self.daemon, lock, loaded, !is_read, &weak);
        self.daemon.files.watch(watch);
        let space = Arc::clone(self.daemon.base.recorder.space());
        let folders = Arc::clone(self.daemon.agents.claude_processes.folders());
        builder.watch_owner(lock, space, folders, &weak)
    }
}

impl LoopTask {
    fn spawn(
        mut daemon: Box<Daemon>,
        channel: Channel,
        held: Held,
        detached: bool,
        stop: CancellationToken,
    ) -> Self {
        let serving = TaskTracker::new();
        let (leaving, takeover) = Leaving::new(serving.clone(), detached);
        let (event_receiver, end) = (channel.event_receiver, channel.ended.drop_guard());
        let fault = channel.handle.fault_slot();
        drop(channel.handle);
        daemon.base.operations.share_fault(fault.clone());
        let run = run_loop(leaving, held, daemon, event_receiver);
        let task = tokio::spawn(until_over(end, run, fault));
        Self {
            task,
            takeover,
            serving,
            stop,
        }
    }
}

/// Runs the loop, and leaves what it held to who goes on. The parameters are dropped from the last to
/// the first.
async fn run_loop(
    leaving: Leaving,
    held: Held,
    daemon: Box<Daemon>,
    event_receiver: mpsc::Receiver<Event>,
) -> Option<DaemonFault> {
    let loop_state = match daemon.run(event_receiver).await {
        Ended::Left(loop_state) => *loop_state,
        Ended::Stopped => {
            drop(held.close());
            return None;
        }
        Ended::Failed(fault) => {
            if fault != DaemonFault::Hung {
                drop(held.close());
            }
            return Some(fault);
        }
    };
    let Held {
        owner_watch: _owner_watch,
        stop_serving,
        publisher,
        endpoints,
        lock,
    } = held;
    let lock = ManuallyDrop::into_inner(lock);
    leaving
        .leave(stop_serving, publisher, lock, endpoints, loop_state)
        .await;
    None
}

/// `end` is dropped behind everything that the loop held.
async fn until_over(
    end: DropGuard,
    run: impl Future<Output = Option<DaemonFault>>,
    slot: FaultSlot,
) -> Option<DaemonFault> {
    let _end = end;
    let fault = AssertUnwindSafe(run)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| {
            slot.set(DaemonFault::Loop);
            // It had not come to closing what writes.
            Some(DaemonFault::Hung)
        });
    if let Some(fault) = fault {
        slot.set(fault);
    }
    fault
}

fn start_codex(options: CodexOptions) -> StartedCodex {
    let hook = options.hook.clone();
    let (adapter, facts) = codex::start(options);
    (CodexLane::new(adapter, hook), facts)
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
        if let CodexFact::ApprovalAsked {
            request, details, ..
        } = &fact
        {
            handle.read_approval(Agent::Codex, request, details).await;
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
