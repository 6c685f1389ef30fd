//! [`DaemonHandle`]: the cheap way into the loop, for connections and for clients in process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::attach::{ConnId, Outlet, OutletReceiver};
use super::event::Event;
use super::fault::{DaemonFault, FaultSlot};
use super::peer::ClientProcess;
use crate::adapters::process::StartedProcess;
use crate::core::agent::Agent;
use crate::core::entry::ApprovalRequest;
use crate::core::redact::Redactor;
use crate::daemon::base::agent_programs::ProgramLook;
use crate::daemon::base::reads_beside::ReadsBeside;
use crate::daemon::base::tree_commit::TreeCommit;
use crate::daemon::base::under_way::{FailedReads, WorkBeside};
use crate::daemon::decisions::approval_texts::{ReadApproval, is_too_long};
use crate::wire::control::{
    AskApprovalParams, Command, Hello, Refusal, RefusalCode, Reply, Welcome,
};

/// How many events may wait for the loop. Connections wait for a place (back-pressure on the
/// socket), so that a flood costs its sender and not our memory.
pub const EVENTS_MAX: usize = 1024;

/// How long a call waits for the agents' programs to be found, and for its text to be read.
const LOOK_WAIT: Duration = Duration::from_millis(500);

/// How old a look at them may be for a message: agents send many in a second, and each look asks the
/// disk in every folder of `PATH`.
const LOOK_AGE: Duration = Duration::from_secs(1);

/// The way in.
#[derive(Debug, Clone)]
pub struct DaemonHandle {
    events: mpsc::Sender<Event>,
    reads: ReadsBeside,
    commit: TreeCommit,
    programs: ProgramLook,
    redactor: Arc<Redactor>,
    ended: CancellationToken,
    /// Why it ended, when nobody had told it to.
    fault: FaultSlot,
}

/// A client that said hello.
#[derive(Debug)]
pub struct Joined {
    pub conn: ConnId,
    pub welcome: Welcome,
    /// What it is told unasked.
    pub notifications: OutletReceiver,
    /// The daemon wants it gone.
    pub closed: CancellationToken,
    /// The daemon wants to know whether it lives.
    pub probes: Arc<Notify>,
}

impl DaemonHandle {
    pub(super) fn new(
        events: mpsc::Sender<Event>,
        commit: TreeCommit,
        programs: ProgramLook,
        redactor: Arc<Redactor>,
        ended: CancellationToken,
    ) -> Self {
        Self {
            reads: ReadsBeside::of(events.downgrade(), FailedReads::default()),
            events,
            commit,
            programs,
            redactor,
            ended,
            fault: FaultSlot::default(),
        }
    }

    /// Where the loop says by which fault it ends, before anybody who waits is left alone.
    pub(super) fn fault_slot(&self) -> FaultSlot {
        self.fault.clone()
    }

    /// The fault that ended the daemon.
    pub fn fault(&self) -> Option<DaemonFault> {
        self.fault.get()
    }

    /// Whether it has ended, and what writes its files has not: no other daemon can start in this
    /// process.
    pub fn is_hung(&self) -> bool {
        self.fault.is_hung()
    }

    /// The commit that the work tree stands on.
    pub(super) fn commit(&self) -> &TreeCommit {
        &self.commit
    }

    /// How the agents' programs are looked for.
    pub(super) fn programs(&self) -> &ProgramLook {
        &self.programs
    }

    pub(super) fn events(&self) -> &mpsc::Sender<Event> {
        &self.events
    }

    /// Cancelled once the daemon has ended.
    pub fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// Says hello, in this process.
    ///
    /// # Errors
    ///
    /// When the daemon refuses, or has ended.
    pub async fn join(&self, hello: Hello, operator: bool) -> Result<Joined, Refusal> {
        self.join_from(hello, operator, None).await
    }

    /// Says hello for a client in another process, where the kernel says which.
    ///
    /// # Errors
    ///
    /// When the daemon refuses, or has ended.
    pub async fn join_from(
        &self,
        hello: Hello,
        operator: bool,
        process: Option<ClientProcess>,
    ) -> Result<Joined, Refusal> {
        let conn = ConnId::next();
        let closed = CancellationToken::new();
        let (outlet, notifications) = Outlet::new(closed.clone());
        let probes = outlet.probes();
        let (reply, answer) = oneshot::channel();
        self.send(Event::Connected {
            conn,
            hello,
            operator,
            process,
            outlet,
            reply,
        })
        .await?;
        let welcome = answer.await.map_err(|_| self.unanswered())??;
        Ok(Joined {
            conn,
            welcome,
            notifications,
            closed,
            probes,
        })
    }

    /// The client answered a ping. With a full loop it is not told: the next one comes.
    pub fn ping_answered(&self, conn: ConnId) {
        let _ = self.events.try_send(Event::PingAnswered { conn });
    }

