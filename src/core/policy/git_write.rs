//! [`git_use`]: does a shell command write to git?

use super::gh_subcommands::gh_subcommand;
use super::other_program::{may_take_for_text, why_it_may_write};
use super::programs::{
    ProgramRole, does_more, goes_on, is_assignment, is_given_git_folder, is_inside_git_folder,
    mentions_git, program, program_name, program_role,
};
use super::shell::{ShellWord, SimpleCommand};
use super::shell_lexer;
use super::subcommands::{SubcommandUse, TAKES_VALUE, git_only_prints, git_subcommand};
use super::why_unclear::WhyUnclear;
use super::wrappers::{command_at, find_acts_in_git_folder, program_of_xargs, runs_next};

/// The longest command that is judged, in bytes.
pub const COMMAND_BYTES_MAX: usize = 64 * 1024;

/// How deep commands in commands are judged.
const NESTED_MAX: usize = 8;

/// What a shell command does with git. A larger one counts more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GitUse {
    /// Nothing, or it only reads.
    NoWrite,
    /// The text does not say; why not.
    Unclear(WhyUnclear),
    /// It writes: to branches, the index, the working tree through git, a remote, or a pull request.
    /// The program with its subcommand.
    Write(String),
}

/// Judges a command of the shell, as an agent gives it to `bash`, `zsh` or `sh`. A command that
/// writes is never taken for one that does not because of how it is quoted or wrapped; when its text
/// does not tell, the answer is [`GitUse::Unclear`].
pub fn git_use(command: &str) -> GitUse {
    if command.len() > COMMAND_BYTES_MAX {
        return unclear("it is too long to be read");
    }
    of_text(command, 0)
}

fn unclear(why: &str) -> GitUse {
    GitUse::Unclear(WhyUnclear::Other(why.to_owned()))
}

fn of_text(text: &str, depth: usize) -> GitUse {
    if depth > NESTED_MAX {
        return unclear("it nests too deeply");
    }
    let read = shell_lexer::read(text);
    let start = read.unclear.map_or(GitUse::NoWrite, unclear);
    let all = read.commands.iter().map(|it| of_command(it, depth));
    let found = all.fold(start, GitUse::max);
    // Only what is told something that the text does not tell can be told of the folder.
    let is_told = |it: &SimpleCommand| {
        let files = it.redirects.iter().map(|it| &it.word);
        it.words.iter().chain(files).any(|word| word.is_dynamic)
    };
    let may_act_there = |it: &SimpleCommand| is_told(it) && !only_looks(it);
    match read.commands.iter().any(asks_for_git_folder) && read.commands.iter().any(may_act_there) {
        true => found.max(unclear("it asks where the folder .git lies")),
        false => found,
    }
}

/// What it prints becomes a part of another command.
fn asks_for_git_folder(command: &SimpleCommand) -> bool {
    let asks = |it: &ShellWord| {
        let option = it.text.split('=').next().unwrap_or_default();
        matches!(
            option,
            "--absolute-git-dir" | "--git-common-dir" | "--git-dir" | "--git-path"
        )
    };
    let names = command.words.iter().any(|it| it.text == "rev-parse");
    command.is_substituted && names && command.words.iter().any(asks)
}

/// It changes nothing in a folder that it is given; git's own programs are judged for themselves.
fn only_looks(command: &SimpleCommand) -> bool {
    use ProgramRole::{Git, GitHub, OnlyLooks, RunsNothing};
    let mut redirects = command.redirects.iter();
    redirects.all(|it| it.is_input || !it.word.is_dynamic)
        && program(&command.words).is_none_or(|(name, role, arguments)| {
            matches!(role, Git | GitHub | OnlyLooks | RunsNothing)
                && name != "cd"
                && !(role == OnlyLooks && arguments.iter().any(|it| does_more(&name, it)))
        })
}

fn of_command(command: &SimpleCommand, depth: usize) -> GitUse {
    let mut redirects = command.redirects.iter();
    let files = match redirects.any(|it| !it.is_input && is_inside_git_folder(&it.word)) {
        true => unclear("it names a file in the folder .git"),
        false => GitUse::NoWrite,
    };
    let is_read = command.redirects.iter().any(|it| it.is_input);
    let has_input = is_read || !command.inputs.is_empty();
    let words = of_words(&command.words, depth, has_input);
    let words = match command.words.first() {
        // A pattern of `case` ends in the sign that ends the substitution.
        Some(word) if command.is_substituted && word.text == "case" => {
            words.max(unclear("what stands in a substitution is not read"))
        }
        _ => words,
    };
    files.max(words).max(of_inputs(command))
}

