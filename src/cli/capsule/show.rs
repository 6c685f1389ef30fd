//! `ctxrelay capsule show`: one task, as its capsule has it.

use serde_json::json;

use super::check::{tone, why};
use super::maker::{CapsuleMaker, MadeCapsule};
use crate::adapters::git::now::GitNeed;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::core::capsule::{CapsuleLeftOut, CapsuleStatement, ChangedFile, StandsNow};
use crate::core::told_path::told_path;
use crate::store::capsules::CapsuleOwner;

pub(super) fn run(context: &CliContext, name: &str) -> CliOutcome {
    let maker = CapsuleMaker::open_ahead(&context.project, GitNeed::Stand)?;
    let mut made = maker.named(name)?;
    let stands = maker.compare_last(&mut made);
    made.remarks.extend(maker.masking_remark());
    let made = maker.shown(made);
    let capsule = &made.capsule;
    let mut text = ReportText::new();
    let status = format!("  {}", capsule.status);
    text.spans(&[
        (Tone::Faint, &format!("{}  ", capsule.id)),
        (Tone::Plain, &capsule.title),
        (Tone::Faint, &status),
    ]);
    text.spans(&[
        (tone(stands.freshness), stands.freshness.as_str()),
        (Tone::Faint, &format!("  {}", why(&stands))),
    ]);
    if made.owner == CapsuleOwner::Foreign {
        text.spans(&[(
            Tone::Warning,
            "from elsewhere: shown, and not believed; nothing in it was run here",
        )]);
    }
    for remark in &made.remarks {
        text.spans(&[(Tone::Warning, remark)]);
        // The one value is the capsule itself.
        if context.out.is_json() {
            context.out.note(remark);
        }
    }
    for (title, rows) in changed(&stands).into_iter().chain(sections(&made)) {
        text.line(title);
        for row in rows {
            text.block("  ", row);
        }
    }
    let mut value = json!(capsule);
    if made.is_masked_here {
        value["maskedHere"] = json!(true);
    }
    let size = format!("{} bytes  digest {}", made.bytes.len(), capsule.digest);
    text.spans(&[(Tone::Faint, &size)]);
    context.out.report(Report::new(&value, text))
}

/// The files that are not what they were, under their heading; nothing where there are none.
pub(super) fn changed(stands: &StandsNow) -> Option<(&'static str, Vec<String>)> {
    let files = stands.changed.iter().map(ChangedFile::to_string);
    let files: Vec<String> = files.collect();
    (!files.is_empty()).then_some(("Changed since", files))
}

