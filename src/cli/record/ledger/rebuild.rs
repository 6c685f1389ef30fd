//! `ctxrelay ledger rebuild`: deletes what is derived from the record and rebuilds it: the search
//! index, the checkpoint, and the files about the agents' work.
//!
//! The record does not change, so nobody is asked. A running daemon does it itself; otherwise this
//! command does it, under the owner's lock.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::cli::connection::connect::{self, DaemonFound, Live, wait_for};
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure, START_ONE};
use crate::cli::offline::alone::{alone, unwritable};
use crate::cli::offline::disk;
use crate::cli::record::continuity::pack;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::gauge::Gauge;
use crate::cli::text::masking::Masking;
use crate::cli::text::words::count;
use crate::store::derived;
use crate::store::search::rebuild_file;
use crate::wire::control::{Command, ProgramCode, RefusalCode};
use crate::wire::search::{IndexReport, RebuildParams};

/// How often a daemon is asked how far it is. Its answer costs nothing, and a person watches.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Arguments of `ledger rebuild`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay ledger rebuild && ctxrelay ledger search token")]
pub struct Args {}

struct Done {
    session: String,
    entries: u64,
    removed: Vec<String>,
}

pub fn run(context: &CliContext, _args: &Args) -> CliOutcome {
    let start = Instant::now();
    let done = match wait_for(by_daemon(context))? {
        Some(done) => done,
        None => here(context)?,
    };
    let folders = match pack(&context.project) {
        // The index is rebuilt all the same.
        Err(failure) if failure.code == ProgramCode::BadConfig.into() => {
            context
                .out
                .note(&format!("{}; {}", failure.message, failure.hint));
            Vec::new()
        }
        folders => folders?,
    };
    let took_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut text = ReportText::from(format!(
        "made anew in {took_ms} ms: the search index of {}, up to entry {}",
        done.session, done.entries
    ));
    let checkpoints = done.removed.len().saturating_sub(1) as u64;
    if checkpoints > 0 {
        text.line(format!(
            "removed, and written again by the daemon: {}",
            count(checkpoints, "checkpoint file", "checkpoint files")
        ));
    }
    if !folders.is_empty() {
        text.line("made anew: the files about the agents' work, under state/continuity");
    }
    text.line("the record itself was not touched");
    let value = json!({
        "session": done.session,
        "indexedTo": done.entries,
        "removed": done.removed,
        "workFolders": folders.len(),
        "tookMs": took_ms,
    });
    context.out.report(Report::new(&value, text))
}

/// Has a live daemon do it, and waits until it is done. `None` when none runs.
async fn by_daemon(context: &CliContext) -> Result<Option<Done>, Failure> {
    let live = match connect::control(&context.project).await {
        DaemonFound::Live(live) => live,
        DaemonFound::Nobody => return Ok(None),
        found @ DaemonFound::Unfit(_) => connect::needed(&context.project, found)?,
    };
    let begun = report(&live, true).await?;
    let mut gauge = Gauge::new("building the search index:", context.out.is_json());
    loop {
        let now = report(&live, false).await?;
        let is_same = now.session_id == begun.session_id;
        if now.indexed_to >= begun.head || !is_same {
            return Ok(Some(Done {
                session: now.session_id.map_or_else(String::new, |id| id.to_string()),
                entries: now.indexed_to,
                removed: begun.removed,
            }));
        }
        if let Some(fault) = now.fault {
            return Err(Failure::state(
                RefusalCode::RebuildFailed,
                format!("the search index does not go on: {fault}"),
                "the daemon tries again by itself; see that the disk has room",
            ));
        }
        gauge.tell(now.indexed_to, begun.head, now.indexed_to);
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn report(live: &Live, begin: bool) -> Result<IndexReport, Failure> {
    live.ask_for(Command::LedgerRebuild(RebuildParams { begin }))
        .await
}

fn here(context: &CliContext) -> Result<Done, Failure> {
    let dirs = &context.project.dirs;
    let (session, path) = disk::current(&context.project)?
        .filter(|(_, path)| path.is_file())
        .ok_or_else(|| Failure::no_session(START_ONE))?;
    let reach = disk::reach(&context.project, &session, &path)
        .map_err(|error| disk::unreadable(&path, &error))?;
    let len = path.symlink_metadata().map_or(0, |found| found.len());
    let unwritable = |error| unwritable(dirs, error);
    crate::store::dirs::make_private_dir(&dirs.state).map_err(unwritable)?;
    let _lock = alone(dirs)?;
    let mut removed = derived::discard_checkpoint(dirs).map_err(unwritable)?;
    let mut gauge = Gauge::new("building the search index:", context.out.is_json());
    let done = rebuild_file(
        dirs,
        &session,
        &path,
        reach.bytes,
        &Masking::load(&context.project).redactor(),
        |progress| {
            gauge.tell(progress.bytes, len, progress.entries);
        },
    )
    .map_err(|error| {
        Failure::state(
            RefusalCode::RebuildFailed,
            error.to_string(),
            "see that the record is a file of yours and the disk has room; searching works without",
        )
    })?;
    removed.push(derived::INDEX.to_owned());
    Ok(Done {
        session: session.to_string(),
        entries: done.last,
        removed,
    })
}
