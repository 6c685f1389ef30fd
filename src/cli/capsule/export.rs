//! `ctxrelay capsule export`: one task as one file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::ExportArgs;
use super::change::Changing;
use super::maker::{CapsuleMaker, MadeCapsule};
use crate::adapters::capsules_now::{
    Along, FILTERED_FILES, OUTSIDE_FILES, PASSED_OVER_FILES, UNKNOWN_FILES,
};
use crate::adapters::git::now::GitNeed;
use crate::cli::connection::operator;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::offline::destination::Destination;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::count;
use crate::core::capsule::{Capsule, CapsuleLeftOut, CapsulePatch, CapsuleSection, patched_files};
use crate::core::told_path::told_path;
use crate::store::dirs::{ProjectDirs, exists};
use crate::wire::control::{ProgramCode, TaskChange};

/// How a capsule's file is called.
const ENDING: &str = "ctxcapsule.json";

/// How many folders above the project's own a file lies that is given no place: beside the repository, or
/// a new file in the work tree would make it another one.
pub(super) fn levels_out(root: &Path) -> usize {
    let is_top = |folder: &Path| exists(&folder.join(".git"));
    root.ancestors().position(is_top).unwrap_or(0) + 1
}

/// How many files of a patch are named.
const NAMED_MAX: usize = 20;

/// How much of a title is in the name of a file, in characters.
const NAME_CHARS: usize = 40;

pub(super) fn run(context: &CliContext, args: &ExportArgs) -> CliOutcome {
    if let Some(refusal) = operator::own_refusal() {
        return Err(refusal);
    }
    let mut maker = CapsuleMaker::open_ahead(&context.project, GitNeed::Stand)?;
    maker.check_to_go_out()?;
    // While git is asked.
    let changing = Changing::open(context)?;
    let plain = maker.named(&args.id)?;
    let along = Along {
        patch: args.patch,
        outputs: args.outputs,
    };
    let made = with_along(&maker, &plain, along)?;
    maker.now.let_git_go();
    let made = made.as_ref().unwrap_or(&plain);
    let dirs = &context.project.dirs;
    let path = args.output.clone();
    let path = path.unwrap_or_else(|| {
        let folder = dirs.root.ancestors().nth(levels_out(&dirs.root));
        folder.unwrap_or(&dirs.root).join(file_name(&made.capsule))
    });
    let export = export_of(&maker, &plain, made);
    let mut kept = Ok(None);
    write(dirs, made, &path, args.force, || {
        changing.change(export)?;
        // Its own copy says how the task stands; a patch of a moment is no part of that. Before the
        // file has its name: the record names this one already.
        kept = maker.keep(&plain);
        Ok(())
    })?;
    let mut text = ReportText::new();
    text.line(format!("{} is in {}", made.capsule.id, path.display()));
    text.line(format!("digest {}", made.capsule.digest));
    text.note("who gets the file compares this digest with what you tell them: it shows a change, and not who made the file");
    for line in went_along(&made.capsule, along) {
        text.line(line);
    }
    for remark in &plain.remarks {
        text.note(remark);
    }
    if let Err(failure) = kept {
        text.note(failure.message);
    }
    context.out.report(Report::new(&made.capsule, text))
}

/// The capsule with what is asked to go along; none where nothing is.
pub(super) fn with_along(
    maker: &CapsuleMaker,
    plain: &MadeCapsule,
    along: Along,
) -> Result<Option<MadeCapsule>, Failure> {
    if along == Along::default() {
        return Ok(None);
    }
    let id = &plain.capsule.id;
    match maker.world.tasks.get(id).filter(|task| task.is_open()) {
        Some(task) => maker.make_with(task, along).map(Some),
        None => Err(Failure::state(
            ProgramCode::NotOpen,
            format!("{id} is no open task of this project, so that it stays as it is"),
            "export it without --patch and --outputs",
        )),
    }
}

/// The export as the record has it.
pub(super) fn export_of(
    maker: &CapsuleMaker,
    plain: &MadeCapsule,
    made: &MadeCapsule,
) -> TaskChange {
    TaskChange::Export {
        task: made.capsule.id.clone(),
        digest: made.capsule.digest.clone(),
        kept: maker.to_keep(plain),
        patch: made.capsule.patch.is_some(),
        outputs: !made.capsule.outputs.is_empty(),
        open: plain.is_of_now,
    }
}

