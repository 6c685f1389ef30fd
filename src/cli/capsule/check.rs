//! `ctxrelay capsule check`: whether what a capsule says of the work tree is still so.

use serde_json::{Value, json};

use super::maker::CapsuleMaker;
use crate::adapters::git_now::GitNeed;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::words::count;
use crate::core::capsule::{Capsule, Freshness, TreeNow, changed_by};
use crate::core::snapshot::Snapshot;
use crate::store::capsules::CapsuleOwner;
use crate::wire::capsule::check_lines;

pub(super) fn run(context: &CliContext, name: &str) -> CliOutcome {
    let maker = CapsuleMaker::open_ahead(&context.setting, GitNeed::Tree)?;
    let id = maker.id_of(name)?;
    let made = maker.last_kept(&id)?;
    let (freshness, now) = maker.compare(&made.capsule);
    let bad = check_lines(&made.capsule).err();
    let value = json!({
        "id": id,
        "freshness": freshness,
        "ahead": now.distance.map(|(since, _)| since),
        "behind": now.distance.map(|(_, before)| before),
        "touched": touched(&maker.world, &made.capsule, &now),
        "intact": bad.is_none(),
        "firstBad": bad.as_ref().map(|bad| json!({"path": bad.place, "reason": bad.why})),
        "digest": made.capsule.digest,
        "foreign": made.owner == CapsuleOwner::Foreign,
        "remarks": made.remarks,
    });
    let mut text = ReportText::new();
    text.spans(&[
        (Tone::Plain, &format!("{id}  ")),
        (tone(freshness), freshness.as_str()),
        (Tone::Faint, &format!("  {}", why(freshness, &now))),
    ]);
    for file in &now.differing {
        text.spans(&[(Tone::Warning, "  changed  "), (Tone::Plain, file)]);
    }
    for remark in &made.remarks {
        text.note(remark);
    }
    if let Some(bad) = &bad {
        text.spans(&[
            (Tone::Bad, "  not intact  "),
            (Tone::Plain, &bad.to_string()),
        ]);
    }
    let report = Report::new(&value, text);
    context.out.report(report.checked(bad.is_none()))
}

/// The files that changed, by whom where the record knows.
pub(super) fn touched(world: &Snapshot, capsule: &Capsule, now: &TreeNow) -> Vec<Value> {
    let files = now.differing.iter();
    files
        .map(|path| json!({"path": path, "by": changed_by(world, path, capsule.updated_at)}))
        .collect()
}

/// What the word means here.
pub(super) fn why(freshness: Freshness, now: &TreeNow) -> String {
    let commits = |count_of: u64| count(count_of, "commit", "commits");
    match (freshness, now.distance) {
        (Freshness::Fresh, _) => "the work tree is the one that it was made on".to_owned(),
        (Freshness::Moved, Some((0, before))) if before > 0 => {
            format!(
                "{} behind it, and none of its files differs",
                commits(before)
            )
        }
        (Freshness::Moved, Some((since, _))) if since > 0 => {
            format!("{} since, and none touches its files", commits(since))
        }
        (Freshness::Moved, _) => "other files changed, and none of its own".to_owned(),
        (Freshness::Touched, _) => {
            let files = count(now.differing.len() as u64, "of its files", "of its files");
            format!("{files} changed since")
        }
        (Freshness::Diverged, Some((since, before))) => format!(
            "{} here that it does not know, {} of its own that are not here",
            commits(since),
            commits(before)
        ),
        (Freshness::Diverged, None) => "the histories differ".to_owned(),
        (Freshness::Unknown, _) => "its commit is not here, so nobody can tell".to_owned(),
        (Freshness::Foreign, _) => "it is of another repository".to_owned(),
    }
}

pub(super) fn tone(freshness: Freshness) -> Tone {
    match freshness {
        Freshness::Fresh => Tone::Good,
        Freshness::Moved => Tone::Plain,
        _ => Tone::Warning,
    }
}
