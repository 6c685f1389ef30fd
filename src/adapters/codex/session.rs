//! [`Session`]: one connection to one app-server, and everything that is sent and received on it.
//!
//! Frames are handled in the order of their arrival, also while an answer is awaited. The work that
//! they cause (following a new thread, reading the queue) is put on a list and done by
//! [`Session::settle`].

mod approvals;
mod asked_back;
mod compact;
mod deliver;
mod elsewhere;
mod follow;
mod hook;
mod inject;
mod limits;
mod naming;
mod not_handed;
mod queue;
mod recover;
mod refused_thread;
mod rollout;
mod seen;
mod status;
mod take;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tracing::Span;

use crate::core::entry::TurnStatus;
use crate::core::id::{EntryId, ThreadId};
use crate::core::redact::Redactor;
use crate::wire::codex::call::{Call, Capabilities, ClientVersion, Initialize};
use crate::wire::codex::frame::{Incoming, RpcError};
use crate::wire::codex::thread::{Thread, ThreadStatus};

use super::compaction_hook::CompactionHook;
use super::fact::{CodexFact, ReportedStatus};
use super::rpc::{Lost, Rpc};
use super::server::Upstream;
use super::thread_state::ThreadState;

/// For the answer to a request. All of them are answered within milliseconds; a thread with a
/// long history takes longer to load.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// From an idle thread's answer to the message in it. A turn starts within milliseconds; after
/// this long somebody should know that it did not.
const PROOF_WAIT: Duration = Duration::from_secs(3);

/// Between two looks at an unconfirmed message. The moment in which it can be seen nowhere lasts some
/// 30 ms (observed).
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What is the same for every session with the app-server.
#[derive(Debug)]
pub(super) struct SessionContext {
    /// The folder of new threads.
    pub(super) project_root: String,
    /// The name of new threads.
    pub(super) thread_name: String,
    /// Between two questions whether somebody has signed in.
    pub(super) account_every: Duration,
    /// Our hook in the app-server.
    pub(super) hook: CompactionHook,
    /// Takes secrets out of what is given a name after.
    pub(super) redactor: Arc<Redactor>,
    /// Where facts go. Full: the session waits, and so does the app-server.
    pub(super) facts: mpsc::Sender<CodexFact>,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// The app-server said no; it certainly did not do it.
    #[error("{}", .0.message)]
    Refused(RpcError),
    /// Nobody knows.
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// Something that a frame asked for.
#[derive(Debug)]
enum Todo {
    /// A thread that a human may be looking at was started.
    Follow(Thread),
    /// A human may have gone to this thread, which was there before.
    GoTo(String),
    /// The visible thread is to be called this.
    Name(ThreadId, String),
    /// The visible thread was unloaded, or we are not subscribed.
    Resubscribe,
    /// The visible thread is idle.
    Idle,
    /// Somebody may have reviewed our hook, or it is about to be run.
    Hook,
    /// Somebody signed in or out.
    Account,
    /// A thread that was left behind may be of no more interest.
    Leave(ThreadId),
    /// A thread was adopted, or our hook gave nothing: what has become of the packet that was on its
    /// way.
    Packet,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Session<'a> {
    rpc: Rpc,
    context: &'a SessionContext,
    thread_state: &'a mut ThreadState,
    version: String,
    todo: VecDeque<Todo>,
    /// A thread that could not be resumed when it was started; its first turn makes it possible.
    candidate: Option<Thread>,
    /// The visible thread has the name that we give to a new one.
    has_our_name: bool,
    /// Where the visible thread's rollout lies.
    rollout: Option<String>,
    /// What the visible thread does.
    status: ReportedStatus,
    /// A thread that is being opened, and what was told of its status since it was asked for: the
    /// answer may be older.
    opening: Option<(String, Option<ThreadStatus>)>,
    /// The app-server has `thread/queue/*`.
    has_queue: bool,
    /// When to look at the unconfirmed messages again.
    next_look: Option<Instant>,
    /// Codex runs our hook, as it said last.
    is_hook_trusted: bool,
    /// The visible thread was compacted, and our hook has not run since.
    is_hook_due: bool,
    /// Nobody is signed in, and Codex needs that.
    needs_sign_in: bool,
    /// When that is asked again.
    next_account: Option<Instant>,
    /// The app-server was just started: what we did not see end ended under an earlier one.
    fresh: bool,
}

impl<'a> Session<'a> {
    /// Connects. The session has no thread before [`Session::take_up`].
    pub(super) async fn open(
        upstream: &Upstream,
        context: &'a SessionContext,
        thread_state: &'a mut ThreadState,
    ) -> Result<Self, CallError> {
        let rpc = Rpc::connect(upstream).await?;
        let mut session = Self {
            rpc,
            context,
            thread_state,
            version: String::new(),
            todo: VecDeque::new(),
            candidate: None,
            opening: None,
            has_our_name: false,
            rollout: None,
            status: ReportedStatus::NotLoaded,
            has_queue: true,
            next_look: None,
            is_hook_trusted: false,
            is_hook_due: false,
            needs_sign_in: false,
            next_account: None,
            fresh: false,
        };
        let initialized = session
            .call(Initialize {
                client_info: ClientVersion {
                    name: "ctxrelay",
                    title: "ctxrelay",
                    version: env!("CARGO_PKG_VERSION"),
                },
                capabilities: Capabilities {
                    experimental_api: true,
                },
            })
            .await?;
        session.version = initialized.version().to_owned();
        session.rpc.initialized().await?;
        session.thread_state.inflight.mark_all_unconfirmed();
        Ok(session)
    }

