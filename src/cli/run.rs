//! [`run`]: one command line from its words to its exit code. Delegates, and does nothing itself.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;

use super::args::{Cli, Verb, command, parse};
use super::context::CliContext;
use super::exit::{CliOutcome, ExitKind, Failure};
use super::later::Later;
use super::output::Output;
use super::settings::Named;
use super::{
    apart, approvals, bridge, capsule, claude, claude_plugin, codex, codex_mcp, completions,
    config, continuity, daemon, deck, demo, doctor, doorbell, finality, gates, guide, handoff,
    hold, hook, init, instances, instructions, kill, ledger, man, notify, operator_key, pair,
    policy, queue, recover, redact, review, search, settings, status, statusline, trust, unbuilt,
    uninit,
};
use crate::store::dirs::UserDirs;
use crate::wire::control::ProgramCode;

/// Runs a command line and says how the program ends; whatever is to be told has been printed.
pub fn run(args: Vec<OsString>) -> ExitKind {
    // A hook that Claude calls in a way we do not know must not be shown to its user.
    let is_hook = args.get(1).is_some_and(|arg| arg == "hook");
    let wants_json = args
        .iter()
        .skip(1)
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--json");
    let words: Vec<OsString> = args.iter().skip(1).cloned().collect();
    let cli = match parse(args) {
        Ok(cli) => cli,
        Err(error) if is_hook && error.use_stderr() => return ExitKind::Ok,
        Err(mut error) => {
            suggest_shown_verbs(&mut error);
            return refuse(&Output::new(wants_json), &error, &words);
        }
    };
    // A verb that is not built takes all words behind it, `--json` too.
    let out =
        Output::new(cli.json || wants_json && cli.verb.as_ref().is_some_and(Verb::is_unbuilt));
    match dispatch(cli, out.clone()) {
        Ok(kind) => kind,
        Err(failure) => {
            out.failure(&failure);
            failure.kind
        }
    }
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

fn tell_left_out(out: &Output, user: &UserDirs) {
    for sentence in settings::left_out(user, settings::environment) {
        out.note(&sentence);
    }
}

fn dispatch(cli: Cli, out: Output) -> CliOutcome {
    if cli.verb.as_ref().is_some_and(Verb::is_unbuilt) {
        return unbuilt::refuse();
    }
    let verb = match cli.verb {
        // These need no project, and must work where none can be found.
        Some(Verb::Completions(args)) => return completions::run(&out, &args),
        Some(Verb::Man(args)) => return man::run(&out, &args),
        Some(Verb::Guide(args)) => return guide::run(&out, &args),
        Some(Verb::Config(Later(config::Verb::Schema))) => return config::schema(&out),
        Some(Verb::Hold(args)) => return hold::run(args),
        Some(Verb::Apart(args)) => return apart::run(args),
        Some(Verb::DemoCodex(args)) => std::process::exit(crate::demo::codex::main(args.args)),
        Some(Verb::Demo(args)) => return demo::run(&out, &args),
        Some(Verb::Instances(args)) => {
            let user = settings::user_dirs(settings::environment)?;
            tell_left_out(&out, &user);
            return instances::run(&out, &user, &args);
        }
        verb => verb,
    };
    let named = match verb {
        Some(Verb::Hook(_) | Verb::Statusline(_) | Verb::Doorbell | Verb::Bridge(_)) => Named::Near,
        _ => Named::Exactly,
    };
    let project = match &verb {
        Some(Verb::Statusline(_)) => cli.project.or_else(statusline::project),
        _ => cli.project,
    };
    let registry = match &verb {
        Some(Verb::Hook(args)) => args.registry.clone(),
        Some(Verb::Bridge(args)) => args.registry.clone(),
        _ => None,
    };
    let var = |name: &str| match (&registry, name) {
        (Some(dir), "CONTEXTRELAY_REGISTRY_DIR") => Some(dir.as_os_str().to_owned()),
        _ => settings::environment(name),
    };
    let setting = settings::resolve(project.as_deref(), named, var).or_else(|failure| {
        if !matches!(verb, Some(Verb::Hook(_))) {
            return Err(failure);
        }
        // Judged all the same, though perhaps without a daemon: an agent may have written it.
        let is_kept = |name: &str| name == "CONTEXTRELAY_REGISTRY_DIR" || !settings::is_own(name);
        let bare = |name: &str| var(name).filter(|_| is_kept(name));
        settings::resolve(project.as_deref(), named, bare)
    });
    let setting = match (verb.as_ref(), setting) {
        // A hook or a monitor that fails would disturb the agent's turn.
        (Some(Verb::Hook(_)), Err(_)) => return Ok(ExitKind::Ok),
        (Some(Verb::Statusline(args)), Err(_)) => return statusline::without_project(&out, args),
        (Some(Verb::Doorbell), Err(failure)) => return doorbell::idle(&failure),
        (_, setting) => setting?,
    };
    // What agents start has nobody to tell.
    let is_bridge = matches!(verb, Some(Verb::CodexMcp(Later(codex_mcp::Verb::Server))));
    if named == Named::Exactly && !is_bridge {
        tell_left_out(&out, &setting.user_dirs);
    }
    let context = CliContext { setting, out };
    let context = &context;
    match verb {
        None => deck::run(context),
        Some(Verb::Init(args)) => init::run(context, &args),
        Some(Verb::Uninit(args)) => uninit::run(context, &args),
        Some(Verb::Pair(args)) => pair::run(context, &args),
        Some(Verb::Claude(args)) => claude::run(context, args),
        Some(Verb::Codex(args)) => codex::run(context, args),
        Some(Verb::Daemon(args)) => daemon::run(context, &args),
        Some(Verb::Status(args)) => status::run(context, &args),
        Some(Verb::Recover(args)) => recover::run(context, &args),
        Some(Verb::Capsule(Later(verb))) => capsule::run(context, verb),
        Some(Verb::Review(Later(verb))) => review::run(context, verb),
        Some(Verb::Continuity(Later(verb))) => continuity::run(context, verb),
        Some(Verb::Instructions(args)) => instructions::run(context, &args),
        Some(Verb::Search(args)) => search::run(context, &args),
        Some(Verb::Ledger(Later(verb))) => ledger::run(context, verb),
        Some(Verb::Queue(Later(verb))) => queue::run(context, verb),
        Some(Verb::Handoff(Later(verb))) => handoff::run(context, verb),
        Some(Verb::Finality(Later(verb))) => finality::run(context, verb),
        Some(Verb::Approvals(Later(verb))) => approvals::run(context, verb),
        Some(Verb::Gates(Later(verb))) => gates::run(context, verb),
        Some(Verb::ReleaseGate(_)) => gates::release(context),
        Some(Verb::Coordinator(args)) => policy::coordinator(context, &args),
        Some(Verb::Permissions(Later(verb))) => policy::permissions(context, &verb),
        Some(Verb::ClaudePlugin(Later(verb))) => claude_plugin::run(context, verb),
        Some(Verb::CodexMcp(Later(verb))) => codex_mcp::run(context, verb),
        Some(Verb::Doctor(args)) => doctor::run(context, &args),
        Some(Verb::Kill(args)) => kill::run(context, &args),
        Some(Verb::Notify(args)) => notify::run(context, &args),
        Some(Verb::Redact(args)) => redact::run(context, &args),
        Some(Verb::Config(Later(config::Verb::Show))) => config::show(context),
        Some(Verb::Trust(args)) => trust::run(context, &args),
        Some(Verb::Operator(Later(verb))) => operator_key::run(context, &verb),
        Some(Verb::Bridge(_)) => bridge::run(context),
        Some(Verb::Doorbell) => doorbell::run(context),
        Some(Verb::Hook(args)) => hook::run(context, &args),
        Some(Verb::Statusline(args)) => statusline::run(context, &args),
        // Answered above, before a project was looked for; the others are not built.
        Some(
            Verb::Completions(_)
            | Verb::Man(_)
            | Verb::Guide(_)
            | Verb::Hold(_)
            | Verb::Apart(_)
            | Verb::Demo(_)
            | Verb::DemoCodex(_)
            | Verb::Instances(_)
            | Verb::Config(_),
        ) => Ok(ExitKind::Ok),
        Some(
            Verb::Viewer(_)
            | Verb::Session(_)
            | Verb::Projects(_)
            | Verb::Ps(_)
            | Verb::Attach(_)
            | Verb::Detach(_)
            | Verb::Drive(_)
            | Verb::Open(_)
            | Verb::KeepAwake(_)
            | Verb::Metrics(_)
            | Verb::Autonomy(_)
            | Verb::Usage(_)
            | Verb::Headless(_)
            | Verb::Work(_)
            | Verb::Guard(_)
            | Verb::Radar(_)
            | Verb::Rescue(_)
            | Verb::Replay(_)
            | Verb::Debate(_),
        ) => unbuilt::refuse(),
    }
}
