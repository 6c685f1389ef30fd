//! `ctxrelay capsule show`: one task, as its capsule says it.

use super::check::{tone, why};
use super::maker::CapsuleMaker;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::core::capsule::{Capsule, CapsuleStatement};
use crate::store::capsules::CapsuleOwner;

pub(super) fn run(context: &CliContext, name: &str) -> CliOutcome {
    let maker = CapsuleMaker::open(context)?;
    let made = maker.named(name)?;
    let capsule = &made.capsule;
    let (freshness, now) = maker.compare(capsule);
    let mut text = ReportText::new();
    let status = format!("  {}", capsule.status);
    text.spans(&[
        (Tone::Faint, &format!("{}  ", capsule.id)),
        (Tone::Plain, &capsule.title),
        (Tone::Faint, &status),
    ]);
    text.spans(&[
        (tone(freshness), freshness.as_str()),
        (Tone::Faint, &format!("  {}", why(freshness, &now))),
    ]);
    if made.owner == CapsuleOwner::Foreign {
        text.spans(&[(
            Tone::Warning,
            "from elsewhere: shown, and not believed; nothing in it was run here",
        )]);
    }
    let whose = match made.owner {
        CapsuleOwner::Project => "",
        CapsuleOwner::Foreign => " elsewhere",
    };
    sections(&mut text, capsule, whose);
    let size = format!("{} bytes  digest {}", made.bytes.len(), capsule.digest);
    text.spans(&[(Tone::Faint, &size)]);
    context.out.report(Report::new(capsule, text))
}

fn sections(out: &mut ReportText, capsule: &Capsule, whose: &str) {
    let said =
        |out: &mut ReportText, title: &str, said: &mut dyn Iterator<Item = &CapsuleStatement>| {
            let said = said.map(|said| format!("[{}{whose}] {}", said.by, said.text));
            listed(out, title, said);
        };
    said(out, "Goal", &mut capsule.goal.iter());
    said(out, "Outcome", &mut capsule.outcome.iter());
    said(out, "Constraints", &mut capsule.constraints.iter());
    said(out, "Decisions", &mut capsule.decisions.iter());
    said(out, "Next steps", &mut capsule.next.iter());
    said(out, "Open questions", &mut capsule.questions.iter());
    said(out, "Hypothesis", &mut capsule.hypothesis.iter());
    said(out, "Assumptions", &mut capsule.assumptions.iter());
    let runs = capsule.verification.iter().map(|run| {
        let how = if run.verified { "verified" } else { "claimed" };
        let on = match (run.verified, run.current) {
            (true, false) => ", on another tree",
            _ => "",
        };
        format!("{}: {} ({how}{on})", run.name, run.status)
    });
    listed(out, "Verification", runs);
    listed(out, "Not run", capsule.not_run.iter().cloned());
    let files = capsule.touched.iter();
    listed(
        out,
        "Files",
        files.map(|file| format!("{} ({} by {})", file.path, file.op, file.by)),
    );
    let handoffs = capsule.handoffs.iter();
    let handoffs = handoffs.map(|handoff| {
        format!(
            "{} → {}, {}: {}",
            handoff.from, handoff.to, handoff.state, handoff.ask
        )
    });
    listed(out, "Handoffs", handoffs);
    let left = capsule.left_out.iter();
    listed(
        out,
        "Left out",
        left.map(|left| format!("{} of {}: {}", left.count, left.what, left.how)),
    );
}

fn listed(out: &mut ReportText, title: &str, items: impl Iterator<Item = String>) {
    for (at, item) in items.enumerate() {
        if at == 0 {
            out.line(title);
        }
        out.block("  ", item);
    }
}
