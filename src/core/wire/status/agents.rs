//! [`AgentsStatus`]: what each agent does, how messages reach it, and what holds it up.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::REASON_CHARS_MAX;
use crate::agent::{Agent, AgentState};
use crate::context_fill::ContextFill;
use crate::continuity::Staleness;
use crate::continuity_state::ContinuityState;
use crate::delivery::{DeliveryMode, LimitMode, Watched};
use crate::entry::{DeliveryWay, PacketState, ReloadCause, ReloadWay};
use crate::id::{EntryId, RuntimeSession, ThreadId, TurnId};
use crate::instructions::FileName;
use crate::relay_cost::RelayCost;
use crate::snapshot::ApprovalSnapshot;
use crate::word::{OpenWord, words};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct AgentsStatus {
    /// Claude Code.
    pub claude: ClaudeStatus,
    pub codex: CodexStatus,
}

/// What is told of each agent, wherever it stands among what is told of one alone.
#[derive(Debug, Clone, Copy)]
pub struct EitherStatus<'a> {
    pub state: AgentState,
    pub since: Option<i64>,
    pub delivery: &'a DeliveryStatus,
    pub turn_text: Option<&'a str>,
    pub tool: Option<&'a ToolStatus>,
    pub why: Option<&'a str>,
    pub installed: bool,
    pub silence: Option<&'a SilenceStatus>,
    pub limit: Option<&'a LimitStatus>,
    pub cut_off: u64,
    pub cut_off_ids: &'a [EntryId],
    pub context: &'a ContextFill,
    pub continuity: &'a ContinuityStatus,
}

impl AgentsStatus {
    pub fn of(&self, agent: Agent) -> EitherStatus<'_> {
        macro_rules! either {
            ($status:expr) => {
                EitherStatus {
                    state: $status.state,
                    since: $status.since,
                    delivery: &$status.delivery,
                    turn_text: $status.turn_text.as_deref(),
                    tool: $status.tool.as_ref(),
                    why: $status.why.as_deref(),
                    installed: $status.installed,
                    silence: $status.silence.as_ref(),
                    limit: $status.limit.as_ref(),
                    cut_off: $status.cut_off,
                    cut_off_ids: &$status.cut_off_ids,
                    context: &$status.context,
                    continuity: &$status.continuity,
                }
            };
        }
        match agent {
            Agent::Claude => either!(self.claude),
            Agent::Codex => either!(self.codex),
        }
    }
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
    /// How the prompt begins that its turn is about, without secrets; hostile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_text: Option<String>,
    /// What its turn runs right now, of several the one that began last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolStatus>,
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
    /// The oldest of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut_off_ids: Vec<EntryId>,
    /// Helpers of its own that show a dialog in its terminal.
    pub asking_helpers: u64,
    /// Its bridge died while it lives: it has none of our tools.
    pub tools_gone: bool,
    /// How full its context is.
    pub context: ContextFill,
    /// How it keeps the thread of its work.
    pub continuity: ContinuityStatus,
    /// The Claude of each pair, where one of another pair than the first is here. What stands above
    /// is that of the one that says most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairStatus>,
    /// For whom of `unread` no Claude is here, but for the one that stands above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent_pairs: Vec<AbsentPair>,
}

impl ClaudeStatus {
    /// Whether a Claude, or a helper of it, waits at a dialog of its own that none of these requests is
    /// about: what a helper asks is none. Where there are several, each is looked at by itself.
    pub fn waits_elsewhere(&self, open: &BTreeMap<EntryId, ApprovalSnapshot>) -> bool {
        let is_waiting = |state| state == AgentState::Waiting;
        let mut pairs = self.pairs.iter();
        if self.asking_helpers > 0 {
            return true;
        }
        match self.pairs.is_empty() {
            true => is_waiting(self.state) && !has_dialog(open, None),
            false => pairs.any(|it| is_waiting(it.state) && !has_dialog(open, Some(&it.pair))),
        }
    }
}

