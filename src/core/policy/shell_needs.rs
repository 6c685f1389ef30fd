//! [`shell_needs`]: which permissions a shell command needs.

use super::Permission;
use super::git_write::{COMMAND_BYTES_MAX, GitUse, git_use};
use super::needs::{Certainty, Need, named};
use super::programs::{ProgramRole, program_name, program_role};
use super::secret_paths::is_secret_path;
use super::shell::{ShellWord, SimpleCommand};
use super::shell_lexer;

/// Programs whose purpose is another machine.
const NETWORK: [&str; 20] = [
    "aria2c", "curl", "dig", "ftp", "http", "https", "mosh", "nc", "ncat", "netcat", "nslookup",
    "ping", "rclone", "rsync", "scp", "sftp", "ssh", "telnet", "wget", "xh",
];

/// Programs that fetch what is missing: whether they do is not in the text.
const MAY_FETCH: [&str; 17] = [
    "apt", "apt-get", "brew", "bun", "bundle", "cargo", "composer", "docker", "gem", "go", "npm",
    "npx", "pip", "pip3", "pnpm", "uv", "yarn",
];

/// Their subcommands that do nothing else.
const FETCHES: [&str; 10] = [
    "add", "ci", "clone", "download", "fetch", "get", "install", "pull", "search", "update",
];

/// Those of them that send.
const SENDS: [&str; 2] = ["publish", "push"];

/// The most ways beyond this machine that are named of one command line.
const NETWORK_MAX: usize = 4;

/// How many shells may stand within each other before what the innermost runs is only guessed.
const SHELLS_MAX: usize = 4;

/// Subcommands of git that talk to a remote.
const GIT_REMOTE: [&str; 5] = ["clone", "fetch", "ls-remote", "pull", "push"];

/// What divides the words in which a file may be named. `@`: `curl -d @FILE` sends it.
const BETWEEN_WORDS: [char; 17] = [
    ' ', '\t', '\n', '\'', '"', '`', '=', ';', '|', '&', '(', ')', '<', '>', ',', ':', '@',
];

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
    if let Some(path) = head.split(BETWEEN_WORDS).find(|word| is_secret_path(word)) {
        let what = format!("{} is where secrets usually lie", named(path));
        needs.push(Need::certain(Permission::Secrets, what));
    }
    let read = shell_lexer::read(head);
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

/// The program and its arguments, without what only stands before them.
fn program(command: &SimpleCommand) -> Option<(String, ProgramRole, &[ShellWord])> {
    let mut words = command.words.as_slice();
    while let Some((head, rest)) = words.split_first() {
        words = rest;
        let is_assignment = !head.is_dynamic
            && head.text.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty()
                    && name
                        .chars()
                        .all(|it| it.is_ascii_alphanumeric() || it == '_')
            });
        let name = program_name(&head.text);
        let role = match head.may_split || head.is_dynamic {
            true => ProgramRole::Other,
            false => program_role(&name),
        };
        if !is_assignment && role != ProgramRole::BeforeCommand {
            return Some((name, role, rest));
        }
    }
    None
}

/// The ways beyond this machine, each once, what is certain first.
fn networks(commands: &[SimpleCommand]) -> Vec<Need> {
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

/// The ways of one command. Of a shell that is given its commands, theirs: Codex wraps each command in
/// `/bin/bash -lc '…'`.
fn ways(command: &SimpleCommand, depth: usize) -> Vec<Need> {
    let given = program(command)
        .filter(|(_, role, _)| *role == ProgramRole::Shell && depth < SHELLS_MAX)
        .and_then(|(_, _, arguments)| given_commands(arguments));
    let Some(word) = given else {
        return network(command).into_iter().collect();
    };
    let read = shell_lexer::read(&word.text);
    let inside = read.commands.iter();
    let mut needs: Vec<Need> = inside.flat_map(|inner| ways(inner, depth + 1)).collect();
    if read.unclear.is_some() || word.is_dynamic {
        for need in &mut needs {
            need.certainty = Certainty::Unclear;
        }
        needs.extend(network(command));
    }
    needs
}

/// What a shell is given by `-c`, `-lc` and the like.
fn given_commands(arguments: &[ShellWord]) -> Option<&ShellWord> {
    let is_option = |it: &ShellWord| it.text.starts_with('-') && !it.text.starts_with("--");
    let at = arguments
        .iter()
        .position(|it| is_option(it) && it.text.contains('c'))?;
    let mut behind = arguments[at + 1..].iter();
    behind.find(|it| !it.text.starts_with('-'))
}

fn network(command: &SimpleCommand) -> Option<Need> {
    let (name, role, arguments) = program(command)?;
    let certain = |what: String| Some(Need::certain(Permission::Network, what));
    let unclear = |what: String| Some(Need::unclear(Permission::Network, what));
    let first = arguments.iter().find(|it| !it.text.starts_with('-'));
    let says = |words: &[&str]| first.is_some_and(|it| words.contains(&it.text.as_str()));
    if NETWORK.contains(&name.as_str()) || role == ProgramRole::GitHub {
        return certain(format!("`{name}` reaches beyond this machine"));
    }
    if role == ProgramRole::Git
        && arguments
            .iter()
            .any(|it| GIT_REMOTE.contains(&it.text.as_str()))
    {
        return certain("it talks to a remote repository".to_owned());
    }
    if MAY_FETCH.contains(&name.as_str()) && says(&SENDS) {
        return unclear(format!("`{name}` may send beyond this machine"));
    }
    if MAY_FETCH.contains(&name.as_str()) && says(&FETCHES) {
        return unclear(format!("`{name}` may fetch from beyond this machine"));
    }
    let is_url = |it: &ShellWord| it.text.contains("://") && !it.text.starts_with("file://");
    // A text that is only shown or searched may name whatever it likes.
    if role != ProgramRole::OnlyLooks && arguments.iter().any(is_url) {
        return unclear(format!("`{}` is given an address", named(&name)));
    }
    let runs = matches!(
        role,
        ProgramRole::Shell | ProgramRole::Wrapper | ProgramRole::Eval
    );
    let mentions = |it: &ShellWord| {
        let mut words = it.text.split(BETWEEN_WORDS).map(program_name);
        words.any(|word| NETWORK.contains(&word.as_str()))
    };
    match runs && arguments.iter().any(mentions) {
        true => unclear(format!(
            "`{name}` may run a program that reaches beyond this machine"
        )),
        false => None,
    }
}

/// The command changes no file, whatever it is given.
fn only_looks(command: &SimpleCommand) -> bool {
    let Some((name, role, arguments)) = program(command) else {
        return command.redirects.is_empty();
    };
    let is_looker = match role {
        ProgramRole::OnlyLooks | ProgramRole::RunsNothing => name != "man",
        ProgramRole::Git => true,
        _ => false,
    };
    let harmless = ["/dev/null", "1", "2"];
    let has_output = arguments.iter().any(|it| {
        it.is_dynamic
            || it.text.starts_with("-o")
            || it.text.starts_with("--output")
            || it.text.starts_with("--pre")
    });
    is_looker
        && !has_output
        && command
            .redirects
            .iter()
            .all(|it| harmless.contains(&it.text.as_str()))
}
