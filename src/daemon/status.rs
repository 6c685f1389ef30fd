//! [`Status`] of a running daemon, from the folded world and what is currently attached.

use std::collections::{BTreeMap, BTreeSet};

use super::commands::policy::policy_status;
use super::owners::{Agents, Base, Daemon, Decisions, Deliveries};
use super::tamper::FileWatch;
use crate::core::agent::{Agent, AgentState};
use crate::core::id::{EntryId, RuntimeSession};
use crate::core::snapshot::AgentStatus;
use crate::daemon::agents::claude::tools;
use crate::daemon::agents::claude_lane::ShownClaude;
use crate::daemon::agents::codex_lane::CodexParts;
use crate::daemon::base::clock::now_ms;
use crate::daemon::base::foreign::has_open_alarm;
use crate::daemon::base::notices::Notices;
use crate::store::ledger::Stats;
use crate::wire::control::PROTOCOL;
use crate::wire::status::{
    AbsentPair, AgentsStatus, ApprovalsStatus, AutonomyStatus, CHAIN_BROKEN, ChainState,
    ClaudeStatus, CodexStatus, ContinuityStatus, FinalityStatus, FindingsStatus, GatesStatus,
    HandoffsStatus, HeadStatus, LaneStatus, LedgerStatus, NoticeKey, PairStatus, QueueStatus,
    Status, TasksStatus,
};

/// Messages whose turn ended early that are named, of each agent.
const CUT_OFF_TOLD_MAX: usize = 100;

impl Daemon {
    pub(super) fn status(&self) -> Status {
        let notices = self.notices();
        let stats = self.base.recorder.ledger().stats();
        let parts = self.agents.codex.status_parts();
        let approvals =
            self.decisions
                .approvals_status(&self.base, parts.approvals, parts.waiting_helpers);
        let codex_port = parts.port;
        Status {
            running: true,
            answers: true,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            pid: Some(std::process::id()),
            started_at: Some(self.base.identity.started_ms()),
            instance_id: self.base.identity.instance_id().to_owned(),
            project_root: self.base.dirs.root.display().to_string(),
            state_dir: self.base.dirs.state.display().to_string(),
            daemon_identity: Some(self.base.identity.fingerprint().to_owned()),
            control_port: Some(self.base.identity.control_port()),
            codex_port,
            proxy_port: Some(self.base.identity.proxy_port()),
            session_id: Some(self.base.recorder.session_id().clone()),
            ledger: LedgerStatus {
                path: self.base.recorder.ledger().path().display().to_string(),
                entries: stats.entries,
                bytes: stats.bytes,
                chain: self.base.chain_state(&self.files, &stats),
                head: stats.head.map(|(seq, hash)| HeadStatus { seq, hash }),
                bad_lines: stats.bad_lines,
            },
            agents: AgentsStatus {
                claude: self.claude_status(),
                codex: self.codex_status(parts),
            },
            queue: QueueStatus {
                claude: self.deliveries.lane_status(Agent::Claude),
                codex: self.deliveries.lane_status(Agent::Codex),
            },
            exchanges: self.deliveries.exchanges(&self.base),
            handoffs: HandoffsStatus::of(self.base.recorder.world()),
            tasks: TasksStatus::of(self.base.recorder.world(), now_ms()),
            findings: FindingsStatus::of(self.base.recorder.world()),
            capsule: self
                .base
                .recorder
                .world()
                .current_task(&RuntimeSession::default())
                .map(|task| task.id.clone()),
            finality: FinalityStatus::of(self.base.recorder.world(), self.base.sign_off()),
            gates: GatesStatus {
                in_force: self.base.configuration.told_gates(),
                running: self.decisions.gates.running(),
            },
            approvals,
            policy: policy_status(
                &self.base.configuration,
                &self.base.recorder,
                &self.base.clients,
                &self.agents.claude_processes,
            ),
            autonomy: AutonomyStatus { enabled: false },
            notices: notices.lines(),
            notice_keys: notices.keys(),
            detached: self.base.identity.is_detached(),
            decks: self.base.clients.decks() as u64,
            kept_open: self.on_its_way(),
        }
    }

