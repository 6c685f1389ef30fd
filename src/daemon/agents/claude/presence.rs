//! Which Claude there is: its bridge and its doorbell connect and disconnect, and its hooks report
//! what it does.
//!
//! One Claude is one process: `CLAUDE_PID` of its hooks and its doorbell, the parent of its bridge.
//! Its own session id changes with `/clear` while all of these keep running (Claude Code 2.1.330,
//! observed).

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::sleep;

use crate::adapters::process::{StartedProcess, age};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{ClaudeInput, ClaudeState, LadderInput};
use crate::core::entry::LifecycleEvent;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::claude_lane::CarriedPair;
use crate::daemon::attach::ConnId;
use crate::daemon::base::clients::{Doorbell, Gone, Receiver};
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{ClaudeLook, Event};
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::wire::control::Role;
use crate::wire::status::NoticeKey;

/// A Claude's monitor starts within 4 s after it, and its first turn may be over by then (Claude
/// Code 2.1.330, observed); one that has not come after this long does not come, in ms.
const BELL_LATE_MS: i64 = 10_000;

/// So long after the first look it is looked again whether a Claude has ended of which nobody is
/// connected, and each time twice as long after.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The longest of these pauses.
const LOOK_PAUSE_MAX: Duration = Duration::from_secs(8);

impl Daemon {
    /// A daemon starts, and the record tells of the one before: of which Claude of each pair is the
    /// turn that hooks handed messages into, and who had its place. `carried`: what the one before
    /// knew of those that were here.
    pub(in crate::daemon) fn recall_claudes(&mut self, carried: Vec<CarriedPair>) {
        self.base.keep_places();
        for pair in self.deliveries.pairs_of_claude() {
            let known = self.base.recorder.world().agent(Agent::Claude);
            let process = known.status(&pair).pid.map(StartedProcess::of);
            let recorded = self.base.since_recorded();
            let process = process.filter(|process| {
                let is_it = age(process.pid).is_none_or(|age| age >= recorded);
                is_it && !process.has_ended()
            });
            let pid = process.as_ref().map(|process| process.pid);
            self.tell_ladder(&pair, LadderInput::Recalled { process: pid });
            if let Some(process) = process {
                self.look_whether_ended(pair, process, LOOK_AGAIN);
            }
        }
        for carried in carried {
            let pair = carried.pair().clone();
            // One that has ended meanwhile does not come back.
            if self.base.clients.is_kept_for(&pair, carried.pid()) {
                let (claude, ladder) = self.agents.claude.recall(carried);
                self.claude_hears(&pair, claude);
                self.agents.watch_claudes_tools(&mut self.base, &pair);
                self.tell_ladder(&pair, ladder);
            }
        }
    }

    /// A client is gone: a bridge, a doorbell, or nobody of Claude's.
    pub(in crate::daemon) fn claude_client_left(&mut self, conn: ConnId, gone: &Gone) {
        let pair = &gone.hello.runtime_session_id;
        self.agents.claude_processes.client_left(conn);
        if gone.receiver {
            self.agents.claude_processes.bridge_left(&gone.hello);
            let bridge = conn.number();
            self.tell_ladder(pair, LadderInput::Left { bridge });
            self.place_is_free(pair, gone.heir);
        } else if gone.doorbell {
            self.hang_bell(pair);
        }
        let of_claude = gone.hello.role == Role::Claude || gone.doorbell;
        if of_claude {
            self.forget_left_claudes();
        }
        // One that is waited for was not this client.
        let claude = self.agents.claude.state(pair);
        let is_awaited = claude.is_some_and(ClaudeState::is_recalled);
        if of_claude && !is_awaited && !self.base.clients.is_claude_of(pair) {
            self.agents.leave_claudes_turn(&mut self.base, pair);
            self.decisions.end_claude_approvals(&mut self.base, pair);
            // A daemon that stops sends its clients away; they may work on with the next one, which
            // learns from the record whose turn it is.
            if !self.base.operations.is_stopping() {
                self.claude_hears(pair, ClaudeInput::Gone);
            }
            self.base.clients.status_changed();
        }
        let process = gone.hello.agent_pid;
        let process = process.filter(|_| of_claude && !gone.hello.in_print_mode);
        // What only a client names may be anybody's.
        if let Some(process) = process.and_then(|pid| self.agents.agent_processes.get(pid)) {
            self.look_whether_ended(pair.clone(), process, Duration::ZERO);
        }
        self.agents.say_silence(&mut self.base);
    }

    /// Nothing counts of Claude's processes once none is here, or may come back.
    pub(in crate::daemon) fn forget_left_claudes(&mut self) {
        let clients = &self.base.clients;
        if !clients.is_claude_here() && !clients.keeps_places() {
            self.agents.claude_processes.all_left();
        }
    }

