//! `ctxrelay codex`: the Codex terminal on the daemon's thread.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::agents::agent::{AgentArgs, become_agent};
use crate::cli::agents::launch::{Launch, missing_codex};
use crate::cli::connection::connect::{self, DaemonFound, runtime, wait_for};
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::lifecycle::detach;
use crate::cli::offline::disk::unreadable;
use crate::host::ProjectContext;
use crate::store::secrets::{Secret, read_token};
use crate::wire::control::{CodexJoin, Command};

/// The variable by which the terminal gets the proxy's token: never in its arguments.
const TOKEN_VARIABLE: &str = "CONTEXTRELAY_PROXY_TOKEN";

pub fn run(context: &CliContext, args: AgentArgs) -> CliOutcome {
    let project = &context.project;
    check_arguments(&args.args)?;
    if args.dry_run {
        let program = project
            .codex_program
            .find()
            .unwrap_or_else(|| "codex".into());
        let (thread, port) = runtime()?.block_on(known(project));
        let launch = launch(project, program, &thread, &port, "", args.args);
        return launch.show(&context.out, &[TOKEN_VARIABLE]);
    }
    let program = project.codex_program.find().ok_or_else(missing_codex)?;
    detach::ensure(context)?;
    let join = wait_for(join(project))?;
    let path = project.dirs.state_file(Secret::Proxy.file_name());
    let token =
        read_token(&project.dirs, Secret::Proxy).map_err(|error| unreadable(&path, &error))?;
    let (thread, port) = (join.thread_id.as_str(), join.proxy_port.to_string());
    let launch = launch(project, program, thread, &port, &token, args.args);
    Err(become_agent(project, launch))
}

/// Codex is started with `resume` and the pair's thread, and takes no second one.
fn check_arguments(user: &[OsString]) -> Result<(), Failure> {
    // Options may stand before it, and one of them may have this word for its value. Behind one
    // without a value Codex itself refuses it.
    let behind_option = |at: usize| {
        let before = at.checked_sub(1).and_then(|before| user[before].to_str());
        before.is_some_and(|word| word.starts_with('-'))
    };
    let mut words = user.iter().enumerate();
    if !words.any(|(at, word)| word == "resume" && !behind_option(at)) {
        return Ok(());
    }
    Err(Failure::invalid(
        "`ctxrelay codex` resumes this pair's conversation by itself, and no other",
        "start it without `resume`; then `/resume` in Codex goes to another conversation",
    ))
}

/// What is known without starting anything.
async fn known(project: &ProjectContext) -> (String, String) {
    let mut thread = None;
    let mut port = project.ports.map(|ports| ports.proxy);
    if let DaemonFound::Live(live) = connect::control(project).await
        && let Ok(status) = live.status().await
    {
        thread = status.agents.codex.thread_id.clone();
        port = status.proxy_port.or(port);
    }
    (
        thread.map_or_else(|| "THREAD".to_owned(), |thread| thread.to_string()),
        port.map_or_else(|| "PORT".to_owned(), |port| port.to_string()),
    )
}

async fn join(project: &ProjectContext) -> Result<CodexJoin, Failure> {
    let live = connect::needed(project, connect::control(project).await)?;
    live.ask_for(Command::EnsureCodex).await
}

fn launch(
    project: &ProjectContext,
    program: PathBuf,
    thread: &str,
    port: &str,
    token: &str,
    user: Vec<OsString>,
) -> Launch {
    let mut args: Vec<OsString> = [
        "resume",
        thread,
        "--remote",
        &format!("ws://127.0.0.1:{port}"),
        "--remote-auth-token-env",
        TOKEN_VARIABLE,
    ]
    .map(OsString::from)
    .into();
    args.extend(user);
    Launch {
        program,
        args,
        env: vec![(TOKEN_VARIABLE.into(), token.into())],
        cwd: Some(project.dirs.root.clone()),
    }
}