/// What went along of what was asked for, and what did not, each in a line.
pub(super) fn went_along(capsule: &Capsule, along: Along) -> Vec<String> {
    let mut lines = Vec::new();
    if along.patch {
        lines.extend(of_patch(capsule));
    }
    if along.outputs {
        let gates = count(capsule.outputs.len() as u64, "gate", "gates");
        lines.push(format!("with what {gates} printed"));
        let mut left = capsule.left_out.iter();
        if let Some(left) = left.find(|left| left.what == CapsuleSection::Outputs) {
            let outputs = count(left.count, "of them is", "of them are");
            lines.push(format!(
                "{outputs} not there, or not whole: see `{}`",
                left.how
            ));
        }
    }
    lines
}

fn of_patch(capsule: &Capsule) -> Vec<String> {
    let patch = capsule.patch.as_ref().and_then(CapsulePatch::bytes);
    let files = patch.and_then(|patch| patched_files(&patch).ok());
    let files = files.unwrap_or_default();
    let mut lines = vec![match (&capsule.git, files.len() as u64) {
        (None, _) => "no patch: git tells nothing of this folder".to_owned(),
        (Some(git), 0) if git.commit.is_none() => {
            "no patch: there is no commit that one could be made on".to_owned()
        }
        (_, 0) => "no patch: no tracked file differs that may go along".to_owned(),
        (_, many) => format!("with a patch of {}", count(many, "file", "files")),
    }];
    let named = files.iter().take(NAMED_MAX);
    lines.extend(named.map(|file| format!("  {}{}", told_path(&file.path), file.fate())));
    if files.len() > NAMED_MAX {
        lines.push(format!("  and {} more", files.len() - NAMED_MAX));
    }
    for file in &capsule.redaction.files {
        lines.push(format!(
            "left out, something in it would be masked: {}",
            told_path(file)
        ));
    }
    let of_patch = |left: &&CapsuleLeftOut| left.what == CapsuleSection::Patch;
    for left in capsule.left_out.iter().filter(of_patch) {
        let how = &left.how;
        if left.count == 0 {
            let what = match how == UNKNOWN_FILES {
                true => "which files only this clone leaves out",
                false => "of every file that differs from the commit",
            };
            lines.push(format!("git did not tell {what}: see `{how}`"));
            continue;
        }
        let files = count(left.count, "file is", "files are");
        let why = match how.as_str() {
            UNKNOWN_FILES => "that git does not know",
            FILTERED_FILES => "that a filter of git rewrites, which is not run",
            PASSED_OVER_FILES => "that git is told to pass over in this clone",
            OUTSIDE_FILES => "for lying outside of the project's folder",
            _ if left.masked == Some(true) => "because something in each would be masked",
            _ => "for want of room, or for a form or name that does not go elsewhere",
        };
        let names = left.told_names(|name| told_path(name).into_owned());
        let names = names.map_or_else(String::new, |names| format!(" ({names})"));
        let exact = match (left.inexact, how == UNKNOWN_FILES) {
            (Some(true), true) => "; git did not tell which of them only this clone leaves out",
            (Some(true), false) => "; git did not tell of all of them, so that there may be more",
            _ => "",
        };
        lines.push(format!("{files} left out {why}{names}{exact}: see `{how}`"));
    }
    lines
}

/// Writes it into a file, which is there only when `record` was: nothing goes out that the record
/// does not tell of.
pub(super) fn write(
    dirs: &ProjectDirs,
    made: &MadeCapsule,
    path: &Path,
    force: bool,
    record: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let destination = Destination::open(dirs, path, force)?;
    let written = destination.file().write_all(&made.bytes);
    written.map_err(|error| Failure::unwritable(path, error, "see that the disk has room"))?;
    record()?;
    destination.keep()?;
    Ok(())
}

/// `fix-the-login.ctxcapsule.json`.
pub(super) fn file_name(capsule: &Capsule) -> PathBuf {
    let mut name = String::new();
    for letter in capsule.title.chars().take(NAME_CHARS) {
        match letter {
            letter if letter.is_alphanumeric() => name.extend(letter.to_lowercase()),
            _ if name.ends_with('-') || name.is_empty() => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_end_matches('-');
    let name = if name.is_empty() {
        capsule.id.as_str()
    } else {
        name
    };
    PathBuf::from(format!("{name}.{ENDING}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_without_a_place_lies_beside_the_repository_that_holds_the_project() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("repository/app");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir(root.with_file_name(".git")).unwrap();
        assert_eq!(levels_out(&root), 2);
        fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(levels_out(&root), 1);
    }
}
