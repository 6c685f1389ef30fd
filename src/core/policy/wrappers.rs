//! Programs that run another one: where its words begin among theirs.

use super::programs::{is_assignment, is_inside_git_folder};
use super::shell::ShellWord;
use super::subcommands::is_uncertain;

/// Where a wrapper's command begins, with the variables that it is given: its first word, where the
/// wrapper has no option whose value that could be.
pub(super) fn command_at(name: &str, arguments: &[ShellWord]) -> Option<usize> {
    const RUN_FIRST: [&str; 15] = [
        "builtin",
        "caffeinate",
        "chronic",
        "command",
        "doas",
        "env",
        "exec",
        "nice",
        "nocorrect",
        "noglob",
        "nohup",
        "setsid",
        "sudo",
        "time",
        "unbuffer",
    ];
    let at = match name {
        // Behind how long.
        "timeout" => 1,
        _ if RUN_FIRST.contains(&name) => 0,
        _ => return None,
    };
    let variables = arguments
        .get(at..)?
        .iter()
        .take_while(|it| is_assignment(it));
    let head = arguments.get(..=at + variables.count())?;
    let is_plain = |it: &ShellWord| !it.text.starts_with('-') && !is_uncertain(it);
    // `env` takes any name for a variable's, though no shell does.
    let names_program = head.last().is_some_and(|it| !it.text.contains('='));
    (names_program && head.iter().all(is_plain)).then_some(at)
}

/// What `xargs` runs with the words behind it, where the options before it leave no doubt.
pub(super) fn program_of_xargs(arguments: &[ShellWord]) -> Option<&[ShellWord]> {
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let mut rest = arguments.iter();
    loop {
        let words = rest.as_slice();
        let word = rest.next().filter(|it| !is_uncertain(it))?;
        let (option, value) = word.text.split_at_checked(2).unwrap_or((&word.text, ""));
        match option {
            "-0" | "-r" | "-t" if value.is_empty() => {}
            "-n" | "-L" | "-P" | "-I" => {
                let value = match value {
                    "" => &rest.next().filter(|it| !is_uncertain(it))?.text,
                    value => value,
                };
                let is_known = is_number(value) && option != "-I" || matches!(value, "{}" | "%");
                if !is_known {
                    return None;
                }
            }
            _ if word.text.starts_with('-') => return None,
            _ => return Some(words),
        }
    }
}

/// `find` changes what lies in the folder .git. A test that leaves the folder out names it as well.
pub(super) fn find_acts_in_git_folder(words: &[ShellWord]) -> bool {
    let acts = |it: &ShellWord| {
        runs_next(&it.text)
            || matches!(it.text.as_str(), "-delete" | "-fls")
            || it.text.starts_with("-fprint")
    };
    let names = |(at, word): (usize, &ShellWord)| {
        let before = |by: usize| at.checked_sub(by).map_or("", |at| words[at].text.as_str());
        let test = before(1).strip_prefix('-').unwrap_or_default();
        let is_test = test.ends_with("path") || test.ends_with("name");
        let is_left_out =
            matches!(before(2), "!" | "-not") || words[at..].iter().any(|it| it.text == "-prune");
        is_inside_git_folder(word) && !(is_test && is_left_out)
    };
    words.iter().any(acts) && words.iter().enumerate().any(names)
}

pub(super) fn runs_next(option: &str) -> bool {
    matches!(option, "-exec" | "-execdir" | "-ok" | "-okdir")
}
