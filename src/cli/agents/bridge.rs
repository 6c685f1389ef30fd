//! `ctxrelay bridge` (hidden): the MCP server that Claude starts.

use std::path::PathBuf;

use crate::bridge::stdio;
use crate::cli::connection::connect::runtime;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::logging;
use crate::client::{Autostart, Client, WebsocketOptions, connect, project_dial};
use crate::core::agent::Agent;
use crate::host::ProjectContext;
use crate::wire::control::{Command, Role};

/// Arguments of `bridge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where trust lies, whatever the environment says
    #[arg(long, hide = true)]
    pub registry: Option<PathBuf>,
}

pub fn run(context: &CliContext) -> CliOutcome {
    serve(&context.project, Agent::Claude)
}

/// Serves one agent until it goes. Never returns: a blocking read of standard input cannot be
/// ended in another way.
pub fn serve(project: &ProjectContext, side: Agent) -> CliOutcome {
    let log = logging::start(project);
    let role = Role::of(side);
    let ended = runtime()?.block_on(async {
        let client = client(project, role, parent(), Vec::new(), autostart(project));
        let pair = (side == Agent::Claude).then(|| project.runtime_session.clone());
        stdio::serve(side, pair, client).await
    });
    tracing::info!(?ended, "the bridge ends");
    drop(log);
    std::process::exit(0);
}

/// A client that redials for ever, for the processes that agents start.
pub fn client(
    project: &ProjectContext,
    role: Role,
    agent_pid: Option<u32>,
    on_connect: Vec<Command>,
    autostart: Option<Autostart>,
) -> Client {
    connect(WebsocketOptions {
        dial: project_dial(project.dirs.clone(), role, autostart),
        hello: project.hello(role, agent_pid),
        on_connect,
    })
}

/// How a bridge starts a daemon: not below a worker, never one that the operator killed, and only
/// where somebody has begun a project.
fn autostart(project: &ProjectContext) -> Option<Autostart> {
    if project.worker {
        return None;
    }
    let program = project.own_program.clone();
    let mut autostart = Autostart::detached(program, &project.dirs, project.begun.clone());
    autostart.args.push("--unless-killed".into());
    // The daemon's registry is ours, whatever environment the agent has from a file of the project.
    let registry = project.user_dirs.registry.clone();
    let name = "CONTEXTRELAY_REGISTRY_DIR";
    autostart.env.push((name.into(), registry.into()));
    Some(autostart)
}

/// The process that started us: the agent itself (Claude Code 2.1.330, observed).
pub fn parent() -> Option<u32> {
    let pid = rustix::process::getppid()?.as_raw_nonzero().get();
    u32::try_from(pid).ok()
}
