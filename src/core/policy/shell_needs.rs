//! [`shell_needs`]: which permissions a shell command needs.

use super::Permission;
use super::git_write::{COMMAND_BYTES_MAX, GitUse, git_use};
use super::given_commands::{SHELLS_MAX, given_commands};
use super::hint::Hint;
use super::need::{Need, named};
use super::programs::{ProgramRole, does_more, program};
use super::secret_paths::{BETWEEN_WORDS, is_secret_path, may_be_secret_path};
use super::shell::{ShellWord, SimpleCommand};
use super::shell_lexer;
use super::shell_network::networks;
use super::subcommands::{git_only_prints, git_words};

/// What a command needs, each permission at most once, but for the ways beyond this machine.
pub(super) fn shell_needs(text: &str) -> Vec<Need> {
    let mut needs = vec![Need::certain(Permission::Shell, "it runs a command")];
    let git = git_use(text);
    let writes_no_git = git == GitUse::NoWrite;
    match git {
        GitUse::NoWrite => {}
        GitUse::Unclear(why) => {
            needs.push(Need::unclear(
                Permission::Git,
                format!("it may write to git ({why})"),
            ));
        }
        GitUse::Write(what) => {
            let what = format!("`{}` writes to git", named(&what));
            needs.push(Need::certain(Permission::Git, what));
        }
    }
    let head = &text[..text.floor_char_boundary(COMMAND_BYTES_MAX)];
    let read = shell_lexer::read(head);
    needs.extend(secrets(head, &read.commands));
    needs.extend(networks(&read.commands));
    // What writes to git may change files of the working tree as well.
    let looks = writes_no_git && text.len() == head.len() && read.unclear.is_none();
    if !(looks && read.commands.iter().all(only_looks)) {
        needs.push(Need::unclear(
            Permission::Write,
            "the command may change files",
        ));
    }
    needs
}

/// A file with secrets that a command names, as it is written or as the shell reads it.
fn secrets(head: &str, commands: &[SimpleCommand]) -> Option<Need> {
    let mut words = Vec::new();
    all_words(commands, 0, &mut words);
    let whole = words.iter().filter(|it| !it.is_dynamic);
    let written = whole.map(|it| it.text.as_str()).chain([head]);
    let mut written = written.flat_map(|it| it.split(BETWEEN_WORDS));
    if let Some(path) = written.find(|it| is_secret_path(it)) {
        let what = Hint::about(named(path), "a file", "is where secrets usually lie");
        return Some(Need::certain(Permission::Secrets, what));
    }
    let of = |word: &ShellWord| {
        let mut parts = word.text.split(BETWEEN_WORDS);
        let path = parts.find(|it| may_be_secret_path(it) || word.is_dynamic && is_secret_path(it));
        path.map(|path| Hint::about(named(path), "a file", "may be where secrets usually lie"))
    };
    let what = words.iter().find_map(of)?;
    Some(Need::unclear(Permission::Secrets, what))
}

/// All words of commands, and of those that they give to a shell.
fn all_words(commands: &[SimpleCommand], depth: usize, words: &mut Vec<ShellWord>) {
    for command in commands {
        words.extend_from_slice(&command.words);
        words.extend(command.redirects.iter().map(|it| it.word.clone()));
        let given = program(&command.words)
            .filter(|_| depth < SHELLS_MAX)
            .and_then(|(_, role, arguments)| given_commands(role, arguments));
        if let Some(text) = given {
            all_words(&shell_lexer::read(&text.text).commands, depth + 1, words);
        }
    }
}

/// The command changes no file, whatever it is given.
fn only_looks(command: &SimpleCommand) -> bool {
    let harmless = ["/dev/null", "1", "2"];
    let mut redirects = command.redirects.iter();
    if !redirects.all(|it| it.is_input || harmless.contains(&it.word.text.as_str())) {
        return false;
    }
    let Some((name, role, arguments)) = program(&command.words) else {
        return true;
    };
    let has_output = arguments
        .iter()
        .any(|it| it.is_dynamic || does_more(&name, it));
    match role {
        ProgramRole::OnlyLooks | ProgramRole::RunsNothing => name != "man" && !has_output,
        ProgramRole::Git => match name.strip_prefix("git-") {
            Some(subcommand) => git_only_prints(subcommand, arguments),
            None => git_words(arguments)
                .is_some_and(|(_, subcommand, rest)| git_only_prints(subcommand, rest)),
        },
        _ => false,
    }
}
