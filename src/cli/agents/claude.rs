//! `ctxrelay claude`: Claude Code with the plugin, for one run.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::adapters::claude::hooks_switch::keep_hooks;
use crate::adapters::claude::install::Marketplace;
use crate::adapters::claude::plugin::{self, PluginSpec, launch_args};
use crate::cli::agents::agent::{AgentArgs, become_agent};
use crate::cli::agents::launch::{Launch, missing_claude};
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::lifecycle::detach;
use crate::core::agent::HOOKS_VARIABLE;
use crate::host::ProjectContext;
use crate::wire::control::ProgramCode;

pub fn run(context: &CliContext, args: AgentArgs) -> CliOutcome {
    let project = &context.project;
    check_plugin(project)?;
    let program = project.claude_program.find();
    let kept = keep_hooks(args.args, &folder(project)?);
    if let Some(why) = &kept.unkept {
        context.out.note(&format!(
            "Claude's hooks, and with them your rules, are not held on: {why}"
        ));
    }
    if args.dry_run {
        // Shown also where claude is not installed yet.
        let program = program.unwrap_or_else(|| "claude".into());
        let launch = launch(project, program, kept.args);
        return launch.show(&context.out, &[]);
    }
    let program = program.ok_or_else(missing_claude)?;
    detach::ensure(context)?;
    write_plugin(project)?;
    market(project)
        .renew()
        .map_err(|error| plugin_failure(project, &error))?;
    let mut launch = launch(project, program, kept.args);
    if kept.unkept.is_none() {
        // It takes our place.
        let claude = std::process::id().to_string();
        launch.env.push((HOOKS_VARIABLE.into(), claude.into()));
    }
    Err(become_agent(project, launch))
}

/// Where Claude starts.
fn folder(project: &ProjectContext) -> Result<PathBuf, Failure> {
    let here = || {
        std::env::current_dir().map_err(|error| Failure::internal("find the current folder", error))
    };
    outside(project).map_or_else(here, Ok)
}

fn launch(project: &ProjectContext, program: PathBuf, user: Vec<OsString>) -> Launch {
    let mut args = launch_args(&plugin_dir(project));
    args.extend(user);
    Launch {
        program,
        args,
        env: Vec::new(),
        cwd: outside(project),
    }
}

/// The project, unless we are in it already: Claude keeps its own memory per folder.
fn outside(project: &ProjectContext) -> Option<PathBuf> {
    let root = &project.dirs.root;
    let here = std::env::current_dir().ok()?;
    (!here.starts_with(root)).then(|| root.clone())
}

/// Where the project's plugin lies.
pub fn plugin_dir(project: &ProjectContext) -> PathBuf {
    plugin::project_dir(
        &project.user_dirs.data,
        env!("CARGO_PKG_VERSION"),
        &project.dirs.instance_id(),
    )
}

/// The project's plugin.
pub fn plugin_spec(project: &ProjectContext) -> PluginSpec {
    PluginSpec {
        program: project.own_program.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        project: Some(project.dirs.root.clone()),
        registry: Some(project.user_dirs.registry.clone()),
    }
}

/// The plugin for a plain `claude`.
pub fn market(project: &ProjectContext) -> Marketplace {
    let user = &project.user_dirs;
    let program = project.own_program.clone();
    let version = env!("CARGO_PKG_VERSION");
    Marketplace::new(&user.data, program, version, user.registry.clone())
}

/// Whether this project can have a plugin, before anything is made.
///
/// # Errors
///
/// When a path cannot be quoted.
pub fn check_plugin(project: &ProjectContext) -> Result<(), Failure> {
    let checked = plugin_spec(project).check();
    checked.map_err(|error| plugin_failure(project, &error))
}

/// Writes the project's plugin, when program, version or path have changed. Says whether it had
/// to.
///
/// # Errors
///
/// When the data folder cannot be written, or a path cannot be quoted.
pub fn write_plugin(project: &ProjectContext) -> Result<bool, Failure> {
    let written = plugin_spec(project).write(&plugin_dir(project));
    written.map_err(|error| plugin_failure(project, &error))
}

/// Why there is no plugin.
pub fn plugin_failure(project: &ProjectContext, error: &plugin::PluginError) -> Failure {
    let why = std::error::Error::source(error).map_or_else(String::new, |why| format!(": {why}"));
    let hint = match error {
        plugin::PluginError::Path { .. } => "rename that folder, or work in another one".to_owned(),
        plugin::PluginError::Write { .. } => {
            format!("make {} writable for you", project.user_dirs.data.display())
        }
    };
    Failure::state(ProgramCode::Plugin, format!("{error}{why}"), hint)
}
