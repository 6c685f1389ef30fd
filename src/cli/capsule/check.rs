//! `ctxrelay capsule check`: whether what a capsule says of the work tree still holds.

use serde_json::{Value, json};

use super::maker::CapsuleMaker;
use super::put_in::ImportedPatch;
use super::vouched::Vouched;
use crate::adapters::git::now::GitNeed;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::count;
use crate::core::capsule::{Freshness, StandsNow, WhyUnknown};
use crate::store::capsules::CapsuleOwner;
use crate::wire::capsule::{check_lines, uncited};

/// How many files that cannot be compared stand in the line that says so.
const NAMED_MAX: usize = 3;

pub(super) fn run(context: &CliContext, name: &str) -> CliOutcome {
    let maker = CapsuleMaker::open_ahead(&context.project, GitNeed::Tree)?;
    let id = maker.id_of(name)?;
    let made = maker.last_kept(&id)?;
    let bad = check_lines(&made.capsule).err();
    let vouched = match maker.has_lines(&made.capsule) {
        // What the record has is in it: of a long one all the rest need not be read for that.
        true => Vouched::Own,
        false => Vouched::of(context, &maker.world, &made.capsule, None)?,
    };
    // Last of all: git is waited for.
    let stands = maker.stands_of(&made);
    let is_foreign = made.owner == CapsuleOwner::Foreign;
    let patch = ImportedPatch::of(&maker, &made.capsule).filter(|_| is_foreign);
    let uncited = uncited(&made.capsule);
    let value = json!({
        "id": id,
        "freshness": stands.freshness,
        "ahead": stands.distance.map(|(since, _)| since),
        "behind": stands.distance.map(|(_, before)| before),
        "touched": touched(&stands),
        "uncompared": uncompared(&stands),
        "intact": bad.is_none(),
        "anchored": bad.is_none() && vouched.is_anchored(),
        "chainRead": vouched.is_chain_read(),
        "uncited": uncited.0,
        "firstBad": bad.as_ref().map(|bad| json!({"path": bad.place, "reason": bad.why})),
        "digest": made.capsule.digest,
        "patch": patch.as_ref().map(ImportedPatch::value),
        "applied": maker.world.imported.contains_key(&id),
        "foreign": is_foreign,
        "remarks": made.remarks,
    });
    let mut text = ReportText::new();
    text.spans(&[
        (Tone::Plain, &format!("{id}  ")),
        (tone(stands.freshness), stands.freshness.as_str()),
        (Tone::Faint, &format!("  {}", why(&stands))),
    ]);
    tell_changed(&mut text, &stands);
    if is_foreign && bad.is_none() {
        tell_vouched(&mut text, vouched);
        tell_uncited(&mut text, uncited);
        if let Some(patch) = &patch {
            patch.tell(&mut text);
        }
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
pub(super) fn touched(stands: &StandsNow) -> Vec<Value> {
    let files = stands.changed.iter();
    files
        .map(|file| json!({"path": file.path, "by": file.by}))
        .collect()
}

/// The files that cannot be compared.
pub(super) fn uncompared(stands: &StandsNow) -> Vec<&str> {
    let files = stands.uncompared.iter();
    files.map(|file| file.path.as_str()).collect()
}

/// As [`touched`], in words.
pub(super) fn tell_changed(text: &mut ReportText, stands: &StandsNow) {
    for file in &stands.changed {
        let file = file.to_string();
        text.spans(&[(Tone::Warning, "  changed  "), (Tone::Plain, &file)]);
    }
    for file in &stands.uncompared {
        text.spans(&[
            (Tone::Warning, "  not compared  "),
            (Tone::Plain, &file.to_string()),
        ]);
    }
}

/// Whether the cited lines stand in a record that verifies, in the words for it.
pub(super) fn tell_vouched(text: &mut ReportText, vouched: Vouched) {
    let word = match vouched.is_anchored() {
        true => "anchored",
        false => "intact only",
    };
    text.spans(&[
        (Tone::Plain, word),
        (Tone::Faint, &format!("  {}", vouched.why())),
    ]);
}

/// How many statements and runs are cited by no line in the file, of how many.
pub(super) fn tell_uncited(text: &mut ReportText, (bare, all): (usize, usize)) {
    if bare > 0 {
        text.spans(&[
            (Tone::Warning, &format!("{bare} of {all} uncited")),
            (
                Tone::Faint,
                "  for these statements and runs no line of a record is in the file",
            ),
        ]);
    }
}

/// What the word means here.
pub(super) fn why(stands: &StandsNow) -> String {
    let commits = |count_of: u64| count(count_of, "commit", "commits");
    // Of what it does not list nobody can tell.
    let its = match stands.listed {
        Some(listed) => format!("the {listed} files that it lists"),
        None => "its files".to_owned(),
    };
    match (stands.freshness, stands.distance) {
        (Freshness::Fresh, _) if stands.listed.is_some() => {
            "the work tree is the one that it was made on, as far as git knows it".to_owned()
        }
        (Freshness::Fresh, _) => "the work tree is the one that it was made on".to_owned(),
        (Freshness::Moved, _) if !stands.has_git => {
            format!("none of {its} differs, and without git nothing else is compared")
        }
        (Freshness::Moved, Some((0, before))) if before > 0 => {
            format!("{} behind it, and none of {its} differs", commits(before))
        }
        (Freshness::Moved, Some((since, _))) if since > 0 => {
            format!("{} since, and none touches {its}", commits(since))
        }
        (Freshness::Moved, _) => match stands.listed {
            Some(_) => format!("other files changed, and none of {its}"),
            None => "other files changed, and none of its own".to_owned(),
        },
        (Freshness::Touched, _) => {
            let files = count(stands.changed.len() as u64, "of its files", "of its files");
            format!("{files} changed since")
        }
        (Freshness::Diverged, Some((since, before))) => format!(
            "{} here that it does not know, {} of its own that are not here",
            commits(since),
            commits(before)
        ),
        (Freshness::Diverged, None) => "the histories differ".to_owned(),
        (Freshness::Unknown, _) => {
            let mut why = format!("{}, so nobody can tell", stands.why_unknown());
            if stands.why_unknown == Some(WhyUnknown::Files) {
                let named = stands.uncompared.iter().take(NAMED_MAX);
                let named = named.map(ToString::to_string);
                why.push_str(&format!(": {}", named.collect::<Vec<_>>().join(", ")));
                if stands.uncompared.len() > NAMED_MAX {
                    why.push_str(", …");
                }
            }
            why
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::capsule::UncomparedFile;

    #[test]
    fn what_was_not_compared_is_not_said_to_be_the_same() {
        let of = |freshness: Freshness, distance: Option<(u64, u64)>| StandsNow {
            listed: Some(50),
            distance,
            ..StandsNow::plain(freshness)
        };
        for (stands, expected) in [
            (
                of(Freshness::Moved, Some((3, 0))),
                "3 commits since, and none touches the 50 files that it lists",
            ),
            (
                of(Freshness::Moved, Some((0, 1))),
                "1 commit behind it, and none of the 50 files that it lists differs",
            ),
            (
                of(Freshness::Moved, Some((0, 0))),
                "other files changed, and none of the 50 files that it lists",
            ),
            (
                of(Freshness::Fresh, Some((0, 0))),
                "the work tree is the one that it was made on, as far as git knows it",
            ),
            (
                StandsNow {
                    has_git: false,
                    ..StandsNow::plain(Freshness::Moved)
                },
                "none of its files differs, and without git nothing else is compared",
            ),
            (
                StandsNow {
                    why_unknown: Some(WhyUnknown::Files),
                    uncompared: ["a", "b", "c", "d"]
                        .map(|path| UncomparedFile {
                            path: path.to_owned(),
                            place: None,
                            is_masked: false,
                        })
                        .to_vec(),
                    ..StandsNow::plain(Freshness::Unknown)
                },
                "some of its files cannot be compared, so nobody can tell: a, b, c, …",
            ),
        ] {
            assert_eq!(why(&stands), expected);
        }
    }
}
