//! `ctxrelay ledger …`: the record.

use clap::Subcommand;

use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;

mod clear;
mod compact;
mod export;
mod list;
mod open;
mod rebuild;
pub(in crate::cli) mod search;
pub(in crate::cli) mod show;
mod verify;
pub(in crate::cli) mod vouching;

/// What can be done with the record.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Entries, newest first
    List(list::Args),
    /// One entry
    Show(show::Args),
    /// Check the chain from the first entry to the last
    Verify(verify::Args),
    /// Put the session away, or delete it, and start a new one
    Clear(clear::Args),
    /// Put the session away, and go on with what is open in it
    Compact(compact::Args),
    /// Search the texts, newest first
    Search(search::Args),
    /// Write the record out: JSON lines, Markdown or one HTML file
    Export(export::Args),
    /// Throw away what is derived from the record, and rebuild it
    Rebuild(rebuild::Args),
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    match verb {
        Verb::List(args) => list::run(context, args),
        Verb::Show(args) => show::run(context, args),
        Verb::Verify(args) => verify::run(context, &args),
        Verb::Clear(args) => clear::run(context, &args),
        Verb::Compact(args) => compact::run(context, &args),
        Verb::Search(args) => search::run(context, &args),
        Verb::Export(args) => export::run(context, &args),
        Verb::Rebuild(args) => rebuild::run(context, &args),
    }
}