/// A text that the program may run: git's and GitHub's own take it for a text.
fn of_inputs(command: &SimpleCommand) -> GitUse {
    use ProgramRole::{Git, GitHub, OnlyLooks};
    match program(&command.words) {
        Some((name, role, _))
            if !matches!(role, Git | GitHub | OnlyLooks)
                && command.inputs.iter().any(|it| mentions_git(&it.text)) =>
        {
            unclear(&format!("{name} is given a text that tells of git"))
        }
        _ => GitUse::NoWrite,
    }
}

fn of_words(words: &[ShellWord], depth: usize, has_input: bool) -> GitUse {
    let mut found = GitUse::NoWrite;
    let mut rest = words;
    while let Some((head, arguments)) = rest.split_first() {
        if gives_git(head) {
            found = found.max(unclear("a variable names git"));
        }
        if let Some(behind) = goes_on(head, arguments) {
            rest = behind;
            continue;
        }
        let name = program_name(&head.text);
        let role = program_role(&name);
        if head.is_dynamic || (head.may_split && role != ProgramRole::OnlyLooks) {
            return found.max(GitUse::Unclear(WhyUnclear::Program));
        }
        return found.max(of_program(&name, role, arguments, depth, has_input));
    }
    found
}

fn of_program(
    name: &str,
    role: ProgramRole,
    arguments: &[ShellWord],
    depth: usize,
    has_input: bool,
) -> GitUse {
    match role {
        ProgramRole::Git => match name.strip_prefix("git-") {
            Some(subcommand) => of_git(&with_head(subcommand, arguments), depth),
            None => of_git(arguments, depth),
        },
        ProgramRole::GitHub => {
            let (found, label) = gh_subcommand(arguments);
            as_use(found, &format!("gh {label}"))
        }
        ProgramRole::GitTool => unclear(&format!("what {name} does is not known")),
        ProgramRole::Shell => of_shell(arguments, depth, has_input),
        ProgramRole::Eval => {
            let texts: Vec<&str> = arguments.iter().map(|it| it.text.as_str()).collect();
            let judged = of_text(&texts.join(" "), depth + 1);
            judged.max(of_unknown_parts(arguments))
        }
        ProgramRole::Source => match arguments.first() {
            Some(word) if is_file(word) => GitUse::NoWrite,
            _ => unclear("which file the shell reads is not in the text"),
        },
        ProgramRole::Wrapper => of_wrapper(name, arguments, depth, has_input),
        // What follows, in this command or in the agent's next one, is done there.
        ProgramRole::OnlyLooks if name == "cd" && is_given_git_folder(name, arguments) => {
            unclear("it goes into the folder .git")
        }
        // As without the word before it.
        ProgramRole::OnlyLooks if name == "export" && arguments.iter().any(gives_git) => {
            unclear("a variable names git")
        }
        ProgramRole::OnlyLooks if arguments.iter().any(|it| does_more(name, it)) => {
            of_other(name, arguments)
        }
        ProgramRole::BeforeCommand | ProgramRole::OnlyLooks | ProgramRole::RunsNothing => {
            GitUse::NoWrite
        }
        ProgramRole::Other => of_other(name, arguments),
    }
}

fn of_other(name: &str, arguments: &[ShellWord]) -> GitUse {
    why_it_may_write(name, arguments).map_or(GitUse::NoWrite, |why| unclear(&why))
}

/// The word gives a variable a value that tells of git.
fn gives_git(word: &ShellWord) -> bool {
    // Git writes what it does into the file that `GIT_TRACE` and its like name.
    let is_traced = word.text.starts_with("GIT_TRACE") && is_inside_git_folder(word);
    is_assignment(word) && (mentions_git(&word.text) || is_traced)
}

/// The word names a file, and neither a substitution nor the input.
fn is_file(word: &ShellWord) -> bool {
    !word.text.is_empty() && !word.may_split && !word.text.starts_with("/dev/")
}

fn with_head(head: &str, rest: &[ShellWord]) -> Vec<ShellWord> {
    let mut words = vec![ShellWord::literal(head)];
    words.extend_from_slice(rest);
    words
}

fn as_use(found: SubcommandUse, label: &str) -> GitUse {
    match found {
        SubcommandUse::Reads => GitUse::NoWrite,
        SubcommandUse::Writes => GitUse::Write(label.trim_end().to_owned()),
        SubcommandUse::Unclear => unclear(&format!("what {} does is not known", label.trim_end())),
    }
}

fn of_unknown_parts(words: &[ShellWord]) -> GitUse {
    match words.iter().any(|it| it.is_dynamic) {
        true => unclear("the shell puts in a part of the command"),
        false => GitUse::NoWrite,
    }
}

