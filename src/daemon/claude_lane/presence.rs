//! Which Claude there is: its bridge and its doorbell come and go, and its hooks tell what it
//! does.
//!
//! One Claude is one process: `CLAUDE_PID` of its hooks and its doorbell, the parent of its
//! bridge. Its own session id changes with `/clear` while all of these run on (Claude Code
//! 2.1.330, observed).

use std::collections::BTreeSet;

use crate::core::agent::{AgentState, Party};
use crate::core::delivery::{ClaudeInput, LadderInput, LadderMode};
use crate::core::entry::{EntryKind, LifecycleEvent};
use crate::core::id::RuntimeSession;
use crate::daemon::attach::{Attachment, CLIENTS_MAX, ConnId, OPERATORS_MAX, Outlet};
use crate::daemon::run::{Daemon, now_ms, stopping};
use crate::wire::control::{DeliveryMode, Hello, PROTOCOL, Refusal, RefusalCode, Role, Welcome};

/// A Claude's monitor starts within 4 s after it, and its first turn may be over by then (Claude
/// Code 2.1.330, observed); one that has not come after this long does not come, in ms.
const BELL_LATE_MS: i64 = 10_000;

/// How many Claude processes are remembered that run our hooks.
const HOOKED_MAX: usize = 64;

/// The key of the sentence that a doorbell is dead.
const DOORBELL: &str = "doorbell";

impl Daemon {
    pub(in crate::daemon) fn connect(
        &mut self,
        conn: ConnId,
        hello: Hello,
        operator: bool,
        process: Option<u32>,
        outlet: Outlet,
    ) -> Result<Welcome, Refusal> {
        if hello.protocol != PROTOCOL {
            return Err(Refusal::new(
                RefusalCode::ProtocolVersion,
                format!(
                    "the client speaks control protocol {}, the daemon {PROTOCOL}",
                    hello.protocol
                ),
                "restart the daemon and the agents so that all are of one version",
            ));
        }
        if self.stopping.is_some() {
            return Err(stopping());
        }
        let pair = hello.runtime_session_id.clone();
        if pair.as_str().is_empty() || pair.as_str().chars().count() > 100 {
            return Err(Refusal::new(
                RefusalCode::InvalidArguments,
                "the runtime session id is empty or longer than 100 characters",
                "set CONTEXTRELAY_RUNTIME_SESSION to a short word",
            ));
        }
        self.check_room(operator)?;
        let receiver = hello.role == Role::Claude && self.claude_receiver(&pair).is_none();
        self.know_agent_of(hello.role, process);
        let role = hello.role;
        self.attachments.insert(
            conn,
            Attachment {
                hello,
                operator,
                process,
                receiver,
                doorbell: false,
                given: BTreeSet::new(),
                subscribed: false,
                since_ms: now_ms(),
                outlet,
            },
        );
        // A hook says nothing about the doorbell beside it.
        if role != Role::Hook {
            self.is_up_to_date(role);
        }
        if role == Role::Claude {
            self.tools_came(conn);
        }
        if receiver {
            self.receives(conn);
        } else if role == Role::Claude {
            self.challenge_holder(&pair);
        }
        self.status_changed();
        Ok(Welcome {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance_id: self.identity.instance_id.clone(),
            session_id: self.session_id.clone(),
            receiver: receiver || role != Role::Claude,
            operator,
        })
    }

    /// Refuses a client for which there is no place.
    fn check_room(&self, operator: bool) -> Result<(), Refusal> {
        let clients = self.attachments.values();
        let taken = clients.filter(|other| other.operator == operator).count();
        let max = if operator { OPERATORS_MAX } else { CLIENTS_MAX };
        if taken < max {
            return Ok(());
        }
        Err(Refusal::new(
            RefusalCode::TooManyClients,
            format!("{max} clients are connected already"),
            "end the ones that nobody needs; `ctxrelay status` and the deck need one each",
        ))
    }

    pub(in crate::daemon) fn disconnect(&mut self, conn: ConnId) {
        let Some(gone) = self.attachments.remove(&conn) else {
            return;
        };
        let pair = gone.hello.runtime_session_id.clone();
        self.forget_challenge(conn);
        if gone.receiver && gone.hello.role == Role::Claude {
            self.tools_left(&gone.hello);
        }
        if gone.receiver {
            let bridge = conn.number();
            self.tell_ladder(&pair, LadderInput::Left { bridge });
            // A second bridge of the same pair waited for the place.
            let heir = self
                .bridges()
                .find(|(_, other)| other.hello.runtime_session_id == pair)
                .map(|(heir, _)| *heir);
            match heir {
                Some(heir) => {
                    self.receives(heir);
                    self.tell_receiver(heir, true);
                }
                None => self.hang_bell(&pair),
            }
        } else if gone.doorbell {
            self.hang_bell(&pair);
        }
        let of_claude = gone.hello.role == Role::Claude || gone.doorbell;
        if of_claude && !self.is_claude_here() {
            self.claude.silent.clear();
            self.claude.heard.clear();
            self.claude.hooked.clear();
            self.claude_hears(ClaudeInput::Gone);
        }
        self.say_silence();
        self.status_changed();
    }

