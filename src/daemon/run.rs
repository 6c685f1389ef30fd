//! The loop of the [`Daemon`]: it takes one [`Event`] after the other and passes it to its flow.
//! What is decided is appended, and only when an entry is durable it is folded, published and has
//! effects.
//!
//! No event waits for a disk, for `git`, or for the kernel to report on a process. Such facts are
//! gathered before the event reaches the loop (by the connection, or where the adapter's facts are
//! forwarded), or beside the loop, and come back as an [`Event`] (`Base::beside`, `Readers`,
//! `read_bodies`). The same holds for what takes milliseconds of processor time, such as finding
//! what the masks of a long request hide (`approval_texts`). The loop itself still waits for:
//!
//! | what | how long, and why here |
//! |---|---|
//! | two appends when a session ends (`rollover`) | at most [`STEP`](super::stop::STEP) each; nothing may be recorded in between, and no client could be told anything else. If the disk hangs between the two, until it answers: what it holds of a session that did not begin has to go before anything is recorded in the previous one, or a start would continue with it |
//! | the new ledger's file, the head outside and `current` when a session ends (`recorder::next_session`) | until the disk answers, which has just taken an append; if we gave up on writing `current`, it could still come to name the next session, in which nothing is recorded |
//! | a rename of the file that is put away (`recorder::next_session`) | one call, after a sync of the same disk |
//! | one line of the record by its offset: what a call answers or names, if it is not among the last thousand (`Recorder::stored_of`, `Ledger::read`) | a read of the file that is appended to, mostly from memory |
//! | the record that a Codex without our tools asks for in its final message (`codex::context_answer`) | as long as `read_context`: mostly 1 ms, at most 5,000 lines; its answer and the end of the turn are one write, or a crash between the two would lose the question |
//! | the hash by which a repeated request is recognised (`AskedAs`) | 200,000 bytes: 0.1 ms, or 0.5 ms if the processor has no instructions for it; without it nobody knows whether the request already waits |
//! | masking a request of less than 2,000 bytes (`ApprovalText`) | 10 µs, or half a millisecond if it is all secrets; having it read elsewhere would cost as much |
//! | masking a longer one that could not be read within half a second (`handle::read_approval`) | 2 ms for 200,000 characters, 70 ms if each line has a secret; the processor was too busy to do it earlier, and an agent waits for its card |
//! | masking what an agent said in a turn, if a model may be asked about it (`inferring`) | its latest 12,000 characters, and a text of 64 KiB that they begin in: 1 ms, or 25 ms if it is all secrets; beside the loop it could fall behind the next turn, to which it would be counted |
//! | masking a packet (`reloading`) | 16,000 characters: 0.2 ms, or 6 ms if it is all secrets; it is made from the world at that moment |
//! | masking what is shown of a running turn or gate (`shown_turn`, `running_tools`, `commands::gates`) | 4,000 characters, of a plan 30 steps: 40 µs, or 1.5 ms if it is all secrets |
//! | `current` that somebody else changed (`tamper::alert`) | rare, with a pause of its own; beside the loop it could name a session that has ended since |

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::event::Event;
use super::fault::{DaemonFault, Ended};
use super::owners::Daemon;
use super::published_state::publish_state;
use super::reply::answer;
use super::stop::Stop;
use crate::core::agent::Agent;
use crate::core::delivery::LimitInput;
use crate::daemon::agents::metering::on_transcript;
use crate::daemon::agents::registering::know_agents;
use crate::daemon::base::clock::LOOK_FOR_SLEEP;
use crate::wire::control::Reply;

/// When a thing happens by itself, and what is done then: each sees itself whether it is due.
type ByItself = (fn(&Daemon) -> Option<Instant>, fn(&mut Daemon));

