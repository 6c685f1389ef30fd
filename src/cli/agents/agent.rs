//! [`become_agent`]: this process registers with the daemon and then becomes an agent.

use std::ffi::OsString;

use crate::cli::agents::launch::Launch;
use crate::cli::agents::pair_tmux;
use crate::cli::connection::connect::{self, runtime};
use crate::cli::exit::Failure;
use crate::cli::lifecycle::replace::NO_SUCH_METHOD;
use crate::core::agent::AGENT_VARIABLE;
use crate::host::ProjectContext;
use crate::wire::control::{Command, ProgramCode};

/// Arguments of `claude` and `codex`.
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Print the command line and start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Not in this version
    #[arg(long, hide = true, value_name = "NAME")]
    pub pair: Option<OsString>,
    /// The agent's own arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    pub args: Vec<OsString>,
}

/// Lets an agent take this process's place. Returns only when that fails.
///
/// Before, the daemon knows this process as an agent's, by the kernel's word for who connects. What
/// the agent's commands leave behind stays below it: on Linux it is a child subreaper, which
/// survives the `exec` and is not inherited.
pub fn become_agent(project: &ProjectContext, mut launch: Launch) -> Failure {
    let registered = runtime().and_then(|runtime| runtime.block_on(register(project)));
    if let Err(failure) = registered {
        return failure;
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        return Failure::internal("keep the agent's children below it", error);
    }
    let registry = project.user_dirs.registry.clone();
    launch
        .env
        .push((OsString::from(AGENT_VARIABLE), registry.into()));
    // Who knows where the pair's tmux is can type into the deck.
    if pair_tmux::is_ours(project, std::env::var_os("TMUX").as_deref()) {
        return launch.exec_without(&["TMUX", "TMUX_PANE"]);
    }
    launch.exec()
}

async fn register(project: &ProjectContext) -> Result<(), Failure> {
    let live = connect::needed(project, connect::operator(project).await)?;
    match live.ask(Command::RegisterAgent).await {
        Ok(_) => Ok(()),
        Err(failure) if failure.is(&NO_SUCH_METHOD) => Err(Failure::unavailable(
            ProgramCode::DaemonTooOld,
            "the daemon is of a version that cannot tell agents from you",
            "have this version go on in its place: `ctxrelay daemon --replace`",
        )),
        Err(failure) => Err(failure),
    }
}