    /// This bridge gets the deliveries of its pair from now on.
    pub(in crate::daemon) fn receives(&mut self, conn: ConnId) {
        let Some(bridge) = self.attachments.get_mut(&conn) else {
            return;
        };
        bridge.receiver = true;
        let process = bridge.hello.agent_pid;
        let pair = bridge.hello.runtime_session_id.clone();
        let mode = match bridge.hello.mode {
            DeliveryMode::Auto => LadderMode::Auto,
            DeliveryMode::Push => LadderMode::Push,
            DeliveryMode::Pull => LadderMode::Pull,
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
        self.claude_hears(ClaudeInput::Attached { pid: process });
    }

    pub(in crate::daemon) fn attach_doorbell(&mut self, conn: ConnId) {
        let Some(attachment) = self.attachments.get_mut(&conn) else {
            return;
        };
        attachment.doorbell = true;
        let pair = attachment.hello.runtime_session_id.clone();
        let pid = attachment.hello.agent_pid;
        if let Some(process) = pid {
            self.claude.silent.remove(&process);
            self.claude.heard.insert(process);
        }
        self.is_up_to_date(Role::Hook);
        self.hang_bell(&pair);
        if self.claude.state.now().state == AgentState::Offline {
            // Its bridge died, or comes yet.
            self.claude_hears(ClaudeInput::Attached { pid });
        }
        self.say_silence();
        self.status_changed();
    }

    /// Has the ladder of a pair know which doorbell is its Claude's.
    fn hang_bell(&mut self, pair: &RuntimeSession) {
        let known = self.claude.ladder(pair).and_then(|ladder| ladder.bell());
        let bell = self.doorbell_of(pair).map(ConnId::number);
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

    /// The doorbell of the Claude that gets the deliveries. Where its bridge died and none has
    /// come instead, any Claude of the pair is as good.
    fn doorbell_of(&self, pair: &RuntimeSession) -> Option<ConnId> {
        let receiver = self.claude_receiver(pair);
        // The newest: an older one of the same Claude may be one that it gave up.
        self.attachments
            .iter()
            .rfind(|(_, other)| {
                let hello = &other.hello;
                let is_its = receiver.is_none_or(|bridge| {
                    bridge.hello.agent_pid.is_some() && bridge.hello.agent_pid == hello.agent_pid
                });
                let rings = hello
                    .agent_pid
                    .is_none_or(|process| !self.claude.silent.contains(&process));
                other.doorbell && hello.runtime_session_id == *pair && is_its && rings
            })
            .map(|(conn, _)| *conn)
    }

    /// Claude said at the end of a turn whether its monitor runs. Claude never starts a dead one
    /// again (Claude Code 2.1.330, observed).
    pub(in crate::daemon) fn monitor_runs(
        &mut self,
        pair: &RuntimeSession,
        process: u32,
        runs: bool,
    ) {
        let changed = if runs {
            self.claude.silent.remove(&process)
        } else if !self.had_time_for_its_bell(pair, process) {
            false
        } else {
            self.claude.silent.insert(process)
        };
        if !changed {
            return;
        }
        if !runs {
            let event = LifecycleEvent::DoorbellDead;
            self.note_fact(
                Party::System,
                EntryKind::Lifecycle { event },
                "Claude's monitor, the doorbell, has ended: messages wait for its next turn",
            );
        }
        self.hang_bell(pair);
        self.say_silence();
        self.status_changed();
    }

    /// This Claude runs our hooks.
    pub(in crate::daemon) fn ran_a_hook(&mut self, process: u32) {
        if self.claude.hooked.len() == HOOKED_MAX {
            self.claude.hooked.pop_first();
        }
        self.claude.hooked.insert(process);
    }

    /// Whether a doorbell that is not there was there, or would be by now.
    fn had_time_for_its_bell(&self, pair: &RuntimeSession, process: u32) -> bool {
        let bridge = self.claude_receiver(pair);
        let bridge = bridge.filter(|bridge| bridge.hello.agent_pid == Some(process));
        self.claude.heard.contains(&process)
            || bridge.is_some_and(|bridge| now_ms() - bridge.since_ms > BELL_LATE_MS)
    }

    /// Has the operator know of a dead doorbell while that Claude lives.
    fn say_silence(&mut self) {
        let processes: Vec<u32> = self
            .bridges()
            .map(|(_, bridge)| bridge)
            .filter(|bridge| bridge.receiver)
            .filter_map(|bridge| bridge.hello.agent_pid)
            .collect();
        if processes
            .iter()
            .any(|process| self.claude.silent.contains(process))
        {
            self.notices.set(
                DOORBELL,
                "Claude's monitor has ended and Claude starts none again: messages reach it with \
                 its next tool call or turn; restart Claude to have it woken again",
            );
        } else {
            self.notices.clear(DOORBELL);
        }
    }

    /// Whether a hook is one of the Claude that gets the deliveries. A second Claude of the same
    /// pair gets none, and what it does is not what the first one does.
    pub(in crate::daemon) fn is_receivers_hook(
        &self,
        pair: &RuntimeSession,
        process: Option<u32>,
    ) -> bool {
        let Some(ladder) = self.claude.ladder(pair) else {
            return true;
        };
        if ladder.receiver().is_some() {
            return ladder.is_receivers(process);
        }
        // Without a bridge the doorbell tells who it is, and without both the hook is all there
        // is.
        let bell = ladder.bell().map(ConnId::of);
        let rung = bell.and_then(|bell| self.attachments.get(&bell)?.hello.agent_pid);
        match (rung, process) {
            (Some(rung), Some(process)) => rung == process,
            _ => true,
        }
    }

    /// A doorbell whose bridge died is a Claude too.
    pub(super) fn is_claude_here(&self) -> bool {
        self.attachments
            .values()
            .any(|attachment| attachment.hello.role == Role::Claude || attachment.doorbell)
    }

    pub(super) fn bridges(&self) -> impl Iterator<Item = (&ConnId, &Attachment)> {
        self.attachments
            .iter()
            .filter(|(_, attachment)| attachment.hello.role == Role::Claude)
    }

    pub(super) fn claude_receiver(&self, pair: &RuntimeSession) -> Option<&Attachment> {
        self.bridges()
            .map(|(_, bridge)| bridge)
            .find(|bridge| bridge.receiver && bridge.hello.runtime_session_id == *pair)
    }
}
