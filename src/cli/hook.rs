//! `ctxrelay hook EVENT` (hidden): what Claude runs at its events. Never fails.

use super::bridge;
use super::connect::runtime;
use super::context::Context;
use super::doorbell::claude_pid;
use super::exit::{ExitKind, Verdict};
use crate::wire::control::Role;

/// Arguments of `hook`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The event, as Claude names it
    pub event: String,
}

pub fn run(context: &Context, args: &Args) -> Verdict {
    if let Ok(runtime) = runtime() {
        runtime.block_on(async {
            let claude = claude_pid();
            let client = bridge::client(&context.setting, Role::Hook, claude, Vec::new(), None);
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            crate::bridge::hook::run(&args.event, claude, input, output, client).await;
        });
    }
    // A read of standard input may still block; the hook's time is up all the same.
    std::process::exit(ExitKind::Ok.code().into());
}
