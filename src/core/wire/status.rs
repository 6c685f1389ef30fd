//! [`Status`]: what `ctxrelay status --json` prints, from a live daemon or from the disk alone.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::agent::AgentState;
use crate::context_fill::ContextFill;
use crate::continuity::{ContinuityState, Staleness};
use crate::delivery::{DeliveryWay, LimitMode, Watched};
use crate::id::{EntryId, SessionId, ThreadId, TurnId};
use crate::instructions::FileName;
use crate::policy::{Coordinator, RuleInForce, SignOffMode};
use crate::relay_cost::RelayCost;
use crate::snapshot::{GateInForce, Snapshot};
use crate::word::words;

/// How many decisions a status tells.
const DECIDED_MAX: usize = 5;

/// How much of the reason of a decision a status tells, in characters.
const REASON_CHARS_MAX: usize = 500;

/// The state of one project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// A daemon answers.
    pub running: bool,
    /// It answers. One that runs and does not has the project's lock, and nothing else is known.
    #[serde(default)]
    pub answers: bool,
    /// Its version.
    pub version: String,
    /// Its control protocol.
    pub protocol: u32,
    /// Its process.
    pub pid: Option<u32>,
    /// When it started, ms since the epoch.
    pub started_at: Option<i64>,
    /// The project's instance.
    pub instance_id: String,
    /// The project.
    pub project_root: String,
    /// Its plumbing.
    pub state_dir: String,
    /// A prefix of the SHA-256 of the daemon's identity, never the secret.
    pub daemon_identity: Option<String>,
    /// The control port.
    pub control_port: Option<u16>,
    /// The app-server's port; `None` while none runs.
    pub codex_port: Option<u16>,
    /// The proxy's port.
    pub proxy_port: Option<u16>,
    /// The current session.
    pub session_id: Option<SessionId>,
    /// The record.
    pub ledger: LedgerStatus,
    /// The agents.
    pub agents: AgentsStatus,
    /// The outbox.
    pub queue: QueueStatus,
    /// Handoffs.
    pub handoffs: HandoffsStatus,
    /// The task lanes.
    pub tasks: TasksStatus,
    /// Findings of reviews.
    pub findings: FindingsStatus,
    /// Sign-off.
    pub finality: FinalityStatus,
    /// The gates that are trusted.
    pub gates: GatesStatus,
    /// Approvals that wait.
    pub approvals: ApprovalsStatus,
    /// Policy.
    pub policy: PolicyStatus,
    /// Autonomy.
    pub autonomy: AutonomyStatus,
    /// Sentences that a person should read; empty when all is well.
    pub notices: Vec<String>,
    /// What each of these is about, one word each, the same for as long as it holds; empty without
    /// a daemon, and of a daemon of an earlier build.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notice_keys: Vec<String>,
    /// A detached daemon that ends by itself when nothing is attached.
    pub detached: bool,
}

/// The record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct LedgerStatus {
    /// The file.
    pub path: String,
    /// Entries in it, bad lines not counted.
    pub entries: u64,
    /// Its size.
    pub bytes: u64,
    /// Its last entry.
    pub head: Option<HeadStatus>,
    /// What its chain says of it.
    pub chain: ChainState,
    /// Lines that are no entries.
    pub bad_lines: u64,
}

words! {
    /// What the chain of a record says of it.
    pub enum ChainState {
        /// The file is as it was written.
        Ok = "ok",
        /// It is not.
        Broken = "broken",
        /// It is, and the operator has not acknowledged what somebody else did to it.
        Touched = "touched",
        /// Its entries have no chain; said without a daemon.
        Unchained = "unchained",
        /// Nobody looked; said without a daemon.
        Unchecked = "unchecked",
    }
}

/// Nothing is known, which is said with an empty word.
impl Default for ChainState {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// The last entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct HeadStatus {
    /// Its place.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// The agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct AgentsStatus {
    /// Claude Code.
    pub claude: ClaudeStatus,
    /// Codex.
    pub codex: CodexStatus,
}

/// Claude Code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaudeStatus {
    /// What it is doing.
    pub state: AgentState,
    /// Since when, ms since the epoch.
    pub since: Option<i64>,
    /// How messages reach it.
    pub delivery: DeliveryStatus,
    /// Its process.
    pub pid: Option<u32>,
    /// Why it is in this state.
    pub why: Option<String>,
    /// The program was found.
    pub installed: bool,
    /// Messages that it has not acknowledged.
    pub unread: u64,
    /// How silent its turn is; `None` while none runs.
    pub silence: Option<SilenceStatus>,
    /// The usage limit that holds.
    pub limit: Option<LimitStatus>,
    /// Messages whose turn ended early, which the operator can have sent again.
    pub cut_off: u64,
    /// Its bridge died while it lives: it has none of our tools.
    pub tools_gone: bool,
    /// How full its context is.
    pub context: ContextFill,
    /// How it keeps the thread of its work.
    pub continuity: ContinuityStatus,
}