    /// The client disconnects. Never fails: a daemon that has ended forgot us already.
    pub async fn disconnect(&self, conn: ConnId) {
        let _ = self.events.send(Event::Disconnected { conn }).await;
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    ///
    /// When the daemon refuses, or has ended.
    pub async fn call(&self, conn: ConnId, command: Command) -> Result<Reply, Refusal> {
        let answer = self.ask(conn, command).await?;
        answer.await.map_err(|_| self.unanswered())?
    }

    /// As [`Self::call`], for somebody who may go away: then nobody waits for the answer any more,
    /// and the daemon can see that. What was asked for is carried out all the same.
    pub(super) async fn call_until(
        &self,
        conn: ConnId,
        command: Command,
        is_gone: &CancellationToken,
    ) -> Option<Result<Reply, Refusal>> {
        let answer = match self.ask(conn, command).await {
            Ok(answer) => answer,
            Err(refusal) => return Some(Err(refusal)),
        };
        tokio::select! {
            biased;
            answer = answer => Some(answer.unwrap_or_else(|_| Err(self.unanswered()))),
            () = is_gone.cancelled() => None,
        }
    }

    /// Hands a command over. Where its answer comes.
    async fn ask(
        &self,
        conn: ConnId,
        command: Command,
    ) -> Result<oneshot::Receiver<Result<Reply, Refusal>>, Refusal> {
        // Side by side: each waits for the disk in a thread of its own.
        let commit = async {
            if may_record_message(&command) {
                self.commit.read().await;
            }
        };
        let programs = async {
            if let Some(age) = programs_age(&command) {
                self.look_for_programs(age).await;
            }
        };
        tokio::join!(commit, programs);
        if let Command::AskApproval(AskApprovalParams {
            request, details, ..
        }) = &command
            && !is_too_long(request, details)
        {
            self.read_approval(Agent::Claude, request, details).await;
        }
        let (reply, answer) = oneshot::channel();
        self.send(Event::Command {
            conn,
            command: Box::new(command),
            reply,
        })
        .await?;
        Ok(answer)
    }

    /// Has the loop told where the agents' programs are now. Where the disk hangs, it goes on with
    /// where they were.
    async fn look_for_programs(&self, age: Duration) {
        let look = async {
            let looked = self.programs.look(age).await;
            if let Ok(None) = looked {
                return;
            }
            let has_failed = looked.as_ref().is_err_and(JoinError::is_panic);
            self.reads.tell(WorkBeside::ProgramLook, has_failed).await;
            if let Ok(Some(looked)) = looked {
                let tell = async |found| self.send(Event::ProgramsFound(found)).await.ok();
                looked.tell(tell).await;
            }
        };
        let _ = timeout(LOOK_WAIT, look).await;
    }

    /// Has the loop told what is to be known of a long text that is about to be asked. Where the
    /// processor has no time for that, the loop reads it itself.
    pub(super) async fn read_approval(
        &self,
        agent: Agent,
        request: &ApprovalRequest,
        details: &str,
    ) {
        if !ReadApproval::is_long(request, details) {
            return;
        }
        let (request, details) = (request.clone(), details.to_owned());
        let (root, redactor) = (self.commit.root().to_owned(), Arc::clone(&self.redactor));
        let read = spawn_blocking(move || {
            ReadApproval::read(agent, request, details, &root.to_string_lossy(), &redactor)
        });
        if let Ok(Ok(read)) = timeout(LOOK_WAIT, read).await {
            // A loop that has ended is told nothing.
            let _ = self.send(Event::ApprovalRead(Box::new(read))).await;
        }
    }

    /// Processes whose descendants are agents' commands: those that live.
    pub async fn agent_pids(&self) -> Option<Vec<u32>> {
        let (reply, answer) = oneshot::channel();
        self.events.send(Event::AgentsKnown { reply }).await.ok()?;
        let known = answer.await.ok()?;
        let look = move || {
            let living = known.into_iter().filter(StartedProcess::lives);
            living.map(|process| process.pid).collect()
        };
        spawn_blocking(look).await.ok()
    }

    /// The text of `/metrics`.
    pub async fn metrics(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        self.events.send(Event::Metrics { reply }).await.ok()?;
        answer.await.ok()
    }

    /// Ends the daemon; wait for [`Self::ended`].
    pub async fn shutdown(&self, kill: bool) {
        let _ = self.events.send(Event::Shutdown { kill }).await;
    }

    /// It took the call and gave no answer, as it does only when it ends or something of ours fails.
    pub(in crate::daemon) fn unanswered(&self) -> Refusal {
        match self.fault() {
            Some(fault) => Refusal::new(
                RefusalCode::Unanswered,
                format!("{fault} before it answered"),
                "read the record before you repeat the call: it may have taken effect",
            ),
            // What hung at the disk when it ended may be written yet.
            None if self.fault.has_ended() || self.events.is_closed() => Refusal::new(
                RefusalCode::Unanswered,
                "the daemon ended before it answered",
                "read the record before you repeat the call: it may have taken effect",
            ),
            None => Refusal::new(
                RefusalCode::Unanswered,
                "the daemon goes on, but this call ended without an answer",
                "read the record before you repeat the call: it may have taken effect; what failed \
                 stands in .contextrelay/state/contextrelay.log",
            ),
        }
    }

    pub(in crate::daemon) async fn send(&self, event: Event) -> Result<(), Refusal> {
        self.events.send(event).await.map_err(|_| ended())
    }
}

/// Whether a message may come of it, which says on which commit the work tree stood. A proposal and
/// a decision have the whole tree read.
fn may_record_message(command: &Command) -> bool {
    matches!(
        command,
        Command::Send(_) | Command::Handoff(_) | Command::AnswerApproval(_)
    )
}

/// How old the look at the agents' programs may be, where its answer, or who is told of it, depends
/// on which agents are installed.
fn programs_age(command: &Command) -> Option<Duration> {
    match command {
        // The person may have installed one for it.
        Command::ReadStatus | Command::EnsureCodex | Command::Decide(_) => Some(Duration::ZERO),
        Command::Send(_) | Command::Handoff(_) => Some(LOOK_AGE),
        _ => None,
    }
}

fn ended() -> Refusal {
    Refusal::new(
        RefusalCode::DaemonEnded,
        "the daemon has ended",
        "start it with `ctxrelay` or `ctxrelay daemon`",
    )
}
