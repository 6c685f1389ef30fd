//! [`run`]: one command line, from its words to its exit code. Only delegates.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;

use super::args::{Cli, Verb, command, offered, parse};
use super::context::CliContext;
use super::exit::{CliOutcome, ExitKind, Failure};
use super::output::Output;
use super::settings::Named;
use crate::cli::agents::apart;
use crate::cli::agents::bridge;
use crate::cli::agents::claude;
use crate::cli::agents::codex;
use crate::cli::agents::doorbell;
use crate::cli::agents::hold;
use crate::cli::agents::hook;
use crate::cli::agents::statusline;
use crate::cli::capsule;
use crate::cli::decisions::approvals;
use crate::cli::decisions::finality;
use crate::cli::decisions::gates;
use crate::cli::decisions::review;
use crate::cli::deliveries::handoff;
use crate::cli::deliveries::queue;
use crate::cli::help::completions;
use crate::cli::help::guide;
use crate::cli::help::man;
use crate::cli::lifecycle::daemon;
use crate::cli::lifecycle::instances;
use crate::cli::lifecycle::kill;
use crate::cli::record::continuity;
use crate::cli::record::instructions;
use crate::cli::record::ledger;
use crate::cli::record::recover;
use crate::cli::record::redact;
use crate::cli::record::search;
use crate::cli::record::status;
use crate::cli::screen::deck;
use crate::cli::screen::demo;
use crate::cli::screen::notify;
use crate::cli::screen::pair;
use crate::cli::settings;
use crate::cli::setup::claude_plugin;
use crate::cli::setup::codex_mcp;
use crate::cli::setup::config;
use crate::cli::setup::doctor;
use crate::cli::setup::init;
use crate::cli::setup::policy;
use crate::cli::setup::trust;
use crate::cli::setup::unbuilt;
use crate::cli::setup::uninit;
use crate::cli::signing::operator_key;
use crate::cli::text::later::Later;
use crate::store::dirs::UserDirs;
use crate::wire::control::ProgramCode;

/// What Claude runs by itself. The program may have been replaced by an earlier version since Claude was
/// told how.
const OF_AGENTS: [&str; 3] = ["bridge", "doorbell", "hook"];

/// Runs a command line and says how the program ends; whatever is to be told has been printed.
pub fn run(args: Vec<OsString>) -> ExitKind {
    let wants_json = args
        .iter()
        .skip(1)
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--json");
    let words: Vec<OsString> = args.iter().skip(1).cloned().collect();
    let is_agents = args
        .get(1)
        .is_some_and(|verb| OF_AGENTS.iter().any(|own| verb == own));
    let parsed = match is_agents {
        true => parse_known(args),
        false => parse(args),
    };
    let cli = match parsed {
        Ok(cli) => cli,
        Err(mut error) => {
            if error.use_stderr()
                && let Some(kind) = go_on_unread(&error, &words)
            {
                return kind;
            }
            suggest_shown_verbs(&mut error);
            return refuse(&Output::new(wants_json), &error, &words);
        }
    };
    // A verb that is not built takes all words behind it, `--json` too.
    let out = Output::new(cli.json || wants_json && cli.is_unbuilt());
    match dispatch(cli, out.clone()) {
        Ok(kind) => kind,
        Err(failure) => {
            out.failure(&failure);
            failure.kind
        }
    }
}

/// As [`parse`], of a line of another version: without the words that this one does not know. An event
/// stands before them.
fn parse_known(mut args: Vec<OsString>) -> Result<Cli, clap::Error> {
    loop {
        let error = match parse(args.clone()) {
            Err(error) if error.kind() == ErrorKind::UnknownArgument => error,
            parsed => return parsed,
        };
        let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
            return Err(error);
        };
        let is_it = |arg: &OsString| {
            let rest = arg.to_str().and_then(|arg| arg.strip_prefix(&**unknown));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        match args.iter().skip(1).position(is_it) {
            Some(at) => drop(args.remove(at + 1)),
            None => return Err(error),
        }
    }
}

/// What Claude runs by a line that says nothing to this version at all: it does what can be done without
/// its arguments. `None` for any other line.
fn go_on_unread(error: &clap::Error, words: &[OsString]) -> Option<ExitKind> {
    let outcome = match words.first()?.to_str()? {
        "hook" => hook::run_unread(words),
        "doorbell" => doorbell::idle(&usage_failure(error, words)),
        _ => return None,
    };
    Some(outcome.unwrap_or_else(|failure| failure.kind))
}