    fn claude_status(&self) -> ClaudeStatus {
        let claude = self.agents.claude_as_it_is(&self.base);
        let turn = self.agents.claude.shown().map(|(_, _, turn)| turn);
        let (base, agents) = (&self.base, &self.agents);
        let since = agents.state_since(base, Agent::Claude, claude.state, claude.since_ms);
        let tools_gone = tools::gone(&base.clients, &agents.claude_processes, None);
        let cut_off = self.deliveries.cut_off(base, &agents.claude, Agent::Claude);
        let (clock_ms, outside_ms) = (base.clock.now_ms(), base.clock.outside_ms());
        ClaudeStatus {
            state: claude.state,
            since,
            delivery: agents.claude_delivery(base, &self.deliveries.outbox),
            pid: claude.pid,
            turn_text: turn.and_then(ShownClaude::words),
            tool: turn.and_then(ShownClaude::tool),
            asking_helpers: agents.claude.asking_helpers() as u64,
            tools_gone: tools_gone.is_some(),
            why: tools_gone.or(claude.why),
            installed: base.programs.is_installed(Agent::Claude),
            unread: self.deliveries.outbox.backlog().count(Agent::Claude) as u64,
            silence: agents.silences.status(Agent::Claude, clock_ms),
            limit: agents.limits.status(Agent::Claude, outside_ms),
            cut_off: cut_off.len() as u64,
            cut_off_ids: named_cut_off(&cut_off),
            context: agents.contexts.fill(Agent::Claude),
            continuity: agents.continuity_status(base, Agent::Claude),
            pairs: pairs_of(&claude.statuses),
            absent_pairs: self.absent_pairs(),
        }
    }

    fn codex_status(&self, parts: CodexParts) -> CodexStatus {
        let (base, agents) = (&self.base, &self.agents);
        let codex = base.recorder.world().agent(Agent::Codex);
        let state = agents.codex.state();
        // The record may say nothing of it: a compaction is no turn that anybody asked for.
        let since_ms = match codex.state == state {
            true => codex.since_ms,
            false => agents.codex.state_since_ms().unwrap_or_default(),
        };
        let since = agents.state_since(base, Agent::Codex, state, since_ms);
        let mut delivery = parts.delivery;
        delivery.proven = codex
            .proven_rung
            .as_ref()
            .is_some_and(|(_, at_ms)| *at_ms >= base.identity.started_ms());
        let cut_off = self.deliveries.cut_off(base, &agents.claude, Agent::Codex);
        let (clock_ms, outside_ms) = (base.clock.now_ms(), base.clock.outside_ms());
        CodexStatus {
            state,
            since,
            delivery,
            thread_id: parts.thread_id,
            turn_id: parts.turn_id,
            turn_text: codex.turn_text.clone(),
            command: agents.shown_turn.command(),
            tool: agents.shown_turn.tool(),
            retrying: agents.shown_turn.retrying().cloned(),
            app_server: parts.app_server,
            tui: parts.tui,
            why: parts.trouble.or_else(|| codex.why.clone()),
            installed: base.programs.is_installed(Agent::Codex),
            hook: agents.codex.hook_review().cloned(),
            context: agents.contexts.fill(Agent::Codex),
            continuity: agents.continuity_status(base, Agent::Codex),
            silence: agents.silences.status(Agent::Codex, clock_ms),
            limit: agents.limits.status(Agent::Codex, outside_ms),
            cut_off: cut_off.len() as u64,
            cut_off_ids: named_cut_off(&cut_off),
            held: agents.codex.is_paused(),
            needs_sign_in: agents.codex.needs_sign_in(),
        }
    }
}

/// The messages whose turn ended early, as far as they are named.
fn named_cut_off(ids: &[EntryId]) -> Vec<EntryId> {
    ids.iter().take(CUT_OFF_TOLD_MAX).cloned().collect()
}

impl Daemon {
    /// What the operator should know now, with what follows from the state of the record.
    fn notices(&self) -> Notices {
        let mut notices = self.base.notices.clone();
        let stats = self.base.recorder.ledger().stats();
        let is_broken = self.base.chain_state(&self.files, &stats) == ChainState::Broken;
        if is_broken && !notices.has(&NoticeKey::Touched) {
            notices.set(NoticeKey::Chain, CHAIN_BROKEN);
        }
        notices
    }
}

