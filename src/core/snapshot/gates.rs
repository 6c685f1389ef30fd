//! The results of the gates, and what they are worth for a proposal.

use serde::{Deserialize, Serialize};

use super::blocker::TITLE_CHARS;
use super::{ArtifactSnapshot, ChangedFiles, RECENT_MAX, Snapshot};
use crate::agent::Party;
use crate::entry::{Artifact, ArtifactStatus, GateRun, WorkTree};
use crate::id::{EntryId, Seq};
use crate::path_glob::{glob_matches, glob_reaches_into};

/// How many gates are remembered; names come from a file that changes.
pub const GATES_KEPT_MAX: usize = 64;

/// A gate that the operator trusts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateInForce {
    pub name: String,
    /// What it runs.
    pub cmd: String,
    /// What names commands and folder.
    pub spec: String,
    /// Nothing is approved without it.
    pub required: bool,
    /// What is run before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// It runs in a clean work tree of the commit, and not in the project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub isolated: bool,
    /// It is needed only if a file that one of these globs names changed since the last approval;
    /// always when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<String>,
    /// Why it is no gate that can be run, with the key of the configuration: then it is never green.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

/// The latest run of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateSnapshot {
    pub id: EntryId,
    /// The place of its entry in the ledger.
    pub seq: Seq,
    /// When it ended, ms since the epoch.
    pub at_ms: i64,
    /// What it came to.
    pub status: ArtifactStatus,
    pub run: GateRun,
    /// The same command came to something else on the same tree before.
    pub flaky: bool,
    /// What the command came to last on one whole tree, where this run does not say that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<GateVerdict>,
}

/// What a command came to on a tree that did not change meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateVerdict {
    pub tree: String,
    /// What names commands and folder.
    pub spec: String,
    pub verdict: ArtifactStatus,
    /// It came to something else on this tree before.
    pub flaky: bool,
}

/// A work tree about which gates are asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeInQuestion<'a> {
    /// Its name; `None` without git.
    pub tree: Option<&'a WorkTree>,
    /// Git is there and could not read it: then no gate is green, whenever it ran.
    pub is_unreadable: bool,
    /// The entry after which a gate has to have begun where there is no git to name the tree.
    pub since: Option<Seq>,
    /// What changed since the last approval, if somebody looked.
    pub changed: Option<&'a ChangedFiles>,
}

/// What a gate says of a work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateStatus {
    /// It was green on this tree.
    Green,
    /// It was not, or timed out.
    Red,
    /// It was stopped or could not begin: the run says nothing of any tree, and takes the place of
    /// what an earlier one said.
    NoResult,
    /// It ran on another tree, or the tree changed while it ran, or it ran another command.
    Stale,
    /// It never ran.
    Unrun,
    /// Nothing changed that it is needed for, and it did not run on this tree.
    NotNeeded,
    /// The configuration does not say what it runs in a way that can be read.
    Unreadable,
}

impl GateInForce {
    /// Whether a file is one of those that make it needed.
    fn is_for(&self, path: &str) -> bool {
        self.when.iter().any(|glob| match path.strip_suffix('/') {
            // A repository within: what of it changed is not known.
            Some(folder) => glob_matches(glob, folder) || glob_reaches_into(glob, folder),
            None => glob_matches(glob, path),
        })
    }
}

impl GateSnapshot {
    /// Whether it ran on this very tree, whole, with this command. Without git a tree has no name:
    /// then it is enough to have begun after `since`.
    fn is_of(&self, spec: &str, tree: Option<&WorkTree>, since: Option<Seq>) -> bool {
        let is_same_tree = match (&self.run.tree, tree) {
            (Some(ran), Some(tree)) => ran.tree == tree.tree,
            (None, None) => since.is_some_and(|since| self.began_after() >= since),
            _ => false,
        };
        is_same_tree && self.run.spec == spec && !self.run.stale
    }

