//! `ctxrelay claude-plugin …`: the plugin for a plain `claude`, through Claude's own commands.

mod status_line;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::json;

use crate::adapters::claude::install::{self, Installed, plugin_id};
use crate::cli::agents::claude::{market, plugin_failure};
use crate::cli::agents::launch::missing_claude;
use crate::cli::connection::operator::may_change;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::Report;
use crate::cli::setup::vendor_command::{VendorChangeArgs, changed, vendor_command};
use crate::core::agent::Agent;
use status_line::StatusLineVerb;

/// What can be done with the plugin.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Install it for every plain `claude` of yours
    #[command(after_help = "Example: ctxrelay claude-plugin install")]
    Install(VendorChangeArgs),
    /// Take it away
    #[command(after_help = "Example: ctxrelay claude-plugin remove --yes")]
    Remove(VendorChangeArgs),
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

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    if let Verb::StatusLine(verb) = &verb {
        return status_line::run(context, verb);
    }
    let program = context
        .project
        .claude_program
        .find()
        .ok_or_else(missing_claude)?;
    match verb {
        Verb::Install(args) => install(context, program, args.yes),
        Verb::Remove(args) => remove(context, program, args.yes),
        Verb::Status => status(context, program),
        Verb::StatusLine(verb) => status_line::run(context, &verb),
    }
}

fn install(context: &CliContext, program: PathBuf, yes: bool) -> CliOutcome {
    let project = &context.project;
    let what = match installed(context, &program)? {
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
    let market = market(project);
    market
        .write()
        .map_err(|error| plugin_failure(project, &error))?;
    for args in market.install() {
        vendor_command(Agent::Claude, context, &program, &args)?;
    }
    changed(
        context,
        "installed",
        "installed; it is there at Claude's next start",
    )
}

fn remove(context: &CliContext, program: PathBuf, yes: bool) -> CliOutcome {
    let market = market(&context.project);
    let discard = || {
        let discarded = market.discard();
        discarded.map_err(|error| Failure::internal("remove the plugin's files", error))
    };
    if installed(context, &program)? == Some(Installed::No) {
        discard()?;
        return changed(context, "absent", "it is not installed");
    }
    let what = format!(
        "This takes {} out of your Claude settings (user scope).",
        plugin_id()
    );
    may_change(context, &what, yes)?;
    for args in install::remove() {
        vendor_command(Agent::Claude, context, &program, &args)?;
    }
    discard()?;
    changed(context, "removed", "removed")
}

fn status(context: &CliContext, program: PathBuf) -> CliOutcome {
    let found = installed(context, &program)?;
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
fn installed(context: &CliContext, program: &Path) -> Result<Option<Installed>, Failure> {
    let said = vendor_command(Agent::Claude, context, program, &install::list())?;
    Ok(Installed::read(&said.stdout))
}