/// What happens by itself, in the order in which it is done.
const BY_THEMSELVES: [ByItself; 14] = [
    (
        |it| it.base.clients.waiters().next_deadline(),
        |it| it.deliveries.expire_waiters(&mut it.base),
    ),
    (
        |it| it.deliveries.next_claim(&it.base),
        Daemon::expire_claims,
    ),
    (
        |it| it.deliveries.codex_next(&it.base, &it.agents.codex),
        Daemon::codex_deadline,
    ),
    (
        |it| it.deliveries.claude_next(&it.base, &it.agents.claude),
        Daemon::claude_deadline,
    ),
    (
        |it| it.agents.next_look_at_silence(&it.base),
        |it| it.agents.look_at_silences(&mut it.base),
    ),
    (
        |it| it.agents.next_limit_deadline(&it.base),
        Daemon::limit_deadline,
    ),
    (|it| it.base.next_place(), Daemon::place_deadline),
    (
        |it| it.base.next_refusals(),
        |it| it.base.note_refusals_due(),
    ),
    (
        |it| it.base.recorder.next_deadline(),
        |it| it.base.recorder.write_again(),
    ),
    (
        |it| it.files.next_deadline(),
        |it| it.base.watch_deadline(&mut it.files),
    ),
    (
        |it| it.base.renderings.next_deadline(),
        |it| it.base.render_deadline(),
    ),
    (
        |it| it.agents.next_look_at_rules(&it.base),
        |it| it.agents.rules_deadline(&it.base),
    ),
    (
        |it| it.agents.next_lapse(&it.base),
        |it| it.agents.lapse_deadline(&mut it.base),
    ),
    (
        |it| {
            let idle = it.base.configuration.idle_shutdown();
            it.base.operations.next_deadline(idle)
        },
        Daemon::idle_deadline,
    ),
];

