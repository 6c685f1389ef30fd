//! `ctxrelay ledger export`: a session's record as JSON lines, Markdown or one HTML file.
//!
//! Reads the file, live or archived, line by line, and writes while it reads. A new file is created
//! completely or not at all: it gets its name once everything is written.

mod card;
mod content;
mod html;
mod jsonl;
mod markdown;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::json;

use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::offline::disk::{self, RecordReach};
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{count, now_ms};
use crate::core::id::{Seq, SessionId};
use crate::core::word::words;
use crate::store::dirs::ProjectDirs;
use crate::store::ledger::{self, SigningCheck, Stats};

use super::vouching::{FROM_ELSEWHERE, Vouching};
use crate::cli::offline::destination::{self, Destination};
use card::Card;

/// Standard output.
const STDOUT: &str = "-";

/// Arguments of `ledger export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay ledger export --format html --output record.html")]
pub struct Args {
    /// As what
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    pub format: Format,
    /// Another session than the current one, archived ones too
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Where to, readable by you alone; `-` is standard output
    #[arg(long, short, value_name = "FILE", default_value = STDOUT)]
    pub output: PathBuf,
    /// Take the place of a file that exists
    #[arg(long)]
    pub force: bool,
}

words! {
    /// The forms of an export.
    #[derive(ValueEnum)]
    pub closed enum Format {
        /// The lines as they lie on the disk, byte for byte
        Jsonl = "jsonl",
        /// To be read, and kept in a repository
        Md = "md",
        /// To be read in a browser: one file, without scripts and without anything from outside
        Html = "html",
    }
}

/// Why an export stopped.
enum Fault {
    /// The record cannot be read.
    Reading(io::Error),
    /// The export cannot be written.
    Writing(io::Error),
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    let dirs = &context.project.dirs;
    let path = disk::record_file(&context.project, args.session.as_deref())?;
    let session = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let id = SessionId::new(session.as_str());
    let reach = disk::reach(&context.project, &id, &path)
        .map_err(|error| disk::unreadable(&path, &error))?;
    let vouching = Vouching::of(&context.project);
    let named = args.session.is_some().then_some(&id);
    let apart = named.and_then(|session| vouching.why_apart(session));
    // Where all of it is, that is said once.
    let foreign = vouching.foreign_through(&id).filter(|_| apart.is_none());
    let (foreign_through, apart) = match foreign {
        Some((seq, why)) => (seq, Some(why)),
        None => (Seq(0), apart),
    };
    let record = Record {
        dirs,
        path: &path,
        session: &session,
        reach,
        foreign_through,
        apart: apart.as_deref(),
    };
    for remark in apart.clone().into_iter().chain(reach.remark()) {
        context.out.note(&remark);
    }
    if args.output.as_os_str() == STDOUT {
        if context.out.is_json() {
            return Err(Failure::invalid(
                "the export itself goes to standard output, where --json wants one value",
                "name a file with --output, or leave --json out",
            ));
        }
        let mut out = context.out.stream();
        let for_terminal = context.out.is_terminal();
        let stats = write(&record, args.format, for_terminal, &mut out)
            .and_then(|stats| out.flush().map_err(Fault::Writing).map(|()| stats))
            .map_err(|fault| failure(fault, &path, None))?;
        let is_copied = args.format == Format::Jsonl && !for_terminal;
        for damage in damages(&stats, is_copied) {
            context.out.note(&damage);
        }
        return Ok(ExitKind::Ok);
    }
    let destination = Destination::open(dirs, &args.output, args.force)?;
    let mut out = io::BufWriter::new(destination.file());
    let stats = write(&record, args.format, false, &mut out)
        .and_then(|stats| out.flush().map_err(Fault::Writing).map(|()| stats))
        .map_err(|fault| failure(fault, &path, Some(&args.output)))?;
    drop(out);
    let bytes = destination.keep()?;
    let mut value = json!({
        "session": session,
        "format": args.format.as_str(),
        "output": args.output.to_string_lossy(),
        "entries": stats.entries,
        "badLines": stats.bad_lines,
        "chainOk": stats.chain_ok,
        "bytes": bytes,
        "foreignLines": reach.foreign_lines,
    });
    if foreign_through > Seq(0) {
        value["unvouchedThrough"] = foreign_through.0.into();
    } else if apart.is_some() {
        value["unvouched"] = true.into();
    }
    let mut text = ReportText::new();
    text.line(format!(
        "{} of {session} are in {}",
        count(stats.entries, "entry", "entries"),
        args.output.display()
    ));
    for damage in damages(&stats, args.format == Format::Jsonl) {
        text.note(damage);
    }
    context.out.report(Report::new(&value, text))
}

