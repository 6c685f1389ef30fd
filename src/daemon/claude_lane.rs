//! How messages reach Claude: which bridge receives, which rung of the ladder rings, and what
//! was announced already.
//!
//! Nothing here is proof. A message is proven when a hook handed it into a turn, when it was
//! fetched, or when it was acknowledged; see `commands::inbox`.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::attach::{Attachment, ConnId, Outlet};
use super::inbox::Query;
use super::run::Daemon;
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::entry::{AgentChanged, EntryKind};
use crate::core::id::{EntryId, RuntimeSession};
use crate::wire::control::{DeliveryMode, Hello, Notification, PROTOCOL, Refusal, Role, Welcome};
use crate::wire::status::DeliveryStatus;

/// The longest doorbell line, in characters: Claude cuts a monitor's line at 500.
const RING_CHARS_MAX: usize = 500;

/// How many ids a doorbell line names.
const RING_IDS_MAX: usize = 4;

/// After a client's outlet was full it is tried again; clients empty theirs within milliseconds.
const OUTLET_REST: Duration = Duration::from_secs(1);

/// How many announcements are remembered before those of settled messages are forgotten.
const ANNOUNCED_MAX: usize = 1_000;

/// What was announced to whom.
#[derive(Debug, Default)]
pub struct ClaudeLane {
    rung: BTreeSet<(ConnId, EntryId)>,
    pushed: BTreeSet<(ConnId, EntryId)>,
    /// The state that was recorded last, durable or on its way: the world is behind by the latter.
    /// Offline at first, which is what the daemon's start means for the record.
    told: (AgentState, Option<u32>),
    /// A client's outlet was full: announce again then.
    retry_at: Option<Instant>,
}

impl ClaudeLane {
    /// Everything may be announced again: Claude's context is a new one.
    pub fn forget_rings(&mut self) {
        self.rung.clear();
        self.pushed.clear();
    }

    /// A message is sent once more.
    pub(super) fn forget_ring(&mut self, id: &EntryId) {
        self.rung.retain(|(_, rung)| rung != id);
        self.pushed.retain(|(_, pushed)| pushed != id);
    }

    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }
}

/// The ways up to Claude, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    Doorbell,
    Channel,
    Pull,
    None,
}

impl Daemon {
    pub(super) fn connect(
        &mut self,
        conn: ConnId,
        hello: Hello,
        operator: bool,
        outlet: Outlet,
    ) -> Result<Welcome, Refusal> {
        if hello.protocol != PROTOCOL {
            return Err(Refusal::new(
                "protocol_version",
                format!(
                    "the client speaks control protocol {}, the daemon {PROTOCOL}",
                    hello.protocol
                ),
                "restart the daemon and the agents so that all are of one version",
            ));
        }
        if self.stopping.is_some() {
            return Err(super::run::stopping());
        }
        if hello.runtime_session_id.as_str().is_empty()
            || hello.runtime_session_id.as_str().chars().count() > 100
        {
            return Err(Refusal::new(
                "invalid_arguments",
                "the runtime session id is empty or longer than 100 characters",
                "set CONTEXTRELAY_RUNTIME_SESSION to a short word",
            ));
        }
        let receiver =
            hello.role == Role::Claude && self.claude_receiver(&hello.runtime_session_id).is_none();
        if matches!(hello.role, Role::Claude | Role::Hook | Role::Codex)
            && let Some(pid) = hello.agent_pid
        {
            self.know_agent(pid);
        }
        let role = hello.role;
        let pid = hello.agent_pid;
        self.attachments.insert(
            conn,
            Attachment {
                hello,
                operator,
                receiver,
                doorbell: false,
                subscribed: false,
                since_ms: super::run::now_ms(),
                outlet,
            },
        );
        if role == Role::Claude && receiver {
            self.claude_attached(pid);
        }
        self.status_changed();
        self.pump_claude();
        Ok(Welcome {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance_id: self.identity.instance_id.clone(),
            session_id: self.session_id.clone(),
            receiver: receiver || role != Role::Claude,
            operator,
        })
    }

