//! What `gh` does by its subcommand. What is not known to read only, writes or is unclear.

use super::shell::ShellWord;
use super::subcommands::SubcommandUse::{self, Reads, Unclear, Writes};
use super::subcommands::{is_uncertain, reads_if};

/// What `gh ARGUMENTS` does, and its first two words.
pub(super) fn gh_subcommand(arguments: &[ShellWord]) -> (SubcommandUse, String) {
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if word.is_dynamic || word.may_split {
            words.push("?");
        } else if matches!(word.text.as_str(), "-R" | "--repo") {
            rest.next();
        } else if !word.text.starts_with('-') {
            words.push(word.text.as_str());
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
        // Of another group it may be an alias that runs.
        "issue" | "pr" | "release" | "repo" if tells_usage && verb != "?" => Reads,
        // It has git take its passwords from `gh`, and a login may do so too.
        "auth" if verb == "setup-git" => Writes,
        "auth" if matches!(verb, "?" | "login") => Unclear,
        "" | "auth" | "browse" | "completion" | "help" | "search" | "status" | "version" => Reads,
        "pr" | "release" | "repo" if verb == "?" => Unclear,
        "pr" | "release" | "repo" => reads_if(reads || verb == "clone"),
        "issue" if verb != "?" => reads_if(verb != "develop"),
        "api" => api(arguments),
        "?" => Unclear,
        _ if reads => Reads,
        _ => Unclear,
    };
    (found, format!("{group} {verb}").trim_end().to_owned())
}

/// A request that only gets reads; one with fields is a `POST` unless it says another method.
fn api(arguments: &[ShellWord]) -> SubcommandUse {
    if arguments.get(1).is_some_and(|it| it.text == "graphql") {
        return graphql(&arguments[1..]);
    }
    let mut rest = arguments.iter().skip(1).map(|it| it.text.as_str());
    let (mut gets, mut sends) = (false, false);
    while let Some(word) = rest.next() {
        match word {
            "-X" | "--method" => match rest.next() {
                Some("GET") => gets = true,
                _ => return Writes,
            },
            "-XGET" | "--method=GET" => gets = true,
            _ if word.starts_with("-X") || word.starts_with("--method") => return Writes,
            _ => {
                let fields = ["-f", "-F", "--field", "--raw-field", "--input"];
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
