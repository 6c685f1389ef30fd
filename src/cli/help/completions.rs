//! `ctxrelay completions SHELL`.

use clap::Command;
use clap_complete::Shell;
use serde_json::json;

use crate::cli::exit::CliOutcome;
use crate::cli::output::Output;
use crate::cli::report::Report;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay completions zsh > ~/.zfunc/_ctxrelay")]
pub struct Args {
    /// The shell
    pub shell: Shell,
}

/// For what is `offered` of the command line.
pub fn run(out: &Output, args: &Args, mut offered: Command) -> CliOutcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut offered, "ctxrelay", &mut script);
    let value = json!({
        "shell": args.shell.to_string(),
        "script": String::from_utf8_lossy(&script),
    });
    out.report(Report::new(&value, script))
}