    /// Whether this command came to nothing.
    fn is_without_result(&self, spec: &str) -> bool {
        self.run.spec == spec && verdict(self.status).is_none()
    }

    /// The last entry when it began; at the latest, where that is not known, the one before its own.
    pub fn began_after(&self) -> Seq {
        let before_its_own = || Seq(self.seq.0.saturating_sub(1));
        self.run.began_after.unwrap_or_else(before_its_own)
    }

    /// What the command came to last on one whole tree. A run that was stopped or could not begin came
    /// to nothing, and one during which the tree changed is of none.
    fn verdict(&self) -> Option<GateVerdict> {
        let own = verdict(self.status).filter(|_| !self.run.stale);
        match (own, &self.run.tree) {
            (Some(verdict), Some(tree)) => Some(GateVerdict {
                tree: tree.tree.clone(),
                spec: self.run.spec.clone(),
                verdict,
                flaky: self.flaky,
            }),
            _ => self.before.clone(),
        }
    }
}

/// What a command came to, if it did.
fn verdict(status: ArtifactStatus) -> Option<ArtifactStatus> {
    use ArtifactStatus::{Failed, Passed, TimedOut};
    matches!(status, Passed | Failed | TimedOut).then_some(status)
}

impl Snapshot {
    /// Takes a run in that the daemon recorded.
    pub(crate) fn take_gate_run(&mut self, id: &EntryId, status: ArtifactStatus, run: &GateRun) {
        let before = self.gates.get(&run.gate);
        let last = before.and_then(GateSnapshot::verdict);
        let is_same = |last: &&GateVerdict| {
            let tree = run.tree.as_ref().map(|tree| &tree.tree);
            !run.stale && tree == Some(&last.tree) && run.spec == last.spec
        };
        let on_same_tree = last.as_ref().filter(is_same);
        let differs = on_same_tree
            .zip(verdict(status))
            .is_some_and(|(last, now)| last.verdict != now);
        let flaky = differs || on_same_tree.is_some_and(|last| last.flaky);
        // A run that says nothing of a whole tree makes none forgotten.
        let says_nothing = run.stale || on_same_tree.is_some() && verdict(status).is_none();
        if before.is_none() && self.gates.len() >= GATES_KEPT_MAX {
            let oldest = self.gates.iter().min_by_key(|(_, gate)| gate.seq);
            let oldest = oldest.map(|(name, _)| name.clone());
            self.gates.retain(|name, _| Some(name) != oldest.as_ref());
        }
        let latest = GateSnapshot {
            id: id.clone(),
            seq: self.seq,
            at_ms: self.last_at_ms,
            status,
            run: run.clone(),
            flaky,
            before: last.filter(|_| says_nothing),
        };
        self.gates.insert(run.gate.clone(), latest);
    }

    /// What a gate says of a tree.
    pub fn gate_status(&self, gate: &GateInForce, on: &TreeInQuestion<'_>) -> GateStatus {
        match self.gates.get(&gate.name) {
            _ if gate.unreadable.is_some() => GateStatus::Unreadable,
            Some(latest) if latest.is_of(&gate.spec, on.tree, on.since) => match latest.status {
                ArtifactStatus::Passed if on.is_unreadable => GateStatus::Stale,
                ArtifactStatus::Passed => GateStatus::Green,
                status if verdict(status).is_none() => GateStatus::NoResult,
                _ => GateStatus::Red,
            },
            _ if !self.is_needed(gate, on) => GateStatus::NotNeeded,
            None => GateStatus::Unrun,
            // Without git one from before what it is to prove is none of it at all.
            Some(latest)
                if latest.is_without_result(&gate.spec)
                    && on.tree.is_some()
                    && !on.is_unreadable =>
            {
                GateStatus::NoResult
            }
            Some(_) => GateStatus::Stale,
        }
    }

    /// Whether a gate has to be green for this tree. Where it is not known what changed, it has.
    pub fn is_needed(&self, gate: &GateInForce, on: &TreeInQuestion<'_>) -> bool {
        gate.when.is_empty()
            || self
                .all_changed(on.changed, on.tree)
                .is_none_or(|paths| paths.iter().any(|path| gate.is_for(path)))
    }

