//! How the loop ends when another process is to take over. It accepts no more commands; work in
//! progress is recorded; the Codex adapter releases what runs.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::{CarriedClaudes, CarriedState, LoopState, Replacement};
use crate::adapters::codex::passed::Passed;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{ClaudeInput, ClaudeSetting, Outcome};
use crate::core::entry::LifecycleEvent;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::claude_lane::CarriedPair;
use crate::daemon::base::clients::Wants;
use crate::daemon::base::recorder::GONE_HINT;
use crate::daemon::event::Event;
use crate::daemon::handle::DaemonHandle;
use crate::daemon::owners::{Agents, Base, Daemon, Deliveries};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::stop::Stop;
use crate::wire::control::{
    HandOverParams, MessagePage, Notification, Refusal, RefusalCode, Reply, Sent,
};

/// How long the Codex adapter may take to let go. It answers between two calls of the app-server,
/// each of which has ten seconds and takes milliseconds.
const RELEASE_WAIT: Duration = Duration::from_secs(12);

/// How long a takeover may take to begin: an append, on a slow disk.
const BEGIN_WAIT: Duration = Duration::from_secs(5);

impl DaemonHandle {
    /// Has the daemon leave everything to another process; see `Running::takeover`.
    ///
    /// # Errors
    ///
    /// When it cannot now, also because the disk does not answer, or has ended; then nothing has
    /// changed.
    pub async fn begin_takeover(&self) -> Result<(), Refusal> {
        let (reply, mut answer) = oneshot::channel();
        self.send(Event::BeginTakeover { reply }).await?;
        if let Ok(answer) = timeout(BEGIN_WAIT, &mut answer).await {
            return answer.map_err(|_| self.unanswered())?;
        }
        // From here on it does not begin; it may have a moment ago.
        answer.close();
        answer.try_recv().unwrap_or_else(|_| {
            Err(Refusal::new(
                RefusalCode::LedgerUnwritable,
                "the disk did not take in time that the daemon hands over",
                "nothing was stopped; see that the disk of the project works, and try again",
            ))
        })
    }
}

impl Base {
    /// Asks the host of the daemon to have another program go on.
    pub(in crate::daemon) fn ask_next_daemon(&self, params: HandOverParams, reply: ReplySender) {
        if !params.program.is_absolute() {
            let refusal = Refusal::invalid(
                "`program` is not an absolute path",
                "name the program that is to go on by its whole path",
            );
            return answer(reply, Err(refusal));
        }
        let replacement = Replacement {
            program: params.program,
            reply,
        };
        match self.operations.takeover().ask_next_daemon(replacement) {
            Ok(()) => {}
            Err(TrySendError::Full(replacement)) => answer(
                replacement.reply,
                Err(Refusal::new(
                    RefusalCode::DaemonStopping,
                    "the daemon is being replaced already",
                    "wait a moment",
                )),
            ),
            Err(TrySendError::Closed(replacement)) => answer(
                replacement.reply,
                Err(Refusal::new(
                    RefusalCode::HostedByDeck,
                    "a deck hosts the daemon",
                    "leave that deck (q, then stay in the background) and start the new one",
                )),
            ),
        }
    }
}

impl Daemon {
    /// Begins a takeover: another process goes on. Not before the record has taken what is known so
    /// far: where it cannot, nothing was stopped and nobody let go of Codex.
    pub(in crate::daemon) fn begin_takeover(
        &mut self,
        reply: oneshot::Sender<Result<(), Refusal>>,
    ) {
        if let Some(refusal) = self.takeover_refusal() {
            let _ = reply.send(Err(refusal));
            return;
        }
        self.agents.append_touched_so_far(&mut self.base);
        let recorder = &mut self.base.recorder;
        let said = "the daemon hands over to another process";
        let event = LifecycleEvent::DaemonHandedOver;
        let entry = recorder.entry(Party::System, None, event, said, None);
        recorder.append_behind_facts(
            vec![entry],
            Box::new(|daemon, recorded| {
                let may = match (recorded, daemon.takeover_refusal()) {
                    (Err(refusal), _) => Err(refusal.clone()),
                    (Ok(_), Some(refusal)) => Err(refusal),
                    (Ok(_), None) => Ok(()),
                };
                let begins = may.is_ok();
                // Who asked may have given it up, because the disk took so long.
                if reply.send(may).is_ok() && begins {
                    daemon.leave_to_next();
                }
            }),
        );
    }