    /// A Claude of which nobody was connected any more was looked at.
    pub(in crate::daemon) fn on_claude_looked_at(&mut self, look: ClaudeLook) {
        let ClaudeLook {
            pair,
            process,
            pause,
            has_ended,
        } = look;
        if !has_ended {
            let pause = (pause * 2).clamp(LOOK_AGAIN, LOOK_PAUSE_MAX);
            return self.look_whether_ended(pair, process, pause);
        }
        let ended = LadderInput::Ended {
            process: process.pid,
        };
        self.tell_ladder(&pair, ended);
        self.base.clients.status_changed();
    }

    /// Looks beside the loop whether the Claude of a pair has ended, so much later; not when it is
    /// connected, nor when another one has come. Its bridge may have died alone, or may go before
    /// it: as long as it lives, its turn may yet read what hooks handed into it.
    fn look_whether_ended(&self, pair: RuntimeSession, process: StartedProcess, pause: Duration) {
        let mut clients = self.base.clients.iter().map(|(_, client)| client);
        let is_here = clients.any(|client| {
            let hello = &client.hello;
            client.is_of_claude()
                && hello.runtime_session_id == pair
                && hello.agent_pid == Some(process.pid)
        });
        let ladder = self.agents.claude.ladder(&pair);
        let is_last = ladder.is_some_and(|ladder| ladder.is_last(process.pid));
        if is_here || !is_last || self.base.operations.is_stopping() {
            return;
        }
        let reads = self.base.reads();
        tokio::spawn(async move {
            sleep(pause).await;
            let looked_at = process.clone();
            let look = move || looked_at.has_ended();
            // Where the look panicked it is looked again, as at one that lives.
            let has_ended = reads.read(WorkBeside::ClaudeLook, look).await;
            let look = ClaudeLook {
                pair,
                process,
                pause,
                has_ended: has_ended.unwrap_or(false),
            };
            if let Some(events) = reads.events().upgrade() {
                let _ = events.send(Event::ClaudeLookedAt(look)).await;
            }
        });
    }

    /// Nobody has the place of a pair: the bridge that waited for it does from now on.
    pub(in crate::daemon) fn place_is_free(&mut self, pair: &RuntimeSession, heir: Option<ConnId>) {
        match heir {
            Some(heir) => {
                self.receives(heir);
                self.base.clients.tell_receiver(heir, true);
            }
            None => self.hang_bell(pair),
        }
    }

    /// This bridge gets the deliveries of its pair from now on.
    pub(in crate::daemon) fn receives(&mut self, conn: ConnId) {
        let Some(Receiver {
            pair,
            process,
            mode,
        }) = self.base.clients.give_place(conn)
        else {
            return;
        };
        // The doorbell first: with it nothing goes out by a worse way in between.
        self.hang_bell(&pair);
        let bridge = conn.number();
        let attached = LadderInput::Attached {
            bridge,
            process,
            mode,
        };
        self.tell_ladder(&pair, attached);
        self.claude_attached(&pair, process);
        self.agents.say_silence(&mut self.base);
    }

    pub(in crate::daemon) fn attach_doorbell(&mut self, conn: ConnId) {
        let Some(Doorbell { pair, process: pid }) = self.base.clients.hang_doorbell(conn) else {
            return;
        };
        if let Some(process) = pid {
            self.agents.claude_processes.bell_came(process);
        }
        self.hang_bell(&pair);
        let state = self.agents.claude.state(&pair);
        if state.is_none_or(ClaudeState::is_away)
            && !self.base.clients.is_kept_for_another(&pair, pid)
        {
            // Its bridge died, or comes yet.
            self.claude_attached(&pair, pid);
        }
        self.agents.say_silence(&mut self.base);
        self.base.clients.status_changed();
    }

    /// Has the ladder of a pair know which doorbell is its Claude's.
    fn hang_bell(&mut self, pair: &RuntimeSession) {
        let known = self
            .agents
            .claude
            .ladder(pair)
            .and_then(|ladder| ladder.bell());
        let bell = self
            .agents
            .doorbell_of(&self.base, pair)
            .map(ConnId::number);
        if known == bell {
            return;
        }
        if let Some(bell) = known {
            self.tell_ladder(pair, LadderInput::BellGone { bell });
        }
        if let Some(bell) = bell {
            self.tell_ladder(pair, LadderInput::BellHung { bell });
        }
    }

