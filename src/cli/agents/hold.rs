//! `ctxrelay hold -- CMD` (hidden): a child that dies with its owner.

use std::ffi::OsString;

use crate::adapters;
use crate::cli::exit::CliOutcome;

/// Arguments of `hold` and `apart`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub command: Vec<OsString>,
}

/// Ends with the child's own exit code, which is none of ours.
pub fn run(args: Args) -> CliOutcome {
    std::process::exit(adapters::hold::hold(args.command));
}
