//! `ctxrelay ledger clear`: a dry run, unless `--apply` and a typed word.

use serde_json::json;

use super::open::{NOTHING, Open};
use crate::cli::connection::connect::wait_for;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::report::{Report, ReportText};
use crate::cli::signing::ask_signed::{SignedQuestion, SignedSubject, ask_signed};
use crate::cli::text::words::count;
use crate::core::entry::Fate;
use crate::core::id::SessionId;
use crate::core::signing::OperatorAct;
use crate::wire::control::{ClearParams, Cleared, Command};

/// Above what is open in a session that goes to the archives.
const PUT_AWAY: &str = "open in it; messages would be taken back, tasks with their findings, blocker \
                        notes and failures, and questions to you go on, the rest is not carried on:";

/// Above what is open in a session that is deleted.
const DELETED: &str = "open in it; messages would be taken back, and nothing is carried on:";

fn becomes(discard: bool) -> &'static str {
    match discard {
        true => DELETED,
        false => PUT_AWAY,
    }
}

/// How many characters of the session's id have to be typed before it is deleted.
const TYPED: usize = 4;

/// Arguments of `ledger clear`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay ledger clear --apply\n\n\
        What nobody has settled yet is taken back, and the record says so. With --discard the \
        session's file, its long texts, its rows in the queue, what was set aside of it and the \
        segments that it was compacted from are deleted as well; how many entries it had and its \
        head stay. The old bytes are not written over: on an SSD nobody can promise what that \
        does, and what the agents keep of their conversations is theirs; so a secret that was \
        recorded should be changed all the same. Sessions that were put away before stay in the \
        archives.")]
pub struct Args {
    /// Do it; without, only say what would be done
    #[arg(long)]
    pub apply: bool,
    /// Delete the session for good instead of archiving it
    #[arg(long)]
    pub discard: bool,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    wait_for(async {
        let open = Open::read(context).await?;
        if args.apply {
            apply(context, &open, args.discard).await
        } else {
            dry_run(context, &open, args.discard)
        }
    })
}

fn what(open: &Open, discard: bool) -> String {
    let (session, entries) = (&open.session, open.entries());
    if discard {
        format!("{session} with {entries} is deleted for good, and a new session starts")
    } else {
        format!("{session} with {entries} goes to the archives, and a new session starts")
    }
}

fn dry_run(context: &CliContext, open: &Open, discard: bool) -> CliOutcome {
    let archives = context.project.dirs.archives();
    let archive = (!discard).then(|| archives.join(format!("{}.jsonl", open.session)));
    let value = json!({
        "dryRun": true,
        "discard": discard,
        "sealed": open.session,
        "entries": open.world.entries,
        "archive": archive,
        "open": open.to_json(),
        "keptOpen": open.kept_open,
    });
    let text = ReportText::dry_run(&what(open, discard), |text| {
        if let Some(line) = open.not_now() {
            text.line(line);
        }
        let lines = open.lines();
        text.line(match lines.is_empty() {
            true => NOTHING,
            false => becomes(discard),
        });
        for line in &lines {
            text.line(format!("  {line}"));
        }
    });
    context.out.report(Report::new(&value, text))
}

async fn apply(context: &CliContext, open: &Open, discard: bool) -> CliOutcome {
    open.check_can_end()?;
    let command = |signature| {
        Command::Clear(ClearParams {
            session_id: Some(open.session.clone()),
            discard,
            signature,
        })
    };
    let fate = if discard {
        Fate::Discarded
    } else {
        Fate::Archived
    };
    let subject = SignedSubject {
        act: OperatorAct::Clear,
        subject: open.session.as_str(),
        verdict: fate.verdict(),
    };
    let word = if discard {
        last_characters(&open.session)
    } else {
        "clear".to_owned()
    };
    let asked = SignedQuestion {
        what: &what(open, discard),
        below: open.asked(becomes(discard)),
        word: &word,
    };
    let cleared: Cleared = ask_signed(context, subject, command, asked).await?;
    let report = Report::new(&cleared, text(&cleared));
    context.out.report(report.checked(cleared.left.is_empty()))
}

fn text(cleared: &Cleared) -> ReportText {
    let where_to = match &cleared.archive {
        Some(archive) => format!("is in {archive}"),
        None => "is deleted for good".to_owned(),
    };
    let mut out = ReportText::from(format!(
        "{} {where_to}; {} has begun",
        cleared.sealed, cleared.session_id
    ));
    if !cleared.cancelled.is_empty() {
        let taken = count(cleared.cancelled.len() as u64, "message", "messages");
        out.line(format!("{taken} taken back"));
    }
    for left in &cleared.left {
        out.line(format!("still there: {left}"));
    }
    out
}

/// What has to be typed: short, and no habit, because it is another one each time.
fn last_characters(session: &SessionId) -> String {
    let text = session.as_str();
    let from = text.len().saturating_sub(TYPED);
    text.get(from..).unwrap_or(text).to_owned()
}