    /// Claude said at the end of a turn whether its monitor runs. Claude never starts a dead one
    /// again (Claude Code 2.1.330, observed).
    pub(in crate::daemon) fn monitor_runs(
        &mut self,
        pair: &RuntimeSession,
        process: u32,
        runs: bool,
    ) {
        if !runs && !self.agents.had_time_for_its_bell(&self.base, pair, process) {
            return;
        }
        if !self.agents.claude_processes.monitor(process, runs) {
            return;
        }
        if !runs {
            let event = LifecycleEvent::DoorbellDead;
            self.base.recorder.mention(
                Party::System,
                event,
                "Claude's monitor, the doorbell, has ended: messages wait for its next turn",
            );
        }
        self.hang_bell(pair);
        self.agents.say_silence(&mut self.base);
        self.base.clients.status_changed();
    }
}

impl Agents {
    /// The doorbell of the Claude that gets the deliveries. Where its bridge died and none has
    /// come instead, any Claude of the pair is as good.
    fn doorbell_of(&self, base: &Base, pair: &RuntimeSession) -> Option<ConnId> {
        let receiver = base.clients.receiver(pair);
        // The newest: an older one of the same Claude may be one that it gave up.
        base.clients
            .iter()
            .rfind(|(_, other)| {
                let hello = &other.hello;
                let is_its = receiver.is_none_or(|bridge| {
                    bridge.hello.agent_pid.is_some() && bridge.hello.agent_pid == hello.agent_pid
                });
                let rings = hello
                    .agent_pid
                    .is_none_or(|process| !self.claude_processes.is_monitor_off(process));
                other.doorbell
                    && hello.runtime_session_id == *pair
                    && is_its
                    && rings
                    && !base.clients.is_kept_for_another(pair, hello.agent_pid)
            })
            .map(|(conn, _)| conn)
    }

    /// Whether a doorbell that is not there was there, or would be by now.
    fn had_time_for_its_bell(&self, base: &Base, pair: &RuntimeSession, process: u32) -> bool {
        let bridge = base.clients.receiver(pair);
        let bridge = bridge.filter(|bridge| bridge.hello.agent_pid == Some(process));
        self.claude_processes.had_doorbell(process)
            || bridge.is_some_and(|bridge| now_ms() - bridge.since_ms > BELL_LATE_MS)
    }

    /// Has the operator know of a dead doorbell while that Claude lives.
    fn say_silence(&self, base: &mut Base) {
        let processes: Vec<u32> = base
            .clients
            .bridges()
            .map(|(_, bridge)| bridge)
            .filter(|bridge| bridge.receiver)
            .filter_map(|bridge| bridge.hello.agent_pid)
            .collect();
        if processes
            .iter()
            .any(|process| self.claude_processes.is_monitor_off(*process))
        {
            base.notices.set(
                NoticeKey::Doorbell,
                "Claude's monitor has ended and Claude starts none again: messages reach it with \
                 its next tool call or turn; restart Claude to have it woken again",
            );
        } else {
            base.notices.clear(&NoticeKey::Doorbell);
        }
    }
}

impl Base {
    /// How long ago the last entry was recorded. A process that is younger has only the number of one
    /// that the record names.
    fn since_recorded(&self) -> Duration {
        let since_ms = now_ms().saturating_sub(self.recorder.world().last_at_ms);
        Duration::from_millis(since_ms.try_into().unwrap_or_default())
    }

    /// A daemon starts: the place of each pair is for a while its Claude's that the record knows, if
    /// that still runs.
    fn keep_places(&mut self) {
        let world = self.recorder.world();
        let claudes = world.agent(Agent::Claude);
        let recorded = self.since_recorded();
        for pair in claudes.pairs_here() {
            let Some(pid) = claudes.status(&pair).pid else {
                continue;
            };
            if age(pid).is_some_and(|age| age >= recorded) {
                self.clients.keep_place(pair, pid, self.clock.now_ms());
            }
        }
    }

    /// Has the operator know of a Claude to which nothing comes, because another one of its pair has
    /// that.
    pub(in crate::daemon) fn say_second_claude(&mut self) {
        let bridges = self.clients.bridges().map(|(_, bridge)| &bridge.hello);
        let claudes =
            bridges.filter_map(|hello| Some((&hello.runtime_session_id, hello.agent_pid?)));
        let claudes: BTreeSet<_> = claudes.collect();
        let pairs: BTreeSet<_> = claudes.iter().map(|(pair, _)| *pair).collect();
        if claudes.len() == pairs.len() {
            self.notices.clear(&NoticeKey::SecondClaude);
            return;
        }
        self.notices.set(
            NoticeKey::SecondClaude,
            "two Claudes of one pair are here: messages and answers reach the first alone; start \
             the other with CONTEXTRELAY_RUNTIME_SESSION=NAME for a pair of its own",
        );
    }
}
