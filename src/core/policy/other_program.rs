//! What a program that we do not know may do with git, by what it is told.

use super::programs::{is_given_git_folder, mentions_git, program_name};
use super::shell::ShellWord;
use super::subcommands::is_uncertain;

/// Programs that change files or processes, and run nothing that is in their arguments.
const RUN_NO_PROGRAM: [&str; 10] = [
    "chmod", "chown", "kill", "killall", "mkdir", "pkill", "rm", "rmdir", "tee", "touch",
];

/// Programs to which `git` is the name of a package.
const INSTALLERS: [&str; 7] = ["apk", "apt", "apt-get", "brew", "dnf", "pacman", "yum"];

/// Their verbs behind which packages stand.
const OF_PACKAGES: [&str; 14] = [
    "add",
    "del",
    "info",
    "install",
    "list",
    "policy",
    "purge",
    "reinstall",
    "remove",
    "search",
    "show",
    "uninstall",
    "update",
    "upgrade",
];

/// Why it may write to git, which it may run by a text in its arguments, or change git's files.
pub(super) fn why_it_may_write(name: &str, arguments: &[ShellWord]) -> Option<String> {
    if only_shows(name, arguments) {
        return None;
    }
    // Without a subcommand, git tells how it is used; what makes one of its input does not.
    let told = match arguments.split_last() {
        Some((last, before)) if is_git_alone(last) && may_be_name(before) => before,
        _ => arguments,
    };
    let is_told = |it: &&ShellWord| mentions_git(&it.text) || names_gh(it);
    let told: Vec<&ShellWord> = told.iter().filter(is_told).collect();
    if !told.is_empty() && !takes_for_text(name, arguments, &told) {
        return Some(format!("{name} is told of git"));
    }
    if is_given_git_folder(name, arguments) {
        return Some(format!("{name} is told of the folder .git"));
    }
    tags_version(name, arguments).then(|| format!("{name} version may commit and tag"))
}

/// The word is git or gh, or a path that ends in it, and no text that a shell could make more of.
fn is_git_alone(word: &ShellWord) -> bool {
    let is_of_path = |it: char| it.is_ascii_alphanumeric() || "._-~/".contains(it);
    let name = program_name(&word.text);
    !is_uncertain(word)
        && word.text.chars().all(is_of_path)
        && matches!(name.as_str(), "git" | "gh")
}

/// Behind these words git may be a name: none of them is a program that makes commands.
fn may_be_name(before: &[ShellWord]) -> bool {
    let is_maker = |it: &ShellWord| {
        let name = program_name(&it.text);
        matches!(name.as_str(), "gxargs" | "parallel" | "xargs")
    };
    !before.is_empty() && !before.iter().any(is_maker)
}

/// The word is `gh`, or gives it as a value.
fn names_gh(word: &ShellWord) -> bool {
    let value = word.text.rsplit('=').next().unwrap_or_default();
    program_name(value) == "gh"
}

/// Whether some words that tell of git can be names or texts to a program of this name.
pub(super) fn may_take_for_text(name: &str) -> bool {
    name == "sed" || INSTALLERS.contains(&name) || RUN_NO_PROGRAM.contains(&name)
}

/// Whether a program takes these of its arguments, which tell of git, for names or texts, and runs
/// nothing of them.
fn takes_for_text(name: &str, arguments: &[ShellWord], told: &[&ShellWord]) -> bool {
    match name {
        "sed" => only_replaces(arguments),
        _ if INSTALLERS.contains(&name) => {
            let is_package = |it: &&ShellWord| matches!(it.text.as_str(), "git" | "gh");
            names_packages(name, arguments) && told.iter().all(is_package)
        }
        _ => RUN_NO_PROGRAM.contains(&name),
    }
}

/// An installer is told what to do with packages. `brew bundle exec` runs a program.
fn names_packages(name: &str, arguments: &[ShellWord]) -> bool {
    let verb = arguments.iter().find(|it| !it.text.starts_with('-'));
    // `pacman -Syu`.
    let operation = arguments.first().and_then(|it| it.text.get(..2));
    verb.is_some_and(|it| !is_uncertain(it) && OF_PACKAGES.contains(&it.text.as_str()))
        || name == "pacman" && matches!(operation, Some("-F" | "-Q" | "-R" | "-S"))
}

