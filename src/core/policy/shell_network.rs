//! [`networks`]: how a shell command reaches beyond this machine.

use super::Permission;
use super::given_commands::{SHELLS_MAX, given_commands};
use super::hint::Hint;
use super::need::{Certainty, Need, named};
use super::programs::{ProgramRole, program, program_name, program_role};
use super::secret_paths::BETWEEN_WORDS;
use super::shell::{ShellWord, SimpleCommand};
use super::shell_lexer;
use super::subcommands::{SubcommandUse, git_subcommand, git_words};
use super::why_unclear::WhyUnclear;

/// Programs whose purpose is another machine. That an address is one of this machine changes nothing: a
/// redirect, a proxy of the environment's or a configuration file leads on from there, unseen here.
const NETWORK: [&str; 20] = [
    "aria2c", "curl", "dig", "ftp", "http", "https", "mosh", "nc", "ncat", "netcat", "nslookup",
    "ping", "rclone", "rsync", "scp", "sftp", "ssh", "telnet", "wget", "xh",
];

/// Programs that fetch what is missing: whether they do is not in the text.
const MAY_FETCH: [&str; 16] = [
    "apt", "apt-get", "brew", "bun", "bundle", "cargo", "composer", "docker", "gem", "go", "npm",
    "pip", "pip3", "pnpm", "uv", "yarn",
];

/// Their subcommands that do nothing else.
const FETCHES: [&str; 12] = [
    "add", "ci", "clone", "dlx", "download", "fetch", "get", "i", "install", "pull", "search",
    "update",
];

/// Those of them that send.
const SENDS: [&str; 2] = ["publish", "push"];

/// Those of them behind which other words are the project's own.
const LOCAL: [&str; 6] = ["bench", "build", "check", "clippy", "run", "test"];

/// Programs that fetch the program that they run, unless it is here.
const FETCH_AND_RUN: [&str; 4] = ["bunx", "npx", "pipx", "uvx"];

/// The most ways beyond this machine that are named of one command line.
const NETWORK_MAX: usize = 4;

/// How many arguments of a wrapper's are taken for the program that it runs; of more it is not clear.
const TRIED_MAX: usize = 4;

/// Subcommands of git that talk to a remote.
const GIT_REMOTE: [&str; 9] = [
    "clone",
    "fetch",
    "fetch-pack",
    "http-push",
    "ls-remote",
    "pull",
    "push",
    "send-email",
    "send-pack",
];

/// The ways beyond this machine, each once, what is certain first.
pub(super) fn networks(commands: &[SimpleCommand]) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    for need in commands.iter().flat_map(|command| ways(command, 0)) {
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs.sort_by_key(|need| need.certainty == Certainty::Unclear);
    let more = needs.len().saturating_sub(NETWORK_MAX);
    if more > 0 {
        needs.truncate(NETWORK_MAX);
        let what = format!("{more} more of its commands may reach beyond this machine");
        needs.push(Need::unclear(Permission::Network, what));
    }
    needs
}

fn certain(what: String) -> Option<Need> {
    Some(Need::certain(Permission::Network, what))
}

fn unclear(what: impl Into<Hint>) -> Option<Need> {
    Some(Need::unclear(Permission::Network, what))
}

/// The ways of one command. Of a shell that is given its commands, theirs: Codex wraps each command in
/// `/bin/bash -lc '…'`. Of a wrapper, those of the program that it seems to run.
fn ways(command: &SimpleCommand, depth: usize) -> Vec<Need> {
    let socket = |it: &str| it.starts_with("/dev/tcp/") || it.starts_with("/dev/udp/");
    let mut redirects = command.redirects.iter();
    let opens = redirects.any(|it| socket(&it.word.text));
    let mut needs: Vec<Need> = opens
        .then(|| Need::certain(Permission::Network, "its shell opens a connection"))
        .into_iter()
        .collect();
    let Some((name, role, arguments)) = program(&command.words) else {
        return needs;
    };
    let is_known = |at: usize| command.words.get(at).is_some_and(|it| !it.is_dynamic);
    if !is_known(command.words.len() - arguments.len() - 1) {
        needs.extend(unclear(WhyUnclear::Program));
        return needs;
    }
    let arguments = match role {
        ProgramRole::Wrapper => told_to_run(&name, arguments),
        _ => arguments,
    };
    let given = match depth < SHELLS_MAX {
        true => given(role, arguments, &command.inputs),
        false => Vec::new(),
    };
    let mut is_read = !given.is_empty();
    for (text, certainty) in given {
        if text.is_dynamic && text.text.is_empty() {
            needs.extend(unclear(WhyUnclear::Program));
        }
        let (inside, is_clear) = ways_of(&text, depth);
        needs.extend(match is_clear && certainty == Certainty::Certain {
            true => inside,
            false => {
                is_read = false;
                all_unclear(inside)
            }
        });
    }
    if role == ProgramRole::Wrapper && depth < SHELLS_MAX {
        let inside = of_wrapper(&name, arguments, &command.inputs, depth);
        is_read |= !inside.is_empty();
        needs.extend(all_unclear(inside));
    }
    if !is_read {
        needs.extend(network(&name, role, arguments, &command.inputs));
    }
    needs
}