impl Decisions {
    /// How much waits for the person's answer. What helper threads ask is not in the record; of what
    /// Codex's adapter counts (`of_codex`) the record may have more, which another daemon was asked,
    /// or less, where it has no room. What is on its way to it can be answered only when it is there.
    fn approvals_status(
        &self,
        base: &Base,
        of_codex: u64,
        waiting_helpers: u64,
    ) -> ApprovalsStatus {
        let world = base.recorder.world();
        let known = self.approvals.of_codex(world) as u64;
        let elsewhere = of_codex.saturating_sub(known) + waiting_helpers;
        ApprovalsStatus {
            pending: world.open_approvals.len() as u64 + elsewhere,
            elsewhere,
        }
    }
}

impl Agents {
    /// Since when an agent is in its state, ms. A limit holds since it was hit, whatever was recorded
    /// of the agent since then.
    fn state_since(
        &self,
        base: &Base,
        agent: Agent,
        state: AgentState,
        since_ms: i64,
    ) -> Option<i64> {
        let limit = self.limits.status(agent, base.clock.outside_ms());
        let limit = limit.filter(|_| state == AgentState::Limited);
        limit
            .map(|limit| limit.since)
            .or(Some(since_ms))
            .filter(|since_ms| *since_ms > 0)
    }

    fn continuity_status(&self, base: &Base, agent: Agent) -> ContinuityStatus {
        let world = base.recorder.world();
        let state = world.told_of(agent, &RuntimeSession::default());
        let cost = self.costs.today(agent, base.clock.outside_ms());
        ContinuityStatus {
            instructions_read: self.rules_watch.said_by_one(agent).cloned(),
            compacting: match agent {
                Agent::Claude => self.claude.is_compacting(base.clock.now_ms()),
                Agent::Codex => self.codex.is_compacting(),
            },
            ..ContinuityStatus::of(&state, Some(cost))
        }
    }
}

impl Daemon {
    /// For whom messages wait that no Claude takes which is here.
    fn absent_pairs(&self) -> Vec<AbsentPair> {
        let claude = &self.agents.claude;
        let shown = claude.shown().map(|(pair, _, _)| pair);
        let is_here = |pair: &RuntimeSession| {
            let state = claude.state(pair);
            state.is_some_and(|state| state.now().state.is_attached())
        };
        let first = RuntimeSession::default();
        let shown = shown.unwrap_or(&first);
        let lane = self.deliveries.outbox.lane(Agent::Claude);
        let pairs: BTreeSet<&RuntimeSession> = lane.map(|row| &row.runtime_session).collect();
        let absent = pairs.into_iter();
        let absent = absent.filter(|pair| *pair != shown && !is_here(pair));
        let absent = absent.map(|pair| AbsentPair {
            pair: pair.to_string(),
            unread: self.deliveries.unread(Agent::Claude, pair),
        });
        absent.filter(|absent| absent.unread > 0).collect()
    }
}

impl Base {
    /// How the chain is in the file as it lies there, not only in what this process wrote.
    fn chain_state(&self, files: &FileWatch, stats: &Stats) -> ChainState {
        if !stats.chain_ok || files.is_altered() {
            ChainState::Broken
        } else if has_open_alarm(&self.recorder) {
            ChainState::Touched
        } else {
            ChainState::Ok
        }
    }
}

impl Deliveries {
    fn lane_status(&self, agent: Agent) -> LaneStatus {
        let counts = self.outbox.backlog().counts(agent);
        LaneStatus {
            pending: counts.queued as u64,
            in_flight: counts.on_their_way as u64,
            ambiguous: counts.ambiguous as u64,
        }
    }
}

fn pairs_of(statuses: &BTreeMap<RuntimeSession, AgentStatus>) -> Vec<PairStatus> {
    let pairs = statuses.iter().map(|(pair, status)| PairStatus {
        pair: pair.to_string(),
        state: status.state,
        since: status.since_ms,
        pid: status.pid,
    });
    pairs.collect()
}
