//! What `gh` does by its subcommand. What is not known to read only, writes or is unclear.

use super::shell::ShellWord;
use super::subcommands::SubcommandUse::{self, Reads, Unclear, Writes};
use super::subcommands::{is_uncertain, reads_if};

/// Subcommands of `gh` that have verbs: an alias can have the name of none.
const GROUPS: [&str; 22] = [
    "alias",
    "agent-task",
    "attestation",
    "cache",
    "codespace",
    "config",
    "cs",
    "ext",
    "extension",
    "extensions",
    "gist",
    "gpg-key",
    "label",
    "org",
    "preview",
    "project",
    "ruleset",
    "run",
    "secret",
    "ssh-key",
    "variable",
    "workflow",
];

/// The verb is one of gh's own: another one may be an alias that runs a command.
fn is_own_verb(group: &str, verb: &str) -> bool {
    let verbs = match group {
        "issue" => {
            "close comment create delete develop edit list lock ls new pin reopen status transfer \
             unlock unpin view"
        }
        "pr" => {
            "checkout checks close co comment create diff edit list lock ls merge new ready reopen \
             revert review status unlock update-branch view"
        }
        "release" => {
            "create delete delete-asset download edit list ls new upload verify verify-asset view"
        }
        "repo" => {
            "archive autolink clone create delete deploy-key edit fork gitignore license list ls \
             new rename set-default sync unarchive view"
        }
        _ => "",
    };
    verbs.split(' ').any(|it| it == verb)
}

/// What `gh ARGUMENTS` does, and its first two words.
pub(super) fn gh_subcommand(arguments: &[ShellWord]) -> (SubcommandUse, String) {
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            _ if is_uncertain(word) => words.push("?"),
            "-R" | "--repo" => {
                rest.next();
            }
            text if text.starts_with("-R") || text.starts_with("--repo=") => {}
            // The word behind it may be its value.
            text if text.starts_with('-') && rest.len() > 0 => words.push("?"),
            text if text.starts_with('-') => {}
            text => words.push(text),
        }
        if words.len() == 2 {
            break;
        }
    }
    let group = words.first().copied().unwrap_or_default();
    let verb = words.get(1).copied().unwrap_or_default();
    let reads = matches!(
        verb,
        "" | "checks" | "diff" | "download" | "list" | "ls" | "status" | "view" | "watch"
    );
    // Any word before may be the value of an option.
    let tells_usage = matches!(arguments, [group, verb, help]
        if !group.text.starts_with('-')
            && !verb.text.starts_with('-')
            && !is_uncertain(help)
            && help.text == "--help");
    let found = match group {
        _ if tells_usage && is_own_verb(group, verb) => Reads,
        // It has git take its passwords from `gh`, and a login may do so too.
        "auth" if verb == "setup-git" => Writes,
        "auth" if matches!(verb, "?" | "login") => Unclear,
        "" | "auth" | "browse" | "completion" | "help" | "search" | "status" | "version" => Reads,
        "pr" | "release" | "repo" if verb == "?" => Unclear,
        "pr" | "release" | "repo" => reads_if(reads || verb == "clone"),
        "issue" if verb.is_empty() || is_own_verb(group, verb) => reads_if(verb != "develop"),
        "api" => api(arguments),
        "?" => Unclear,
        // Of another group it may be an alias that runs.
        _ if reads && GROUPS.contains(&group) => Reads,
        _ => Unclear,
    };
    let verb = if verb == "?" { "" } else { verb };
    (found, format!("{group} {verb}").trim_end().to_owned())
}

/// Options of `gh api` with a value, which send nothing.
const TAKE_VALUE: [&str; 6] = [
    "--cache",
    "--header",
    "--hostname",
    "--jq",
    "--preview",
    "--template",
];

/// A request that only gets reads; one with fields is a `POST` unless it says another method.
fn api(arguments: &[ShellWord]) -> SubcommandUse {
    if arguments.get(1).is_some_and(|it| it.text == "graphql") {
        return graphql(&arguments[1..]);
    }
    let mut rest = arguments.iter().skip(1).map(|it| it.text.as_str());
    let (mut gets, mut sends) = (false, false);
    while let Some(word) = rest.next() {
        // `-iX`: only this one takes no value, and another may stand behind it.
        let short = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let short = short.map_or("", |it| it.trim_start_matches('i'));
        match word {
            _ if short == "X" || word == "--method" => match rest.next() {
                Some("GET") => gets = true,
                _ => return Writes,
            },
            _ if short == "XGET" || word == "--method=GET" => gets = true,
            _ if short.starts_with('X') || word.starts_with("--method") => return Writes,
            _ if short.starts_with(['f', 'F']) => sends = true,
            // The next word is their value, whatever it looks like.
            _ if ["H", "p", "q", "t"].contains(&short) || TAKE_VALUE.contains(&word) => {
                rest.next();
            }
            // Or what stands behind them in the same word.
            _ if short.starts_with(['H', 'p', 'q', 't']) => {}
            "--input" => {
                rest.next();
                sends = true;
            }
            _ if short.contains(['X', 'f', 'F']) => return Writes,
            _ => {
                let fields = ["--field", "--raw-field", "--input"];
                sends |= fields.iter().any(|field| word.starts_with(field));
            }
        }
    }
    if sends && !gets {
        return Writes;
    }
    let uncertain = arguments.iter().any(|it| it.may_split);
    if uncertain { Unclear } else { Reads }
}

/// What is asked in GraphQL is always a `POST`; what changes something says so in its text. A text in
/// a file is not seen.
fn graphql(arguments: &[ShellWord]) -> SubcommandUse {
    let says = |word: &str| arguments.iter().any(|it| it.text.contains(word));
    if says("mutation") {
        return Writes;
    }
    let is_told = says("query=") && !says("query=@") && !says("--input");
    match is_told && !arguments.iter().any(is_uncertain) {
        true => Reads,
        false => Unclear,
    }
}
