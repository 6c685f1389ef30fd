//! Queries about the project's gates, and their replies.

use serde::{Deserialize, Serialize};

use crate::signing::ActSignature;

use crate::entry::{ArtifactStatus, Entry, EntryKind, IsolatedRun, RewrittenFiles, WorkTree};
use crate::id::{EntryId, Seq};
use crate::snapshot::{GateInForce, GateSnapshot, Snapshot};

/// Arguments of [`Command::RunGates`](super::Command::RunGates).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RunGatesParams {
    /// Which, by name; all when there are none.
    pub names: Vec<String>,
    /// Those that are required, and one `release_gate` artifact about them all.
    pub release: bool,
}

/// The gates in force, and what they came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct GatesReport {
    /// In the order of the file.
    pub gates: Vec<GateReport>,
    /// The run that is under way: asked to run gates, the one that was begun.
    pub running: Option<u64>,
    /// The run that ended last.
    pub ended: Option<EndedRun>,
}

/// A run of gates that is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct EndedRun {
    /// Its number: no other run of the project has it.
    pub run: u64,
    /// The gates that began, by name.
    pub names: Vec<String>,
    /// Somebody stopped it, or the record took no more.
    pub stopped: bool,
    /// Why what a gate came to was not recorded: the record took it not, or a fault of ours ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The `release_gate` artifact, if one was recorded.
    pub release: Option<EntryId>,
    /// What that artifact says, or the one that waits for a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ReleaseOutcome>,
    /// The artifact that waits for the operator's signature, where the operator's acts are signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_sign: Option<ReleaseToSign>,
}

/// What the artifact of a release gate says. Where each gate is green it may still have failed: not
/// all of them ran on the same tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseOutcome {
    pub status: ArtifactStatus,
    /// What stands against it, or that nothing does.
    pub summary: String,
}

impl ReleaseOutcome {
    /// That of an entry, if it is an artifact.
    pub fn of(entry: &Entry) -> Option<Self> {
        let EntryKind::Artifact(artifact) = &entry.kind else {
            return None;
        };
        Some(Self {
            status: artifact.status,
            summary: artifact.summary.clone(),
        })
    }
}

/// What a release gate came to, before the operator signs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseToSign {
    /// The ids of the gates' runs.
    pub subject: String,
    /// The work tree ([`WorkTree::pin`](crate::entry::WorkTree::pin)).
    pub tree: String,
    /// Passed or not.
    pub verdict: String,
}

/// Arguments of [`Command::SignRelease`](super::Command::SignRelease).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignReleaseParams {
    /// The run that was shown to the operator.
    pub run: u64,
    pub signature: ActSignature,
}

/// One gate, and the latest run of this very command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    pub name: String,
    /// What it runs.
    pub cmd: String,
    /// Nothing is approved without it.
    pub required: bool,
    /// What is run before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// It runs in a clean work tree of the commit, and not in the project.
    #[serde(default)]
    pub isolated: bool,
    /// It is needed only if a file of these globs changed since the last approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<String>,
    /// Why it cannot be run, with the key of the configuration: then it is never green.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// The operator trusts it.
    pub trusted: bool,
    /// Whether it was green; `None` when it has not run.
    pub ok: Option<bool>,
    /// In a word; `None` when it has not run.
    pub status: Option<ArtifactStatus>,
    /// The exit code, if it came that far.
    pub exit_code: Option<i32>,
    /// How long it ran.
    pub duration_ms: Option<u64>,
    /// How the latest run ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// The latest run was in a clean work tree of the commit.
    #[serde(default)]
    pub ran_isolated: bool,
    /// The work tree on which it ran.
    pub tree: Option<WorkTree>,
    /// The work tree of now is another one, as far as somebody looked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other_tree: bool,
    /// The work tree changed while it ran.
    pub stale: bool,
    /// Files that were written while it ran and hold again what they held, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<String>,
    /// What of the project the latest run did not cover, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_covered: Option<String>,
    /// It came to something else on the same tree before.
    pub flaky: bool,
    /// The entry that holds what it printed.
    pub seq: Option<Seq>,
}

impl GateReport {
    /// As the folded world tells it.
    pub fn of(gate: &GateInForce, world: &Snapshot) -> Self {
        let latest = world.gates.get(&gate.name);
        let is_its =
            |latest: &&GateSnapshot| gate.unreadable.is_none() && latest.run.spec == gate.spec;
        let latest = latest.filter(is_its);
        Self {
            name: gate.name.clone(),
            cmd: gate.cmd.clone(),
            required: gate.required,
            setup: gate.setup.clone(),
            isolated: gate.isolated,
            when: gate.when.clone(),
            unreadable: gate.unreadable.clone(),
            trusted: true,
            ok: latest.map(GateSnapshot::is_green),
            status: latest.map(|latest| latest.status),
            exit_code: latest.and_then(|latest| latest.run.exit_code),
            duration_ms: latest.map(|latest| latest.run.duration_ms),
            how: latest.map(GateSnapshot::how),
            ran_isolated: latest.is_some_and(|latest| latest.run.isolated.is_some()),
            tree: latest.and_then(|latest| latest.run.tree.clone()),
            other_tree: false,
            stale: latest.is_some_and(|latest| latest.run.stale),
            rewritten: latest
                .and_then(|latest| latest.run.rewritten.as_ref())
                .map(RewrittenFiles::in_words),
            not_covered: latest
                .and_then(|latest| latest.run.isolated.as_ref())
                .and_then(IsolatedRun::gap),
            flaky: latest.is_some_and(|latest| latest.flaky),
            seq: latest.map(|latest| latest.seq),
        }
    }
}