    /// The app-server's version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// The visible thread.
    pub(super) fn thread_id(&self) -> Option<&ThreadId> {
        self.thread_state.thread_id()
    }

    /// The attempt at a message's delivery, in the log.
    pub(super) fn following(&self, id: &EntryId) -> Span {
        self.thread_state.inflight.following(id)
    }

    /// When [`Session::on_time`] is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.next_look.into_iter().chain(self.next_account).min()
    }

    /// Does what is due by now.
    pub(super) async fn on_time(&mut self) -> Result<(), Lost> {
        let now = Instant::now();
        if self.next_account.is_some_and(|when| when <= now) {
            self.ask_account().await?;
        }
        if self.next_look.is_some_and(|when| when <= now) {
            self.look().await?;
        }
        Ok(())
    }

    /// The next frame. Safe to cancel.
    pub(super) async fn next(&mut self) -> Result<Incoming, Lost> {
        self.rpc.next().await
    }

    /// Does what the frames so far asked for.
    pub(super) async fn settle(&mut self) -> Result<(), Lost> {
        while let Some(todo) = self.todo.pop_front() {
            match todo {
                Todo::Follow(thread) => self.follow(thread).await?,
                Todo::GoTo(thread_id) => self.go_to(thread_id).await?,
                Todo::Name(thread_id, name) => self.name_after(&thread_id, name).await?,
                Todo::Resubscribe => self.resubscribe().await?,
                Todo::Leave(thread_id) => self.leave(&thread_id).await?,
                Todo::Account => self.ask_account().await?,
                Todo::Hook => self.ask_review().await?,
                Todo::Packet => self.follow_packet().await?,
                Todo::Idle => {
                    self.deliver_waiting().await?;
                    self.look().await?;
                }
            }
        }
        Ok(())
    }

    /// Says goodbye. A turn that runs is left to die with the app-server: after `turn/interrupt`
    /// the thread's queue is held until the next human turn, over restarts too, and would take
    /// our next messages without delivering them (Codex 0.169.0, observed).
    pub(super) async fn close(self) {
        self.rpc.close().await;
    }

    /// Sends a request and waits for its answer; other frames are taken in meanwhile.
    async fn call<C: Call>(&mut self, params: C) -> Result<C::Answer, CallError> {
        let deadline = Instant::now() + ANSWER_WAIT;
        let id = self.rpc.request(C::METHOD, &params).await?;
        loop {
            match timeout_at(deadline, self.rpc.next()).await {
                Err(_) => return Err(Lost::Silent(C::METHOD).into()),
                Ok(Err(lost)) => return Err(lost.into()),
                Ok(Ok(Incoming::Answer {
                    id: answered,
                    result,
                })) if answered == id => {
                    return read::<C>(result);
                }
                Ok(Ok(other)) => self.take_frame(other).await,
            }
        }
    }

    async fn tell(&self, fact: CodexFact) {
        // Without a receiver the adapter is about to end.
        let _ = self.context.facts.send(fact).await;
    }

    async fn tell_all(&mut self, facts: Vec<CodexFact>) {
        for fact in facts {
            if let CodexFact::UserMessage {
                client_id: Some(id),
                turn_id,
                ..
            } = &fact
                && self
                    .thread_state
                    .inflight
                    .is_proven_by(id, turn_id.as_str())
            {
                self.thread_state.inflight.remove(id);
            }
            if let CodexFact::UserMessage {
                turn_id, preview, ..
            } = &fact
            {
                self.is_about(turn_id, preview);
            }
            if let CodexFact::TurnCompleted {
                status: TurnStatus::Interrupted,
                died: false,
                ..
            } = &fact
            {
                // Stopped once more: what the operator said was about the time before.
                self.thread_state.released = false;
            }
            self.tell(fact).await;
        }
    }
}

fn read<C: Call>(result: Result<Box<RawValue>, RpcError>) -> Result<C::Answer, CallError> {
    let result = result.map_err(CallError::Refused)?;
    // An answer of another shape than we know is no answer that we can use.
    serde_json::from_str(result.get()).map_err(|error| Lost::Encode(error).into())
}