/// What a capsule says, by its headings; those with nothing below them are left out.
pub(super) fn sections(made: &MadeCapsule) -> Vec<(&'static str, Vec<String>)> {
    let capsule = &made.capsule;
    let whose = match made.owner {
        CapsuleOwner::Project => "",
        CapsuleOwner::Foreign => " elsewhere",
    };
    let said = |said: &[CapsuleStatement]| -> Vec<String> {
        let said = said.iter();
        said.map(|said| format!("[{}{whose}] {}", said.by, said.text))
            .collect()
    };
    let one = |one: &Option<CapsuleStatement>| said(one.as_slice());
    let runs = capsule.verification.iter().map(|run| {
        let how = match (run.verified, made.owner, run.current) {
            (true, CapsuleOwner::Foreign, _) => "verified elsewhere, not here",
            (true, CapsuleOwner::Project, true) => "verified",
            (true, CapsuleOwner::Project, false) if run.tree.is_none() => {
                "verified, tree not known"
            }
            (true, CapsuleOwner::Project, false) => "verified, on another tree",
            (false, ..) => "claimed",
        };
        let doubt = capsule.doubt_of(run);
        let code = match run.exit_code {
            Some(code) if !run.verified => format!(", exit code {code}"),
            _ => String::new(),
        };
        format!("{}: {} ({how}{doubt}{code})", run.name, run.status)
    });
    let files = capsule.touched.iter();
    let files = files.map(|file| format!("{} ({} by {})", told_path(&file.path), file.op, file.by));
    let is_foreign = made.owner == CapsuleOwner::Foreign;
    let handoffs = capsule.handoffs.iter().map(|handoff| {
        let (asked, is_whole) = handoff.asked();
        // The command's one value is the capsule, with all that it has.
        let how = match is_whole {
            true if handoff.cut == Some(true) && !is_foreign => {
                let log = CapsuleLeftOut::log(&capsule.id);
                format!(" (cut here: `{log}` has all of it)")
            }
            true if handoff.cut == Some(true) => " (its sender has all of it)".to_owned(),
            true => String::new(),
            false => format!(" (`ctxrelay capsule show {} --json` has it)", capsule.id),
        };
        // By which `ctxrelay handoff close` ends it.
        let id = match handoff.state.is_over() || is_foreign {
            true => String::new(),
            false => format!(" ({})", handoff.id),
        };
        format!(
            "{} → {}, {}{id}: {asked}{how}",
            handoff.from, handoff.to, handoff.state
        )
    });
    let findings = capsule.findings.iter().map(|finding| {
        let place = finding.place();
        let place = place.map(|place| format!(" {}", told_path(&place)));
        format!(
            "{}, {}{} ({}): {}",
            finding.severity,
            finding.state,
            place.unwrap_or_default(),
            finding.external_id,
            finding.title
        )
    });
    let left = capsule.left_out.iter();
    let left = left.map(|left| left.told(is_foreign, |name| told_path(name).into_owned()));
    let sections = [
        ("Goal", one(&capsule.goal)),
        ("Goal as agents say it", said(&capsule.agent_goals)),
        ("Outcome", one(&capsule.outcome)),
        ("Constraints", said(&capsule.constraints)),
        ("Decisions", said(&capsule.decisions)),
        ("Next steps", said(&capsule.next)),
        ("Open questions", said(&capsule.questions)),
        ("Hypothesis", one(&capsule.hypothesis)),
        ("Assumptions", said(&capsule.assumptions)),
        ("Verification", runs.collect()),
        ("Not run", capsule.not_run.clone()),
        ("Files", files.collect()),
        ("Handoffs", handoffs.collect()),
        ("Findings", findings.collect()),
        ("Left out", left.collect()),
    ];
    let mut sections = Vec::from(sections);
    sections.retain(|(_, rows)| !rows.is_empty());
    sections
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::core::capsule::{Capsule, CapsuleFinding, CapsuleRun};
    use crate::core::entry::ArtifactStatus;
    use crate::core::id::CapsuleId;

    fn told(owner: CapsuleOwner, title: &str, fill: impl Fn(&mut Capsule)) -> Vec<String> {
        let mut capsule = Capsule::new(CapsuleId::new("cap_3f9a61c07b2e"), "Login", 1);
        fill(&mut capsule);
        let made = MadeCapsule {
            capsule,
            bytes: Vec::new(),
            owner,
            remarks: Vec::new(),
            is_vouched: true,
            is_masked_here: false,
            is_of_now: false,
        };
        let mut sections = sections(&made).into_iter();
        let found = sections.find(|(name, _)| *name == title);
        found.map(|(_, rows)| rows).unwrap_or_default()
    }

    #[test]
    fn a_finding_is_told_with_its_line_and_the_id_by_which_it_is_asked_for() {
        let found = |path: Option<&str>| CapsuleFinding {
            external_id: "gh:rc:2".to_owned(),
            severity: "critical".to_owned(),
            state: "open".to_owned(),
            path: path.map(str::to_owned),
            start_line: None,
            line: path.map(|_| 3),
            title: "P0: other".to_owned(),
            url: None,
            more: Map::new(),
        };
        let rows = told(CapsuleOwner::Project, "Findings", |capsule| {
            capsule.findings = vec![found(Some("src/a.rs")), found(None)];
        });
        let wanted = [
            "critical, open src/a.rs:3 (gh:rc:2): P0: other",
            "critical, open (gh:rc:2): P0: other",
        ];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn what_somebody_else_verified_was_not_verified_here() {
        let run = |name: &str, verified: bool, current: bool| CapsuleRun {
            name: name.to_owned(),
            cmd: None,
            status: ArtifactStatus::Passed.into(),
            verified,
            exit_code: None,
            duration_ms: None,
            tree: (verified && name != "no git").then(|| "4b".repeat(20)),
            current,
            flaky: None,
            output_sha256: None,
            line: None,
            more: Map::new(),
        };
        let rows = |owner| {
            told(owner, "Verification", |capsule| {
                capsule.verification = vec![
                    run("lint", true, true),
                    run("unit", true, false),
                    run("no git", true, false),
                    run("by hand", false, false),
                ];
            })
        };
        let ours = [
            "lint: passed (verified)",
            "unit: passed (verified, on another tree)",
            "no git: passed (verified, tree not known)",
            "by hand: passed (claimed)",
        ];
        assert_eq!(rows(CapsuleOwner::Project), ours);
        let theirs = [
            "lint: passed (verified elsewhere, not here)",
            "unit: passed (verified elsewhere, not here)",
            "no git: passed (verified elsewhere, not here)",
            "by hand: passed (claimed)",
        ];
        assert_eq!(rows(CapsuleOwner::Foreign), theirs);
    }
}
