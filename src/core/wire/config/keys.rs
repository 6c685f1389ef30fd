//! [`Config`]: the keys of `config.json` that this version reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounded::{Bounded, Megabytes, Seconds};
use super::extract_keys::ExtractKeys;
use super::gate::Gate;
use super::gate_list::{GateList, UnreadableGate};
use super::operator_keys::OperatorKeys;
use super::policy_keys::{CollaborationKeys, FinalityKeys, PolicyKeys};
use crate::delivery::LimitMode;
use crate::snapshot::GateInForce;

/// The shape of the file that this version writes.
const VERSION: u32 = 1;

/// How ctxrelay works in one project. Every key may be missing, and keys that are not known are
/// kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(title = "config.json of ctxrelay")]
pub struct Config {
    /// The shape of this file.
    pub version: u32,
    /// What is masked before it is recorded.
    pub redaction: RedactionKeys,
    /// A daemon without a screen ends after this many seconds with nothing attached, running, on
    /// its way or asked of the operator.
    pub idle_shutdown_seconds: Seconds<5, 604_800, 30>,
    /// The Codex side.
    pub codex: CodexKeys,
    /// How messages reach Claude.
    pub delivery: DeliveryKeys,
    /// How long the agents may speak with each other alone.
    pub relay: RelayKeys,
    /// When silence is worth a word.
    pub watchdog: WatchdogKeys,
    /// What happens at a usage limit of an agent's vendor.
    pub rate_limit_resume: LimitKeys,
    /// How much room the record may take.
    pub storage: StorageKeys,
    /// What an agent is told so that it goes on after a compaction.
    pub continuity: ContinuityKeys,
    /// The rules in the files of a project, of which each agent reads some.
    pub instructions: InstructionKeys,
    /// Commands whose results are evidence, run by the daemon when the operator asks. They count
    /// only as the operator last trusted them: `ctxrelay trust`.
    pub gates: Vec<Gate>,
    /// What stands among the gates and is none.
    #[serde(skip)]
    #[schemars(skip)]
    pub unreadable_gates: Vec<UnreadableGate>,
    /// Rules of working together. They count only as the operator last trusted them.
    pub collaboration: CollaborationKeys,
    /// What the agents may do. Counts only as the operator last trusted it; `ctxrelay permissions`
    /// says of each rule whether it is enforced.
    pub permissions: PolicyKeys,
    /// Who says that work is done.
    pub finality: FinalityKeys,
    /// How the operator decides.
    pub operator: OperatorKeys,
}

/// Keys of `redaction`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RedactionKeys {
    /// Further rules. They only mask more, so that they need no trust.
    pub rules: Vec<OwnRule>,
    /// What survives although a rule takes it for a secret. Counts only as the operator last
    /// trusted it: `ctxrelay trust`.
    pub allow: Vec<Allowed>,
}

/// A rule of the project's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnRule {
    /// The name in the mark, `[REDACTED_<NAME>]`: 1 to 40 letters, digits, `_` or `-`.
    #[schemars(length(min = 1, max = 40), regex(pattern = r"^[A-Za-z0-9_-]+$"))]
    pub name: String,
    /// A regular expression in the syntax of the Rust crate `regex`, at most 1,000 bytes. All of
    /// what it matches is masked.
    #[schemars(length(min = 1, max = 1000))]
    pub pattern: String,
}

/// An entry of the allow-list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Allowed {
    /// Exactly this text.
    Text(#[schemars(length(min = 1, max = 1000))] String),
    /// What this expression matches from its first to its last character.
    Pattern {
        /// A regular expression in the syntax of the Rust crate `regex`, at most 1,000 bytes.
        #[schemars(length(min = 1, max = 1000))]
        pattern: String,
    },
}

/// Keys of `codex`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CodexKeys {
    /// Start the app-server together with the daemon, and not only when it is needed.
    pub autostart: bool,
}

/// Keys of `delivery`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct DeliveryKeys {
    /// A message that was pushed to an idle Claude, or rung for, and brought no proof for this
    /// many seconds is tried by the next way: channel, doorbell, hooks, and then it waits until
    /// Claude asks. One whole turn without proof counts as well.
    pub idle_seconds: Seconds<1, 3600, 20>,
    /// A message that waited for this many seconds without an attempt expires: the record says so,
    /// and its receiver does not get it. 0: it waits for ever. What was attempted never expires; what
    /// waits for your word (`relay.loopTurns`) does not meanwhile: its time begins with your word.
    pub expire_seconds: Seconds<0, 31_536_000, 0>,
}

