//! `ctxrelay doorbell` (hidden): the plugin's monitor.

use crate::bridge::doorbell;
use crate::cli::agents::bridge;
use crate::cli::connection::connect::runtime;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::logging;
use crate::client::{Client, Dial, DialError, WebsocketOptions, connect};
use crate::wire::control::{Command, Hello, Role};

pub fn run(context: &CliContext) -> CliOutcome {
    let log = logging::start(&context.project);
    runtime()?.block_on(async {
        let claude = claude_pid();
        let on_connect = vec![Command::DoorbellAttach];
        let client = bridge::client(&context.project, Role::Hook, claude, on_connect, None);
        ring(client, claude).await;
    });
    drop(log);
    std::process::exit(ExitKind::Ok.code().into());
}

/// A monitor that cannot work still has to last as long as its Claude: one that ends costs a turn
/// and is never started again.
pub fn idle(failure: &Failure) -> CliOutcome {
    let why = failure.message.clone();
    runtime()?.block_on(async {
        let claude = claude_pid();
        let client = connect(WebsocketOptions {
            dial: Dial::new(move || Err(DialError::NotYet(why.clone()))),
            hello: Hello {
                agent_pid: claude,
                ..Hello::of(Role::Hook, std::process::id())
            },
            on_connect: Vec::new(),
        });
        ring(client, claude).await;
    });
    std::process::exit(ExitKind::Ok.code().into());
}

async fn ring(client: Client, claude: Option<u32>) {
    if let Some(claude) = claude {
        doorbell::run(client, claude).await;
    }
}

/// The Claude process: named in the environment of its monitors, because their parent is a shell
/// (Claude Code 2.1.330, observed).
pub fn claude_pid() -> Option<u32> {
    std::env::var("CLAUDE_PID")
        .ok()
        .and_then(|pid| pid.parse().ok())
        .or_else(bridge::parent)
}