    /// Why another process cannot go on now.
    fn takeover_refusal(&self) -> Option<Refusal> {
        if self.base.operations.is_stopping() {
            return Some(crate::daemon::reply::stopping());
        }
        if self.base.recorder.has_outage() {
            return Some(Refusal::new(
                RefusalCode::LedgerUnwritable,
                "something that happened is not recorded yet",
                match self.base.recorder.is_ledger_gone() {
                    true => GONE_HINT,
                    false => {
                        "`ctxrelay status` says why: free space there or make it writable first"
                    }
                },
            ));
        }
        // That may take longer than the adapter is waited for, and nothing of it can be left to
        // another process: this one would end, and Codex's turn with it.
        self.base.operations.is_ending_session().then(|| {
            Refusal::in_flight(
                "a session is being ended or deleted",
                "nothing was changed; try again once that is done",
            )
        })
    }

    fn leave_to_next(&mut self) {
        self.answered_claudes_go_on();
        let backlog = self.deliveries.outbox.backlog();
        let ahead_ms = self.base.clock.wall_ahead_ms();
        let claudes = CarriedClaudes {
            pairs: self.agents.claude.carried(backlog, ahead_ms),
            processes: self.agents.claude_processes.carried(),
        };
        self.base.operations.takeover_mut().begin(claudes);
        // A row must not say that an attempt began which nobody makes any more.
        self.agents.codex.begin_takeover();
        self.stop_serving(false);
        self.base.note_last_refusals();
        self.base.operations.stop(Stop {
            kill: false,
            by: Instant::now() + RELEASE_WAIT,
            fault: None,
        });
        self.release_codex();
    }

    /// What a hook with an answer of the operator's tells when it leaves is so already: here it
    /// leaves after what is carried was collected. The next process records it.
    fn answered_claudes_go_on(&mut self) {
        let conns = self.base.clients.iter().map(|(conn, _)| conn);
        let approvals = &self.decisions.approvals;
        let answered = conns.filter_map(|conn| approvals.answered_by(conn).cloned());
        let answered: BTreeSet<RuntimeSession> = answered.collect();
        let (claude, now_ms) = (&mut self.agents.claude, self.base.clock.now_ms());
        for pair in answered {
            let setting = ClaudeSetting {
                is_here: self.base.clients.is_claude_of(&pair),
                is_limited: self.agents.limits.is_active(Agent::Claude),
            };
            claude.hear(&pair, ClaudeInput::Answered, setting);
            claude.answered(&pair, now_ms);
        }
    }

    /// Asks the adapter to let go, once it has what was to be handed over: the rows say that an
    /// attempt began.
    pub(in crate::daemon) fn release_codex(&mut self) {
        if !self.deliveries.held.is_empty() || !self.base.operations.takeover_mut().ask_adapter() {
            return;
        }
        let (release, released) = oneshot::channel();
        let asked = self.agents.codex.release(release).is_ok();
        if let (true, Some(events)) = (asked, self.base.events.upgrade()) {
            tokio::spawn(async move {
                let passed = released.await.ok().map(Box::new);
                let _ = events.send(Event::CodexLeft(passed)).await;
            });
        } else {
            self.base.operations.takeover_mut().adapter_left(None);
        }
    }