/// Keys of `relay`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RelayKeys {
    /// Once the agents of a pair have answered each other so often without a word of yours, what
    /// they say next waits until you let it go or write to one of them. 0: it never does.
    pub loop_turns: Bounded<0, 1_000, 12>,
}

impl RelayKeys {
    /// How often the agents of a pair may answer each other alone; `None`: for ever.
    pub fn answers_max(&self) -> Option<u32> {
        let max = u32::try_from(self.loop_turns.get()).ok();
        max.filter(|max| *max > 0)
    }
}

/// Keys of `watchdog`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct WatchdogKeys {
    /// After this many silent seconds in a turn Codex is suspected to be stuck, and after twice as
    /// many called so. Time in which it waits for you does not count.
    pub codex_silence_seconds: Seconds<10, 86_400, 300>,
    /// The same for Claude. It tells less of its turns, so that it may be silent for longer.
    pub claude_silence_seconds: Seconds<10, 86_400, 600>,
}

/// Keys of `storage`. A megabyte is 1,000,000 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageKeys {
    /// What the texts that are too long for a line may take together. From 80 % on there is a
    /// warning; a text that does not fit is refused, and nothing else.
    pub blobs_megabytes: Megabytes<1, 1_000_000, 512>,
    /// When less is free on the disk of the record there is a warning, no new long texts are
    /// taken, and checkpoints and the search index wait; below a quarter of it no new messages are
    /// taken. 0: the disk is not looked at.
    pub low_water_megabytes: Megabytes<0, 1_000_000_000, 256>,
}

/// Keys of `continuity`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ContinuityKeys {
    /// An agent that has not said for eight turns what it is at is reminded with its next prompt,
    /// and again every eight turns. No turn begins for it.
    pub remind: bool,
    /// What an agent is told of its work when it begins or goes on with an earlier session.
    pub on_start: OnStart,
    /// From how full a context on, in percent of its window, the deck has a row for it. 0: never.
    pub warn_percent: Bounded<0, 100, 80>,
    /// Whether a model is asked what an agent is at that does not say it.
    pub extract: ExtractKeys,
    /// A hook of ours in Codex's app-server gives the packet ahead of the first request after a
    /// compaction. It runs once you have reviewed it in Codex. Counts only as the operator last
    /// trusted it, from the next start of the app-server on.
    pub codex_hook: bool,
}

/// What an agent is told of its work when it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OnStart {
    /// In short what the record holds of it.
    #[default]
    Short,
    /// Nothing.
    Off,
}

/// Keys of `instructions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct InstructionKeys {
    /// `missing`: each agent is given the rules of those files that it does not read by itself.
    /// `off`: it is not.
    pub share: ShareMode,
}

/// Which rules an agent is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ShareMode {
    /// Those that it does not read by itself.
    #[default]
    Missing,
    /// None.
    Off,
}

/// Keys of `rateLimitResume`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitKeys {
    /// Messages for an agent at its usage limit wait, whatever this says. `off`: nothing more is
    /// said. `notify`: the deck counts down. `resume`: once the limit is over, messages whose turn
    /// it ended are sent again, once each; what was typed into an agent's terminal never is.
    pub mode: LimitMode,
}

impl Config {
    /// The gates, for who looks at a proposal, and what stands among them and is none.
    pub fn gates_in_force(&self) -> Vec<GateInForce> {
        let gates = self.gates.iter().map(GateInForce::from);
        let unreadable = self.unreadable_gates.iter().map(GateInForce::from);
        gates.chain(unreadable).collect()
    }

    /// Takes gates in the place of those that it has.
    pub(super) fn set_gates(&mut self, list: GateList) {
        self.gates = list.gates;
        self.unreadable_gates = list.unreadable;
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            version: VERSION,
            redaction: RedactionKeys::default(),
            idle_shutdown_seconds: Bounded::default(),
            codex: CodexKeys::default(),
            delivery: DeliveryKeys::default(),
            relay: RelayKeys::default(),
            watchdog: WatchdogKeys::default(),
            rate_limit_resume: LimitKeys::default(),
            storage: StorageKeys::default(),
            continuity: ContinuityKeys::default(),
            instructions: InstructionKeys::default(),
            gates: Vec::new(),
            unreadable_gates: Vec::new(),
            collaboration: CollaborationKeys::default(),
            permissions: PolicyKeys::default(),
            finality: FinalityKeys::default(),
            operator: OperatorKeys::default(),
        }
    }
}

impl Default for ContinuityKeys {
    fn default() -> Self {
        Self {
            remind: true,
            on_start: OnStart::Short,
            warn_percent: Bounded::default(),
            extract: ExtractKeys::default(),
            codex_hook: false,
        }
    }
}