/// What clap wants to say: help and version are results, the rest is a usage error.
fn refuse(out: &Output, error: &clap::Error, words: &[OsString]) -> ExitKind {
    if !error.use_stderr() && out.is_json() {
        return match out.json(&json!({"text": error.render().to_string()})) {
            Err(failure) if !failure.is_silent() => failure.kind,
            _ => ExitKind::Ok,
        };
    }
    if !error.use_stderr() {
        // Ours to print, so that a closed pipe is no error.
        let text = if super::output::wants_colour()
            && std::io::IsTerminal::is_terminal(&std::io::stdout())
        {
            error.render().ansi().to_string()
        } else {
            error.render().to_string()
        };
        return match out.raw(text.as_bytes()) {
            Err(failure) if !failure.is_silent() => failure.kind,
            _ => ExitKind::Ok,
        };
    }
    if out.is_json() {
        out.failure(&usage_failure(error, words));
    } else {
        // clap colours for the terminal by itself and knows NO_COLOR. Nobody to tell is no fault.
        let _ = error.print();
    }
    ExitKind::Usage
}

/// Takes verbs out of a suggestion that no help shows: they are what the agents run, or not built.
fn suggest_shown_verbs(error: &mut clap::Error) {
    let Some(ContextValue::Strings(names)) = error.get(ContextKind::SuggestedSubcommand) else {
        return;
    };
    let command = command();
    let is_hidden = |name: &String| {
        command
            .find_subcommand(name)
            .is_some_and(clap::Command::is_hide_set)
    };
    let shown: Vec<String> = names
        .iter()
        .filter(|name| !is_hidden(name))
        .cloned()
        .collect();
    match shown.is_empty() {
        true => drop(error.remove(ContextKind::SuggestedSubcommand)),
        false => drop(error.insert(
            ContextKind::SuggestedSubcommand,
            ContextValue::Strings(shown),
        )),
    }
}

/// What clap says as one sentence, with the verb whose help has the rest.
fn usage_failure(error: &clap::Error, words: &[OsString]) -> Failure {
    let (path, verb) = verb_of(words);
    let text = error.render().to_string();
    let message = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let names: Vec<&str> = verb
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        format!("`{path}` wants one of: {}", names.join(", "))
    } else {
        // The first paragraph: what is wrong, and below it which arguments or values.
        let first = text.split("\n\n").next().unwrap_or_default();
        let first = first.strip_prefix("error: ").unwrap_or(first);
        first.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    Failure::usage(ProgramCode::Usage, message, format!("see `{path} --help`"))
}

/// The verb that was meant, as far as the words name one.
fn verb_of(words: &[OsString]) -> (String, clap::Command) {
    let mut verb = command();
    verb.build();
    let mut path = verb.get_name().to_owned();
    for word in words {
        let Some(found) = verb.find_subcommand(word).cloned() else {
            continue;
        };
        path = format!("{path} {}", found.get_name());
        verb = found;
    }
    (path, verb)
}

