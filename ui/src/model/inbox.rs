//! [`InboxCard`]: something that waits for the operator.

use std::sync::Arc;

use super::agent::Party;
use super::asked::AskedCard;
use super::trust::TrustCard;
use super::unclear::UnclearMessage;

/// The kinds of cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum InboxKind {
    /// An agent says that the work is done.
    Finality,
    /// An agent asks to be allowed something.
    Approval,
    /// An agent asks something.
    Question,
    /// What has power in the configuration is not as it was trusted.
    Trust,
    /// Something went wrong.
    Alarm,
    /// Somebody else was at the record: to be acknowledged.
    Tampering,
    /// An agent's turn is silent for long: its own sheet has the keys.
    Stuck,
    /// The record, the queue or the daemon is not as it should be: it stays until it is.
    Trouble,
    /// Messages that an agent has, and whose turn ended early: a list.
    CutOff,
    /// An agent is at its usage limit: its own sheet has the keys.
    Limited,
    /// An agent's context is nearly full: its own sheet has the keys.
    Full,
    /// Something is not set up: it stays until it is.
    Setup,
    /// Something to know, which nobody has to answer: it stays as long as it is so.
    #[default]
    Notice,
}

impl InboxKind {
    /// The word on the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finality => "finality",
            Self::Approval => "approval",
            Self::Question => "question",
            Self::Trust => "trust",
            Self::Alarm | Self::Tampering | Self::Trouble => "alarm",
            Self::Stuck => "stuck",
            Self::CutOff => "cut off",
            Self::Limited => "limit",
            Self::Full => "full",
            Self::Setup => "setup",
            Self::Notice => "notice",
        }
    }

    /// Whether somebody or something waits for the operator. What does not stands below.
    pub fn waits(self) -> bool {
        !matches!(
            self,
            Self::CutOff | Self::Limited | Self::Full | Self::Setup | Self::Notice
        )
    }

    /// Whether nobody asks: it is so, as long as it is.
    pub fn is_state(self) -> bool {
        matches!(self, Self::Trouble | Self::Setup | Self::Notice)
    }
}

/// What became of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateState {
    /// Exit 0 on the proposal's tree.
    Passed,
    /// Anything else.
    Failed,
    /// Running now.
    Running,
    /// Not run on the proposal's tree, and nothing is approved without it.
    Missing,
    /// Not run, not required.
    Skipped,
}

/// A command of the project, run by the daemon on the proposal's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRow {
    pub name: String,
    pub command: String,
    /// It runs in a work tree of its own.
    pub isolated: bool,
    /// What became of it.
    pub state: GateState,
    /// How long it took and how it ended, for example `12.4 s  exit 0`.
    pub result: String,
    /// The last lines that it printed, while it runs.
    pub output: Vec<String>,
}

impl GateRow {
    /// Whether the operator waits for it.
    pub fn is_running(&self) -> bool {
        self.state == GateState::Running
    }
}

/// The tests and manifests that changed since the last approval.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangedChecksRow {
    /// Paths, those that decide most first.
    pub named: Vec<String>,
    pub more: u64,
    /// What is to be said of them, or in their place; empty when that is nothing.
    pub note: String,
}

/// Something that a card names, with the entry behind it where one stands in the record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedEntry {
    /// Ready to read; hostile.
    pub text: String,
    /// Its line.
    pub line: Option<u64>,
}

impl From<String> for NamedEntry {
    fn from(text: String) -> Self {
        Self { text, line: None }
    }
}

impl From<&str> for NamedEntry {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InboxCard {
    pub kind: InboxKind,
    /// Id of the proposal or request; comes back in the effects.
    pub id: String,
    /// Who asks.
    pub by: Party,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// Its entry in the ledger.
    pub seq: Option<u64>,
    /// What is claimed or asked, in full.
    pub summary: String,
    /// Claims that should prove it.
    pub evidence: Vec<NamedEntry>,
    /// What may still be wrong, as the agent says; empty is "none named".
    pub remaining_risk: String,
    /// Handoffs that it resolves, ready to read: `h7 review refresh.rs`.
    pub handles: Vec<NamedEntry>,
    /// Earlier proposals that it took the place of, ready to read.
    pub replaces: Vec<NamedEntry>,
    /// How it is decided, where that is not by the deck's keys alone.
    pub sign_off: Option<String>,
    /// Gates of the project; empty when the project has none or this version runs none.
    pub gates: Vec<GateRow>,
    /// What changed of that on which it depends what a gate comes to; `None`: nobody looked.
    pub changed_checks: Option<ChangedChecksRow>,
    /// Commit at the time of the proposal.
    pub commit: Option<String>,
    /// Files changed on top of the commit.
    pub changed_files: u32,
    /// Tree hash at the time of the proposal.
    pub tree: Option<String>,
    /// The work tree is still the one proposed; `None` when nobody could tell.
    pub tree_still_same: Option<bool>,
    /// What names the work tree of now, when that is not the proposed one: approving it wants a
    /// typed word.
    pub stale_tree: Option<String>,
    /// Why the daemon would refuse an approval now: required gates that are not green.
    pub forbids: Vec<String>,
    /// What stands against it, and forbids nothing.
    pub blockers: Vec<NamedEntry>,
    /// How much more.
    pub blockers_more: u64,
    /// Messages of which nobody can know whether they arrived, or whose turn ended early, oldest
    /// first: the card is a list.
    pub unclear: Arc<[UnclearMessage]>,
    /// How many more there are.
    pub unclear_more: u64,
    /// Messages that trying again only releases: none of them was on its way.
    pub held: u64,
    /// What can be done about it, a sentence each.
    pub steps: Vec<String>,
    /// The command that does it, to be copied.
    pub command: Option<String>,
    /// What an agent asks to be allowed.
    pub asked: Option<Box<AskedCard>>,
    /// What of the configuration waits for trust.
    pub trust: Option<Box<TrustCard>>,
}

impl InboxCard {
    /// Whether the operator's answer to what is asked was given.
    pub(crate) fn is_given(&self) -> bool {
        self.asked
            .as_ref()
            .is_some_and(|asked| asked.given.is_some())
    }

    /// How much stands against it.
    pub fn blocker_count(&self) -> u64 {
        let listed = self.forbids.len() + self.blockers.len();
        (listed as u64).saturating_add(self.blockers_more)
    }

    /// Whether a run of its gates has begun and not ended.
    pub fn are_gates_running(&self) -> bool {
        self.gates.iter().any(GateRow::is_running)
    }

    /// Its words, with what can be done about it.
    pub(crate) fn plain(&self) -> String {
        let steps = self.steps.iter().chain(&self.command);
        let parts = std::iter::once(&self.summary).chain(steps);
        parts.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// Whether the deck's key trusts what it shows.
    pub fn can_be_trusted(&self) -> bool {
        let trust = self.trust.as_ref();
        trust.is_some_and(|trust| trust.elsewhere.is_none())
    }

    /// A card with only a summary; the rest is empty.
    pub fn new(
        kind: InboxKind,
        id: impl Into<String>,
        by: impl Into<Party>,
        at_ms: i64,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            id: id.into(),
            by: by.into(),
            at_ms,
            summary: summary.into(),
            ..Self::default()
        }
    }
}