/// How an agent keeps the thread of its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContinuityStatus {
    /// What is to be reached, its beginning where it is long.
    pub objective: Option<String>,
    /// Turns that it began since it last said something of its state.
    pub turns_since_written: u64,
    /// `fresh`, `mild` or `loud`.
    pub staleness: String,
    /// The last packet that it was given or is to be given.
    pub last_packet: Option<PacketStatus>,
    /// The instruction files of the project that it says it read by itself; none where it does not
    /// say, or no daemon heard it.
    pub instructions_read: Option<BTreeSet<FileName>>,
    /// How much of ours its model was given today; none without a daemon.
    pub cost_today: Option<CostStatus>,
    /// Its context is being compacted right now, as far as is known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compacting: bool,
}

/// A packet, and how far it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct PacketStatus {
    /// Its entry.
    pub seq: u64,
    /// Why.
    pub cause: String,
    /// By which way.
    pub way: String,
    /// `offered`, `given`, `not_given` or `unknown`.
    pub state: String,
}

/// Texts of ours that an agent's model was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CostStatus {
    /// All of them, in characters.
    pub chars: u64,
    /// Tokens, about.
    pub tokens_estimate: u64,
    /// By their sort, in characters.
    #[serde(flatten)]
    pub of: RelayCost,
}

impl From<RelayCost> for CostStatus {
    fn from(of: RelayCost) -> Self {
        Self {
            chars: of.chars(),
            tokens_estimate: of.tokens_estimate(),
            of,
        }
    }
}

impl ContinuityStatus {
    /// As the folded world tells it.
    pub fn of(state: Option<&ContinuityState>, cost: Option<RelayCost>) -> Self {
        let turns = state.map_or(0, |state| state.turns_since_written);
        let objective = state.and_then(|state| state.objective.as_ref());
        let packet = state.and_then(|state| state.packet.as_ref());
        Self {
            objective: objective.map(|said| said.text.chars().take(REASON_CHARS_MAX).collect()),
            turns_since_written: turns,
            staleness: Staleness::of(turns).as_str().to_owned(),
            last_packet: packet.map(|packet| PacketStatus {
                seq: packet.seq.0,
                cause: packet.cause.to_string(),
                way: packet.way.to_string(),
                state: packet.step.as_str().to_owned(),
            }),
            instructions_read: None,
            cost_today: cost.map(CostStatus::from),
            compacting: false,
        }
    }
}

/// How silent a running turn is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SilenceStatus {
    /// What is made of it.
    pub level: Watched,
    /// For how long it has given no sign, in s, without what it spent waiting for the human.
    pub seconds: u64,
    /// Since when that is, ms since the epoch, for who counts on.
    pub since: i64,
    /// After how many it is suspect; stuck after twice as many.
    pub suspect_after_seconds: u64,
    /// The operator lets it be until then, ms since the epoch.
    pub snoozed_until: Option<i64>,
}

/// A usage limit that holds. Messages wait meanwhile, whatever the mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitStatus {
    /// `rateLimitResume.mode`.
    pub mode: LimitMode,
    /// Since when, ms since the epoch.
    pub since: i64,
    /// When it ends, ms since the epoch, as far as the vendor has said.
    pub resets_at: Option<i64>,
    /// When it is tried by itself, ms since the epoch; `None`: when the operator says so, or a
    /// turn of theirs works.
    pub next_try: Option<i64>,
    /// Tries since a turn last worked.
    pub tries: u32,
    /// How many there are at most in a row.
    pub tries_max: u32,
    /// How many messages are then sent again.
    pub again: u64,
    /// The operator has taken the tries over.
    pub cancelled: bool,
}

/// How messages reach an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct DeliveryStatus {
    /// `push`, `pull` or `auto`.
    pub mode: String,
    /// By which way.
    pub rung: DeliveryWay,
    /// A message provably arrived this way since the agent attached.
    pub proven: bool,
    /// In words.
    pub why: String,
}

/// Codex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CodexStatus {
    /// What it is doing.
    pub state: AgentState,
    /// Since when, ms since the epoch.
    pub since: Option<i64>,
    /// How messages reach it.
    pub delivery: DeliveryStatus,
    /// The thread.
    pub thread_id: Option<ThreadId>,
    /// The turn that runs.
    pub turn_id: Option<TurnId>,
    /// What the running turn is about.
    pub turn_text: Option<String>,
    /// The command that it runs right now, of several the one that began last.
    pub command: Option<CommandStatus>,
    /// The app-server.
    pub app_server: Option<AppServerStatus>,
    /// The terminal is connected through the proxy.
    pub tui: bool,
    /// Why it is in this state.
    pub why: Option<String>,
    /// The program was found.
    pub installed: bool,
    /// What Codex says of our hook; `None`: its app-server was started without it.
    pub hook: Option<HookReview>,
    /// How full its context is.
    pub context: ContextFill,
    /// How it keeps the thread of its work.
    pub continuity: ContinuityStatus,
    /// How silent its turn is; `None` while none runs.
    pub silence: Option<SilenceStatus>,
    /// The usage limit that holds.
    pub limit: Option<LimitStatus>,
    /// Messages whose turn ended early, which the operator can have sent again.
    pub cut_off: u64,
    /// The human stopped a turn: what waits goes on when they say so.
    pub held: bool,
}

