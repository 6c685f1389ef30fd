//! `ctxrelay codex-mcp …`: the MCP server for a plain `codex`, through Codex's own commands.

use std::ffi::OsString;
use std::path::Path;

use crate::core::plain_value::PlainValue;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::agents::bridge;
use crate::cli::agents::launch::{Captured, missing_codex};
use crate::cli::connection::operator::may_change;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, Failure};
use crate::cli::report::{Report, ReportText};
use crate::cli::settings::environment;
use crate::cli::setup::vendor_command::{VendorChangeArgs, changed, vendor_command};
use crate::cli::text::shell::quoted;
use crate::core::agent::Agent;
use crate::host::ProjectContext;
use crate::store::dirs::UserDirs;

/// The key in Codex's configuration.
const NAME: &str = "contextrelay";

/// Codex gives its MCP servers a fixed list of variables, with HOME and without XDG_STATE_HOME
/// (0.169.0, observed); without this one the server would look for the person's daemons in another
/// place than this process does, and start one with another registry.
const REGISTRY: &str = "CONTEXTRELAY_REGISTRY_DIR";

/// What is one project's or one terminal's: the entry serves all of them.
const NOT_PASSED_ON: [&str; 3] = [
    "CONTEXTRELAY_PROJECT_ROOT",
    "CONTEXTRELAY_STATE_DIR",
    "CONTEXTRELAY_RUNTIME_SESSION",
];

/// What can be done with the server.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Register it for every plain `codex` of yours
    #[command(after_help = "Example: ctxrelay codex-mcp install")]
    Install(VendorChangeArgs),
    /// Take it away
    #[command(after_help = "Example: ctxrelay codex-mcp remove --yes")]
    Remove(VendorChangeArgs),
    /// Whether it is registered
    #[command(after_help = "Example: ctxrelay codex-mcp status --json")]
    Status,
    /// The server itself, which Codex starts
    #[command(after_help = "Example: ctxrelay codex-mcp server")]
    Server,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    if matches!(verb, Verb::Server) {
        return bridge::serve(&context.project, Agent::Codex);
    }
    let program = context
        .project
        .codex_program
        .find()
        .ok_or_else(missing_codex)?;
    match verb {
        Verb::Install(args) => install(context, &program, args.yes),
        Verb::Remove(args) => remove(context, &program, args.yes),
        Verb::Status | Verb::Server => status(context, &program),
    }
}

/// Our entry in Codex's configuration.
#[derive(Debug, PartialEq)]
pub(in crate::cli) struct CodexMcpEntry {
    /// The program that Codex starts.
    pub(in crate::cli) program: Option<String>,
    /// How Codex starts or reaches it, without its environment, which may hold secrets.
    what: String,
    enabled: bool,
    ours: bool,
    /// The one project that it serves, as earlier versions wrote it: a plain `codex` in any folder
    /// writes into the record of that one.
    pub(in crate::cli) bound_to: Option<String>,
}

fn install(context: &CliContext, program: &Path, yes: bool) -> CliOutcome {
    let project = &context.project;
    let found = entry(context, program)?;
    let args = add_args(project, environment("HOME"));
    let mut what = format!(
        "This registers `{NAME}` in your Codex configuration, for every plain `codex`: it works in \
         the project of the folder that Codex works in, and writes nothing where there is none."
    );
    for name in NOT_PASSED_ON {
        if std::env::var_os(name).is_some_and(|value| !value.is_empty()) {
            what.push_str(&format!(
                " {name} is set here, and is not passed on to it: Codex's `env_vars` can do that."
            ));
        }
    }
    if let Some(entry) = &found {
        what.push_str(&format!(
            " It replaces the entry `{NAME}` that is there, its environment included: {}",
            entry.what
        ));
    }
    may_change(context, &what, yes)?;
    codex(context, program, &args)?;
    changed(
        context,
        "installed",
        "registered; Codex starts it with its next session",
    )
}

/// `codex mcp add` replaces an entry of the same name silently (0.169.0, observed).
fn add_args(project: &ProjectContext, home: Option<OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["mcp", "add", NAME].map(OsString::from).into();
    let registry = &project.user_dirs.registry;
    let found_alone =
        UserDirs::from_env(|name| home.clone().filter(|_| name == "HOME").map(Into::into));
    if found_alone.is_none_or(|found| found.registry != *registry) {
        let mut pair = OsString::from(format!("{REGISTRY}="));
        pair.push(registry);
        args.extend(["--env".into(), pair]);
    }
    args.push("--".into());
    args.push(project.own_program.clone().into_os_string());
    // Without a project: Codex starts it in the folder of its conversation (0.169.0, observed).
    args.extend(["codex-mcp", "server"].map(OsString::from));
    args
}