/// The ways of a text of the shell, and whether all of it could be read.
fn ways_of(text: &ShellWord, depth: usize) -> (Vec<Need>, bool) {
    let read = shell_lexer::read(&text.text);
    let inside = read.commands.iter();
    let needs = inside.flat_map(|inner| ways(inner, depth + 1)).collect();
    (needs, read.unclear.is_none() && !text.is_dynamic)
}

fn all_unclear(mut needs: Vec<Need>) -> Vec<Need> {
    for need in &mut needs {
        need.certainty = Certainty::Unclear;
    }
    needs
}

/// The texts that a shell is given to run.
fn given(
    role: ProgramRole,
    arguments: &[ShellWord],
    inputs: &[ShellWord],
) -> Vec<(ShellWord, Certainty)> {
    match (role, given_commands(role, arguments)) {
        (_, Some(text)) => vec![(text, Certainty::Certain)],
        // A shell with a file takes its input for that file's.
        (ProgramRole::Shell, None) => {
            let inputs = inputs.iter().cloned();
            inputs.map(|text| (text, Certainty::Unclear)).collect()
        }
        _ => Vec::new(),
    }
}

/// The ways of the first of a wrapper's words that names a program with some.
fn of_wrapper(name: &str, words: &[ShellWord], inputs: &[ShellWord], depth: usize) -> Vec<Need> {
    let takes_texts = matches!(name, "flock" | "parallel" | "watch");
    let is_text = |it: &ShellWord| takes_texts && it.text.contains(char::is_whitespace);
    let is_named = |it: &ShellWord| !it.is_dynamic && may_reach(&program_name(&it.text));
    let mut tried = (0..words.len()).filter(|at| is_text(&words[*at]) || is_named(&words[*at]));
    let of = |at: usize| match is_text(&words[at]) {
        true => ways_of(&words[at], depth).0,
        false => {
            let inner = SimpleCommand {
                words: words[at..].to_vec(),
                inputs: inputs.to_vec(),
                ..SimpleCommand::default()
            };
            ways(&inner, depth + 1)
        }
    };
    let mut first = tried.by_ref().take(TRIED_MAX).map(of);
    match first.find(|needs| !needs.is_empty()) {
        Some(needs) => needs,
        None if tried.next().is_some() => {
            let what = format!("what `{name}` runs is not in the text");
            unclear(what).into_iter().collect()
        }
        None => Vec::new(),
    }
}

/// Those of a wrapper's arguments that say what it runs.
fn told_to_run<'w>(name: &str, arguments: &'w [ShellWord]) -> &'w [ShellWord] {
    let first = arguments.first().map(|it| it.text.as_str());
    match name {
        "find" => {
            let runs = |it: &ShellWord| it.text.starts_with("-exec") || it.text.starts_with("-ok");
            let at = arguments.iter().position(runs);
            at.map_or(&[], |at| &arguments[at..])
        }
        // It only tells of a program.
        "command" if matches!(first, Some("-v" | "-V")) => &[],
        _ => arguments,
    }
}

/// Whether a program of this name, or what it runs, may reach beyond this machine.
fn may_reach(name: &str) -> bool {
    use ProgramRole::{Eval, Git, GitHub, Shell};
    let is = |known: &[&str]| known.contains(&name);
    is(&NETWORK)
        || is(&MAY_FETCH)
        || is(&FETCH_AND_RUN)
        || is_python(name)
        || matches!(program_role(name), Eval | Git | GitHub | Shell)
}

fn is_python(name: &str) -> bool {
    name == "py" || name.starts_with("python")
}