/// Whether what Claude waits for at a dialog of its own is among these requests; `pair`: that Claude
/// alone, where it is known which one asked.
fn has_dialog(open: &BTreeMap<EntryId, ApprovalSnapshot>, pair: Option<&str>) -> bool {
    let mut open = open.values();
    open.any(|asked| {
        let of = asked.runtime_session.as_ref().map(RuntimeSession::as_str);
        asked.agent == Agent::Claude
            && !asked.request.is_user_question()
            && of.zip(pair).is_none_or(|(of, pair)| of == pair)
    })
}

/// The Claude of one pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct PairStatus {
    /// Its name; hostile.
    pub pair: String,
    /// What it is doing.
    pub state: AgentState,
    /// Since when, ms since the epoch.
    pub since: i64,
    /// Its process.
    pub pid: Option<u32>,
}

/// A pair whose Claude is not here, and for which messages wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AbsentPair {
    /// Its name; hostile.
    pub pair: String,
    /// How many.
    pub unread: u64,
}

/// How an agent keeps the thread of its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ContinuityStatus {
    /// What is to be reached, its beginning where it is long.
    pub objective: Option<String>,
    /// Turns that it began since it last said something of its state.
    pub turns_since_written: u64,
    pub staleness: OpenWord<Staleness>,
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
    pub cause: ReloadCause,
    pub way: ReloadWay,
    /// How far it came.
    pub state: OpenWord<PacketState>,
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
    pub fn of(state: &ContinuityState, cost: Option<RelayCost>) -> Self {
        let turns = state.turns_since_written;
        let objective = state.objective.as_ref();
        let packet = state.packet.as_ref();
        Self {
            objective: objective.map(|said| said.text.chars().take(REASON_CHARS_MAX).collect()),
            turns_since_written: turns,
            staleness: Staleness::of(turns).into(),
            last_packet: packet.map(|packet| PacketStatus {
                seq: packet.seq.0,
                cause: packet.cause.clone(),
                way: packet.way.clone(),
                state: packet.step.state().into(),
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
    /// The operator has snoozed the alert until then, ms since the epoch.
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
    pub mode: OpenWord<DeliveryMode>,
    pub rung: DeliveryWay,
    /// A message provably arrived this way since the agent attached.
    pub proven: bool,
    /// In words.
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CodexStatus {
    /// What it is doing.
    pub state: AgentState,
    /// Since when, ms since the epoch.
    pub since: Option<i64>,
    /// How messages reach it.
    pub delivery: DeliveryStatus,
    pub thread_id: Option<ThreadId>,
    /// The turn that runs.
    pub turn_id: Option<TurnId>,
    /// What the running turn is about.
    pub turn_text: Option<String>,
    /// The command that it runs right now, of several the one that began last.
    pub command: Option<CommandStatus>,
    /// The same, where calls of tools and changes of files count too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolStatus>,
    /// Its model cannot be reached, and it tries again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrying: Option<RetryStatus>,
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
    /// The oldest of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut_off_ids: Vec<EntryId>,
    /// The human stopped a turn: what waits goes on when they say so.
    pub held: bool,
    /// Nobody is signed in to Codex: what waits goes on when somebody is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub needs_sign_in: bool,
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

/// A turn that tries to reach its model again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryStatus {
    /// What went wrong, in its own words; without secrets; hostile.
    pub why: String,
    /// Since when, ms since the epoch.
    pub since: i64,
}

/// What an agent's turn does with a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStatus {
    pub sort: ToolSort,
    /// The command's first line, the tool, or the files; without secrets; hostile.
    pub text: String,
    /// Since when, ms since the epoch.
    pub since: i64,
}

words! {
    /// What a tool is for.
    pub enum ToolSort {
        /// It runs a command.
        Command = "command",
        /// It changes files.
        Change = "change",
        /// Anything else: the tool's own name says it.
        Call = "call",
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct AppServerStatus {
    /// Its process.
    pub pid: u32,
    pub version: String,
}