/// `sed` is given one script, and that only replaces; its other words are files.
fn only_replaces(arguments: &[ShellWord]) -> bool {
    // A pattern that begins with a letter is the name of no option.
    let may_be_option = |it: &ShellWord| {
        it.is_dynamic || it.may_split && !it.text.starts_with(|at: char| at.is_alphanumeric())
    };
    let is_harmless = |option: &str| {
        let ending = option.strip_prefix("i.").unwrap_or_default();
        option.chars().all(|it| "inEr".contains(it))
            || !ending.is_empty() && ending.chars().all(|it| it.is_ascii_alphanumeric())
    };
    let mut options = arguments.iter().filter_map(|it| it.text.strip_prefix('-'));
    // `-i ''`, as BSD's is told to keep no copy.
    let mut others = arguments
        .iter()
        .filter(|it| !it.text.is_empty() && !it.text.starts_with('-'));
    options.all(is_harmless)
        && !arguments.iter().any(may_be_option)
        && others
            .next()
            .is_some_and(|it| !it.may_split && replaces(&it.text))
}

/// A script of `sed` that is one `s` with flags that run and write nothing.
fn replaces(script: &str) -> bool {
    let mut letters = script.strip_prefix('s').unwrap_or_default().chars();
    let Some(divider) = letters.next().filter(|it| "/|#,@!".contains(*it)) else {
        return false;
    };
    let mut parts = letters.as_str().split(divider);
    let (Some(_), Some(_), Some(flags), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    // Behind a backslash a divider is none.
    let is_plain = !script.contains(['\\', '\n']);
    is_plain
        && flags
            .chars()
            .all(|it| it.is_ascii_digit() || "gIip".contains(it))
}

/// Whether a program that can do more only shows the files that it is given.
pub(super) fn only_shows(name: &str, arguments: &[ShellWord]) -> bool {
    if arguments.iter().any(|it| it.may_split) {
        return false;
    }
    let words = arguments.iter().map(|it| it.text.as_str());
    let (options, others): (Vec<&str>, Vec<&str>) =
        words.partition(|it| it.starts_with(['-', '+']));
    match name {
        "less" | "more" => options
            .iter()
            .all(|it| it.strip_prefix('-').is_some_and(is_of_pager)),
        "sed" => {
            let all = ["-n", "-E", "-r", "-nE", "-nr", "-En", "-rn"];
            options.iter().all(|it| all.contains(it))
                && options.iter().any(|it| it.contains('n'))
                && others.first().is_some_and(|it| prints_lines(it))
        }
        _ => false,
    }
}

/// Letters of `less` that change how it shows, and write nothing.
fn is_of_pager(letters: &str) -> bool {
    letters.chars().all(|it| "EFJMNRSXeimnrs".contains(it))
}

/// A script of `sed` that prints lines by their number, or by one pattern.
fn prints_lines(script: &str) -> bool {
    let numbers = |it: char| it.is_ascii_digit() || ",$p;q ".contains(it);
    let pattern = script
        .strip_prefix('/')
        .and_then(|it| it.strip_suffix("/p"));
    script.chars().all(numbers) || pattern.is_some_and(|it| !it.contains(['/', '\\', '\n']))
}

/// `npm version patch`: it makes a commit and a tag in a repository.
fn tags_version(name: &str, arguments: &[ShellWord]) -> bool {
    let is = |it: &ShellWord, word: &str| it.text == word;
    let Some(at) = arguments.iter().position(|it| is(it, "version")) else {
        return false;
    };
    // `npm view x version time` asks what is published.
    let only_asks = |it: &ShellWord| matches!(it.text.as_str(), "info" | "show" | "v" | "view");
    // `yarn version --patch`.
    let names_one = |it: &ShellWord| name == "yarn" || !it.text.starts_with('-');
    matches!(name, "npm" | "pnpm" | "yarn")
        && !arguments.first().is_some_and(only_asks)
        && arguments[at + 1..].iter().any(names_one)
        && !arguments.iter().any(|it| is(it, "--no-git-tag-version"))
}
