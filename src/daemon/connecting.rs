//! Clients connect and disconnect: passes what [`Clients`] returns to the lane to Claude, the
//! record and the operator.

use tokio::time::Instant;

use super::attach::{ConnId, Outlet};
use super::owners::{Base, Daemon};
use super::peer::ClientProcess;
use super::reply::stopping;
use crate::core::agent::Party;
use crate::core::delivery::{ClaudeInput, LadderInput};
use crate::core::entry::LifecycleEvent;
use crate::daemon::agents::claude::tools;
use crate::daemon::agents::registering::know_agents;
use crate::daemon::base::clients::{ANSWER_MS, Clients, Newcomer, PlaceLost};
use crate::daemon::base::clock::now_ms;
use crate::wire::control::{Hello, PROTOCOL, Refusal, Role, Welcome};

impl Daemon {
    pub(super) fn connect(
        &mut self,
        conn: ConnId,
        hello: Hello,
        operator: bool,
        process: Option<ClientProcess>,
        outlet: Outlet,
    ) -> Result<Welcome, Refusal> {
        Clients::check_protocol(&hello)?;
        if self.base.operations.is_stopping() {
            return Err(stopping());
        }
        let role = hello.role;
        let (itself, agent) = match process {
            Some(ClientProcess { itself, agent }) => (Some(itself), agent),
            None => (None, None),
        };
        let newcomer = Newcomer {
            hello,
            operator,
            process: itself,
            since_ms: now_ms(),
            outlet,
        };
        let now_ms = self.base.clock.now_ms();
        let receiver = self.base.clients.connect(conn, newcomer, now_ms)?;
        // The parent of a bridge or hook is an agent.
        let agent = agent.into_iter().collect();
        know_agents(&mut self.agents.agent_processes, &self.base.reads(), agent);
        if role == Role::Claude {
            tools::came(&self.base.clients, &mut self.agents.claude_processes, conn);
        }
        if receiver {
            self.receives(conn);
        }
        self.base.say_second_claude();
        self.base.clients.status_changed();
        Ok(Welcome {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance_id: self.base.identity.instance_id().to_owned(),
            session_id: self.base.recorder.session_id().clone(),
            receiver: receiver || role != Role::Claude,
            operator,
        })
    }

    pub(super) fn disconnect(&mut self, conn: ConnId) {
        // It was given the answer, and the dialog is closed: the tool that was asked about may run long.
        if let Some(pair) = self.decisions.approvals.answered_by(conn).cloned() {
            self.claude_hears(&pair, ClaudeInput::Answered);
        }
        if let Some(pair) = self.decisions.asking_hook_left(&mut self.base, conn) {
            self.claude_stopped(&pair);
        }
        if let Some(gone) = self.base.clients.disconnect(conn) {
            self.claude_client_left(conn, &gone);
            self.base.say_second_claude();
            self.base.clients.status_changed();
        }
    }

    pub(super) fn place_deadline(&mut self) {
        let now_ms = self.base.clock.now_ms();
        for (pair, heir) in self.base.clients.free_places(now_ms) {
            self.place_is_free(&pair, heir);
            self.claude_hears(&pair, ClaudeInput::StaysAway);
            self.forget_left_claudes();
            self.base.clients.status_changed();
        }
        for lost in self.base.clients.probes_due(now_ms) {
            self.place_was_lost(lost);
        }
    }

    /// The newcomer receives from now on.
    fn place_was_lost(&mut self, lost: PlaceLost) {
        let PlaceLost {
            pair,
            holder,
            pid,
            heir,
        } = lost;
        self.base.recorder.mention(
            Party::System,
            LifecycleEvent::ClaudeBridgeReplaced,
            format!(
                "Claude's bridge (pid {pid}) did not answer for {} s: another one that waited for \
                 its place receives from now on",
                ANSWER_MS / 1_000
            ),
        );
        let bridge = holder.number();
        self.tell_ladder(&pair, LadderInput::Left { bridge });
        self.base.clients.tell_receiver(holder, false);
        self.place_is_free(&pair, Some(heir));
        self.base.clients.status_changed();
    }
}

impl Base {
    /// A client answered a ping.
    pub(super) fn ping_answered(&mut self, conn: ConnId) {
        let now_ms = self.clock.now_ms();
        self.clients.ping_answered(conn, now_ms);
    }

    /// When a bridge that was asked whether it lives must have answered, or is asked again, or the
    /// place of a pair is kept no longer.
    pub(super) fn next_place(&self) -> Option<Instant> {
        let next_ms = self.clients.next_place_ms();
        next_ms.map(|at_ms| self.clock.instant(at_ms))
    }
}