fn dispatch(cli: Cli, out: Output) -> CliOutcome {
    if cli.is_unbuilt() {
        return unbuilt::refuse();
    }
    let Cli { project, verb, .. } = cli;
    let typed = TypedAt { project, out };
    let Some(verb) = verb else {
        return deck::run(&typed.context()?);
    };
    match verb {
        // These need no project, and must work where none can be found.
        Verb::Completions(args) => completions::run(&typed.out, &args, offered()),
        Verb::Man(args) => man::run(&typed.out, &args, command()),
        Verb::Guide(args) => guide::run(&typed.out, &args),
        Verb::Config(Later(config::Verb::Schema)) => config::schema(&typed.out),
        Verb::Hold(args) => hold::run(args),
        Verb::Apart(args) => apart::run(args),
        Verb::DemoCodex(args) => std::process::exit(crate::demo::codex::main(args.args)),
        Verb::Demo(args) => demo::run(&typed.out, &args),
        Verb::Instances(args) => {
            let user = settings::user_dirs(settings::environment)?;
            tell_left_out(&typed.out, &user);
            instances::run(&typed.out, &user, &args)
        }

        // What agents start has nobody to tell.
        Verb::Hook(args) => match typed.context_of_hook(args.registry.as_deref()) {
            Ok(context) => hook::run(&context, &args),
            Err(_) => hook::run_nowhere(&args),
        },
        Verb::Doorbell => match typed.context_of(Named::Near, settings::environment) {
            Ok(context) => doorbell::run(&context),
            Err(failure) => doorbell::idle(&failure),
        },
        Verb::Statusline(args) => {
            let project = typed.project.or_else(statusline::project);
            let typed = TypedAt { project, ..typed };
            match typed.context_of(Named::Near, settings::environment) {
                Ok(context) => statusline::run(&context, &args),
                Err(_) => statusline::without_project(&typed.out, &args),
            }
        }
        Verb::Bridge(args) => {
            let var = environment_with(args.registry.as_deref());
            bridge::run(&typed.context_of(Named::Near, var)?)
        }
        Verb::CodexMcp(Later(codex_mcp::Verb::Server)) => {
            let context = typed.context_of(Named::Exactly, settings::environment)?;
            codex_mcp::run(&context, codex_mcp::Verb::Server)
        }

        Verb::Init(args) => init::run(&typed.context()?, &args),
        Verb::Uninit(args) => uninit::run(&typed.context()?, &args),
        Verb::Pair(args) => pair::run(&typed.context()?, &args),
        Verb::Claude(args) => claude::run(&typed.context()?, args),
        Verb::Codex(args) => codex::run(&typed.context()?, args),
        Verb::Daemon(args) => daemon::run(&typed.context()?, &args),
        Verb::Status(args) => status::run(&typed.context()?, &args),
        Verb::Recover(args) => recover::run(&typed.context()?, &args),
        Verb::Capsule(Later(verb)) => capsule::run(&typed.context()?, verb),
        Verb::Review(Later(verb)) => review::run(&typed.context()?, verb),
        Verb::Continuity(Later(verb)) => continuity::run(&typed.context()?, verb),
        Verb::Instructions(args) => instructions::run(&typed.context()?, &args),
        Verb::Search(args) => search::run(&typed.context()?, &args),
        Verb::Ledger(Later(verb)) => ledger::run(&typed.context()?, verb),
        Verb::Queue(Later(verb)) => queue::run(&typed.context()?, verb),
        Verb::Handoff(Later(verb)) => handoff::run(&typed.context()?, verb),
        Verb::Finality(Later(verb)) => finality::run(&typed.context()?, verb),
        Verb::Approvals(Later(verb)) => approvals::run(&typed.context()?, verb),
        Verb::Gates(Later(verb)) => gates::run(&typed.context()?, verb),
        Verb::ReleaseGate(_) => gates::release(&typed.context()?),
        Verb::Coordinator(args) => policy::coordinator(&typed.context()?, &args),
        Verb::Permissions(Later(verb)) => policy::permissions(&typed.context()?, &verb),
        Verb::ClaudePlugin(Later(verb)) => claude_plugin::run(&typed.context()?, verb),
        Verb::CodexMcp(Later(verb)) => codex_mcp::run(&typed.context()?, verb),
        Verb::Doctor(args) => doctor::run(&typed.context()?, &args),
        Verb::Kill(args) => kill::run(&typed.context()?, &args),
        Verb::Notify(args) => notify::run(&typed.context()?, &args),
        Verb::Redact(args) => redact::run(&typed.context()?, &args),
        Verb::Config(Later(config::Verb::Show { .. })) => config::show(&typed.context()?),
        Verb::Trust(args) => trust::run(&typed.context()?, &args),
        Verb::Operator(Later(verb)) => operator_key::run(&typed.context()?, &verb),

        Verb::Unbuilt(_) | Verb::Config(Later(config::Verb::Set(_) | config::Verb::Unset(_))) => {
            unbuilt::refuse()
        }
    }
}

/// What a command line says beside its verb.
struct TypedAt {
    project: Option<PathBuf>,
    out: Output,
}

impl TypedAt {
    /// For what a person types: they are told what of their environment is left out.
    fn context(&self) -> Result<CliContext, Failure> {
        let context = self.context_of(Named::Exactly, settings::environment)?;
        tell_left_out(&context.out, &context.project.user_dirs);
        Ok(context)
    }

    fn context_of(
        &self,
        named: Named,
        var: impl Fn(&str) -> Option<OsString>,
    ) -> Result<CliContext, Failure> {
        let project = settings::resolve(self.project.as_deref(), named, var)?;
        let out = self.out.clone();
        Ok(CliContext { project, out })
    }

    fn context_of_hook(&self, registry: Option<&Path>) -> Result<CliContext, Failure> {
        let var = environment_with(registry);
        self.context_of(Named::Near, &var).or_else(|_| {
            // Judged all the same, though perhaps without a daemon: an agent may have written it.
            let is_kept = |name: &str| name == settings::REGISTRY || !settings::is_own(name);
            self.context_of(Named::Near, |name| var(name).filter(|_| is_kept(name)))
        })
    }
}

/// The environment, with the folder in it that an agent was told to use.
fn environment_with(registry: Option<&Path>) -> impl Fn(&str) -> Option<OsString> {
    move |name| match registry {
        Some(dir) if name == settings::REGISTRY => Some(dir.as_os_str().to_owned()),
        _ => settings::environment(name),
    }
}

fn tell_left_out(out: &Output, user: &UserDirs) {
    for sentence in settings::left_out(user, settings::environment) {
        out.note(&sentence);
    }
}
