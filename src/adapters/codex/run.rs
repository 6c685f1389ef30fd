//! [`Run`]: the adapter's task. It keeps an app-server running while one is wanted.
//!
//! ```text
//! idle ──request, terminal──► starting ──► session ──connection lost──► reconnecting ─┐
//!  ▲                             ▲  │         ▲                                       │
//!  └──stop, gave up──────────────┼──┘         └───────────────────────────────────────┤
//!                                └──────────── the app-server is gone: backoff ───────┘
//! ```
//!
//! In a takeover, the owner can release the app-server in any of these states; the next owner
//! begins at `session` with the same app-server, or at `idle`.

mod backlog;
mod talk;

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::core::entry::ErrorCode;

use super::adapter::RecordChild;
use super::fact::CodexFact;
use super::launch::{LaunchEnv, ServerLaunch, Unavailable};
use super::passed::Passed;
use super::request::CodexRequest;
use super::server::{AppServer, PassedServer, Upstream};
use super::session::{CallError, Session, SessionContext};
use super::thread_state::ThreadState;
use backlog::{interruptible, take_end};
use talk::talk;

/// Between an app-server that went away and the next, at the most.
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// Failures in a row after which nobody tries any more by itself: 0.2 + 0.4 + … s, about 6 s of
/// waiting besides the starts themselves.
const FAILURES_MAX: u32 = 6;

/// After giving up, a terminal that reconnects is no reason to start again at once.
const TERMINAL_REST: Duration = Duration::from_secs(10);

/// The exit of a process whose connection just ended.
const EXIT_WAIT: Duration = Duration::from_secs(1);

/// How often and how fast an app-server that fails is started again.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    /// Between the first that went away and the next; twice as long each time.
    pub(super) backoff_min: Duration,
    /// One that could not be used for this long counts as a failure, however long it took.
    pub(super) quick: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            backoff_min: Duration::from_millis(200),
            quick: Duration::from_secs(5),
        }
    }
}

/// The adapter's state.
pub(super) struct Run {
    pub(super) surroundings: LaunchEnv,
    pub(super) context: SessionContext,
    pub(super) patience: RetryPolicy,
    pub(super) thread_state: ThreadState,
    /// The app-server of the owner before us, until it is connected to.
    pub(super) inherited: Option<PassedServer>,
    pub(super) preferred_port: u16,
    pub(super) record_child: RecordChild,
    pub(super) requests: mpsc::Receiver<CodexRequest>,
    pub(super) backlog: VecDeque<CodexRequest>,
    pub(super) wishes: mpsc::Receiver<()>,
    pub(super) upstream: watch::Sender<Option<Upstream>>,
}

/// Why a stretch of work ended.
enum End {
    /// Somebody asked for it.
    Stop(oneshot::Sender<()>),
    /// Another process goes on, with the app-server if one runs.
    Release(oneshot::Sender<Passed>, Option<PassedServer>),
    /// Nobody can ask for anything any more.
    Dropped,
    /// The app-server cannot be had.
    GaveUp(Unavailable),
}

/// How a session ended.
enum Over {
    End(End),
    /// The connection is of no use, the app-server may be.
    Lost(String),
    /// The app-server is gone.
    Gone(String),
}

/// What is known of the life of one app-server.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    /// That it runs was told, or the owner before us knew it.
    told: bool,
    /// A session with it could be used for a while.
    lasted: bool,
}

/// What is left for another process, and who waits for it.
pub(super) struct LeftServer {
    pub(super) reply: oneshot::Sender<Passed>,
    pub(super) thread_state: ThreadState,
    pub(super) server: Option<PassedServer>,
}

