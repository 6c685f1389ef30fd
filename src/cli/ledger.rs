//! `ctxrelay ledger …`: the record.

use clap::Subcommand;

use super::context::Context;
use super::exit::Verdict;
use super::unbuilt;

mod clear;
mod compact;
mod list;
mod open;
mod show;
mod verify;

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
    /// Search the texts (not in this version)
    #[command(hide = true)]
    Search(unbuilt::Args),
    /// Write the record to a file (not in this version)
    #[command(hide = true)]
    Export(unbuilt::Args),
    /// Rebuild what is derived from the record (not in this version)
    #[command(hide = true)]
    Rebuild(unbuilt::Args),
}

pub fn run(context: &Context, verb: Verb) -> Verdict {
    match verb {
        Verb::List(args) => list::run(context, args),
        Verb::Show(args) => show::run(context, &args),
        Verb::Verify(args) => verify::run(context, &args),
        Verb::Clear(args) => clear::run(context, &args),
        Verb::Compact(args) => compact::run(context, &args),
        Verb::Search(args) | Verb::Export(args) | Verb::Rebuild(args) => args.refuse(),
    }
}
