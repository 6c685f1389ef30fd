//! The effect of `git` by subcommand. A subcommand that is not known to be read-only counts as
//! writing; an unknown one may be an alias.

use super::shell::ShellWord;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubcommandUse {
    Reads,
    Writes,
    Unclear,
}

use SubcommandUse::{Reads, Unclear, Writes};

/// Options of git before its subcommand that take the next word.
pub(super) const TAKES_VALUE: [&str; 8] = [
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];

const READ: [&str; 49] = [
    "annotate",
    "archive",
    "blame",
    "bugreport",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "cherry",
    "clone",
    "column",
    "count-objects",
    "describe",
    "diagnose",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "help",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "merge-base",
    "merge-tree",
    "name-rev",
    "patch-id",
    "range-diff",
    "request-pull",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "status",
    "stripspace",
    "var",
    "verify-commit",
];

const WRITE: [&str; 49] = [
    "add",
    "am",
    "checkout",
    "checkout-index",
    "cherry-pick",
    "citool",
    "clean",
    "commit",
    "commit-graph",
    "commit-tree",
    "fast-import",
    "filter-branch",
    "filter-repo",
    "gc",
    "gui",
    "http-push",
    "index-pack",
    "init",
    "init-db",
    "maintenance",
    "merge",
    "merge-index",
    "mergetool",
    "mktag",
    "mktree",
    "multi-pack-index",
    "mv",
    "pack-refs",
    "prune",
    "pull",
    "push",
    "read-tree",
    "rebase",
    "receive-pack",
    "refs",
    "repack",
    "replace",
    "reset",
    "restore",
    "revert",
    "rm",
    "send-email",
    "send-pack",
    "stage",
    "switch",
    "subtree",
    "update-index",
    "update-ref",
    "write-tree",
];

/// Options of `branch` and `tag` that only list, each without its value.
const LISTING: [&str; 30] = [
    "-a",
    "-i",
    "-l",
    "-n",
    "-r",
    "-v",
    "-vv",
    "-av",
    "-avv",
    "-rv",
    "-ra",
    "-ar",
    "--abbrev",
    "--all",
    "--color",
    "--column",
    "--contains",
    "--format",
    "--ignore-case",
    "--list",
    "--merged",
    "--no-color",
    "--no-column",
    "--no-contains",
    "--no-merged",
    "--points-at",
    "--remotes",
    "--show-current",
    "--sort",
    "--verbose",
];

/// Those of them with which git lists, so that a name is a pattern or a value, and no new branch.
const TAKES_NAMES: [&str; 9] = [
    "-l",
    "--contains",
    "--list",
    "--merged",
    "--no-contains",
    "--no-merged",
    "--points-at",
    "--show-current",
    "-n",
];

/// Options of `branch` and `tag` behind which a commit may stand, which is no option whatever the
/// shell puts there as one word.
const TAKES_COMMIT: [&str; 5] = [
    "--contains",
    "--merged",
    "--no-contains",
    "--no-merged",
    "--points-at",
];

/// Those of them that take the next word, and make no list of what would be none.
const LISTING_TAKES_VALUE: [&str; 2] = ["--format", "--sort"];

/// Options of `fetch` that take the next word.
const FETCH_TAKES_VALUE: [&str; 8] = [
    "-j",
    "-o",
    "--deepen",
    "--depth",
    "--jobs",
    "--server-option",
    "--shallow-exclude",
    "--shallow-since",
];

/// Options of `config` that change nothing of what it does.
const CONFIG_SHAPE: [&str; 16] = [
    "--bool",
    "--bool-or-int",
    "--global",
    "--includes",
    "--int",
    "--local",
    "--name-only",
    "--no-includes",
    "--null",
    "--path",
    "--show-origin",
    "--show-scope",
    "--system",
    "--type",
    "--worktree",
    "-z",
];

/// Those of them that take the next word.
const CONFIG_TAKES_VALUE: [&str; 5] = ["--blob", "--default", "--file", "--type", "-f"];

/// Subcommands that change no file, where they only read: what they find is printed.
const PRINT: [&str; 56] = [
    "annotate",
    "bisect",
    "blame",
    "branch",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "cherry",
    "column",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fmt-merge-msg",
    "for-each-ref",
    "grep",
    "hash-object",
    "lfs",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "notes",
    "patch-id",
    "range-diff",
    "reflog",
    "remote",
    "rerere",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "symbolic-ref",
    "tag",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
];

