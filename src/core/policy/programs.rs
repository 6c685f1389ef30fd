//! Which programs run others, and which only read what they are given.

use super::shell::ShellWord;

/// Programs that run what their arguments name.
const WRAPPERS: [&str; 28] = [
    "builtin",
    "busybox",
    "caffeinate",
    "chronic",
    "chroot",
    "command",
    "doas",
    "env",
    "exec",
    "find",
    "flock",
    "gxargs",
    "ionice",
    "nice",
    "nocorrect",
    "noglob",
    "nohup",
    "parallel",
    "setsid",
    "stdbuf",
    "strace",
    "sudo",
    "taskset",
    "time",
    "timeout",
    "unbuffer",
    "watch",
    "xargs",
];

const SHELLS: [&str; 8] = ["ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "zsh"];

/// Programs that may say `git` as much as they like: they show, search and compare texts.
const ONLY_LOOK: [&str; 51] = [
    ":",
    "[",
    "[[",
    "basename",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "export",
    "false",
    "fgrep",
    "file",
    "grep",
    "head",
    "id",
    "jq",
    "ls",
    "man",
    "md5sum",
    "nl",
    "pgrep",
    "printf",
    "ps",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "rg",
    "sha1sum",
    "sha256sum",
    "sleep",
    "stat",
    "tac",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "type",
    "uname",
    "wc",
    "where",
    "which",
    "whoami",
];

/// Words of the shell after which a command begins.
const BEFORE_A_COMMAND: [&str; 14] = [
    "!", "coproc", "function", "{", "}", "do", "done", "elif", "else", "fi", "if", "then", "until",
    "while",
];

/// Words of the shell whose line runs nothing of its own.
const RUNS_NOTHING: [&str; 4] = ["case", "esac", "for", "select"];

/// What a program is to a reader of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramRole {
    Git,
    GitHub,
    /// Another program that writes to git.
    GitTool,
    Shell,
    /// Makes a command of its arguments.
    Eval,
    /// Runs a file in the shell itself.
    Source,
    Wrapper,
    OnlyLooks,
    BeforeCommand,
    RunsNothing,
    Other,
}

/// The program's name without its folder, as a file system without cases finds it.
pub(super) fn program_name(word: &str) -> String {
    // `=git` is zsh's word for the path of git.
    let name = word.trim_start_matches('=');
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

pub(super) fn program_role(name: &str) -> ProgramRole {
    match name {
        "git" => ProgramRole::Git,
        // With an ending it is somebody's script.
        _ if name.starts_with("git-") && !name.contains('.') => ProgramRole::Git,
        "gh" => ProgramRole::GitHub,
        "gitui" | "glab" | "gt" | "hub" | "jj" | "lazygit" | "stg" | "tig" => ProgramRole::GitTool,
        "." | "source" => ProgramRole::Source,
        "eval" => ProgramRole::Eval,
        _ if SHELLS.contains(&name) => ProgramRole::Shell,
        _ if WRAPPERS.contains(&name) => ProgramRole::Wrapper,
        _ if ONLY_LOOK.contains(&name) => ProgramRole::OnlyLooks,
        _ if BEFORE_A_COMMAND.contains(&name) => ProgramRole::BeforeCommand,
        _ if RUNS_NOTHING.contains(&name) => ProgramRole::RunsNothing,
        _ => ProgramRole::Other,
    }
}

/// The text has `git` as a word of its own, as a command or a list of arguments in any language
/// writes it; `.git`, `.gitignore` and `github.com` are none. Of `gh`, what goes on behind it.
pub(super) fn mentions_git(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let ends_git = |behind: &str| {
        let after = behind.chars().next();
        after.is_none_or(|it| it.is_whitespace() || "'\"`;&|)}],-$".contains(it))
    };
    let ends_gh = |behind: &str| {
        let is_listed = behind.starts_with("',") || behind.starts_with("\",");
        is_listed || behind.starts_with(char::is_whitespace)
    };
    has_word(&lower, "git", ends_git) || has_word(&lower, "gh", ends_gh)
}

fn has_word(text: &str, word: &str, ends: impl Fn(&str) -> bool) -> bool {
    text.match_indices(word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let divides = |it: char| it.is_whitespace() || "'\"`/\\=;&|({[,:!".contains(it);
        // `-cgit`: a short option with its value.
        let option = text[..at].trim_end_matches(|it: char| it.is_ascii_alphanumeric());
        let is_value = option.len() < at
            && option
                .strip_suffix('-')
                .is_some_and(|it| it.chars().next_back().is_none_or(divides));
        let begins = is_value || before.is_none_or(divides);
        begins && ends(&text[at + found.len()..])
    })
}