impl Daemon {
    /// Runs until somebody ends it, or until something of ours fails.
    ///
    /// A panic while one event is handled ends it: the state may be half changed by then, and to
    /// go on with it could deliver twice or forget. What was acknowledged is on the disk, and the
    /// next start folds that.
    pub(super) async fn run(mut self: Box<Self>, mut events: mpsc::Receiver<Event>) -> Ended {
        let mut deadline = Instant::now();
        loop {
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                () = sleep_until(deadline) => None,
            };
            match catch_unwind(AssertUnwindSafe(|| self.turn(event, deadline))) {
                Ok(Some(next)) => deadline = next,
                Ok(None) if self.base.operations.fault().is_none() => break,
                Ok(None) => {}
                Err(_) => self.base.operations.fail(DaemonFault::Loop),
            }
            if let Some(fault) = self.base.operations.fault() {
                return Ended::Failed(self.fail(fault, events).await);
            }
        }
        // From here on a call that gets no answer gets none because the daemon ends.
        self.base.operations.begin_end();
        // What was being recorded may have made somebody wait for what becomes of it.
        self.dismiss_waiters();
        // A client that still asks hears at once that there is nobody, and neither the adapter nor
        // the ledger's writer waits for a place in a queue that is no longer read.
        self.base.drain_clients(&mut events).await;
        drop(events);
        let state = self.loop_state();
        let fault = self.base.operations.stops_because_of();
        // A writer that hangs may still write: nobody else may begin before this process has ended,
        // and who holds the lock sees to that.
        match (self.finish(state.is_none()).await, state) {
            (Ok(()), Some(state)) => Ended::Left(Box::new(state)),
            (Ok(()), None) => fault.map_or(Ended::Stopped, Ended::Failed),
            (Err(fault), _) => Ended::Failed(fault),
        }
    }

    /// Takes one event, and what is due. When something is due next; `None` once it may stop.
    fn turn(&mut self, event: Option<Event>, deadline: Instant) -> Option<Instant> {
        let begun = Instant::now();
        let kind = event.as_ref().map_or("deadline", Event::kind);
        // What the start left.
        self.settle();
        if let Some(event) = event {
            self.on_event(event);
        }
        // Also behind an event: however many wait, what is due waits for one of them.
        if deadline <= Instant::now() {
            self.on_deadline();
        }
        self.watch_idleness();
        publish_state(&self.base.clients, &self.agents.codex, &mut self.base.board);
        self.base.loop_times.took(kind, begun.elapsed());
        (!self.deliveries.may_stop(&self.base)).then(|| self.next_deadline())
    }

    /// Takes one event, and does what the owners want on account of it.
    pub(super) fn on_event(&mut self, event: Event) {
        self.catch_up_with_sleep();
        self.take(event);
        self.settle();
    }

    /// Does what the owners want on account of what was done, until nothing is left of it.
    pub(super) fn settle(&mut self) {
        loop {
            if let Some(input) = self.base.later.take_next() {
                self.tell(input);
            } else if let Some((then, stored)) = self.deliveries.held.next_ready() {
                then(self, stored.as_ref().copied());
            } else if let Some(action) = self.base.recorder.next_action() {
                self.follow_recorder(action);
            } else if let Some(ending) = self.next_ending() {
                self.go_on_ending(ending);
            } else {
                break;
            }
        }
        self.deliveries.forget_older_queue(&mut self.base);
        // While leaving: once the rows say that what is under way to it began.
        self.release_codex();
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Connected {
                conn,
                hello,
                operator,
                process,
                outlet,
                reply,
            } => {
                let welcome = self.connect(conn, hello, operator, process, outlet);
                let _ = reply.send(welcome);
            }
            Event::PingAnswered { conn } => self.base.ping_answered(conn),
            Event::Disconnected { conn } => self.disconnect(conn),
            Event::Command {
                conn,
                command,
                reply,
            } => self.command(conn, *command, reply),
            Event::Ledger(event) => self.base.recorder.on_writer(event),
            Event::Head(written) => self.base.on_head(written),
            Event::Queue(event) => self.on_queue(event),
            Event::Codex(fact) => self.on_codex(fact),
            Event::ApprovalRead(read) => self.decisions.approval_texts.was_read(*read),
            Event::LimitChecked { agent, checked } => {
                self.limit_input(agent, LimitInput::Checked(checked));
                self.base.clients.status_changed();
            }
            Event::TranscriptRead(read) => {
                if on_transcript(&mut self.agents.contexts, self.base.clock.now_ms(), read) {
                    self.base.clients.status_changed();
                }
            }
            Event::ClaudeSpoke(spoke) => {
                self.turn_was_read(&spoke);
                self.agents.on_claude_spoke(&mut self.base, spoke);
            }
            Event::ClaudeCompacted(compacted) => self.base.on_claude_compacted(compacted),
            Event::WordsRead(read) => self.agents.on_words_read(&mut self.base, read),
            Event::RulesLooked(looked) => self.agents.on_rules_looked(&mut self.base, *looked),
            Event::WorkRendered(_under_way) => self.base.on_work_rendered(),
            Event::Watch(fact) => self.on_watch(fact),
            Event::TreeRead {
                purpose,
                tree,
                changed,
            } => self
                .decisions
                .on_tree(&mut self.base, purpose, tree, changed),
            Event::PacketRead {
                number,
                facts,
                under_way,
            } => {
                drop(under_way);
                self.agents.on_packet_read(
                    &mut self.base,
                    &mut self.deliveries.held,
                    number,
                    *facts,
                );
            }
            Event::BlocksRewritten {
                set,
                reply,
                under_way,
            } => {
                drop(under_way);
                answer(reply, Ok(Reply::PolicySet(*set)));
            }
            Event::SettingsRead(read) => self.base.on_settings_read(*read),
            Event::SettingsKept(kept) => self.on_settings_kept(*kept),
            Event::SessionEnding(ending) => self.on_session_ending(*ending),
            Event::SealedTaskRead(found) => self.base.on_sealed_task_read(*found),
            Event::DeletionAsked(asked) => self.on_deletion_asked(asked),
            Event::DeletionDone(done) => self.on_deletion_done(done),
            Event::Gate(fact) => self.decisions.on_gate(&mut self.base, fact),
            Event::WorkFailed { what, under_way } => {
                drop(under_way);
                self.on_work_failed(what);
            }
            Event::WorkDone(what) => self.base.work_done(&what),
            Event::ProgramsFound(found) => {
                if self.base.programs.looked(found) {
                    self.base.clients.status_changed();
                }
            }
            Event::ServiceFailed => self.base.operations.fail(DaemonFault::Service),
            Event::ApprovalUnanswered { id, number } => {
                self.decisions
                    .answer_reached_nobody(&mut self.base, &id, number);
            }
            Event::ReasonToTell(message) => self.base.on_reason_to_tell(*message),
            Event::ActionDone { action, text, told } => {
                self.base.on_action_done(action, text, told)
            }
            Event::BodiesRead(found) => self.on_bodies_read(*found),
            Event::Altered(id) => self.deliveries.on_altered(&mut self.base, id),
            Event::AgentsSeen(processes) => know_agents(
                &mut self.agents.agent_processes,
                &self.base.reads(),
                processes,
            ),
            Event::AgentsEnded(ended) => self.agents.agent_processes.forget(&ended),
            Event::ClaudeLookedAt(look) => self.on_claude_looked_at(look),
            Event::AgentsKnown { reply } => {
                let _ = reply.send(self.agents.agent_processes.known());
            }
            Event::Metrics { reply } => {
                let _ = reply.send(super::metrics::render(self));
            }
            Event::CodexSilent => self.base.codex_is_silent(),
            Event::CodexLeft(passed) => self.base.codex_left(passed),
            Event::BeginTakeover { reply } => self.begin_takeover(reply),
            Event::Shutdown { kill } => self.stop(Stop::now(kill)),
        }
    }

    pub(super) fn next_deadline(&self) -> Instant {
        // A timer stands still while the machine sleeps.
        let far = Instant::now() + LOOK_FOR_SLEEP;
        let due = BY_THEMSELVES.iter().filter_map(|(when, _)| when(self));
        due.chain([far]).min().unwrap_or(far)
    }

    /// Does what is due, and what follows from each before the next.
    pub(super) fn on_deadline(&mut self) {
        self.catch_up_with_sleep();
        for (_, then) in BY_THEMSELVES {
            then(self);
            self.settle();
        }
    }

    fn idle_deadline(&mut self) {
        if self
            .base
            .operations
            .is_idle_for(self.base.configuration.idle_shutdown())
        {
            tracing::info!("nothing is attached: the detached daemon ends");
            self.stop(Stop::now(false));
        }
    }

    /// A detached daemon that nobody needs counts down; anything that happens stops the count. Only
    /// with a daemon the operator can answer what an agent asks them.
    pub(super) fn watch_idleness(&mut self) {
        let mut asked = self.base.recorder.world().open_approvals.values();
        let is_operator_asked = asked.any(|asked| asked.request.is_user_question());
        let attached = self.base.clients.outside().next().is_some();
        let idle = self.base.identity.is_detached()
            && !attached
            && !self.agents.codex.is_needed()
            && self.decisions.gates.is_idle()
            && !self.agents.limits.will_send_again(self.base.clock.outside_ms())
            // What a file that was taken away would have been told keeps nobody here: the project
            // may be gone for good.
            && (self.base.recorder.pending_count() == 0
                && self.deliveries.held.is_empty()
                && !self.base.recorder.has_unwritten()
                && !self.deliveries.outbox.has_waiting()
                && !is_operator_asked
                || self.base.recorder.is_ledger_gone());
        self.base.operations.set_idle(idle);
    }

    /// The machine may have slept, or its clock was set: the time that the vendors and the operator go
    /// by is another one.
    fn catch_up_with_sleep(&mut self) {
        let Some(jumped_ms) = self.base.clock.catch_up() else {
            return;
        };
        tracing::info!(jumped_ms, "the machine slept, or its clock was set");
        let ahead_ms = self.base.clock.wall_ahead_ms();
        self.deliveries.outbox.clock_is_behind(ahead_ms);
        if jumped_ms < 0 {
            for agent in Agent::ALL {
                self.limit_input(agent, LimitInput::SetBack);
            }
        }
        self.base.clients.status_changed();
    }
}