/// The subcommand of git's arguments, with what stands before and behind it; none where the shell
/// may put another one there.
pub(super) fn git_words(arguments: &[ShellWord]) -> Option<(&[ShellWord], &str, &[ShellWord])> {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if word.is_dynamic || word.may_split {
            return None;
        }
        if !word.text.starts_with('-') {
            return Some((&arguments[..at], &word.text, &arguments[at + 1..]));
        }
        at += if TAKES_VALUE.contains(&word.text.as_str()) {
            2
        } else {
            1
        };
    }
    Some((arguments, "", &[]))
}

/// Whether `git NAME ARGUMENTS`, which only reads, writes no file either. Without a name it tells of
/// itself.
pub(super) fn git_only_prints(name: &str, arguments: &[ShellWord]) -> bool {
    let writes = |it: &ShellWord| is_option(it, "--output");
    (name.is_empty() || PRINT.contains(&name)) && !arguments.iter().any(writes)
}

/// The word is this option of git's: whole, shortened or with its value.
fn is_option(word: &ShellWord, option: &str) -> bool {
    let name = word.text.split('=').next().unwrap_or_default();
    name.len() > 2 && option.starts_with(name)
}

/// The word has this letter among its short options, or in the value of one.
fn short(word: &ShellWord, letter: char) -> bool {
    word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
}

/// An option of what only reads that is a program, or may name one.
fn runs_an_option(name: &str, arguments: &[ShellWord]) -> bool {
    let at_remote = |it: &ShellWord| is_option(it, "--upload-pack") || is_option(it, "--exec");
    arguments.iter().any(|it| match name {
        "difftool" => short(it, 'x') || is_option(it, "--extcmd"),
        "grep" => short(it, 'O') || is_option(it, "--open-files-in-pager"),
        "archive" | "fetch" | "ls-remote" => at_remote(it),
        "clone" => at_remote(it) || short(it, 'u') || short(it, 'c') || is_option(it, "--config"),
        _ => false,
    })
}

/// What `git NAME ARGUMENTS` does.
pub(super) fn git_subcommand(name: &str, arguments: &[ShellWord]) -> SubcommandUse {
    let has = |option: &str| arguments.iter().any(|it| is_option(it, option));
    let has_short = |letter: char| arguments.iter().any(|it| short(it, letter));
    let first = arguments.iter().find(|it| !it.text.starts_with('-'));
    let first = first.map_or("", |it| it.text.as_str());
    let verb = verb(arguments);
    let uncertain = match name {
        "branch" | "tag" => {
            let mut others = without_values(arguments, &TAKES_COMMIT);
            arguments.iter().any(|it| it.may_split) || others.any(|it| it.is_dynamic)
        }
        _ => arguments.iter().any(is_uncertain),
    };
    let known = match name {
        _ if asks_for_help(name, arguments) => return Reads,
        _ if runs_an_option(name, arguments) => return Unclear,
        "grep" => return Reads,
        _ if READ.contains(&name) => return Reads,
        _ if WRITE.contains(&name) => return Writes,
        "verify-tag" | "verify-pack" | "version" | "whatchanged" => return Reads,
        "branch" | "tag" => listing(name, arguments),
        "fetch" => fetch(arguments),
        "apply" => {
            // These are numbers.
            let is_number = |it: &ShellWord| it.text.starts_with("-p") || it.text.starts_with("-C");
            let merges =
                |it: &ShellWord| short(it, '3') && !is_number(it) || is_option(it, "--3way");
            reads_if(!has("--index") && !has("--cached") && !arguments.iter().any(merges))
        }
        "hash-object" => reads_if(!has_short('w')),
        "stash" => reads_if(matches!(verb, "list" | "show")),
        "remote" => reads_if(matches!(verb, "" | "show" | "get-url")),
        "worktree" | "sparse-checkout" => reads_if(verb == "list"),
        "notes" => reads_if(matches!(verb, "" | "list" | "show")),
        "reflog" => reads_if(!matches!(first, "delete" | "drop" | "expire" | "write")),
        "bisect" => reads_if(matches!(verb, "log" | "view" | "visualize")),
        "submodule" => match verb {
            "" | "status" | "summary" => Reads,
            "foreach" => Unclear,
            _ => Writes,
        },
        "lfs" => reads_if(matches!(
            verb,
            "ls-files" | "status" | "env" | "version" | "logs"
        )),
        "rerere" => reads_if(matches!(verb, "status" | "diff" | "remaining")),
        "bundle" => reads_if(first != "unbundle"),
        "symbolic-ref" => {
            let names = arguments.iter().filter(|it| !it.text.starts_with('-'));
            let deletes = has_short('d') || has("--delete") || has_short('m');
            reads_if(names.count() < 2 && !deletes)
        }
        "config" => config(arguments),
        _ => return Unclear,
    };
    if known == Reads && uncertain {
        Unclear
    } else {
        known
    }
}

