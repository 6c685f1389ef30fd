//! `ctxrelay capsule export`: one task as one file.

use std::io::Write as _;
use std::path::PathBuf;

use super::ExportArgs;
use super::maker::{CapsuleMaker, MadeCapsule};
use crate::cli::context::CliContext;
use crate::cli::destination::Destination;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::operator;
use crate::cli::report::{Report, ReportText};
use crate::core::capsule::Capsule;
use crate::store::dirs::ProjectDirs;

/// How a capsule's file is called.
const ENDING: &str = "ctxcapsule.json";

/// How much of a title is in the name of a file, in characters.
const NAME_CHARS: usize = 40;

pub(super) fn run(context: &CliContext, args: &ExportArgs) -> CliOutcome {
    if let Some(refusal) = operator::own_refusal() {
        return Err(refusal);
    }
    let maker = CapsuleMaker::open(&context.setting)?;
    let made = maker.named(&args.id)?;
    let dirs = &context.setting.dirs;
    let path = write(dirs, &maker, &made, args.output.clone(), args.force)?;
    let mut text = ReportText::new();
    text.line(format!("{} is in {}", made.capsule.id, path.display()));
    text.line(format!("digest {}", made.capsule.digest));
    text.note("who gets the file compares this digest with what you tell them: it shows a change, and not who made the file");
    context.out.report(Report::new(&made.capsule, text))
}

/// Writes it into a file, by its title where none is named, and keeps it as what went out last.
pub(super) fn write(
    dirs: &ProjectDirs,
    maker: &CapsuleMaker,
    made: &MadeCapsule,
    output: Option<PathBuf>,
    force: bool,
) -> Result<PathBuf, Failure> {
    let path = output.unwrap_or_else(|| name(&made.capsule));
    let destination = Destination::open(dirs, &path, force)?;
    let written = destination.file().write_all(&made.bytes);
    written.map_err(|error| Failure::unwritable(&path, error, "see that the disk has room"))?;
    destination.keep()?;
    maker.keep(made);
    Ok(path)
}

/// `fix-the-login.ctxcapsule.json`.
fn name(capsule: &Capsule) -> PathBuf {
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
