//! [`start`], [`CodexOptions`] and [`CodexHandle`]: the interface of the adapter.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::adapters::hold::ChildRecord;
use crate::adapters::program_search::ProgramSearch;
use crate::core::id::{ThreadId, TurnId};
use crate::core::redact::Redactor;

use super::compaction_hook::CompactionHook;
use super::fact::CodexFact;
use super::launch::LaunchEnv;
use super::passed::Passed;
use super::proxy::{Proxy, Waits};
use super::request::CodexRequest;
use super::run::{LeftServer, RetryPolicy, Run};
use super::session::SessionContext;
use super::thread_state::ThreadState;

/// Requests that wait for the adapter. The daemon hands over one message at a time.
const REQUESTS_MAX: usize = 64;

/// Facts that wait for the daemon. When it is full the adapter waits, and so does the app-server.
const FACTS_MAX: usize = 256;

/// Between two questions whether somebody has signed in: they wait for what it holds back.
const ASK_ACCOUNT_EVERY: Duration = Duration::from_secs(5);

/// Is told about the child that runs now, or that none does; for `state/codex-app-server.json`.
pub type RecordChild = Box<dyn Fn(Option<ChildRecord>) + Send + Sync>;

/// What the adapter needs.
pub struct CodexOptions {
    /// The project: the folder of the app-server and of the threads.
    pub project_root: PathBuf,
    /// `codex`.
    pub program: ProgramSearch,
    /// The app-server's port, unless it is taken; then a free one.
    pub preferred_port: u16,
    /// Where `/mcp` is.
    pub control_port: u16,
    /// The secret of `/mcp`.
    pub mcp_token: String,
    /// The terminal's port, bound.
    pub proxy_listener: TcpListener,
    /// What the terminal must show there.
    pub proxy_token: String,
    /// The thread of an earlier daemon.
    pub resume_thread: Option<ThreadId>,
    /// The turn whose end the record does not have, with its thread.
    pub unended_turn: Option<(ThreadId, TurnId)>,
    /// What the owner before us left running. Its thread is then the one that counts.
    pub inherited: Option<Passed>,
    /// Our hook in the app-server.
    pub hook: CompactionHook,
    /// Takes secrets out of what is told outside of the project.
    pub redactor: Arc<Redactor>,
    /// Our own binary, for `hold`.
    pub hold_program: PathBuf,
    /// Goes into the mark of the children.
    pub instance_id: String,
    /// Called whenever the app-server's process changes.
    pub record_child: RecordChild,
}

impl std::fmt::Debug for CodexOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the secrets.
        f.debug_struct("CodexOptions")
            .field("project_root", &self.project_root)
            .field("program", &self.program)
            .field("preferred_port", &self.preferred_port)
            .field("control_port", &self.control_port)
            .field("resume_thread", &self.resume_thread)
            .field("unended_turn", &self.unended_turn)
            .finish_non_exhaustive()
    }
}

/// The cheap way in. When the last one is dropped, everything is stopped.
#[derive(Debug, Clone)]
pub struct CodexHandle {
    /// Requests, bounded; a full queue makes the sender wait.
    pub requests: mpsc::Sender<CodexRequest>,
}

/// Starts the adapter's tasks on the current runtime. The app-server is not started before a
/// request, or a terminal at the proxy, needs it; one that was inherited is connected to at once.
///
/// # Panics
///
/// Outside of a tokio runtime.
pub fn start(options: CodexOptions) -> (CodexHandle, mpsc::Receiver<CodexFact>) {
    let (requests, requested) = mpsc::channel(REQUESTS_MAX);
    let (facts, told) = mpsc::channel(FACTS_MAX);
    let (upstream, upstream_now) = watch::channel(None);
    // One place: the wish is the same however many terminals have it.
    let (wanted, wishes) = mpsc::channel(1);

    let Passed {
        mut thread_state,
        server: inherited,
        terminals,
    } = options.inherited.unwrap_or_else(|| Passed {
        thread_state: ThreadState::new(options.resume_thread),
        ..Passed::default()
    });
    if let Some((thread_id, turn_id)) = options.unended_turn
        && inherited.is_none()
    {
        thread_state.lacks_end_of(&thread_id, turn_id);
    }
    let release = CancellationToken::new();

    let proxy = Proxy {
        token: options.proxy_token,
        upstream: upstream_now,
        wanted,
        facts: facts.clone(),
        waits: Waits::default(),
        release: release.clone(),
    };
    let proxy = Arc::new(proxy).serve(options.proxy_listener, terminals);
    let proxy = tokio::spawn(watched(proxy, facts.clone()));

    let name = options.project_root.file_name();
    let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let context = SessionContext {
        project_root: options.project_root.to_string_lossy().into_owned(),
        thread_name: format!("ctxrelay {name}").trim_end().to_owned(),
        account_every: ASK_ACCOUNT_EVERY,
        hook: options.hook.clone(),
        redactor: options.redactor,
        facts,
    };
    let run = Run {
        surroundings: LaunchEnv {
            project_root: options.project_root,
            program: options.program,
            hold_program: options.hold_program,
            instance_id: options.instance_id,
            control_port: options.control_port,
            mcp_token: options.mcp_token,
            hook: options.hook,
        },
        context,
        patience: RetryPolicy::default(),
        thread_state: thread_state.of_new_process(),
        inherited,
        preferred_port: options.preferred_port,
        record_child: options.record_child,
        requests: requested,
        backlog: std::collections::VecDeque::new(),
        wishes,
        upstream,
    };
    let failed = run.context.facts.clone();
    tokio::spawn(async move {
        let left = watched(run.until_dropped(), failed).await;
        let Some(LeftServer {
            reply,
            thread_state,
            server,
        }) = left
        else {
            return proxy.abort();
        };
        release.cancel();
        let terminals = proxy.await.unwrap_or_default();
        // Nobody takes it: then it ends with the value.
        let _ = reply.send(Passed {
            thread_state,
            server,
            terminals,
        });
    });
    (CodexHandle { requests }, told)
}

/// Does the work, and tells when it panics instead of coming to its end.
async fn watched<T: Default>(work: impl Future<Output = T>, facts: mpsc::Sender<CodexFact>) -> T {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(done) => done,
        Err(_) => {
            // A daemon that has ended needs nobody to tell it.
            let _ = facts.send(CodexFact::Failed).await;
            T::default()
        }
    }
}