fn remove(context: &CliContext, program: &Path, yes: bool) -> CliOutcome {
    let Some(entry) = entry(context, program)? else {
        return changed(context, "absent", "it is not registered");
    };
    let whose = if entry.ours {
        ""
    } else {
        ", which is not ctxrelay's,"
    };
    let what = format!(
        "This takes the entry `{NAME}`{whose} out of your Codex configuration: {}",
        entry.what
    );
    may_change(context, &what, yes)?;
    codex(
        context,
        program,
        &["mcp", "remove", NAME].map(OsString::from),
    )?;
    changed(context, "removed", "removed")
}

fn status(context: &CliContext, program: &Path) -> CliOutcome {
    let entry = entry(context, program)?;
    let state = match &entry {
        None => "absent",
        Some(entry) if !entry.ours => "foreign",
        Some(entry) if entry.enabled => "enabled",
        Some(_) => "disabled",
    };
    let bound_to = entry.as_ref().and_then(|entry| entry.bound_to.clone());
    let what = entry.map(|entry| entry.what);
    let value = json!({"name": NAME, "state": state, "what": what, "boundTo": bound_to});
    let what = what.map_or_else(String::new, |what| format!(" ({what})"));
    let mut text = ReportText::from(format!("{NAME}: {state}{what}"));
    if let Some(project) = bound_to {
        text.note(format!(
            "{}; {INSTALL_HINT} mends that",
            told_bound(&project)
        ));
    }
    context.out.report(Report::new(&value, text))
}

/// What mends an entry.
pub(in crate::cli) const INSTALL_HINT: &str = "`ctxrelay codex-mcp install`";

pub(in crate::cli) fn told_bound(project: &str) -> String {
    format!(
        "an earlier version wrote it: a plain `codex` in any folder writes into the record of {project}"
    )
}

fn entry(context: &CliContext, program: &Path) -> Result<Option<CodexMcpEntry>, Failure> {
    let said = codex(
        context,
        program,
        &["mcp", "list", "--json"].map(OsString::from),
    )?;
    Ok(read_entry(&said.stdout))
}

/// Our entry in what `codex mcp list --json` says; `None` also where one of that name is not ours.
pub(in crate::cli) fn own_entry(json: &str) -> Option<CodexMcpEntry> {
    read_entry(json).filter(|entry| entry.ours)
}

/// Finds our entry in `codex mcp list --json`, which shows environments in clear: they are left
/// out here.
fn read_entry(json: &str) -> Option<CodexMcpEntry> {
    let list = PlainValue::of(json).ok()?;
    let entry = list
        .as_array()?
        .iter()
        .find(|entry| entry["name"] == NAME)?;
    let transport = &entry["transport"];
    let words = |value: &Value| -> Vec<OsString> {
        let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter()
            .filter_map(Value::as_str)
            .map(OsString::from)
            .collect()
    };
    let args = words(&transport["args"]);
    let what = match (transport["command"].as_str(), transport["url"].as_str()) {
        (Some(command), _) => {
            let mut line = vec![OsString::from(command)];
            line.extend(args.iter().cloned());
            quoted(&line)
        }
        // A URL may hold a password.
        (None, Some(_)) => "a server at a URL".to_owned(),
        (None, None) => "an entry of another kind".to_owned(),
    };
    let ours = args.starts_with(&["codex-mcp".into(), "server".into()]);
    let mut after = args.iter().skip_while(|arg| *arg != "--project").skip(1);
    let bound_to = after.next().filter(|_| ours);
    Some(CodexMcpEntry {
        program: transport["command"].as_str().map(str::to_owned),
        what,
        enabled: entry["enabled"].as_bool().unwrap_or(true),
        ours,
        bound_to: bound_to.map(|dir| dir.to_string_lossy().into_owned()),
    })
}

fn codex(context: &CliContext, program: &Path, args: &[OsString]) -> Result<Captured, Failure> {
    vendor_command(Agent::Codex, context, program, args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_told_without_its_secrets() {
        let list = json!([
            {"name": "other", "enabled": true, "transport": {"type": "stdio", "command": "x"}},
            {"name": "contextrelay", "enabled": true, "transport": {
                "type": "stdio", "command": "/opt/ctx relay", "args": ["codex-mcp", "server"],
                "env": {"KEY": "very-secret"}}},
        ]);
        let entry = read_entry(&list.to_string()).unwrap();
        assert!(entry.ours && entry.enabled);
        assert_eq!(entry.what, "'/opt/ctx relay' codex-mcp server");

        assert_eq!(entry.bound_to, None);

        let bound = json!([{"name": "contextrelay", "transport": {
            "command": "x", "args": ["codex-mcp", "server", "--project", "/home/me/one"]}}]);
        let entry = read_entry(&bound.to_string()).unwrap();
        assert_eq!(entry.bound_to.as_deref(), Some("/home/me/one"));

        let url = json!([{"name": "contextrelay", "transport": {"url": "http://u:p@host/"}}]);
        let entry = read_entry(&url.to_string()).unwrap();
        assert!(!entry.ours && !entry.what.contains("u:p"));
        assert_eq!(read_entry("[]"), None);
        assert_eq!(read_entry("no json"), None);
    }
}