    pub(super) fn disconnect(&mut self, conn: ConnId) {
        let Some(gone) = self.attachments.remove(&conn) else {
            return;
        };
        self.claude.rung.retain(|(to, _)| *to != conn);
        self.claude.pushed.retain(|(to, _)| *to != conn);
        if gone.hello.role == Role::Claude && gone.receiver {
            // A second bridge of the same pair waited for the place.
            let heir = self.attachments.iter_mut().find(|(_, other)| {
                other.hello.role == Role::Claude
                    && other.hello.runtime_session_id == gone.hello.runtime_session_id
            });
            if let Some((_, heir)) = heir {
                heir.receiver = true;
                let pid = heir.hello.agent_pid;
                self.claude_attached(pid);
            } else if self.bridges().next().is_none() {
                self.turn_is_over(Agent::Claude);
                self.claude_is(AgentState::Offline, Some("its bridge is gone".to_owned()));
            }
        }
        self.status_changed();
        self.pump_claude();
    }

    fn claude_attached(&mut self, pid: Option<u32>) {
        let (state, known) = self.claude.told;
        if state.is_attached() && known == pid {
            return;
        }
        self.turn_is_over(Agent::Claude);
        self.note_claude(AgentState::Idle, pid, None, "Claude attached".to_owned());
    }