fn network(
    name: &str,
    role: ProgramRole,
    arguments: &[ShellWord],
    inputs: &[ShellWord],
) -> Option<Need> {
    match role {
        ProgramRole::Git => return of_git(name, arguments),
        ProgramRole::GitHub if only_tells_of_itself(arguments) => return None,
        ProgramRole::GitHub => return certain(format!("`{name}` can reach beyond this machine")),
        // A text that is only shown or searched may name whatever it likes.
        ProgramRole::OnlyLooks => return None,
        _ => {}
    }
    if NETWORK.contains(&name) {
        return certain(format!("`{name}` can reach beyond this machine"));
    }
    if let Some(need) = fetching(name, arguments) {
        return Some(need);
    }
    if arguments.iter().chain(inputs).any(has_address) {
        let name = format!("`{}`", named(name));
        return unclear(Hint::about(name, "a program", "is given an address"));
    }
    let names_no_file = || arguments.iter().all(|it| it.text.starts_with('-'));
    if role == ProgramRole::Shell && inputs.is_empty() && names_no_file() {
        return unclear(format!("`{name}` reads its commands from its input"));
    }
    let runs = matches!(
        role,
        ProgramRole::Shell | ProgramRole::Wrapper | ProgramRole::Eval
    );
    let mentions = |it: &ShellWord| {
        let mut words = it.text.split(BETWEEN_WORDS).map(program_name);
        words.any(|word| NETWORK.contains(&word.as_str()))
    };
    match runs && arguments.iter().chain(inputs).any(mentions) {
        true => unclear(format!(
            "`{name}` may run a program that reaches beyond this machine"
        )),
        false => None,
    }
}

fn has_address(word: &ShellWord) -> bool {
    let text = &word.text;
    let mut found = text.match_indices("://");
    found.any(|(at, _)| !text[..at].ends_with("file"))
}

/// Of programs that fetch what is missing.
fn fetching(name: &str, arguments: &[ShellWord]) -> Option<Need> {
    let may_fetch = || unclear(format!("`{name}` may fetch from beyond this machine"));
    let words: Vec<&str> = arguments.iter().map(|it| it.text.as_str()).collect();
    if is_python(name) {
        let at = words.iter().position(|it| *it == "-m")?;
        let module = words.get(at + 1).filter(|it| MAY_FETCH.contains(it))?;
        return fetching(module, &arguments[at + 2..]);
    }
    if FETCH_AND_RUN.contains(&name) {
        let stays = |it: &&str| matches!(*it, "--no" | "--no-install" | "--offline");
        let runs = words.iter().any(|it| !it.starts_with('-'));
        return may_fetch().filter(|_| runs && !words.iter().any(stays));
    }
    let is_local = words.first().is_some_and(|it| LOCAL.contains(it));
    if !MAY_FETCH.contains(&name) || is_local {
        return None;
    }
    let says = |known: &[&str]| {
        let mut words = words.iter().take_while(|it| **it != "--");
        words.any(|it| known.contains(it))
    };
    if says(&SENDS) {
        return unclear(format!("`{name}` may send beyond this machine"));
    }
    says(&FETCHES).then(may_fetch).flatten()
}

fn of_git(name: &str, arguments: &[ShellWord]) -> Option<Need> {
    let (options, subcommand, rest) = match name.strip_prefix("git-") {
        Some(subcommand) => (&[][..], subcommand, arguments),
        None => match git_words(arguments) {
            Some(words) => words,
            None => return unclear(WhyUnclear::GitSubcommand),
        },
    };
    let is_alias = |it: &ShellWord| it.text.to_ascii_lowercase().starts_with("alias.");
    if options.iter().any(is_alias) {
        return unclear(WhyUnclear::GitAlias);
    }
    let verb = rest.iter().find(|it| !it.text.starts_with('-'));
    let verb = verb.map_or("", |it| it.text.as_str());
    let has = |option: &str| rest.iter().any(|it| it.text == option);
    let is_remote = match subcommand {
        "archive" => rest.iter().any(|it| it.text.starts_with("--remote")),
        "lfs" => matches!(verb, "clone" | "fetch" | "pull" | "push"),
        "remote" => matches!(verb, "prune" | "update") || verb == "add" && has("-f"),
        "submodule" => matches!(verb, "add" | "update"),
        _ => GIT_REMOTE.contains(&subcommand),
    };
    if is_remote {
        return certain("it talks to a remote repository".to_owned());
    }
    let is_known = git_subcommand(subcommand, rest) != SubcommandUse::Unclear;
    match !is_known && rest.iter().any(has_address) {
        true => unclear("`git` is given an address"),
        false => None,
    }
}

/// What `gh` is asked about its own use.
fn only_tells_of_itself(arguments: &[ShellWord]) -> bool {
    let mut words = arguments.iter().map(|it| it.text.as_str());
    let first = words.clone().find(|it| !it.starts_with('-'));
    first.is_none_or(|it| matches!(it, "completion" | "help" | "version"))
        || words.any(|it| it == "--help")
}
