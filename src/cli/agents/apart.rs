//! `ctxrelay apart -- CMD` (hidden): a program in its own session, which has no terminal to ask on
//! while the deck uses it.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::cli::agents::hold;
use crate::cli::exit::{CliOutcome, Failure};

/// Becomes the program.
pub fn run(args: hold::Args) -> CliOutcome {
    let mut command = args.command.into_iter();
    let program = command.next().unwrap_or_default();
    // It fails for the leader of a group alone, which has no terminal of its own then either.
    let _ = rustix::process::setsid();
    let error = Command::new(program).args(command).exec();
    Err(Failure::internal("run a program apart", error))
}