    /// Why a gate is needed or not that is not always needed, in words.
    pub fn gate_need(&self, gate: &GateInForce, on: &TreeInQuestion<'_>) -> Option<String> {
        let globs = gate.when.join(", ");
        if globs.is_empty() {
            return None;
        }
        let Some(paths) = self.all_changed(on.changed, on.tree) else {
            let why = match self.approved_tree {
                None => "nothing was approved yet",
                Some(_) => "all that changed since the last approval is not known here",
            };
            return Some(format!("needed for {globs}: {why}"));
        };
        let mut causes = paths.iter().filter(|path| gate.is_for(path));
        let Some(first) = causes.next() else {
            return Some(format!(
                "not needed: nothing in {globs} changed since the last approval"
            ));
        };
        let more = match causes.count() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let first: String = first.chars().filter(|c| !c.is_control()).collect();
        let first: String = first.chars().take(TITLE_CHARS).collect();
        Some(format!("needed for {first}{more}"))
    }

    /// What the required gates have against a tree, in words; nothing when all that are needed are
    /// green on it.
    pub fn gate_blockers(&self, gates: &[GateInForce], on: &TreeInQuestion<'_>) -> Vec<String> {
        let is_needed = |gate: &&GateInForce| gate.required && self.is_needed(gate, on);
        let needed = gates.iter().filter(is_needed);
        let blockers = needed.filter_map(|gate| {
            let name = &gate.name;
            let why = match self.gate_status(gate, on) {
                GateStatus::Green | GateStatus::NotNeeded => return None,
                GateStatus::Red => format!("required gate {name} is red: {}", self.how(name)),
                GateStatus::NoResult => {
                    format!("required gate {name} has no result: {}", self.how(name))
                }
                GateStatus::Stale if on.is_unreadable => format!(
                    "required gate {name} is green on no known tree: the work tree could not be read"
                ),
                GateStatus::Stale => self
                    .gap_blocker(gate, on.tree)
                    .unwrap_or_else(|| format!("required gate {name} has not run on this tree")),
                GateStatus::Unrun => format!("required gate {name} has not run"),
                GateStatus::Unreadable => {
                    let why = gate.unreadable.as_deref().unwrap_or_default();
                    format!("required gate {name} cannot be run: {why}")
                }
            };
            Some(match self.gate_need(gate, on) {
                Some(need) => format!("{why} ({need})"),
                None => why,
            })
        });
        blockers.collect()
    }

    /// What [`Self::gate_gap`] has against the whole of a tree, in words.
    pub fn gap_blocker(&self, gate: &GateInForce, tree: Option<&WorkTree>) -> Option<String> {
        let (gap, advice) = self.gate_gap(gate, tree)?;
        let name = &gate.name;
        Some(format!(
            "required gate {name} ran on the commit alone and did not cover {gap}: {advice}"
        ))
    }

    /// What the latest run did not cover, where it was on the very commit of a tree that has more, and
    /// what can be done about it.
    pub fn gate_gap(
        &self,
        gate: &GateInForce,
        tree: Option<&WorkTree>,
    ) -> Option<(String, &'static str)> {
        let latest = self.gates.get(&gate.name)?;
        verdict(latest.status)?;
        let run = &latest.run;
        let is_its_commit = run.spec == gate.spec && run.tree.as_ref()?.commit == tree?.commit;
        let isolated = run.isolated.as_ref().filter(|_| is_its_commit)?;
        Some((isolated.gap()?, isolated.advice()))
    }

    /// How the latest run of a gate ended.
    fn how(&self, name: &str) -> String {
        match self.gates.get(name) {
            Some(latest) => latest.how(),
            None => String::new(),
        }
    }