/// Whether the word gives a variable a value.
pub(super) fn is_assignment(word: &ShellWord) -> bool {
    let Some((name, _)) = word.text.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|it| it.is_ascii_alphabetic() || it == '_')
        && letters.all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// The words in which a command goes on behind `head`, where that is no program: an assignment, or
/// a word of the shell.
pub(super) fn goes_on<'w>(head: &ShellWord, behind: &'w [ShellWord]) -> Option<&'w [ShellWord]> {
    if is_assignment(head) {
        return Some(behind);
    }
    if head.is_dynamic || head.may_split {
        return None;
    }
    let is = |at: usize, word: &str| behind.get(at).is_some_and(|it| it.text == word);
    match program_name(&head.text).as_str() {
        // Behind their names.
        "function" => behind.get(1..),
        "coproc" if is(1, "{") => behind.get(1..),
        // `for NAME do`: what follows runs for each argument of the shell. Behind `in` stand words.
        "for" | "select" if !is(1, "in") => {
            let begins = |it: &ShellWord| matches!(it.text.as_str(), "do" | "{");
            let at = behind.iter().position(begins)?;
            behind.get(at + 1..)
        }
        name if program_role(name) == ProgramRole::BeforeCommand => Some(behind),
        _ => None,
    }
}

/// The program of a simple command, and its arguments.
pub(super) fn program(words: &[ShellWord]) -> Option<(String, ProgramRole, &[ShellWord])> {
    let mut words = words;
    while let Some((head, behind)) = words.split_first() {
        if let Some(behind) = goes_on(head, behind) {
            words = behind;
            continue;
        }
        let name = program_name(&head.text);
        let role = program_role(&name);
        // `[` is a pattern as well.
        let is_known = !head.is_dynamic && (!head.may_split || role == ProgramRole::OnlyLooks);
        let role = if is_known { role } else { ProgramRole::Other };
        return Some((name, role, behind));
    }
    None
}

/// With this word a program that only looks runs another one, or writes a file.
pub(super) fn does_more(name: &str, word: &ShellWord) -> bool {
    let text = word.text.as_str();
    let is_short = text.starts_with('-') && !text.starts_with("--");
    match name {
        "echo" | "printf" => false,
        "man" => text.starts_with('-'),
        "tree" if is_short => text.contains('o'),
        _ => text.starts_with("--output") || text.starts_with("--pre"),
    }
}

/// The path leads into a repository's own folder.
pub(super) fn is_inside_git_folder(word: &ShellWord) -> bool {
    let mut parts = word.text.split(['/', '\\', '=']);
    parts.any(|part| part.eq_ignore_ascii_case(".git"))
}

/// A program is given a path into a repository's own folder. What it is told to leave out is none.
pub(super) fn is_given_git_folder(name: &str, arguments: &[ShellWord]) -> bool {
    let leaves_out = |option: &str| match option.split('=').next().unwrap_or_default() {
        "--exclude" | "--exclude-dir" | "--ignore" | "--ignore-dir" => true,
        "-E" => matches!(name, "fd" | "fdfind"),
        _ => false,
    };
    let mut rest = arguments.iter();
    let mut are_options = true;
    while let Some(word) = rest.next() {
        are_options &= word.text != "--";
        if are_options && leaves_out(&word.text) {
            if !word.text.contains('=') {
                rest.next();
            }
        } else if is_inside_git_folder(word) {
            return true;
        }
    }
    false
}
