//! [`vendor_command`]: one of an agent's own commands, which adds us to its settings or removes us.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::cli::agents::launch::{Captured, capture};
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::Report;
use crate::cli::text::shell::quoted;
use crate::core::agent::Agent;
use crate::wire::control::ProgramCode;

/// How long one may take: it works offline, on a few files.
const COMMAND_WAIT: Duration = Duration::from_secs(60);

/// Arguments of `install` and `remove`.
#[derive(Debug, clap::Args)]
pub struct VendorChangeArgs {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

/// What a command of this agent said.
///
/// # Errors
///
/// When it cannot be run, takes too long or fails.
pub fn vendor_command(
    agent: Agent,
    context: &CliContext,
    program: &Path,
    args: &[OsString],
) -> Result<Captured, Failure> {
    let code = match agent {
        Agent::Claude => ProgramCode::ClaudeFailed,
        Agent::Codex => ProgramCode::CodexFailed,
    };
    let fail = |why: String| {
        Failure::unavailable(
            code.clone(),
            why,
            format!(
                "run the command by yourself to see more, or update {}",
                agent.title()
            ),
        )
    };
    let said = capture(program, args, &context.project.dirs.root, COMMAND_WAIT).map_err(fail)?;
    if said.ok {
        return Ok(said);
    }
    let (args, why) = (quoted(args), said.why());
    Err(fail(format!("`{agent} {args}` failed: {why}")))
}

/// Says what became of a change.
pub fn changed(context: &CliContext, word: &str, sentence: &str) -> CliOutcome {
    context
        .out
        .report(Report::new(&json!({"result": word}), sentence))
}
