//! `ctxrelay redact --check FILE`: what the record would contain of a text.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::count;
use crate::core::redact::Redactor;
use crate::store::config;
use crate::wire::control::RefusalCode;

/// The largest file that is looked at, in bytes: more than any message can be.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// How many lines one secret may have.
const LINES_OF_ONE_MAX: usize = 10_000;

/// Arguments of `redact`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay redact --check .env")]
pub struct Args {
    /// The file; exit code 6 when something in it would be masked
    #[arg(long, value_name = "FILE", required = true)]
    pub check: PathBuf,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let text = read(&args.check)?;
    let project = &context.project;
    let loaded = config::load(&project.dirs, &project.user_dirs);
    for notice in loaded.notices() {
        context.out.note(&notice);
    }
    let waiting = loaded.ignored_keys();
    let redactor = Redactor::with(loaded.rules.clone());
    let mut found = Vec::new();
    let mut by_line = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let (masked, set) = redactor.redact_text(line);
        if set > 0 {
            found.push((at + 1, masked.clone().into_owned()));
        }
        by_line.push(masked.into_owned());
    }
    // As a whole: some secrets are longer than a line, or stand below what gives them away.
    let (whole, set) = redactor.redact_text(&text);
    let marks = u64::from(set);
    for (line, masked) in seen_as_a_whole(&by_line, &whole) {
        if !found.iter().any(|(known, _)| *known == line) {
            found.push((line, masked));
        }
    }
    found.sort_by_key(|(line, _)| *line);
    let lines: Vec<_> = found
        .iter()
        .map(|(line, masked)| json!({"line": line, "masked": masked}))
        .collect();
    let ok = marks == 0;
    let value = json!({"ok": ok, "marks": marks, "lines": lines, "waiting": waiting});
    let mut text = ReportText::new();
    for (line, masked) in &found {
        text.line(format!("{line:>6}  {masked}"));
    }
    let secrets = count(marks, "secret", "secrets");
    text.note(format!("{secrets} would be masked"));
    context.out.report(Report::new(&value, text).checked(ok))
}

/// The lines of a text masked as a whole that are others than those of `by_line`, the text masked
/// line by line, each with its number; one that stands for several lines with that of the first.
fn seen_as_a_whole(by_line: &[String], whole: &str) -> Vec<(usize, String)> {
    let whole: Vec<&str> = whole.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    for (place, line) in whole.iter().enumerate() {
        if by_line.get(at).is_some_and(|masked| masked == line) {
            at += 1;
            continue;
        }
        // How many lines the rest of the text has lost.
        let lost = (by_line.len() + place).saturating_sub(at + whole.len());
        let behind = by_line.get(at + 1..).unwrap_or_default();
        let taken = match whole.get(place + 1) {
            // Both go on alike at the next line.
            Some(next) => {
                let mut behind = behind.iter().take(LINES_OF_ONE_MAX.min(lost + 1));
                behind.position(|masked| masked == next).unwrap_or(0) + 1
            }
            None => behind.len() + 1,
        };
        found.push((at + 1, (*line).to_owned()));
        at += taken;
    }
    found
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    file.and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| crate::cli::offline::disk::unreadable(path, &error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::state(
            RefusalCode::TooLarge,
            format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display()),
            "check a part of it",
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