    fn note_claude(
        &mut self,
        state: AgentState,
        pid: Option<u32>,
        why: Option<String>,
        text: String,
    ) {
        self.claude.told = (state, pid);
        let entry = self.entry(
            Party::System,
            None,
            EntryKind::AgentChanged(AgentChanged {
                agent: Agent::Claude,
                state,
                pid,
                thread_id: None,
                why,
            }),
            text,
            None,
        );
        self.record(
            vec![entry],
            Box::new(|daemon, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = refusal.code, "Claude's state was not recorded");
                    let known = daemon.world.agent(Agent::Claude);
                    daemon.claude.told = (known.state, known.pid);
                }
            }),
        );
    }

    /// The state that was recorded last, durable or on its way.
    pub(super) fn claude_state(&self) -> AgentState {
        self.claude.told.0
    }

    /// Claude's own hooks say what it is doing.
    pub(super) fn claude_is(&mut self, state: AgentState, why: Option<String>) {
        let (known, pid) = self.claude.told;
        let attached = self.bridges().next().is_some();
        if known == state || (!attached && state.is_attached()) {
            return;
        }
        let text = match (&why, state) {
            (Some(why), _) => format!("Claude is {}: {why}", state.as_str()),
            (None, _) => format!("Claude is {}", state.as_str()),
        };
        let pid = pid.filter(|_| state != AgentState::Offline);
        self.note_claude(state, pid, why, text);
    }

    /// Claude's turn does something.
    pub(super) fn claude_gives_a_sign(&mut self) {
        if self.silences.is_on(Agent::Claude) {
            self.turn_lives(Agent::Claude);
            if matches!(
                self.claude_state(),
                AgentState::Stale | AgentState::Waiting | AgentState::Idle
            ) {
                self.claude_is(AgentState::Busy, None);
            }
        }
    }

    /// Claude shows a dialog.
    pub(super) fn claude_waits(&mut self) {
        self.turn_waits(Agent::Claude, true);
        let why = "it asks you something in its terminal".to_owned();
        self.claude_is(AgentState::Waiting, Some(why));
    }

    /// No turn of Claude runs.
    pub(super) fn claude_is_idle(&mut self) {
        self.turn_is_over(Agent::Claude);
        if self.limits.holds(Agent::Claude) {
            let why = "its last turn failed at the usage limit".to_owned();
            self.claude_is(AgentState::Limited, Some(why));
        } else {
            self.claude_is(AgentState::Idle, None);
        }
    }

    /// Whether a hook is one of the Claude that gets the deliveries. A second Claude of the same
    /// pair gets none, and what it does is not what the first one does.
    pub(super) fn is_receivers_hook(
        &self,
        runtime_session: &RuntimeSession,
        claude_pid: Option<u32>,
    ) -> bool {
        let receiver = self
            .claude_receiver(runtime_session)
            .and_then(|bridge| bridge.hello.agent_pid);
        match (receiver, claude_pid) {
            (Some(receiver), Some(claude)) => receiver == claude,
            // Without a bridge the hook is the only way there is.
            _ => true,
        }
    }

    pub(super) fn claude_deadline(&mut self) {
        if self.claude.retry_at.is_some_and(|at| Instant::now() >= at) {
            self.claude.retry_at = None;
            self.pump_claude();
        }
    }

    pub(super) fn attach_doorbell(&mut self, conn: ConnId) {
        if let Some(attachment) = self.attachments.get_mut(&conn) {
            attachment.doorbell = true;
        }
        self.status_changed();
        self.pump_claude();
    }

    /// Announces what has not been announced, by the best rung there is.
    pub(super) fn pump_claude(&mut self) {
        if self.limits.holds(Agent::Claude) {
            return;
        }
        let receivers: Vec<(ConnId, RuntimeSession)> = self
            .bridges()
            .filter(|(_, bridge)| bridge.receiver)
            .map(|(conn, bridge)| (*conn, bridge.hello.runtime_session_id.clone()))
            .collect();
        for (conn, runtime_session) in receivers {
            self.announce(conn, &runtime_session);
        }
    }

    fn announce(&mut self, bridge: ConnId, runtime_session: &RuntimeSession) {
        let Some(attachment) = self.attachments.get(&bridge) else {
            return;
        };
        let rung = self.rung(attachment);
        let pushes = attachment.hello.mode == DeliveryMode::Push || rung == Rung::Channel;
        let bell = self
            .doorbell_of(attachment)
            .filter(|_| rung == Rung::Doorbell);
        // Each entry comes by here: what was announced already is not read again.
        let news = self.outbox.lane(Agent::Claude).any(|row| {
            let pushed = || self.claude.pushed.contains(&(bridge, row.id.clone()));
            let rung = |bell| self.claude.rung.contains(&(bell, row.id.clone()));
            row.runtime_session == *runtime_session
                && self.may_be_offered(row)
                && (pushes && !pushed() || bell.as_ref().is_some_and(|(bell, _)| !rung(*bell)))
        });
        if !news {
            return;
        }
        let page = self.inbox(&Query {
            agent: Agent::Claude,
            runtime_session,
            after: None,
            reply_to: None,
            limit: Some(100),
            unasked: true,
        });
        if pushes {
            let outlet = attachment.outlet.clone();
            for message in &page.messages {
                let key = (bridge, message.message_id.clone());
                if self.claude.pushed.contains(&key) {
                    continue;
                }
                if outlet.send(Notification::Push(message.clone())) {
                    self.claude.pushed.insert(key);
                } else {
                    self.claude.retry_at = Some(Instant::now() + OUTLET_REST);
                }
            }
        }
        if let Some((bell, outlet)) = bell {
            let fresh = page.messages.iter().any(|message| {
                !self
                    .claude
                    .rung
                    .contains(&(bell, message.message_id.clone()))
            });
            if !fresh {
                return;
            }
            let line = ring_line(
                &page
                    .messages
                    .iter()
                    .map(|m| (m.from.as_str(), m.message_id.as_str()))
                    .collect::<Vec<_>>(),
            );
            if outlet.send(Notification::Ring { line }) {
                for message in page.messages {
                    self.claude.rung.insert((bell, message.message_id));
                }
            } else {
                self.claude.retry_at = Some(Instant::now() + OUTLET_REST);
            }
        }
        self.forget_settled();
    }

    /// What is settled is announced no more; forgotten now and then, so that a long session does
    /// not remember every message it ever had.
    fn forget_settled(&mut self) {
        let outbox = &self.outbox;
        for announced in [&mut self.claude.rung, &mut self.claude.pushed] {
            if announced.len() > ANNOUNCED_MAX {
                announced.retain(|(_, id)| outbox.get(id).is_some());
            }
        }
    }

    fn bridges(&self) -> impl Iterator<Item = (&ConnId, &Attachment)> {
        self.attachments
            .iter()
            .filter(|(_, attachment)| attachment.hello.role == Role::Claude)
    }

    fn claude_receiver(&self, runtime_session: &RuntimeSession) -> Option<&Attachment> {
        self.bridges()
            .map(|(_, bridge)| bridge)
            .find(|bridge| bridge.receiver && bridge.hello.runtime_session_id == *runtime_session)
    }

    /// The doorbell of the same Claude process.
    fn doorbell_of(&self, bridge: &Attachment) -> Option<(ConnId, Outlet)> {
        let claude = bridge.hello.agent_pid?;
        self.attachments
            .iter()
            .find(|(_, other)| other.doorbell && other.hello.agent_pid == Some(claude))
            .map(|(conn, other)| (*conn, other.outlet.clone()))
    }

    fn rung(&self, bridge: &Attachment) -> Rung {
        match bridge.hello.mode {
            DeliveryMode::Pull => Rung::Pull,
            DeliveryMode::Push | DeliveryMode::Auto if self.doorbell_of(bridge).is_some() => {
                Rung::Doorbell
            }
            DeliveryMode::Push | DeliveryMode::Auto => Rung::Channel,
        }
    }

    /// How messages reach Claude now, in words.
    pub(super) fn claude_delivery(&self) -> DeliveryStatus {
        let default = RuntimeSession::default();
        let bridge = self.claude_receiver(&default).or_else(|| {
            self.bridges()
                .map(|(_, bridge)| bridge)
                .find(|b| b.receiver)
        });
        let (rung, mode) = bridge.map_or((Rung::None, DeliveryMode::Auto), |bridge| {
            (self.rung(bridge), bridge.hello.mode)
        });
        let since = bridge.map_or(i64::MAX, |bridge| bridge.since_ms);
        let proven_by = self
            .world
            .agent(Agent::Claude)
            .proven_rung
            .filter(|(_, at_ms)| *at_ms >= since)
            .map(|(rung, _)| rung);
        let (name, why) = match rung {
            Rung::Doorbell => (
                "doorbell",
                "the plugin's monitor wakes Claude, its hook hands the text into that turn",
            ),
            Rung::Channel => (
                "channel",
                "no doorbell is attached; Claude never says whether a channel push arrived",
            ),
            Rung::Pull => ("pull", "CONTEXTRELAY_MODE=pull: Claude asks by itself"),
            Rung::None => ("none", "no Claude bridge is attached; messages wait here"),
        };
        let proven = match (&proven_by, rung) {
            (Some(by), Rung::Doorbell) => by == "doorbell" || by == "hook",
            (Some(by), Rung::Channel) => by == "channel",
            (Some(by), Rung::Pull) => by == "pull",
            _ => false,
        };
        let why = match proven_by {
            Some(by) if !proven => format!("{why}; the last message arrived by {by}"),
            _ => why.to_owned(),
        };
        DeliveryStatus {
            mode: mode.as_str().to_owned(),
            rung: name.to_owned(),
            proven,
            why,
        }
    }
}

