//! `ctxrelay review …`: what reviews of a pull request say, and what becomes of it.

mod change;
mod import;
mod list;
mod source;

use clap::Subcommand;
pub use import::import_from_deck;

use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::text::by_id::{Wanted, by_id};
use crate::cli::text::words::said;
use crate::core::id::FindingId;
use crate::core::snapshot::{FindingSnapshot, Snapshot};

/// What can be done about reviews.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Record what the reviews of a pull request say (operator)
    Import(import::ReviewSourceArgs),
    /// What they say, what stands first, the worst first
    List(list::ListArgs),
    /// One finding, beside the file as it is now
    #[command(after_help = "Example: ctxrelay review show gh:rc:1857")]
    Show(NamedFinding),
    /// A finding does not count, for a reason (operator)
    #[command(
        after_help = "Example: ctxrelay review dismiss gh:rc:1857 --reason 'the caller checks it'"
    )]
    Dismiss(DismissArgs),
    /// A finding is dealt with (operator)
    #[command(after_help = "Example: ctxrelay review resolve gh:rc:1857")]
    Resolve(ResolveArgs),
}

/// Names a finding.
#[derive(Debug, clap::Args)]
pub struct NamedFinding {
    /// Its name at its origin, its entry's id, or the end of that
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Arguments of `review dismiss`.
#[derive(Debug, clap::Args)]
pub struct DismissArgs {
    /// Its name at its origin, its entry's id, or the end of that
    #[arg(value_name = "ID")]
    pub id: String,
    /// Why
    #[arg(long, value_name = "TEXT", value_parser = said)]
    pub reason: String,
}

/// Arguments of `review resolve`.
#[derive(Debug, clap::Args)]
pub struct ResolveArgs {
    /// Its name at its origin, its entry's id, or the end of that
    #[arg(value_name = "ID")]
    pub id: String,
    /// How
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::Import(args) => import::run(context, &args),
        Verb::List(args) => list::run(context, &args),
        Verb::Show(args) => list::show(context, &args.id),
        Verb::Dismiss(args) => change::dismiss(context, args),
        Verb::Resolve(args) => change::resolve(context, args),
    }
}

/// The finding that a person means.
fn named<'a>(
    world: &'a Snapshot,
    name: &str,
) -> Result<(&'a FindingId, &'a FindingSnapshot), Failure> {
    const WANTED: Wanted = Wanted {
        what: "review finding",
        place: "",
        list: "ctxrelay review list",
    };
    if let Some(found) = world.finding(name) {
        return Ok(found);
    }
    by_id(
        world.findings.iter(),
        |(_, finding)| &finding.id,
        name,
        &WANTED,
    )
}