    /// Takes an artifact in. One that says that something failed is kept beyond the latest ones until
    /// it is taken back.
    pub(crate) fn take_artifact(&mut self, latest: ArtifactSnapshot) {
        self.failed_before.retain(|claim| !latest.takes_back(claim));
        // Of an agent's own runs of a command the last one: it runs many on its way.
        self.artifacts.retain(|run| !latest.is_next_run_of(run));
        self.artifacts.push_back(latest);
        while self.artifacts.len() > RECENT_MAX
            && let Some(oldest) = self.artifacts.pop_front()
        {
            let is_over = self.is_judged(oldest.seq)
                || self.artifacts.iter().any(|later| later.takes_back(&oldest));
            if oldest.says_failed() && !is_over {
                self.failed_before.push_back(oldest.without_details());
            }
        }
    }

    /// Artifacts since the last approval that say that something failed, and that no later one of
    /// the same kind and title took back. What a gate came to is told by the gate.
    pub fn failed_artifacts(&self) -> impl Iterator<Item = &ArtifactSnapshot> {
        let latest = self.artifacts.iter().enumerate();
        let latest = latest.filter_map(|(at, claim)| {
            let mut later = self.artifacts.iter().skip(at + 1);
            let is_over = later.any(|later| later.takes_back(claim));
            (claim.says_failed() && !is_over).then_some(claim)
        });
        let all = self.failed_before.iter().chain(latest);
        all.filter(|claim| !self.is_judged(claim.seq))
    }
}

impl ArtifactSnapshot {
    /// What names it, and nothing of what it says besides: there can be many of these.
    fn without_details(mut self) -> Self {
        self.artifact.summary = String::new();
        self.artifact.evidence = Vec::new();
        self
    }

    /// Whether somebody claims by it that something failed. An agent's own run of a gate's command is
    /// no such word: on the way to green it is red, and the gate has the last one.
    fn says_failed(&self) -> bool {
        let Artifact {
            status,
            verified,
            ran,
            ..
        } = &self.artifact;
        status.is_failure() && verified.is_none() && ran.is_none()
    }

    /// Whether it is the same agent's next run of a command.
    fn is_next_run_of(&self, earlier: &Self) -> bool {
        let (now, then) = (&self.artifact, &earlier.artifact);
        let are_runs = now.ran.is_some() && then.ran.is_some();
        are_runs && self.by == earlier.by && now.kind == then.kind && now.title == then.title
    }

    /// Whether it replaces what an earlier one said. A mere run speaks of nobody's words, and nobody
    /// takes back another's, but the operator and the daemon, which no agent speaks for.
    fn takes_back(&self, earlier: &Self) -> bool {
        let (now, then) = (&self.artifact, &earlier.artifact);
        let is_same = now.kind == then.kind && now.title == then.title;
        let may = self.by == earlier.by || matches!(self.by, Party::Human | Party::System);
        is_same && may && now.status != ArtifactStatus::Unknown && now.ran.is_none()
    }
}

impl GateSnapshot {
    /// Whether it passed, on a tree that did not change meanwhile.
    pub fn is_green(&self) -> bool {
        self.status == ArtifactStatus::Passed && !self.run.stale
    }

    /// How it ended, in a few words: `exit 101 after 12.4 s`.
    pub fn how(&self) -> String {
        let seconds = format!("{:.1} s", self.run.duration_ms as f64 / 1_000.0);
        match (self.run.exit_code, self.status) {
            (Some(code), _) if self.run.setup_failed => {
                format!("its setup ended with exit {code} after {seconds}")
            }
            (Some(code), _) => format!("exit {code} after {seconds}"),
            (None, ArtifactStatus::TimedOut) if self.run.setup_failed => {
                format!("its setup was not done after {seconds}")
            }
            (None, ArtifactStatus::TimedOut) => format!("not done after {seconds}"),
            (None, ArtifactStatus::Skipped) => format!("stopped after {seconds}"),
            (None, _) => self
                .run
                .why
                .clone()
                .unwrap_or_else(|| "could not begin".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
