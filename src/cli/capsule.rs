//! `ctxrelay capsule …`: tasks that can travel.

mod alike;
mod apply;
mod change;
mod check;
mod export;
pub(super) mod for_deck;
mod freshness;
mod handoff;
mod import;
mod keeping;
mod list;
mod log;
pub(super) mod maker;
mod put_in;
mod show;
mod vouched;

use std::path::PathBuf;

use clap::Subcommand;

use super::context::CliContext;
use super::exit::{CliOutcome, Failure};
use super::report::Report;
use crate::cli::text::words::said;
use crate::wire;

/// Tasks that are listed when nobody names a number, on a screen too.
const LISTED: u32 = 200;

/// Entries that are shown when nobody names a number.
const LOGGED: u32 = 200;

/// What can be done about tasks.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Open a task, and have the work from now on belong to it (operator)
    #[command(
        after_help = "Example: ctxrelay capsule new 'Fix the login' --goal 'nobody is logged out by a restart'\n\n\
            The project's daemon records it: `ctxrelay` or `ctxrelay daemon --detach` starts one."
    )]
    New(NewArgs),
    /// Have the work from now on belong to a task (operator)
    #[command(after_help = "Example: ctxrelay capsule use cap_3f9a61c07b2e")]
    Use(NamedTask),
    /// Say something of a task, current or not; in $EDITOR without an option (operator)
    #[command(
        after_help = "Example: ctxrelay capsule edit cap_3f9a61c07b2e --constraint 'no new dependency'"
    )]
    Edit(EditArgs),
    /// The tasks of this project, and capsules from elsewhere
    #[command(after_help = "Example: ctxrelay capsule list --json | jq .capsules[0].id")]
    List(CapsuleListArgs),
    /// One task, as its capsule says it
    #[command(after_help = "Example: ctxrelay capsule show cap_3f9a61c07b2e")]
    Show(NamedTask),
    /// Whether what a capsule says of the work tree is still so
    #[command(after_help = "Example: ctxrelay capsule check cap_3f9a61c07b2e")]
    Check(NamedTask),
    /// What was recorded for a task, in this session and in those before it
    #[command(after_help = "Example: ctxrelay capsule log cap_3f9a61c07b2e --limit 20")]
    Log(LogArgs),
    /// One task as one file (operator)
    #[command(
        after_help = "Example: ctxrelay capsule export cap_3f9a61c07b2e -o login.ctxcapsule.json"
    )]
    Export(ExportArgs),
    /// Check a capsule from elsewhere, and keep it with --apply (operator)
    Import(import::ImportArgs),
    /// One task as a text for somebody who goes on with it (operator with --send)
    Handoff(handoff::HandTaskArgs),
    /// A task is over, and stays as it is (operator)
    #[command(
        after_help = "Example: ctxrelay capsule close cap_3f9a61c07b2e --outcome 'fixed in 1.4'"
    )]
    Close(CloseArgs),
    /// A closed task goes on (operator)
    #[command(after_help = "Example: ctxrelay capsule reopen cap_3f9a61c07b2e")]
    Reopen(NamedTask),
    /// The JSON schema of a capsule
    #[command(after_help = "Example: ctxrelay capsule schema > capsule.schema.json")]
    Schema,
}

/// Names a task.
#[derive(Debug, clap::Args)]
pub struct NamedTask {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `capsule list`.
#[derive(Debug, clap::Args)]
pub struct CapsuleListArgs {
    /// At most this many, 10000 at once
    #[arg(long, default_value_t = LISTED, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Go on after this `cursor`
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

/// Arguments of `capsule log`.
#[derive(Debug, clap::Args)]
pub struct LogArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// At most this many entries, the latest
    #[arg(long, default_value_t = LOGGED, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// All entries
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
}

/// Arguments of `capsule new`.
#[derive(Debug, clap::Args)]
pub struct NewArgs {
    /// One line
    #[arg(value_name = "TITLE", value_parser = said)]
    pub title: String,
    /// What is to be reached
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub goal: Option<String>,
    /// An open handoff that it begins with
    #[arg(long, value_name = "ID")]
    pub handoff: Option<String>,
    /// Begin with what was said about these words before, as far as you tick it: at most 5 texts
    #[arg(long, value_name = "WORDS")]
    pub like: Option<String>,
    /// All of that, without a question
    #[arg(long, requires = "like")]
    pub yes: bool,
}

/// Arguments of `capsule edit`: each of the texts is an entry of yours; without one `$EDITOR` is opened.
#[derive(Debug, clap::Args)]
pub struct EditArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Another title, one line
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// What is to be reached
    #[arg(long, value_name = "TEXT")]
    pub goal: Option<String>,
    /// What is taken to be the cause
    #[arg(long, value_name = "TEXT")]
    pub hypothesis: Option<String>,
    /// What must hold; may be given more than once, as the following
    #[arg(long, value_name = "TEXT")]
    pub constraint: Vec<String>,
    /// What is decided
    #[arg(long, value_name = "TEXT")]
    pub decision: Vec<String>,
    /// What is taken to be so
    #[arg(long, value_name = "TEXT")]
    pub assumption: Vec<String>,
    /// What is not known yet
    #[arg(long, value_name = "TEXT")]
    pub question: Vec<String>,
    /// What comes next
    #[arg(long, value_name = "TEXT")]
    pub next: Vec<String>,
}

/// Arguments of `capsule close`.
#[derive(Debug, clap::Args)]
pub struct CloseArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// What came of it
    #[arg(long, value_name = "TEXT")]
    pub outcome: Option<String>,
}

/// Arguments of `capsule export`.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// Its id, or the end of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Where to, readable by you alone [default: beside the repository, a name made of the title]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Take the place of a file that exists
    #[arg(long)]
    pub force: bool,
    /// With the changes of tracked files that no commit has, at most 1 MiB
    #[arg(long)]
    pub patch: bool,
    /// With what the latest run of each gate printed, as the record has it, at most 256 KiB
    #[arg(long)]
    pub outputs: bool,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::New(args) => change::open(context, args),
        Verb::Use(args) => change::make_current(context, &args.id),
        Verb::Edit(args) => change::edit(context, args),
        Verb::List(args) => list::run(context, &args),
        Verb::Show(args) => show::run(context, &args.id),
        Verb::Check(args) => check::run(context, &args.id),
        Verb::Log(args) => log::run(context, &args),
        Verb::Export(args) => export::run(context, &args),
        Verb::Import(args) => import::run(context, &args),
        Verb::Handoff(args) => handoff::run(context, &args),
        Verb::Close(args) => change::close(context, args),
        Verb::Reopen(args) => change::reopen(context, &args.id),
        Verb::Schema => {
            let schema = wire::capsule::schema();
            let mut text = serde_json::to_vec_pretty(&schema)
                .map_err(|error| Failure::internal("write the schema", error))?;
            text.push(b'\n');
            context.out.report(Report::new(&schema, text))
        }
    }
}
