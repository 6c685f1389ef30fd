//! `ctxrelay ledger clear`: a dry run, unless `--apply` and a typed word.

use serde_json::json;

use crate::cli::connect::{runtime, unexpected};
use crate::cli::context::Context;
use crate::cli::exit::{ExitKind, Failure, Verdict};
use crate::cli::operator;
use crate::cli::status;
use crate::cli::unbuilt;
use crate::cli::words::count;
use crate::wire::control::{ClearParams, Command, Reply};

/// Arguments of `ledger clear`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay ledger clear --apply")]
pub struct Args {
    /// Do it; without, only say what would be done
    #[arg(long)]
    pub apply: bool,
    /// Delete instead of archiving (not in this version)
    #[arg(long, hide = true)]
    pub discard: bool,
}

pub fn run(context: &Context, args: &Args) -> Verdict {
    if args.discard {
        return unbuilt::refuse();
    }
    let status = status::read(context)?;
    let session = status.session_id.ok_or_else(|| {
        Failure::state(
            "no_session",
            "there is no record in this project yet",
            "nothing has to be cleared",
        )
    })?;
    let entries = count(status.ledger.entries, "entry", "entries");
    let what = format!("{session} with {entries} goes to the archives, and a new session starts");
    if !args.apply {
        if context.out.is_json() {
            let archive = context
                .setting
                .dirs
                .archives()
                .join(format!("{session}.jsonl"));
            context.out.json(&json!({
                "dryRun": true,
                "sealed": session,
                "entries": status.ledger.entries,
                "archive": archive,
                "open": {"handoffs": status.handoffs.open, "proposals": status.finality.pending.len()},
            }))?;
        } else {
            context.out.line(&format!("would do: {what}"))?;
            context.out.line(&format!(
                "open in it: {}, {}",
                count(status.handoffs.open, "handoff", "handoffs"),
                count(
                    status.finality.pending.len() as u64,
                    "proposal",
                    "proposals"
                ),
            ))?;
            context.out.note("this was a dry run; do it with --apply");
        }
        return Ok(ExitKind::Ok);
    }
    let command = Command::Clear(ClearParams {
        session_id: Some(session),
    });
    match runtime()?.block_on(operator::ask(context, command, &what, "clear"))? {
        Reply::Cleared(cleared) => {
            if context.out.is_json() {
                context.out.json(&cleared)?;
            } else {
                context.out.line(&format!(
                    "{} is in {}; {} has begun",
                    cleared.sealed, cleared.archive, cleared.session_id
                ))?;
            }
            Ok(ExitKind::Ok)
        }
        other => Err(unexpected(&other)),
    }
}