pub(super) fn is_uncertain(word: &ShellWord) -> bool {
    word.is_dynamic || word.may_split
}

/// Git tells how its own subcommand is used, and runs nothing of it.
fn asks_for_help(name: &str, arguments: &[ShellWord]) -> bool {
    let is_help = |it: &ShellWord| !is_uncertain(it) && matches!(it.text.as_str(), "-h" | "--help");
    let is_own = WRITE.contains(&name) || PRINT.contains(&name);
    is_own && matches!(arguments, [only] if is_help(only))
}

/// The verb of a subcommand that has some; none of them where the word may be the value of an option.
fn verb(arguments: &[ShellWord]) -> &str {
    let is_option = |it: &&ShellWord| it.text.starts_with('-');
    let takes_none = |it: &ShellWord| {
        it.text.contains('=')
            || matches!(
                it.text.as_str(),
                "-q" | "-v" | "--cached" | "--quiet" | "--verbose"
            )
    };
    let options = arguments.iter().take_while(is_option).count();
    match arguments.get(options) {
        None => "",
        Some(verb) if arguments[..options].iter().all(takes_none) => &verb.text,
        Some(_) => "?",
    }
}

pub(super) fn reads_if(condition: bool) -> SubcommandUse {
    if condition { Reads } else { Writes }
}

fn listing(name: &str, arguments: &[ShellWord]) -> SubcommandUse {
    let option = |it: &ShellWord| match it.text.strip_prefix("-n") {
        // `-n5`: so many lines of what a tag says.
        Some(lines) if lines.bytes().all(|it| it.is_ascii_digit()) => "-n".to_owned(),
        _ => it.text.split('=').next().unwrap_or_default().to_owned(),
    };
    let verifies = |it: &ShellWord| matches!(it.text.as_str(), "-v" | "--verify");
    if name == "tag" && arguments.first().is_some_and(verifies) {
        let mut names = arguments.iter().skip(1);
        return reads_if(names.all(|it| !it.text.starts_with('-')));
    }
    let takes_names = arguments
        .iter()
        .any(|it| TAKES_NAMES.contains(&option(it).as_str()));
    // A word of which nothing is known is judged by who asked.
    let mut told = without_values(arguments, &LISTING_TAKES_VALUE)
        .filter(|it| !(it.is_dynamic && it.text.is_empty()));
    reads_if(told.all(|it| match it.text.starts_with('-') {
        true => LISTING.contains(&option(it).as_str()),
        false => takes_names,
    }))
}

/// What comes from a remote moves no branch of the person's, unless a refspec names one. The first
/// word is the repository, whatever it looks like.
fn fetch(arguments: &[ShellWord]) -> SubcommandUse {
    let is_option_word = |it: &&ShellWord| it.text.starts_with('-');
    let moves = |it: &ShellWord| {
        it.text.starts_with("--refm") || is_option(it, "--stdin") || is_option(it, "--set-upstream")
    };
    let names_branch = |it: &ShellWord| it.text.contains(':') && !it.text.contains("://");
    let mut names = without_values(arguments, &FETCH_TAKES_VALUE)
        .filter(|it| !is_option_word(it))
        .skip(1);
    reads_if(!arguments.iter().any(moves) && !names.any(names_branch))
}

/// The words without those that are the values of these options.
fn without_values<'w>(
    arguments: &'w [ShellWord],
    takes_value: &'static [&str],
) -> impl Iterator<Item = &'w ShellWord> {
    let mut is_value = false;
    arguments.iter().filter(move |it| {
        let takes_next = !is_value && takes_value.contains(&it.text.as_str());
        !std::mem::replace(&mut is_value, takes_next)
    })
}

/// What asks names what it asks for, or one key alone. Options before that say of which file, and how
/// it is shown.
fn config(arguments: &[ShellWord]) -> SubcommandUse {
    let words = without_values(arguments, &CONFIG_TAKES_VALUE).map(|it| it.text.as_str());
    let mut rest = words.filter(|it| {
        let option = it.split('=').next().unwrap_or_default();
        !CONFIG_SHAPE.contains(&option) && !CONFIG_TAKES_VALUE.contains(&option)
    });
    let first = rest.next().unwrap_or_default();
    let asks = matches!(first, "-l" | "--list" | "get" | "list") || first.starts_with("--get");
    let is_one_key = !first.starts_with('-') && first.contains('.') && rest.next().is_none();
    reads_if(asks || is_one_key)
}
