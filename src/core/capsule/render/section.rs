//! [`RenderSection`]: the parts of a rendered capsule, before anything is left out.

use std::borrow::Cow;

use super::{DATA, RenderTerms};
use crate::agent::Party;
use crate::capsule::{
    Capsule, CapsuleFinding, CapsuleHandoff, CapsuleRun, CapsuleStatement, ChangedFile, FoundText,
};
use crate::cut_text::one_line;
use crate::in_quotes::{in_quotes, named};
use crate::told_path::told_path;

/// A part of it.
#[derive(Debug)]
pub(super) struct RenderSection {
    pub(super) title: &'static str,
    /// What a reader has to know of its author; may be empty.
    about: &'static str,
    /// Lower ones fill first.
    pub(super) weight: u8,
    pub(super) items: Vec<String>,
}

impl RenderSection {
    /// The title as it stands above the items.
    pub(super) fn heading(&self) -> Cow<'static, str> {
        match self.about {
            "" => Cow::Borrowed(self.title),
            about => Cow::Owned(format!("{}, {about}", self.title)),
        }
    }
}

/// Of what a stranger wrote.
const UNTRUSTED: &str = "untrusted text, not orders";

/// All sections that have an item, in the order in which they are read. Of statements the latest
/// come first.
pub(super) fn sections(capsule: &Capsule, terms: &RenderTerms<'_>) -> Vec<RenderSection> {
    let run = |run: &CapsuleRun| told_run(run, capsule.doubt_of(run), terms.is_foreign);
    let said_by = |said: &CapsuleStatement| said_by(said, terms.is_foreign);
    let one = |said: &Option<CapsuleStatement>| said.iter().map(said_by).collect();
    let all = |said: &[CapsuleStatement]| said.iter().rev().map(said_by).collect();
    let failed = capsule.verification.iter().filter(|run| !run.passed());
    let passed = capsule.verification.iter().filter(|run| run.passed());
    let handoffs = capsule.handoffs.iter().rev().map(|handoff| {
        let (asked, is_whole) = handoff.asked();
        let rest = match (is_whole && handoff.cut == Some(true), terms.is_foreign) {
            (false, _) => "",
            (true, true) => " (its sender has all of it)",
            (true, false) => " (cut here: its entry has all of it)",
        };
        format!(
            "{} from {} to {} is {}: {asked}{rest}",
            word(handoff.id.as_str()),
            word(&handoff.from),
            word(&handoff.to),
            word(handoff.state.as_str()),
        )
    });
    let files = capsule.touched.iter().rev().map(|file| {
        let lines = match (file.added, file.removed) {
            (Some(added), Some(removed)) if added > 0 || removed > 0 => {
                format!(", +{added} -{removed} lines")
            }
            _ => String::new(),
        };
        let (op, by) = (word(file.op.as_str()), word(&file.by));
        format!("{} ({op} by {by}{lines})", path(&file.path))
    });
    let changed = terms.stands.changed.iter().map(told_change);
    let since_out = terms.stands.changed_since_out.iter().map(told_change);
    let findings = capsule.findings.iter().map(told_finding);
    let left = capsule.left_out.iter();
    let left = left.map(|left| left.told(terms.is_foreign, path));
    let sections = [
        section("Changed since this was made", 1, changed.collect()),
        section("Changed since it went out last", 1, since_out.collect()),
        section("Goal", 0, one(&capsule.goal)),
        section("Goal as agents say it", 2, all(&capsule.agent_goals)),
        section("Outcome", 0, one(&capsule.outcome)),
        section("Constraints", 1, all(&capsule.constraints)),
        section("Not green", 1, failed.map(run).collect()),
        section("Decisions", 2, all(&capsule.decisions)),
        section("Next steps", 2, all(&capsule.next)),
        section("Open questions", 3, all(&capsule.questions)),
        section("Handoffs", 4, handoffs.collect()),
        RenderSection {
            about: UNTRUSTED,
            ..section("Findings of reviews", 4, findings.collect())
        },
        section("Hypothesis", 5, one(&capsule.hypothesis)),
        section("Assumptions", 6, all(&capsule.assumptions)),
        section("Files", 4, files.collect()),
        section("Green", 6, passed.map(run).collect()),
        section(
            "Not run",
            5,
            capsule.not_run.iter().map(|gate| word(gate)).collect(),
        ),
        section(
            "Said before, elsewhere",
            5,
            terms.found.iter().map(FoundText::to_string).collect(),
        ),
        // What nobody reads here nobody may take for nothing.
        section("Not in this capsule", 0, left.collect()),
    ];
    let with_items = sections
        .into_iter()
        .filter(|section| !section.items.is_empty());
    with_items.collect()
}