    /// What the next process gets; `None` when it has to begin without.
    pub(in crate::daemon) fn loop_state(&mut self) -> Option<LoopState> {
        let is_settled =
            self.deliveries.is_settled(&self.base) && !self.base.recorder.has_unwritten();
        let takeover = self.base.operations.takeover_mut();
        let mut claudes = takeover.take_claudes();
        self.agents.claude.tell_given_since(&mut claudes.pairs);
        let codex = takeover.take_passed(is_settled)?;
        Some(LoopState {
            codex,
            known: CarriedState {
                lane: self.agents.codex.carried(),
                agents: self.agents.agent_processes.drain(),
                recent_writes: std::mem::take(&mut self.agents.recent_writes),
                claudes,
            },
        })
    }

    /// Tells everybody, and takes no more.
    pub(in crate::daemon) fn stop_serving(&mut self, killed: bool) {
        self.agents.append_touched_so_far(&mut self.base);
        self.base
            .clients
            .tell_all(&Notification::Stopping { killed });
        self.dismiss_waiters();
    }

    /// Answers all calls that still wait.
    pub(in crate::daemon) fn dismiss_waiters(&mut self) {
        let refusal = self.base.operations.refusal();
        for waiter in self.base.clients.take_all_waiters() {
            match waiter.wants {
                // It is recorded: after a refusal the sender would send it a second time.
                Wants::Receipt(sent) => {
                    let delivery_attempt_id = self.agents.codex.last_attempt(&sent.message_id);
                    let is_ending = self.deliveries.outbox.backlog().is_ending(&sent.message_id);
                    let outcome = match is_ending {
                        // The record of that is written before the process ends.
                        true => Outcome::Rejected,
                        false => Outcome::QueuedForNextTurn,
                    };
                    let sent = Sent {
                        outcome,
                        delivery_attempt_id,
                        ..sent
                    };
                    answer(waiter.reply, Ok(Reply::Sent(sent)));
                }
                // Codex asks over HTTP and cannot follow to the next process. Nothing has come so
                // far; it asks again.
                Wants::Messages {
                    agent: Agent::Codex,
                    runtime_session,
                    ..
                } if self.base.operations.takeover().is_begun() => {
                    let page = MessagePage {
                        timed_out: false,
                        cut: true,
                        ..self.deliveries.nothing_yet(Agent::Codex, &runtime_session)
                    };
                    answer(waiter.reply, Ok(Reply::Messages(page)));
                }
                Wants::Messages { .. } => answer(waiter.reply, Err(refusal.clone())),
            }
        }
    }
}

impl Base {
    /// The Codex adapter has let go, with what it leaves; or failed to.
    pub(in crate::daemon) fn codex_left(&mut self, passed: Option<Box<Passed>>) {
        let passed = passed.map(|passed| *passed);
        self.operations.takeover_mut().adapter_left(passed);
    }

    /// The Codex adapter has told everything.
    pub(in crate::daemon) fn codex_is_silent(&mut self) {
        self.operations.takeover_mut().adapter_is_silent();
    }
}

impl Deliveries {
    /// Whether another process is to go on, and somebody was given something who may say any moment
    /// that it arrived.
    pub(in crate::daemon) fn waits_for_proofs(&self, base: &Base) -> bool {
        let until = base.operations.takeover().proofs_until();
        until.is_some_and(|until| Instant::now() < until) && self.outbox.backlog().has_claims()
    }

    /// Whether another process is to go on, and gets nothing yet: also as long as a fact waits for
    /// the disk, which is asked again.
    pub(in crate::daemon) fn keeps_next_waiting(&self, base: &Base) -> bool {
        let is_refused = base.operations.takeover().is_begun() && base.recorder.has_unwritten();
        is_refused || self.waits_for_proofs(base)
    }
}

impl Agents {
    /// Takes on what the process before knew, before anything is asked of Codex. Returns what it
    /// knew of each Claude, for which a place is to be kept first.
    pub(in crate::daemon) fn take_over(
        &mut self,
        known: CarriedState,
        server_stays: bool,
        terminal_stays: bool,
    ) -> Vec<CarriedPair> {
        self.codex
            .take_over(known.lane, server_stays, terminal_stays);
        self.agent_processes.take_over(known.agents);
        self.recent_writes = known.recent_writes;
        self.claude_processes.take_over(known.claudes.processes);
        known.claudes.pairs
    }
}