/// What is exported.
#[derive(Debug)]
struct Record<'a> {
    dirs: &'a ProjectDirs,
    path: &'a Path,
    session: &'a str,
    /// What stands behind it in the file is left out.
    reach: RecordReach,
    /// Up to this entry it is somebody else's word.
    foreign_through: Seq,
    /// Why nobody vouches for it, or for that.
    apart: Option<&'a str>,
}

/// Writes it all. Returns what was found in it.
fn write(
    record: &Record<'_>,
    format: Format,
    for_terminal: bool,
    out: &mut impl Write,
) -> Result<Stats, Fault> {
    let Record {
        dirs,
        path,
        session,
        reach,
        foreign_through,
        apart,
    } = *record;
    if format == Format::Jsonl {
        return jsonl::write(path, reach.bytes, for_terminal, out);
    }
    let mut failed = Ok(());
    let mut started = false;
    let mut signing = SigningCheck::default();
    let read = ledger::read_to(path, reach.bytes, |stored| {
        let judged = signing.judge(&stored.entry, &stored.hash);
        let mut card = Card::of(&stored, content::whole(dirs, &stored), judged);
        if stored.entry.seq <= foreign_through || stored.entry.is_carried_foreign() {
            let whose = ("whose".to_owned(), FROM_ELSEWHERE.to_owned());
            card.details.insert(0, whose);
        }
        failed = begin(format, session, &mut started, out).and_then(|()| match format {
            Format::Html => html::entry(&card, out),
            _ => markdown::entry(&card, out),
        });
        if failed.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    failed.map_err(Fault::Writing)?;
    // Nothing is written before the record was opened, so that a missing one leaves no stump.
    let stats = read.map_err(Fault::Reading)?;
    begin(format, session, &mut started, out)
        .and_then(|()| match format {
            Format::Html => html::end(&stats, &remarks(&stats, reach, apart), out),
            _ => markdown::end(&stats, &remarks(&stats, reach, apart), out),
        })
        .map_err(Fault::Writing)?;
    Ok(stats)
}

fn begin(
    format: Format,
    session: &str,
    started: &mut bool,
    out: &mut impl Write,
) -> io::Result<()> {
    if std::mem::replace(started, true) {
        return Ok(());
    }
    match format {
        Format::Html => html::begin(session, now_ms(), out),
        _ => markdown::begin(session, now_ms(), out),
    }
}

/// What a person who exports a record has to know of it. `is_copied`: lines that are no entries stand
/// in the export too.
fn damages(stats: &Stats, is_copied: bool) -> Vec<String> {
    let mut damages = Vec::new();
    if stats.bad_lines > 0 {
        let lines = count(stats.bad_lines, "line is no entry", "lines are no entries");
        let fate = match is_copied {
            true => "copied as the others are",
            false => "left out",
        };
        damages.push(format!("{lines} and {fate}"));
    }
    if !stats.chain_ok {
        damages.push("the chain of this record is broken: see `ctxrelay ledger verify`".to_owned());
    }
    damages
}

/// What a reader of an export has to know of the file.
fn remarks(stats: &Stats, reach: RecordReach, apart: Option<&str>) -> String {
    let mut remarks = String::new();
    for remark in apart.map(str::to_owned).into_iter().chain(reach.remark()) {
        remarks.push_str(&format!(" {remark}."));
    }
    match stats.bad_lines {
        0 => {}
        1 => remarks.push_str(" 1 line of the file is no entry and was left out."),
        bad => remarks.push_str(&format!(
            " {bad} lines of the file are no entries and were left out."
        )),
    }
    match (&stats.head, stats.chain_ok) {
        (Some((seq, hash)), true) => {
            remarks.push_str(&format!(" The chain is whole; its head is {seq} {hash}."));
        }
        (_, false) => remarks
            .push_str(" The chain is broken: see `ctxrelay ledger verify` where the record lies."),
        (None, true) => remarks.push_str(" The record has no chain."),
    }
    remarks
}

fn failure(fault: Fault, path: &Path, output: Option<&Path>) -> Failure {
    match (fault, output) {
        (Fault::Reading(error), _) => disk::unreadable(path, &error),
        (Fault::Writing(error), None) => Failure::from_output(&error),
        (Fault::Writing(error), Some(output)) => destination::unwritable(output, &error),
    }
}

#[cfg(test)]
mod tests;