words! {
    /// What became of Codex's own review of our hook.
    pub enum HookReview {
        /// Its person has not reviewed it, or turned it off: Codex leaves it out.
        Unreviewed = "unreviewed",
        /// Codex runs it.
        Trusted = "trusted",
    }
}

/// A command that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CommandStatus {
    /// The command line or its beginning, without secrets; hostile.
    pub text: String,
    /// Since when, ms since the epoch.
    pub since: i64,
}

/// The app-server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AppServerStatus {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
}

/// The outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct QueueStatus {
    /// For Claude.
    pub claude: LaneStatus,
    /// For Codex.
    pub codex: LaneStatus,
}

/// One receiver's lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct LaneStatus {
    /// Recorded or queued.
    pub pending: u64,
    /// Attempted or offered.
    pub in_flight: u64,
    /// Unknown.
    pub ambiguous: u64,
}

/// Handoffs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct HandoffsStatus {
    /// Not answered.
    pub open: u64,
}

/// Findings of reviews.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct FindingsStatus {
    /// About which something is still to be done.
    pub open: u64,
    /// Those of them that are critical or high, and keep work from being done.
    pub blocking: u64,
}

impl FindingsStatus {
    /// As the record tells.
    pub fn of(world: &Snapshot) -> Self {
        Self {
            open: world.live_findings().count() as u64,
            blocking: world.blocking_findings().count() as u64,
        }
    }
}

/// The task lanes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TasksStatus {
    /// Handed over, not with the receiver yet.
    pub open: u64,
    /// With the receiver.
    pub active: u64,
    /// Somebody noted a blocker.
    pub blocked: u64,
    /// With the receiver for long.
    pub stale: u64,
    /// Answered.
    pub done: u64,
}

/// Sign-off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct FinalityStatus {
    /// `manual`: only the operator decides.
    pub mode: String,
    /// Proposals that wait.
    pub pending: Vec<EntryId>,
    /// The operator's last decisions, newest first.
    #[serde(default)]
    pub decided: Vec<DecidedStatus>,
}

/// The project's gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GatesStatus {
    /// Those that the operator trusts.
    pub in_force: Vec<GateInForce>,
    /// The one that runs.
    pub running: Option<GateRunning>,
}

/// The gate that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GateRunning {
    /// Its name.
    pub name: String,
    /// Since when, ms since the epoch.
    pub since: i64,
    /// How many come after it.
    pub left: u64,
    /// The last lines that it printed.
    pub lines: Vec<String>,
}

/// A decision of the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecidedStatus {
    /// The proposal.
    pub proposal_id: EntryId,
    /// `approved` or `rejected`.
    pub verdict: String,
    /// Why; its beginning when it is long.
    pub reason: Option<String>,
    /// When, ms since the epoch.
    pub at: i64,
}

impl FinalityStatus {
    /// As the folded world tells it.
    pub fn of(world: &Snapshot, mode: SignOffMode) -> Self {
        let latest = world.decided_proposals.iter().rev().take(DECIDED_MAX);
        Self {
            mode: mode.to_string(),
            pending: world.pending_proposals.keys().cloned().collect(),
            decided: latest
                .filter_map(|proposal| {
                    let (decision, at_ms) = proposal.decision.as_ref()?;
                    let reason = decision.reason.as_ref();
                    Some(DecidedStatus {
                        proposal_id: proposal.id.clone(),
                        verdict: decision.verdict().to_owned(),
                        reason: reason.map(|text| text.chars().take(REASON_CHARS_MAX).collect()),
                        at: *at_ms,
                    })
                })
                .collect(),
        }
    }
}

/// Approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ApprovalsStatus {
    /// That wait.
    pub pending: u64,
}

/// Policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// Who alone writes to git; `None`: whoever wants to.
    pub coordinator: Option<Coordinator>,
    /// The ledger cannot be written now.
    pub read_only: bool,
    /// Nobody's tools may change files or git: the operator's switch.
    #[serde(default)]
    pub tools_read_only: bool,
    /// Every rule that restricts an agent, and whether it is enforced.
    #[serde(default)]
    pub rules: Vec<RuleInForce>,
}

/// Autonomy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct AutonomyStatus {
    /// Never by itself in this version.
    pub enabled: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_of_a_chain_is_the_text_that_it_was_and_comes_back_from_it() {
        let texts: Vec<String> = ChainState::ALL.iter().map(ToString::to_string).collect();
        let before = ["ok", "broken", "touched", "unchained", "unchecked"];
        assert_eq!(texts, before);
        for (state, text) in ChainState::ALL.iter().zip(before) {
            assert_eq!(ChainState::from(text), *state);
        }
    }

    #[test]
    fn a_status_of_which_nothing_is_known_is_written_as_before() {
        let written = serde_json::to_value(Status::default()).unwrap_or_default();
        assert_eq!(written["ledger"]["chain"], "");
        let delivery = &written["agents"]["claude"]["delivery"];
        let known = serde_json::json!({"mode": "", "rung": "", "proven": false, "why": ""});
        assert_eq!(*delivery, known);
    }
}
