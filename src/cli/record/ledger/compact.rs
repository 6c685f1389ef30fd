//! `ctxrelay ledger compact`: a dry run, unless `--apply` and a typed word.

use serde_json::json;

use super::open::Open;
use crate::cli::connection::connect::wait_for;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::report::{Report, ReportText};
use crate::cli::signing::ask_signed::{SignedQuestion, SignedSubject, ask_signed};
use crate::cli::text::words::count;
use crate::core::entry::Fate;
use crate::core::signing::OperatorAct;
use crate::wire::control::{Command, CompactParams, Compacted};

/// Above what is open.
const BECOMES: &str = "open in it, and carried on:";

/// Arguments of `ledger compact`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay ledger compact --apply\n\n\
        The session's file goes to the archives as it is, no line is rewritten. A new file goes \
        on with what is open, under the same ids, the latest goal, plan, blocker and next step, \
        the decisions, and a digest of the rest. Agents stay attached and notice nothing.")]
pub struct Args {
    /// Do it; without, only say what would be done
    #[arg(long)]
    pub apply: bool,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    wait_for(async {
        let open = Open::read(context).await?;
        let what = format!(
            "{} with {} goes to the archives, and a new file goes on with what is open in it",
            open.session,
            open.entries()
        );
        if args.apply {
            return apply(context, &open, &what).await;
        }
        let archives = context.project.dirs.archives();
        let value = json!({
            "dryRun": true,
            "sealed": open.session,
            "entries": open.world.entries,
            "archive": archives.join(format!("{}.jsonl", open.session)),
            "open": open.to_json(),
            "keptOpen": open.kept_open,
        });
        let text = ReportText::dry_run(&what, |text| {
            if let Some(line) = open.not_now() {
                text.line(line);
            }
            let lines = open.lines();
            if !lines.is_empty() {
                text.line(BECOMES);
            }
            for line in lines {
                text.line(format!("  {line}"));
            }
        });
        context.out.report(Report::new(&value, text))
    })
}

async fn apply(context: &CliContext, open: &Open, what: &str) -> CliOutcome {
    open.check_can_end()?;
    let command = |signature| {
        Command::Compact(CompactParams {
            session_id: Some(open.session.clone()),
            signature,
        })
    };
    let subject = SignedSubject {
        act: OperatorAct::Clear,
        subject: open.session.as_str(),
        verdict: Fate::Compacted.verdict(),
    };
    let asked = SignedQuestion {
        what,
        below: open.asked(BECOMES),
        word: "compact",
    };
    let asked = ask_signed(context, subject, command, asked);
    let compacted: Compacted = asked.await?;
    let line = format!(
        "{} is in {}; {} goes on with {} of it",
        compacted.sealed,
        compacted.archive,
        compacted.session_id,
        count(compacted.carried, "entry", "entries"),
    );
    context.out.report(Report::new(&compacted, line))
}