impl Run {
    /// Works until the last handle is dropped, or until another process goes on.
    pub(super) async fn until_dropped(mut self) -> Option<LeftServer> {
        let mut rest_until = Instant::now();
        loop {
            let end = match self.wait_for_need(rest_until).await {
                // Held only while there is an app-server.
                Ok(()) => Box::pin(self.serve()).await,
                Err(end) => end,
            };
            match end {
                End::Stop(reply) => {
                    let _ = reply.send(());
                }
                End::Release(reply, server) => {
                    self.leave_backlog().await;
                    return Some(LeftServer {
                        reply,
                        thread_state: self.thread_state,
                        server,
                    });
                }
                End::Dropped => return None,
                End::GaveUp(unavailable) => {
                    rest_until = Instant::now() + TERMINAL_REST;
                    self.refuse_backlog(&unavailable.why).await;
                }
            }
        }
    }

    /// Waits for a request or a terminal; an app-server that runs needs nobody. The request is
    /// left in the backlog.
    async fn wait_for_need(&mut self, rest_until: Instant) -> Result<(), End> {
        loop {
            if self.inherited.is_some() {
                return Ok(());
            }
            if let Some(end) = take_end(&mut self.backlog) {
                return Err(end);
            }
            if !self.backlog.is_empty() {
                return Ok(());
            }
            tokio::select! {
                request = self.requests.recv() => match request {
                    Some(request) => self.backlog.push_back(request),
                    None => return Err(End::Dropped),
                },
                Some(()) = self.wishes.recv() => {
                    if Instant::now() >= rest_until {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Has an app-server run, again and again, until that is no longer wanted or possible.
    async fn serve(&mut self) -> End {
        let mut failures = 0;
        loop {
            let (why, life) = match self.serve_once().await {
                Ok(end) => return end,
                Err(failed) => failed,
            };
            let failure = match why {
                Why::Unavailable(unavailable) if unavailable.code != ErrorCode::CodexFailed => {
                    self.close_turns().await;
                    self.tell_unavailable(&unavailable).await;
                    return End::GaveUp(unavailable);
                }
                Why::Unavailable(unavailable) => unavailable,
                Why::Gone(why) => Unavailable::new(ErrorCode::CodexFailed, why),
            };
            // One that hangs takes its time and is of no more use than one that ends at once.
            failures = if life.lasted { 1 } else { failures + 1 };
            let gave_up = failures >= FAILURES_MAX;
            if life.told {
                let why = failure.why.clone();
                self.tell(CodexFact::ServerLost { why, gave_up }).await;
            }
            if gave_up {
                self.close_turns().await;
                self.tell_unavailable(&failure).await;
                return End::GaveUp(failure);
            }
            let pause = self.patience.backoff_min * 2_u32.saturating_pow(failures - 1);
            let pause = sleep(pause.min(BACKOFF_MAX));
            if let Err(end) = interruptible(&mut self.requests, &mut self.backlog, pause).await {
                self.close_turns().await;
                return end;
            }
        }
    }

    /// One app-server, from its start to its end.
    async fn serve_once(&mut self) -> Result<End, (Why, Life)> {
        let inherited = self.inherited.take();
        let fresh = inherited.is_none();
        let mut life = Life {
            told: !fresh,
            lasted: false,
        };
        let started = match inherited.map(AppServer::take_over) {
            Some(Ok(server)) => Ok(server),
            Some(Err(error)) => Err(Unavailable::new(ErrorCode::CodexFailed, error.to_string())),
            None => {
                tracing::debug!("starting the app-server");
                let starting = async {
                    let launch = ServerLaunch::inspect(&self.surroundings).await?;
                    AppServer::start(&self.surroundings, &launch, self.preferred_port).await
                };
                match interruptible(&mut self.requests, &mut self.backlog, starting).await {
                    Ok(started) => started,
                    Err(end) => {
                        self.close_turns().await;
                        return Ok(end);
                    }
                }
            }
        };
        let mut server = started.map_err(|unavailable| (Why::Unavailable(unavailable), life))?;
        (self.record_child)(Some(server.record().clone()));
        let over = self.converse(&mut server, &mut life, fresh).await;
        self.upstream.send_replace(None);
        let result = match over {
            Over::End(End::Release(reply, _)) => {
                return match server.pass() {
                    Ok(server) => Ok(End::Release(reply, Some(server))),
                    Err(error) => Err((Why::Gone(error.to_string()), life)),
                };
            }
            Over::End(end) => {
                server.end().await;
                Ok(end)
            }
            Over::Lost(why) | Over::Gone(why) => {
                server.end().await;
                Err((Why::Gone(why), life))
            }
        };
        (self.record_child)(None);
        self.forget_approvals().await;
        if result.is_ok() {
            self.close_turns().await;
        }
        result
    }

    /// Sessions with one app-server: a connection that ends is made again, once. `fresh`: it was
    /// just started.
    async fn converse(&mut self, server: &mut AppServer, life: &mut Life, fresh: bool) -> Over {
        let mut fresh = fresh;
        // The owner before us told of its app-server, and we tell it again.
        let mut told = false;
        loop {
            self.mark_earlier_unconfirmed();
            let upstream = server.upstream().clone();
            let (pid, keeper) = (server.record().pid, server.record().hold);
            let opening = async {
                let mut session =
                    Session::open(&upstream, &self.context, &mut self.thread_state).await?;
                if !std::mem::replace(&mut told, true) {
                    life.told = true;
                    let version = session.version().to_owned();
                    let port = upstream.port;
                    let started = CodexFact::ServerStarted {
                        pid,
                        keeper,
                        version,
                        port,
                    };
                    let _ = self.context.facts.send(started).await;
                }
                session.take_up(fresh).await?;
                session.ask_account().await?;
                session.ask_review().await?;
                Ok(session)
            };
            let opening = async {
                tokio::select! {
                    session = opening => session.map_err(|error: CallError| match error {
                        CallError::Refused(error) => format!("codex refused: {}", error.message),
                        CallError::Lost(lost) => lost.to_string(),
                    }),
                    why = server.gone() => Err(why),
                }
            };
            let session = interruptible(&mut self.requests, &mut self.backlog, opening).await;
            let session = match session {
                Ok(Ok(session)) => session,
                Ok(Err(why)) => return Over::Lost(why),
                Err(end) => return Over::End(end),
            };
            // Only now: a terminal that comes back resumes the thread, and that starts the
            // delivery of what is queued before it could be noted.
            self.upstream.send_replace(Some(upstream));
            let usable_since = Instant::now();
            let over = talk(
                session,
                server,
                &mut self.requests,
                &mut self.backlog,
                &mut self.wishes,
            )
            .await;
            let lasted = usable_since.elapsed() >= self.patience.quick;
            life.lasted |= lasted;
            let Over::Lost(why) = over else {
                return over;
            };
            if let Ok(gone) = timeout(EXIT_WAIT, server.gone()).await {
                return Over::Gone(gone);
            }
            if !lasted {
                // It hangs, or does not want us.
                return Over::Lost(why);
            }
            self.forget_approvals().await;
            fresh = false;
        }
    }

    /// No process runs these turns any more, and none will say how they ended.
    async fn close_turns(&mut self) {
        let mut facts = Vec::new();
        for book in self
            .thread_state
            .visible
            .iter_mut()
            .chain(&mut self.thread_state.left)
        {
            book.close_as_interrupted(&mut facts);
        }
        self.thread_state.left.clear();
        for fact in facts {
            self.tell(fact).await;
        }
    }

    /// Their ids mean nothing to the next connection; what still waits is sent to us again.
    async fn forget_approvals(&mut self) {
        self.thread_state.approvals.clear();
        self.thread_state.others.none_waits();
        if std::mem::take(&mut self.thread_state.approvals_told) != (0, 0) {
            let (count, helpers) = (0, 0);
            self.tell(CodexFact::ApprovalsPending { count, helpers })
                .await;
        }
    }

    async fn tell_unavailable(&self, unavailable: &Unavailable) {
        self.tell(CodexFact::Unavailable {
            code: unavailable.code.clone(),
            why: unavailable.why.clone(),
        })
        .await;
    }

    async fn tell(&self, fact: CodexFact) {
        let _ = self.context.facts.send(fact).await;
    }
}

enum Why {
    Unavailable(Unavailable),
    Gone(String),
}