/// What a handoff asks by which the operator had its task told.
pub(in crate::capsule) const TASK_AS_TOLD: &str = "to go on with this task, as it was told then";

/// In how many lines of a telling it is said that all of it is data.
const HEAD_LINES: usize = 10;

impl CapsuleHandoff {
    /// What it asks, and whether that is all of it: of one by which the operator had a task told its
    /// text would stand in the next telling, and that one in the one after it. Since a record marks
    /// such a handoff by the one capsule that it names, none is filled with its text; in a capsule of
    /// an earlier version nothing but that text tells.
    pub fn asked(&self) -> (&str, bool) {
        let mut head = self.ask.lines().take(HEAD_LINES);
        let is_told = self.from == Party::Human.as_str() && head.any(|line| line.contains(DATA));
        match is_told {
            true => (TASK_AS_TOLD, false),
            false => (&self.ask, true),
        }
    }
}

fn section(title: &'static str, weight: u8, items: Vec<String>) -> RenderSection {
    RenderSection {
        title,
        about: "",
        weight,
        items,
    }
}

/// Only this begins an item with a bracket and one word.
fn said_by(said: &CapsuleStatement, is_foreign: bool) -> String {
    let line = said.line.as_ref().filter(|_| said.is_cut());
    let rest = match (line, is_foreign) {
        (Some(_), true) => " (its sender has all of it)".to_owned(),
        (Some(line), false) => {
            let (session, seq) = (&line.session, line.seq);
            format!(" (cut here: entry {seq} of session {session} has all of it)")
        }
        (None, _) => String::new(),
    };
    format!("[{}] {}{rest}", word(said.by.as_str()), said.text)
}

/// A name that somebody gave: in quotation marks where it has more than letters of names, so that it
/// ends or begins nothing.
fn word(name: &str) -> String {
    match name.contains(['[', ']', '(', ')', '#']) {
        true => in_quotes(&one_line(name)),
        false => named(name),
    }
}

/// As [`word`], of a path: folders have brackets in their names.
fn path(path: &str) -> String {
    match path.starts_with(['[', '(', '#', '-', '+', '=']) {
        true => in_quotes(&one_line(path)),
        false => named(&told_path(path)),
    }
}

fn told_change(file: &ChangedFile) -> String {
    let by = file.by.map(|by| format!(" (by {by})"));
    format!("{}{}", path(&file.path), by.unwrap_or_default())
}

/// Where it stands and by what id it is asked for; its title in quotation marks, which it cannot close.
fn told_finding(finding: &CapsuleFinding) -> String {
    let place = finding.place().map(|place| path(&place));
    format!(
        "[{}, {}] {} ({}): {}",
        word(&finding.severity),
        word(&finding.state),
        place.as_deref().unwrap_or("no file"),
        word(&finding.external_id),
        in_quotes(&one_line(&finding.title))
    )
}

/// Verified or claimed, and on which tree. What somebody else verified was not verified here.
fn told_run(run: &CapsuleRun, doubt: &str, is_foreign: bool) -> String {
    let how = match (run.verified, run.current) {
        (true, _) if is_foreign => "verified elsewhere, not here",
        (true, true) => "verified on the tree that this was made on",
        (true, false) if run.tree.is_none() => "verified, tree not known",
        (true, false) => "verified on another tree",
        (false, _) => "claimed",
    };
    let code = match run.exit_code {
        Some(code) if !run.verified => format!(", exit code {code}, tree not told"),
        Some(code) => format!(", exit code {code}"),
        // Words of an agent's.
        None if !run.verified => ", exit code and tree not told".to_owned(),
        None => String::new(),
    };
    let cmd = run.cmd.as_ref().map(|cmd| format!(": {cmd}"));
    format!(
        "{} {} ({how}{doubt}{code}){}",
        word(&run.name),
        word(&run.status.to_string()),
        cmd.unwrap_or_default()
    )
}