/// `git` with its own options before the subcommand.
fn of_git(arguments: &[ShellWord], depth: usize) -> GitUse {
    let mut aliases: Vec<(String, String)> = Vec::new();
    let mut found = GitUse::NoWrite;
    let mut is_in_git_folder = false;
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if word.is_dynamic || word.may_split {
            return found.max(GitUse::Unclear(WhyUnclear::GitSubcommand));
        }
        if !word.text.starts_with('-') {
            let of_subcommand = of_subcommand(&word.text, after, &aliases, depth);
            // `--output` and the like: the file can be one of the folder's.
            is_in_git_folder |= is_given_git_folder("git", after);
            let of_files = match is_in_git_folder && !git_only_prints(&word.text, after) {
                true => unclear(&format!("git {} is told of the folder .git", word.text)),
                false => GitUse::NoWrite,
            };
            return found.max(of_subcommand).max(of_files);
        }
        let setting = word.text.strip_prefix("--config-env=");
        if setting.is_some_and(may_run_variable) {
            found = found.max(unclear("an option of git's can run a program"));
        }
        if !TAKES_VALUE.contains(&word.text.as_str()) {
            continue;
        }
        let Some((value, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        is_in_git_folder |= word.text == "-C" && is_inside_git_folder(value);
        if value.may_split {
            found = found.max(unclear("git's options are not in the text"));
        }
        if word.text == "--config-env" && (value.is_dynamic || may_run_variable(&value.text)) {
            found = found.max(unclear("an option of git's can run a program"));
        }
        if word.text == "-c" {
            let (key, text) = value.text.split_once('=').unwrap_or((&value.text, ""));
            let key = key.to_ascii_lowercase();
            match key.strip_prefix("alias.") {
                Some(alias) if !value.is_dynamic => {
                    aliases.push((alias.to_owned(), text.to_owned()));
                }
                None if !value.is_dynamic && !runs_its_value(&key, text) => {}
                _ => found = found.max(unclear("an option of git's can run a program")),
            }
        }
    }
    found
}

/// A setting of git's whose value a variable has, as `KEY=VARIABLE`, can be a program.
fn may_run_variable(setting: &str) -> bool {
    let key = setting.split('=').next().unwrap_or_default();
    let key = key.to_ascii_lowercase();
    key.starts_with("alias.") || runs_its_value(&key, "$")
}

/// A key of git's configuration whose value is a program.
fn runs_its_value(key: &str, value: &str) -> bool {
    const PROGRAMS: [&str; 12] = [
        "askpass",
        "command",
        "driver",
        "editor",
        "external",
        "fsmonitor",
        "helper",
        "hookspath",
        "pager",
        "program",
        "proxy",
        "textconv",
    ];
    const HARMLESS: [&str; 7] = ["", "cat", "less", "true", "false", ":", "/dev/null"];
    let is_program = PROGRAMS.iter().any(|end| key.ends_with(end)) || key.starts_with("pager.");
    (is_program && !HARMLESS.contains(&value)) || mentions_git(value) || key.starts_with("include")
}

fn of_subcommand(
    name: &str,
    arguments: &[ShellWord],
    aliases: &[(String, String)],
    depth: usize,
) -> GitUse {
    let found = git_subcommand(name, arguments);
    // Git takes its own subcommand where an alias has the same name.
    let alias = aliases
        .iter()
        .rev()
        .find(|(alias, _)| alias.eq_ignore_ascii_case(name));
    match alias {
        Some((_, text)) if found == SubcommandUse::Unclear => {
            let of_alias = match text.strip_prefix('!') {
                Some(command) => of_text(command, depth + 1),
                None => of_text(&format!("git {text}"), depth + 1),
            };
            // What follows the alias belongs to its command.
            match of_alias {
                GitUse::NoWrite if !arguments.is_empty() => GitUse::Unclear(WhyUnclear::GitAlias),
                of_alias => of_alias,
            }
        }
        _ => as_use(found, &format!("git {name}")),
    }
}

/// A shell: its `-c`, a file, or what comes from its input.
fn of_shell(arguments: &[ShellWord], depth: usize, has_input: bool) -> GitUse {
    let mut has_script = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if word.may_split {
            return unclear("a shell's options are not in the text");
        }
        // `fish` takes what is to be run in the same word.
        if text.starts_with('-') && !text.starts_with("--") && mentions_git(text) {
            return unclear("a shell's option tells of git");
        }
        if let Some(script) = text.strip_prefix("--command=") {
            return of_text(script, depth + 1).max(of_unknown_parts(arguments));
        }
        match text {
            "--command" => has_script = true,
            "--rcfile" | "--init-file" => {
                rest.next();
            }
            _ if text.starts_with("--") => {}
            _ if text.len() > 1 && text.starts_with(['-', '+']) => {
                has_script |= text.starts_with('-') && text.contains('c');
                if text.contains('s') && !has_script {
                    return unclear("a shell reads its commands from its input");
                }
                if text.contains(['o', 'O']) {
                    rest.next();
                }
            }
            _ if has_script => {
                let judged = of_text(text, depth + 1);
                // The words after it are what it calls $0, $1 and so on.
                return judged.max(of_unknown_parts(std::slice::from_ref(word)));
            }
            _ if text == "-" || has_input || !is_file(word) => break,
            _ => return GitUse::NoWrite,
        }
    }
    unclear("a shell reads its commands from its input")
}

