//! [`Capsule`]: a task as one file that is small, redacted and can be verified where it arrives.
//!
//! - [`CapsuleStatement`], [`CapsuleRun`], [`CapsuleGit`], …: its parts. Members that this version
//!   does not know are kept, in `more`.
//! - [`CapsuleSources`]: what one is filled from; [`Freshness`]: whether that still holds.
//! - [`CapsuleBudget`]: what fits into it, by weight; a part is whole or absent.
//! - [`Rendering`]: one as a text for somebody who continues the task.
//! - [`CapsuleDraft`]: the statements about a task, for a person to edit.
//! - [`CapsuleMask`]: the second search for secrets, and for where and by whom it was made.
//!
//! `wire::capsule` reads and writes them. A capsule is text from elsewhere: it proves no author,
//! and nothing in it is run.

mod budget;
mod draft;
mod fill;
mod found;
mod freshness;
mod git;
mod mask;
mod mask_name;
mod origin;
mod passage;
mod patch;
mod remote_address;
mod render;
mod statement;
#[cfg(test)]
mod tests;
mod tree_now;
mod why_unknown;
mod work;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::NoteKind;
use crate::id::CapsuleId;
use crate::word::words;

pub use budget::{CAPSULE_BUDGET, CAPSULE_BYTES_MAX, CapsuleBudget};
pub use draft::{CapsuleDraft, DraftChanges, StrayLines};
pub use fill::{CapsuleSources, FileNow};
pub use found::{FOUND_CHARS_MAX, FOUND_MAX, FoundText};
pub use freshness::{ChangedFile, Freshness, StandsNow};
pub use git::{CapsuleGit, DiffStat};
pub use mask::{CapsuleMask, MadeAt, MaskedPlaces};
pub use origin::{CapsuleLeftOut, CapsuleOrigin, CapsuleRedaction, CapsuleSection, OriginHead};
pub use passage::CapsulePassage;
pub use patch::{PatchedFile, is_obeyed, patch_files, patched_files};
pub use render::{
    RENDER_CHARS_MAX, RenderTarget, RenderTerms, Rendering, TargetForm, is_told_task,
};
pub use statement::{CapsuleStatement, LineRef, StatementAuthor};
pub use tree_now::{DifferingFile, TreeNow, UncomparedFile};
pub use why_unknown::{GIT_SILENT, NOT_KEPT_AT_CLOSE, WhyUnknown};
pub use work::{
    CapsuleFinding, CapsuleHandoff, CapsuleOutput, CapsulePatch, CapsuleRun, CapsuleTouched,
    HandoffState, TouchOp,
};

/// The value of `schema` in every capsule of this version.
pub const CAPSULE_SCHEMA: &str = "ctxrelay.capsule/v1";

words! {
    /// Whether a task goes on.
    pub enum CapsuleStatus {
        /// It does.
        Open = "open",
        /// It is over, and what is said of it stays as it is.
        Closed = "closed",
    }
}

