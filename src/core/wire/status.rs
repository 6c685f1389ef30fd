//! [`Status`]: what `ctxrelay status --json` prints, from a live daemon or from the disk alone.

mod agents;
mod exchange;
mod notice_key;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::entry::ProposalState;
use crate::id::{CapsuleId, EntryId, SessionId};
use crate::policy::{Coordinator, RuleInForce, SignOffMode};
use crate::snapshot::{GateInForce, Snapshot};
use crate::word::{OpenWord, words};

pub use self::agents::{
    AbsentPair, AgentsStatus, AppServerStatus, ClaudeStatus, CodexStatus, CommandStatus,
    ContinuityStatus, CostStatus, DeliveryStatus, EitherStatus, HookReview, LimitStatus,
    PacketStatus, PairStatus, RetryStatus, SilenceStatus, ToolSort, ToolStatus,
};
pub use self::exchange::ExchangeStatus;
pub use self::notice_key::NoticeKey;

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
    pub version: String,
    /// Its control protocol.
    pub protocol: u32,
    /// Its process.
    pub pid: Option<u32>,
    /// When it started, ms since the epoch.
    pub started_at: Option<i64>,
    /// The project's instance.
    pub instance_id: String,
    pub project_root: String,
    /// Its plumbing.
    pub state_dir: String,
    /// A prefix of the SHA-256 of the daemon's identity, never the secret.
    pub daemon_identity: Option<String>,
    pub control_port: Option<u16>,
    /// The app-server's port; `None` while none runs.
    pub codex_port: Option<u16>,
    /// The proxy's port.
    pub proxy_port: Option<u16>,
    /// The current session.
    pub session_id: Option<SessionId>,
    /// The record.
    pub ledger: LedgerStatus,
    pub agents: AgentsStatus,
    /// The outbox.
    pub queue: QueueStatus,
    /// Pairs whose agents answered each other for too long without their person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<ExchangeStatus>,
    pub handoffs: HandoffsStatus,
    /// The task lanes.
    pub tasks: TasksStatus,
    /// Findings of reviews.
    pub findings: FindingsStatus,
    /// The task that the work of the default pair belongs to.
    pub capsule: Option<CapsuleId>,
    /// Sign-off.
    pub finality: FinalityStatus,
    /// The gates that are trusted.
    pub gates: GatesStatus,
    /// Approvals that wait.
    pub approvals: ApprovalsStatus,
    pub policy: PolicyStatus,
    pub autonomy: AutonomyStatus,
    /// Sentences that a person should read; empty when all is well.
    pub notices: Vec<String>,
    /// What each of these is about, one word each, the same for as long as it holds; empty without
    /// a daemon, and of a daemon of an earlier build.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notice_keys: Vec<NoticeKey>,
    /// A detached daemon that ends by itself when nothing is attached.
    pub detached: bool,
    /// Decks that are open on it, its own process's included; 0 of a daemon of an earlier build.
    pub decks: u64,
    /// Why the session can be neither cleared nor compacted now; `None` where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_open: Option<KeptOpen>,
}

/// What keeps a session from ending for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOpen {
    /// A sentence.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl Status {
    /// Whether this agent is there for the person; of Codex, a terminal of it.
    pub fn is_attached(&self, agent: Agent) -> bool {
        match agent {
            Agent::Claude => self.agents.claude.state.is_attached(),
            Agent::Codex => self.agents.codex.tui,
        }
    }
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

/// What is told with [`ChainState::Broken`], where nothing else says what is wrong.
pub const CHAIN_BROKEN: &str = "the chain of the record is broken: lines of it were changed, removed \
                                or cut off since they were written. `ctxrelay ledger verify` says \
                                which, and what to do";

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

/// The last entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct HeadStatus {
    /// Its place.
    pub seq: u64,
    pub hash: String,
}

/// The outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct QueueStatus {
    pub claude: LaneStatus,
    pub codex: LaneStatus,
}

impl QueueStatus {
    pub fn of(&self, agent: Agent) -> &LaneStatus {
        match agent {
            Agent::Claude => &self.claude,
            Agent::Codex => &self.codex,
        }
    }
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct HandoffsStatus {
    /// Not answered, without those that nobody got.
    pub open: u64,
    /// Messages whose sender waits for an answer.
    #[serde(default)]
    pub questions: u64,
}

impl HandoffsStatus {
    /// As the record tells.
    pub fn of(world: &Snapshot) -> Self {
        Self {
            open: world.standing_handoffs().count() as u64,
            questions: world.open_questions.len() as u64,
        }
    }
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

impl TasksStatus {
    /// As the record tells.
    pub fn of(world: &Snapshot, now_ms: i64) -> Self {
        let [open, active, blocked, stale, done] = world.columns(now_ms);
        Self {
            open,
            active,
            blocked,
            stale,
            done,
        }
    }
}

/// Sign-off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct FinalityStatus {
    pub mode: OpenWord<SignOffMode>,
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
    pub proposal_id: EntryId,
    pub verdict: ProposalState,
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
            mode: mode.into(),
            pending: world.pending_proposals.keys().cloned().collect(),
            decided: latest
                .filter_map(|proposal| {
                    let (decision, at_ms) = proposal.decision.as_ref()?;
                    let reason = decision.reason.as_ref();
                    Some(DecidedStatus {
                        proposal_id: proposal.id.clone(),
                        verdict: decision.verdict(),
                        reason: reason.map(|text| text.chars().take(REASON_CHARS_MAX).collect()),
                        at: *at_ms,
                    })
                })
                .collect(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ApprovalsStatus {
    /// That wait.
    pub pending: u64,
    /// Of these, what no entry tells of: it is answered in the agent's own terminal.
    #[serde(default)]
    pub elsewhere: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// Who alone writes to git; `None`: everybody may.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct AutonomyStatus {
    /// Never by itself in this version.
    pub enabled: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::PacketState;

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
    fn how_far_a_packet_came_is_a_word_and_one_of_a_later_version_is_kept() {
        let of = |word: &str| {
            let json =
                serde_json::json!({"seq": 7, "cause": "started", "way": "hook", "state": word});
            let packet: PacketStatus = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(&packet).unwrap(), json);
            packet.state
        };
        for state in PacketState::ALL {
            assert_eq!(of(state.as_str()), state.into());
        }
        assert_eq!(of("not_given"), PacketState::NotGiven.into());
        assert_eq!(of("queued"), OpenWord::Other("queued".to_owned()));
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
