//! `ctxrelay completions SHELL`.

use clap_complete::Shell;
use serde_json::json;

use super::args::offered;
use super::exit::CliOutcome;
use super::output::Output;
use super::report::Report;

/// Arguments of `completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay completions zsh > ~/.zfunc/_ctxrelay")]
pub struct Args {
    /// The shell
    pub shell: Shell,
}

pub fn run(out: &Output, args: &Args) -> CliOutcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut offered(), "ctxrelay", &mut script);
    let value = json!({
        "shell": args.shell.to_string(),
        "script": String::from_utf8_lossy(&script),
    });
    out.report(Report::new(&value, script))
}
