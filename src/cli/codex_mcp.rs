//! `ctxrelay codex-mcp …`: the MCP server for a plain `codex`, through Codex's own commands.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};

use super::bridge;
use super::context::CliContext;
use super::exit::{CliOutcome, Failure};
use super::launch::{Captured, capture, missing_codex};
use super::operator::may_change;
use super::report::Report;
use super::shell::quoted;
use crate::core::agent::Agent;
use crate::host::ProjectContext;
use crate::wire::control::ProgramCode;

/// The key in Codex's configuration.
const NAME: &str = "contextrelay";

/// How long one of Codex's commands may take; they only read and write its configuration.
const COMMAND_WAIT: Duration = Duration::from_secs(30);

/// Codex gives its MCP servers a fixed list of variables (0.169.0, observed); without these the
/// server would look for the daemon in another place than this process does.
const PASSED_ON: [&str; 3] = [
    "CONTEXTRELAY_STATE_DIR",
    "CONTEXTRELAY_REGISTRY_DIR",
    "CONTEXTRELAY_RUNTIME_SESSION",
];

/// What can be done with the server.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Register it for every plain `codex` of yours
    #[command(after_help = "Example: ctxrelay codex-mcp install")]
    Install(McpChangeArgs),
    /// Take it away
    #[command(after_help = "Example: ctxrelay codex-mcp remove --yes")]
    Remove(McpChangeArgs),
    /// Whether it is registered
    #[command(after_help = "Example: ctxrelay codex-mcp status --json")]
    Status,
    /// The server itself, which Codex starts
    #[command(after_help = "Example: ctxrelay codex-mcp server")]
    Server,
}

/// Arguments of `install` and `remove`.
#[derive(Debug, clap::Args)]
pub struct McpChangeArgs {
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

pub fn run(context: &CliContext, verb: Verb) -> CliOutcome {
    if matches!(verb, Verb::Server) {
        return bridge::serve(&context.setting, Agent::Codex);
    }
    let program = context
        .setting
        .codex_program
        .clone()
        .ok_or_else(missing_codex)?;
    match verb {
        Verb::Install(args) => install(context, &program, args.yes),
        Verb::Remove(args) => remove(context, &program, args.yes),
        Verb::Status | Verb::Server => status(context, &program),
    }
}

/// Our entry in Codex's configuration.
#[derive(Debug, PartialEq)]
struct Entry {
    /// How Codex starts or reaches it, without its environment, which may hold secrets.
    what: String,
    enabled: bool,
    ours: bool,
}

fn install(context: &CliContext, program: &Path, yes: bool) -> CliOutcome {
    let setting = &context.setting;
    let found = entry(setting, program)?;
    let args = add_args(setting, |name| std::env::var_os(name));
    let mut what = format!(
        "This registers `{NAME}` in your Codex configuration, for every plain `codex`: it then \
         talks to {}.",
        setting.dirs.root.display()
    );
    if let Some(entry) = &found {
        what.push_str(&format!(
            " It replaces the entry `{NAME}` that is there, its environment included: {}",
            entry.what
        ));
    }
    may_change(context, &what, yes)?;
    codex(setting, program, &args)?;
    done(
        context,
        "installed",
        "registered; Codex starts it with its next session",
    )
}

/// `codex mcp add` replaces an entry of the same name silently (0.169.0, observed).
fn add_args(setting: &ProjectContext, var: impl Fn(&str) -> Option<OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["mcp", "add", NAME].map(OsString::from).into();
    for name in PASSED_ON {
        if let Some(value) = var(name).filter(|value| !value.is_empty()) {
            let mut pair = OsString::from(format!("{name}="));
            pair.push(value);
            args.extend(["--env".into(), pair]);
        }
    }
    args.push("--".into());
    args.push(setting.own_program.clone().into_os_string());
    args.extend(["codex-mcp", "server", "--project"].map(OsString::from));
    args.push(setting.dirs.root.clone().into_os_string());
    args
}

fn remove(context: &CliContext, program: &Path, yes: bool) -> CliOutcome {
    let Some(entry) = entry(&context.setting, program)? else {
        return done(context, "absent", "it is not registered");
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
        &context.setting,
        program,
        &["mcp", "remove", NAME].map(OsString::from),
    )?;
    done(context, "removed", "removed")
}

fn status(context: &CliContext, program: &Path) -> CliOutcome {
    let entry = entry(&context.setting, program)?;
    let state = match &entry {
        None => "absent",
        Some(entry) if !entry.ours => "foreign",
        Some(entry) if entry.enabled => "enabled",
        Some(_) => "disabled",
    };
    let what = entry.map(|entry| entry.what);
    let value = json!({"name": NAME, "state": state, "what": what});
    let what = what.map_or_else(String::new, |what| format!(" ({what})"));
    let line = format!("{NAME}: {state}{what}");
    context.out.report(Report::new(&value, line))
}

fn done(context: &CliContext, word: &str, sentence: &str) -> CliOutcome {
    context
        .out
        .report(Report::new(&json!({"result": word}), sentence))
}

fn entry(setting: &ProjectContext, program: &Path) -> Result<Option<Entry>, Failure> {
    let said = codex(
        setting,
        program,
        &["mcp", "list", "--json"].map(OsString::from),
    )?;
    Ok(read_entry(&said.stdout))
}

/// Finds our entry in `codex mcp list --json`, which shows environments in clear: they are left
/// out here.
fn read_entry(json: &str) -> Option<Entry> {
    let list: Vec<Value> = serde_json::from_str(json).ok()?;
    let entry = list.iter().find(|entry| entry["name"] == NAME)?;
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
    Some(Entry {
        what,
        enabled: entry["enabled"].as_bool().unwrap_or(true),
        ours: args.starts_with(&["codex-mcp".into(), "server".into()]),
    })
}

fn codex(setting: &ProjectContext, program: &Path, args: &[OsString]) -> Result<Captured, Failure> {
    let fail = |why: String| {
        Failure::unavailable(
            ProgramCode::CodexFailed,
            why,
            "run the command by yourself to see more, or update Codex",
        )
    };
    let said = capture(program, args, &setting.dirs.root, COMMAND_WAIT).map_err(fail)?;
    if said.ok {
        return Ok(said);
    }
    let why = said
        .stderr
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("no reason given");
    Err(fail(format!("`codex {}` failed: {why}", quoted(args))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
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

        let url = json!([{"name": "contextrelay", "transport": {"url": "http://u:p@host/"}}]);
        let entry = read_entry(&url.to_string()).unwrap();
        assert!(!entry.ours && !entry.what.contains("u:p"));
        assert_eq!(read_entry("[]"), None);
        assert_eq!(read_entry("no json"), None);
    }
}
