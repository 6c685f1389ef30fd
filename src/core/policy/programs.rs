//! Which programs run others, and which only look at what they are given.

use super::shell::ShellWord;

/// Programs that run what their arguments name.
const WRAPPERS: [&str; 26] = [
    "builtin",
    "caffeinate",
    "chronic",
    "chroot",
    "command",
    "doas",
    "env",
    "exec",
    "find",
    "flock",
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
const ONLY_LOOK: [&str; 37] = [
    ":", "[", "[[", "basename", "cat", "cd", "cut", "diff", "dirname", "du", "echo", "egrep",
    "export", "false", "fgrep", "file", "grep", "head", "jq", "ls", "man", "printf", "pwd", "read",
    "readlink", "realpath", "stat", "tail", "test", "rg", "tr", "tree", "true", "type", "wc",
    "where", "which",
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

/// The role of a program with this name.
pub(super) fn program_role(name: &str) -> ProgramRole {
    match name {
        "git" => ProgramRole::Git,
        _ if name.starts_with("git-") => ProgramRole::Git,
        "gh" => ProgramRole::GitHub,
        "gitui" | "glab" | "hub" | "jj" | "lazygit" | "tig" => ProgramRole::GitTool,
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
/// writes it; `.git`, `.gitignore` and `github.com` are none.
pub(super) fn mentions_git(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("git").any(|(at, found)| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + found.len()..].chars().next();
        let begins = before.is_none_or(|it| it.is_whitespace() || "'\"`/\\=;&|({[,:!".contains(it));
        let ends = after.is_none_or(|it| it.is_whitespace() || "'\"`;&|)}],-$".contains(it));
        begins && ends
    })
}

/// The path leads into a repository's own folder.
pub(super) fn is_inside_git_folder(word: &ShellWord) -> bool {
    let mut parts = word.text.split(['/', '\\', '=']);
    parts.any(|part| part.eq_ignore_ascii_case(".git"))
}
