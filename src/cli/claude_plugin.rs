//! `ctxrelay claude-plugin …`: the plugin for a plain `claude`, through Claude's own commands.

mod status_line;

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;

use super::claude::plugin_failure;
use super::context::CliContext;
use super::exit::{CliOutcome, Failure};
use super::launch::{Captured, capture, missing_claude};
use super::operator::may_change;
use super::report::Report;
use crate::adapters::claude::install::{self, ClaudeArgs, Installed, Marketplace, plugin_id};
use crate::host::ProjectContext;
use crate::wire::control::ProgramCode;
use status_line::StatusLineVerb;

/// How long one of Claude's commands may take; they work offline.
const COMMAND_WAIT: Duration = Duration::from_secs(60);

/// What can be done with the plugin.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Install it for every plain `claude` of yours
    #[command(after_help = "Example: ctxrelay claude-plugin install")]
    Install(PluginChangeArgs),
    /// Take it away
    #[command(after_help = "Example: ctxrelay claude-plugin remove --yes")]
    Remove(PluginChangeArgs),
    /// Whether it is installed
    #[command(after_help = "Example: ctxrelay claude-plugin status --json")]
    Status,
    /// The pair in Claude's status line
    #[command(
        subcommand,
        name = "statusline",
        after_help = "Example: ctxrelay claude-plugin statusline install"
    )]
    StatusLine(StatusLineVerb),
}

/// Arguments of `install` and `remove`.
#[derive(Debug, clap::Args)]
pub struct PluginChangeArgs {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    if let Verb::StatusLine(verb) = &verb {
        return status_line::run(context, verb);
    }
    let program = context
        .setting
        .claude_program
        .clone()
        .ok_or_else(missing_claude)?;
    match verb {
        Verb::Install(args) => install(context, program, args.yes),
        Verb::Remove(args) => remove(context, program, args.yes),
        Verb::Status => status(context, program),
        Verb::StatusLine(verb) => status_line::run(context, &verb),
    }
}

fn install(context: &CliContext, program: PathBuf, yes: bool) -> CliOutcome {
    let setting = &context.setting;
    let what = match installed(setting, &program)? {
        Some(Installed::Enabled(version) | Installed::Disabled(version)) => format!(
            "{} {version} is installed already; this renews it in your Claude settings (user scope).",
            plugin_id()
        ),
        _ => format!(
            "This adds the marketplace {} and the plugin {} to your Claude settings (user scope).",
            install::MARKETPLACE_NAME,
            plugin_id()
        ),
    };
    may_change(context, &what, yes)?;
    let market = Marketplace::new(&setting.user_dirs.data);
    market
        .write(setting.own_program.clone(), env!("CARGO_PKG_VERSION"))
        .map_err(|error| plugin_failure(setting, &error))?;
    for args in market.install() {
        claude(setting, &program, &args)?;
    }
    done(
        context,
        "installed",
        "installed; it is there at Claude's next start",
    )
}

fn remove(context: &CliContext, program: PathBuf, yes: bool) -> CliOutcome {
    let setting = &context.setting;
    if installed(setting, &program)? == Some(Installed::No) {
        return done(context, "absent", "it is not installed");
    }
    let what = format!(
        "This takes {} out of your Claude settings (user scope).",
        plugin_id()
    );
    may_change(context, &what, yes)?;
    for args in install::remove() {
        claude(setting, &program, &args)?;
    }
    done(context, "removed", "removed")
}

fn done(context: &CliContext, word: &str, sentence: &str) -> CliOutcome {
    context
        .out
        .report(Report::new(&json!({"result": word}), sentence))
}

fn status(context: &CliContext, program: PathBuf) -> CliOutcome {
    let found = installed(&context.setting, &program)?;
    let (state, version) = match &found {
        Some(Installed::No) => ("absent", None),
        Some(Installed::Enabled(version)) => ("enabled", Some(version)),
        Some(Installed::Disabled(version)) => ("disabled", Some(version)),
        None => ("unknown", None),
    };
    let value = json!({"plugin": plugin_id(), "state": state, "version": version});
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let line = format!("{}{version}: {state}", plugin_id());
    context.out.report(Report::new(&value, line))
}

/// `None` when Claude's answer is not understood.
fn installed(
    setting: &ProjectContext,
    program: &std::path::Path,
) -> Result<Option<Installed>, Failure> {
    Ok(Installed::read(
        &claude(setting, program, &install::list())?.stdout,
    ))
}

fn claude(
    setting: &ProjectContext,
    program: &std::path::Path,
    args: &ClaudeArgs,
) -> Result<Captured, Failure> {
    let fail = |why: String| {
        Failure::unavailable(
            ProgramCode::ClaudeFailed,
            why,
            "run the command by yourself to see more, or update Claude Code",
        )
    };
    let said = capture(program, args, &setting.dirs.root, COMMAND_WAIT).map_err(fail)?;
    if said.ok {
        return Ok(said);
    }
    let line = super::shell::quoted(args);
    let why = [&said.stderr, &said.stdout]
        .into_iter()
        .find_map(|text| text.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or("no reason given");
    Err(fail(format!("`claude {line}` failed: {why}")))
}