/// A task: what is to be reached, what was said and done for it, and where its work tree stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Capsule {
    /// [`CAPSULE_SCHEMA`].
    pub schema: String,
    /// Its id, the same wherever it goes.
    #[schemars(with = "String", regex(pattern = r"^cap_[0-9a-f]{12}$"))]
    pub id: CapsuleId,
    /// One line.
    pub title: String,
    /// Whether it goes on.
    #[schemars(with = "String")]
    pub status: CapsuleStatus,
    /// When it was opened, ms since the epoch.
    pub created_at: i64,
    /// Its latest entry, ms since the epoch.
    pub updated_at: i64,
    /// What is to be reached.
    #[serde(deserialize_with = "Option::deserialize")]
    pub goal: Option<CapsuleStatement>,
    /// What agents say is to be reached, where the operator said it, latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_goals: Vec<CapsuleStatement>,
    /// What came of it, of a closed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CapsuleStatement>,
    /// What must hold, oldest first, as all lists of statements.
    pub constraints: Vec<CapsuleStatement>,
    /// What was decided.
    pub decisions: Vec<CapsuleStatement>,
    /// What is taken to be so.
    pub assumptions: Vec<CapsuleStatement>,
    /// What is taken to be the cause.
    #[serde(deserialize_with = "Option::deserialize")]
    pub hypothesis: Option<CapsuleStatement>,
    /// What is not known yet.
    pub questions: Vec<CapsuleStatement>,
    /// What comes next.
    pub next: Vec<CapsuleStatement>,
    /// Work that was handed over.
    pub handoffs: Vec<CapsuleHandoff>,
    /// Files that were touched.
    pub touched: Vec<CapsuleTouched>,
    /// Gates and commands, with what they came to.
    pub verification: Vec<CapsuleRun>,
    /// Gates that were not run, by name.
    pub not_run: Vec<String>,
    /// What reviews found.
    pub findings: Vec<CapsuleFinding>,
    /// Where the work tree stood; none outside of git.
    #[serde(deserialize_with = "Option::deserialize")]
    pub git: Option<CapsuleGit>,
    /// What had no room, by section.
    pub left_out: Vec<CapsuleLeftOut>,
    /// What was masked.
    pub redaction: CapsuleRedaction,
    /// The record that it was made from.
    pub origin: CapsuleOrigin,
    /// The changes that no commit has, when they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<CapsulePatch>,
    /// What gates printed, when it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<CapsuleOutput>,
    /// The SHA-256 of all the rest, in lower-case hex; empty until it is written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Capsule {
    /// One that says nothing yet.
    pub fn new(id: CapsuleId, title: impl Into<String>, at_ms: i64) -> Self {
        Self {
            schema: CAPSULE_SCHEMA.to_owned(),
            id,
            title: title.into(),
            status: CapsuleStatus::Open,
            created_at: at_ms,
            updated_at: at_ms,
            goal: None,
            agent_goals: Vec::new(),
            outcome: None,
            constraints: Vec::new(),
            decisions: Vec::new(),
            assumptions: Vec::new(),
            hypothesis: None,
            questions: Vec::new(),
            next: Vec::new(),
            handoffs: Vec::new(),
            touched: Vec::new(),
            verification: Vec::new(),
            not_run: Vec::new(),
            findings: Vec::new(),
            git: None,
            left_out: Vec::new(),
            redaction: CapsuleRedaction::default(),
            origin: CapsuleOrigin::default(),
            patch: None,
            outputs: Vec::new(),
            digest: String::new(),
            more: Map::new(),
        }
    }

    /// Every statement, with the name of its place: `decisions[2]`.
    pub fn statements(&self) -> impl Iterator<Item = (String, &CapsuleStatement)> {
        self.stated().map(|(_, place, said)| (place, said))
    }

    /// As [`Self::statements`], each with the kind of the notes that its section is filled from.
    pub fn stated(&self) -> impl Iterator<Item = (NoteKind, String, &CapsuleStatement)> {
        let single = [
            (NoteKind::Goal, "goal", &self.goal),
            (NoteKind::Hypothesis, "hypothesis", &self.hypothesis),
        ];
        let single = single
            .into_iter()
            .filter_map(|(kind, name, said)| Some((kind, name.to_owned(), said.as_ref()?)));
        let listed = [
            (NoteKind::Goal, "agentGoals", &self.agent_goals),
            (NoteKind::Constraint, "constraints", &self.constraints),
            (NoteKind::Decision, "decisions", &self.decisions),
            (NoteKind::Assumption, "assumptions", &self.assumptions),
            (NoteKind::Question, "questions", &self.questions),
            (NoteKind::NextStep, "next", &self.next),
        ];
        single.chain(listed.into_iter().flat_map(|(kind, name, said)| {
            let said = said.iter().enumerate();
            said.map(move |(at, said)| (kind, format!("{name}[{at}]"), said))
        }))
    }

    /// As [`Self::stated`], to be changed.
    pub fn stated_mut(&mut self) -> impl Iterator<Item = (NoteKind, &mut CapsuleStatement)> {
        let single = [
            (NoteKind::Goal, &mut self.goal),
            (NoteKind::Hypothesis, &mut self.hypothesis),
        ];
        let listed = [
            (NoteKind::Goal, &mut self.agent_goals),
            (NoteKind::Constraint, &mut self.constraints),
            (NoteKind::Decision, &mut self.decisions),
            (NoteKind::Assumption, &mut self.assumptions),
            (NoteKind::Question, &mut self.questions),
            (NoteKind::NextStep, &mut self.next),
        ];
        let single = single
            .into_iter()
            .filter_map(|(kind, said)| Some((kind, said.as_mut()?)));
        single.chain(
            listed
                .into_iter()
                .flat_map(|(kind, said)| said.iter_mut().map(move |said| (kind, said))),
        )
    }

    /// Every entry that it cites, with the name of its place.
    pub fn refs(&self) -> impl Iterator<Item = (String, &LineRef)> {
        let said = self
            .statements()
            .filter_map(|(place, said)| Some((format!("{place}.ref"), said.line.as_ref()?)));
        let outcome = self.outcome.iter();
        let outcome =
            outcome.filter_map(|said| Some(("outcome.ref".to_owned(), said.line.as_ref()?)));
        let runs = self.verification.iter().enumerate();
        said.chain(outcome).chain(
            runs.filter_map(|(at, run)| {
                Some((format!("verification[{at}].ref"), run.line.as_ref()?))
            }),
        )
    }

    /// Every path in it that names a file of the project, with the name of its place.
    pub fn paths(&self) -> impl Iterator<Item = (String, &str)> {
        let touched = self.touched.iter().enumerate();
        let touched = touched.map(|(at, file)| (format!("touched[{at}].path"), &*file.path));
        let findings = self.findings.iter().enumerate();
        touched.chain(findings.filter_map(|(at, finding)| {
            Some((format!("findings[{at}].path"), finding.path.as_deref()?))
        }))
    }

    /// Every text that somebody wrote, to be looked at and changed; neither ids nor hashes, nor our
    /// own command, nor the cited lines, which are right as they are or not there.
    pub(crate) fn each_text(&mut self, look: &mut dyn FnMut(&mut String)) {
        look(&mut self.title);
        let single = [&mut self.goal, &mut self.outcome, &mut self.hypothesis];
        for said in single.into_iter().flatten() {
            look(&mut said.text);
        }
        for listed in [
            &mut self.agent_goals,
            &mut self.constraints,
            &mut self.decisions,
            &mut self.assumptions,
            &mut self.questions,
            &mut self.next,
        ] {
            listed.iter_mut().for_each(|said| look(&mut said.text));
        }
        for handoff in &mut self.handoffs {
            look(&mut handoff.from);
            look(&mut handoff.to);
            look(&mut handoff.ask);
            handoff.state.other_mut().into_iter().for_each(&mut *look);
        }
        for file in &mut self.touched {
            look(&mut file.path);
            look(&mut file.by);
        }
        for left in &mut self.left_out {
            // Our own command is as it is, whatever the user or the host is called.
            let is_own = left.has_own_command(&self.id);
            left.what.other_mut().into_iter().for_each(&mut *look);
            if !is_own {
                look(&mut left.how);
            }
            left.names.iter_mut().for_each(&mut *look);
        }
        for run in &mut self.verification {
            run.status.other_mut().into_iter().for_each(&mut *look);
            look(&mut run.name);
            run.cmd.iter_mut().for_each(&mut *look);
        }
        self.not_run.iter_mut().for_each(&mut *look);
        for finding in &mut self.findings {
            look(&mut finding.external_id);
            look(&mut finding.severity);
            look(&mut finding.state);
            look(&mut finding.title);
            finding.path.iter_mut().for_each(&mut *look);
            finding.url.iter_mut().for_each(&mut *look);
        }
        if let Some(git) = &mut self.git {
            git.branch.iter_mut().for_each(&mut *look);
            git.remote.iter_mut().for_each(&mut *look);
            git.folder.iter_mut().for_each(&mut *look);
        }
        look(&mut self.origin.project);
        self.redaction.files.iter_mut().for_each(look);
    }

    /// What speaks against a gate's run, in words that follow how it was verified.
    pub fn doubt_of(&self, run: &CapsuleRun) -> &'static str {
        let is_of_another_command = run.verified && self.not_run.contains(&run.name);
        match (is_of_another_command, run.flaky == Some(true)) {
            (true, true) => ", by another command than the gate has now, and flaky",
            (true, false) => ", by another command than the gate has now",
            (false, true) => ", flaky: it came to something else on the same tree before",
            (false, false) => "",
        }
    }
}

/// Whether a path names something below the folder that it is relative to, in a form that every
/// system takes the same way.
pub fn is_within(path: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let is_odd = |letter: char| letter == '\\' || letter.is_control();
    !path.contains(is_odd) && path.split('/').all(is_plain) && !has_drive(path)
}

/// `C:` names a drive on Windows.
fn has_drive(path: &str) -> bool {
    let mut letters = path.bytes();
    letters
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic())
        && letters.next() == Some(b':')
}
