//! `ctxrelay hook EVENT` (hidden): what Claude runs at its events. Never fails.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::bridge::hook::{self, HookCaller};
use crate::cli::agents::bridge;
use crate::cli::agents::doorbell::claude_pid;
use crate::cli::connection::connect::runtime;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind};
use crate::cli::logging;
use crate::client::Client;
use crate::core::policy::PolicyRules;
use crate::store::trust;
use crate::wire::config::trusted_policy;
use crate::wire::control::{HookEvent, Role};

/// What Claude Code 2.1.330 calls itself in its terminal (observed).
const IN_ITS_TERMINAL: &str = "cli";

/// Arguments of `hook`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The event, as Claude names it
    pub event: HookEvent,
    /// The plugin that runs it has each call of a tool judged before
    #[arg(long, hide = true)]
    pub judged: bool,
    /// Where trust lies, whatever the environment says
    #[arg(long, hide = true)]
    pub registry: Option<PathBuf>,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    // It runs at each of Claude's steps, and has nothing to say that nobody asked for.
    let log = logging::is_asked_for().then(|| logging::start(&context.project));
    if let Ok(runtime) = runtime() {
        runtime.block_on(async {
            let caller = caller(args);
            let project = &context.project;
            let client = || bridge::client(project, Role::Hook, caller.pid, Vec::new(), None);
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            if args.event == HookEvent::PreToolUse {
                let trusted = trust::read(&project.user_dirs, &project.dirs.instance_id());
                // What it may is not known then: the person is asked.
                let rules = trusted.map_or_else(
                    |_| PolicyRules::all_asked(),
                    |trusted| trusted_policy(&trusted.keys),
                );
                return hook::before_tool(&rules, caller, input, output, Some(client)).await;
            }
            hook::run(&args.event, caller, input, output, client()).await;
        });
        // Otherwise it would wait for a read of standard input that may still block.
        runtime.shutdown_background();
    }
    drop(log);
    end()
}

/// As [`run`], where it cannot be told which project this is, or where its rules lie. A call of a tool
/// is asked for: it may be the agent that took the project's folder away. Anything else would disturb
/// the agent's turn.
pub fn run_nowhere(args: &Args) -> CliOutcome {
    if args.event == HookEvent::PreToolUse
        && args.judged
        && let Ok(runtime) = runtime()
    {
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let rules = PolicyRules::all_asked();
        let no_client = None::<fn() -> Client>;
        runtime.block_on(hook::before_tool(
            &rules,
            caller(args),
            input,
            output,
            no_client,
        ));
        runtime.shutdown_background();
    }
    end()
}

/// As [`run_nowhere`], of a line that this version cannot read.
pub fn run_unread(words: &[OsString]) -> CliOutcome {
    let has = |word: &str| words.iter().any(|found| found == word);
    run_nowhere(&Args {
        event: HookEvent::PreToolUse,
        judged: has(HookEvent::PreToolUse.as_str()) && has("--judged"),
        registry: None,
    })
}

fn caller(args: &Args) -> HookCaller {
    HookCaller {
        pid: claude_pid(),
        has_monitors: std::env::var_os("CLAUDE_CODE_ENTRYPOINT")
            .is_none_or(|entry| entry == IN_ITS_TERMINAL),
        is_judged: args.judged,
    }
}

/// At once: the hook's time is up.
fn end() -> ! {
    std::process::exit(ExitKind::Ok.code().into())
}