/// One line without a body: `contextrelay: 2 new messages from codex (ids …). Call get_messages.`
fn ring_line(messages: &[(&str, &str)]) -> String {
    let mut senders: Vec<&str> = messages.iter().map(|(from, _)| *from).collect();
    senders.sort_unstable();
    senders.dedup();
    let mut ids: Vec<&str> = messages
        .iter()
        .take(RING_IDS_MAX)
        .map(|(_, id)| *id)
        .collect();
    if messages.len() > RING_IDS_MAX {
        ids.push("…");
    }
    let (count, id_s) = match messages.len() {
        1 => ("1 new message".to_owned(), ""),
        n => (format!("{n} new messages"), "s"),
    };
    let line = format!(
        "contextrelay: {count} from {} (id{id_s} {}). Call get_messages.",
        senders.join(" and "),
        ids.join(", ")
    );
    line.chars().take(RING_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_doorbell_line_stays_short_however_many_wait() {
        let id = "0198aa00-0000-7000-8000-000000000000";
        assert_eq!(
            ring_line(&[("codex", "41")]),
            "contextrelay: 1 new message from codex (id 41). Call get_messages."
        );
        let many = vec![("codex", id); 500];
        let line = ring_line(&many);
        assert!(line.starts_with("contextrelay: 500 new messages from codex (ids "));
        assert!(line.ends_with("Call get_messages."), "{line}");
        assert!(line.chars().count() <= RING_CHARS_MAX);
    }
}