/// Behind a program that we do not know may stand one that it runs, as `docker exec` does.
fn of_guessed(words: &[ShellWord], depth: usize, has_input: bool) -> GitUse {
    let is_guessed = program(words)
        .is_some_and(|(name, role, _)| role == ProgramRole::Other && !may_take_for_text(&name));
    let known = position_of_known(words).filter(|_| is_guessed);
    let found = known.map(|at| of_words(&words[at..], depth + 1, has_input));
    match found.unwrap_or(GitUse::NoWrite) {
        GitUse::Write(what) => unclear(&format!("it may run {what}")),
        found => found,
    }
}

/// The first word that names a program we know, of those that may write to git.
fn position_of_known(words: &[ShellWord]) -> Option<usize> {
    use ProgramRole::{Eval, Git, GitHub, GitTool, Shell, Wrapper};
    words.iter().position(|it| {
        let role = program_role(&program_name(&it.text));
        !it.is_dynamic && matches!(role, Git | GitHub | GitTool | Shell | Eval | Wrapper)
    })
}

/// A program that runs the rest of its words: from the first that names a program we know.
fn of_wrapper(name: &str, arguments: &[ShellWord], depth: usize, has_input: bool) -> GitUse {
    if depth > NESTED_MAX {
        return unclear("it nests too deeply");
    }
    if name == "command"
        && arguments
            .first()
            .is_some_and(|it| matches!(it.text.as_str(), "-v" | "-V"))
    {
        return GitUse::NoWrite;
    }
    if let Some(at) = command_at(name, arguments) {
        let found = of_words(&arguments[at..], depth + 1, has_input);
        return found.max(of_guessed(&arguments[at..], depth, has_input));
    }
    // GNU's, as it is called where another one has the name.
    let name = name
        .strip_prefix('g')
        .filter(|it| *it == "xargs")
        .unwrap_or(name);
    let looks = |(name, role, arguments): (String, ProgramRole, &[ShellWord])| {
        role == ProgramRole::OnlyLooks && !arguments.iter().any(|it| does_more(&name, it))
    };
    if name == "xargs"
        && program_of_xargs(arguments)
            .and_then(program)
            .is_some_and(looks)
    {
        return GitUse::NoWrite;
    }
    let known = position_of_known(arguments);
    let before = &arguments[..known.unwrap_or(arguments.len())];
    let inside = known.map_or(GitUse::NoWrite, |at| {
        let mut words = arguments[at..].to_vec();
        if matches!(name, "parallel" | "xargs") {
            words.push(ShellWord::unknown());
        }
        of_words(&words, depth + 1, has_input)
    });
    let is_other_program = match name {
        // Its words are paths and patterns, but for what stands behind `-exec`.
        "find" => before
            .iter()
            .skip_while(|it| !runs_next(&it.text))
            .any(|it| it.is_dynamic),
        _ => before.iter().any(|it| it.is_dynamic) && known.is_none(),
    };
    // Both make commands, or parts of them, of their input.
    let of_input = match name {
        "parallel" => known.is_none(),
        "xargs" => {
            arguments[known.unwrap_or(0)..]
                .first()
                .is_some_and(|it| program_role(&program_name(&it.text)) == ProgramRole::Shell)
                || (known.is_none() && arguments.iter().any(|it| it.text == "{}"))
        }
        _ => false,
    };
    let unknown =
        match of_input || is_other_program || before.iter().any(|it| mentions_git(&it.text)) {
            true => unclear(&format!("what {name} runs is not in the text")),
            false => GitUse::NoWrite,
        };
    let is_given_folder = match name {
        "find" => find_acts_in_git_folder(arguments),
        _ => {
            let words = before.iter().filter(|it| !is_assignment(it));
            is_given_git_folder(name, &words.cloned().collect::<Vec<_>>())
        }
    };
    let folder = match is_given_folder {
        true => unclear(&format!("{name} is told of the folder .git")),
        false => GitUse::NoWrite,
    };
    inside.max(unknown).max(folder)
}
