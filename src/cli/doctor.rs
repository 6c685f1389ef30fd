//! `ctxrelay doctor`: checks, each a sentence with the next step. Changes nothing.

mod space;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use super::claude::{plugin_dir, plugin_spec};
use super::connect::{self, DaemonFound, runtime};
use super::context::CliContext;
use super::disk;
use super::exit::{CliOutcome, ExitKind, Failure};
use super::instruction_files::{Homes, Plan};
use super::launch::capture;
use super::output::Tone;
use super::settings::{environment, find_program};
use crate::adapters::port_holder::holder;
use crate::host::ProjectContext;
use crate::store::dirs::exists;
use crate::store::owner::is_held;
use crate::store::published::Published;
use crate::store::secrets::{Secret, read_token};
use crate::store::{head, ledger, sentinel};

/// How long `codex --version` and the like may take.
const VERSION_WAIT: Duration = Duration::from_secs(5);

/// A ledger above this is not verified as a whole here; `ledger verify` is there for it.
const VERIFY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The oldest Claude Code whose plugins have monitors.
const CLAUDE_MIN: [u64; 3] = [2, 1, 80];

/// The Codex that this version was built against.
const CODEX_TRIED: [u64; 3] = [0, 169, 0];

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay doctor --json | jq '.checks[] | select(.ok | not)'")]
pub struct Args {}

/// What one check found.
#[derive(Debug, Serialize)]
struct Check {
    id: &'static str,
    ok: bool,
    message: String,
    hint: String,
}

fn good(id: &'static str, message: impl Into<String>) -> Check {
    Check {
        id,
        ok: true,
        message: message.into(),
        hint: String::new(),
    }
}

/// Nothing is broken, and there is something to know.
fn note(id: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Check {
    Check {
        id,
        ok: true,
        message: message.into(),
        hint: hint.into(),
    }
}

fn bad(id: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Check {
    Check {
        id,
        ok: false,
        message: message.into(),
        hint: hint.into(),
    }
}

pub fn run(context: &CliContext, _args: &Args) -> CliOutcome {
    let setting = &context.setting;
    let found = runtime()?.block_on(connect::control(setting));
    let checks = vec![
        project(setting),
        git(setting),
        instructions(setting),
        permissions(setting),
        daemon(setting, &found),
        ports(setting, &found),
        tokens(setting),
        record(setting),
        space::check(setting),
        codex(setting),
        claude(setting),
        plugin(setting),
        tmux(setting),
    ];
    let ok = checks.iter().all(|check| check.ok);
    if context.out.is_json() {
        context.out.json(&json!({"ok": ok, "checks": checks}))?;
    } else {
        show(context, &checks)?;
    }
    Ok(if ok {
        ExitKind::Ok
    } else {
        ExitKind::CheckFailed
    })
}

fn show(context: &CliContext, checks: &[Check]) -> Result<(), Failure> {
    for check in checks {
        let (tone, word) = match (check.ok, check.hint.is_empty()) {
            (true, true) => (Tone::Good, "ok    "),
            (true, false) => (Tone::Warning, "note  "),
            (false, _) => (Tone::Bad, "fail  "),
        };
        context.out.spans(&[
            (tone, word),
            (Tone::Faint, &format!("{:<12}", check.id)),
            (Tone::Plain, &check.message),
        ])?;
        if !check.hint.is_empty() {
            context
                .out
                .spans(&[(Tone::Faint, &format!("{:18}next: {}", "", check.hint))])?;
        }
    }
    Ok(())
}

fn project(setting: &ProjectContext) -> Check {
    let root = &setting.dirs.root;
    let target = if exists(&setting.dirs.relay) {
        &setting.dirs.relay
    } else {
        root
    };
    match rustix::fs::access(
        target,
        rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
    ) {
        Ok(()) => good("project", format!("{} can be written", root.display())),
        Err(error) => bad(
            "project",
            format!("{} cannot be written: {error}", target.display()),
            "make it writable for you, or name another folder with --project",
        ),
    }
}

fn git(setting: &ProjectContext) -> Check {
    if find_program(Path::new("git"), environment("PATH").as_deref()).is_none() {
        return bad(
            "git",
            "the `git` program is not found",
            "install git: sign-off records commit and tree",
        );
    }
    if setting
        .dirs
        .root
        .ancestors()
        .any(|dir| exists(&dir.join(".git")))
    {
        good("git", "the project is a git repository")
    } else {
        note(
            "git",
            "the project is no git repository: decisions cannot name a commit",
            "run `git init` if it should be one",
        )
    }
}

fn instructions(setting: &ProjectContext) -> Check {
    const ID: &str = "instructions";
    let plan = Plan::of(&setting.dirs.root, &Homes::from_env());
    let hidden: Vec<String> = plan.hiding.iter().map(ToString::to_string).collect();
    if hidden.is_empty() {
        good(ID, "no file of ours hides one of yours")
    } else {
        bad(ID, hidden.join("; "), "mend it with `ctxrelay init`")
    }
}

fn permissions(setting: &ProjectContext) -> Check {
    const ID: &str = "permissions";
    let dirs = &setting.dirs;
    if !exists(&dirs.state) {
        return note(
            ID,
            "there is no state yet",
            "start with `ctxrelay` or `ctxrelay init`",
        );
    }
    for dir in [&dirs.relay, &dirs.state] {
        let found = match dir.symlink_metadata() {
            Ok(found) => found,
            Err(error) => {
                return bad(
                    ID,
                    format!("cannot look at {}: {error}", dir.display()),
                    "see that it is yours",
                );
            }
        };
        let name = dir.display();
        if !found.is_dir() {
            return bad(
                ID,
                format!("{name} is no folder, or a link"),
                format!("move {name} away"),
            );
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return bad(
                ID,
                format!("{name} belongs to somebody else"),
                format!("take it over: chown {name}"),
            );
        }
        if found.permissions().mode() & 0o077 != 0 {
            return bad(
                ID,
                format!("{name} is open to others"),
                format!("close it: chmod 700 {name}"),
            );
        }
    }
    good(ID, "the state folder is yours alone")
}

fn daemon(setting: &ProjectContext, found: &DaemonFound) -> Check {
    const ID: &str = "daemon";
    match found {
        DaemonFound::Live(live) if live.welcome.version != env!("CARGO_PKG_VERSION") => note(
            ID,
            format!(
                "the daemon is version {}, this program {}",
                live.welcome.version,
                env!("CARGO_PKG_VERSION")
            ),
            "restart it when it is idle",
        ),
        DaemonFound::Live(_) => good(ID, "the daemon answers"),
        DaemonFound::Unfit(why) => bad(
            ID,
            format!("the daemon cannot be asked: {why}"),
            "stop it with `ctxrelay kill` and start it again",
        ),
        DaemonFound::Nobody if sentinel::is_killed(&setting.dirs) => {
            note(ID, "stopped by `ctxrelay kill`", "start it with `ctxrelay`")
        }
        DaemonFound::Nobody if is_held(&setting.dirs) => bad(
            ID,
            "a process owns this project and does not answer",
            "stop it with `ctxrelay kill`, or see who holds .contextrelay/state/daemon.lock",
        ),
        DaemonFound::Nobody => note(ID, "no daemon runs", "start it with `ctxrelay`"),
    }
}

fn ports(setting: &ProjectContext, found: &DaemonFound) -> Check {
    const ID: &str = "ports";
    if let (DaemonFound::Live(_), Some(published)) = (found, Published::read(&setting.dirs)) {
        return good(
            ID,
            format!(
                "control {}, proxy {}",
                published.control_port, published.proxy_port
            ),
        );
    }
    let Some(ports) = setting.ports else {
        return good(
            ID,
            format!("free ones are taken from {} on", setting.port_base),
        );
    };
    let taken: Vec<String> = [ports.control, ports.proxy]
        .into_iter()
        .filter(|port| std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, *port)).is_err())
        .map(|port| match holder(port) {
            Some(holder) => format!("{port} by {holder}"),
            None => format!("{port} by another program"),
        })
        .collect();
    if taken.is_empty() {
        return good(ID, "the named ports are free");
    }
    bad(
        ID,
        format!("held: {}", taken.join(", ")),
        "end it, or choose other ports with CODEX_WS_PORT, CODEX_PROXY_PORT and CONTEXTRELAY_CONTROL_PORT",
    )
}

fn tokens(setting: &ProjectContext) -> Check {
    const ID: &str = "tokens";
    for secret in [Secret::Claude, Secret::Codex, Secret::Reader, Secret::Proxy] {
        match read_token(&setting.dirs, secret) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return note(ID, "there are no tokens yet", "the first daemon makes them");
            }
            // The message names the file and never what is in it.
            Err(error) => {
                return bad(
                    ID,
                    error.to_string(),
                    format!(
                        "remove {} and restart the daemon",
                        setting.dirs.state_file(secret.file_name()).display()
                    ),
                );
            }
        }
    }
    good(ID, "the tokens are there and private")
}

fn record(setting: &ProjectContext) -> Check {
    const ID: &str = "record";
    let (session, path) = match disk::current(setting) {
        Ok(Some(current)) => current,
        Ok(None) => {
            return note(
                ID,
                "there is no record yet",
                "start with `ctxrelay` or `ctxrelay init`",
            );
        }
        Err(failure) => return bad(ID, failure.message, failure.hint),
    };
    match path.symlink_metadata() {
        Ok(found) if found.is_file() && found.nlink() > 1 => {
            let path = path.display();
            return bad(
                ID,
                format!("{path} has another name as well, by which somebody else could write it"),
                format!("replace it by a copy: cp -p {path} {path}.new && mv {path}.new {path}"),
            );
        }
        Ok(found) if found.len() > VERIFY_BYTES_MAX => {
            return note(
                ID,
                "the record is too large to be checked here",
                "run `ctxrelay ledger verify`",
            );
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return bad(
                ID,
                format!("the file of {session} is gone"),
                "put it back, or start the daemon to begin it anew",
            );
        }
        _ => {}
    }
    let outside = head::read(&setting.user_dirs, &setting.dirs.instance_id())
        .ok()
        .flatten();
    match ledger::verify(&path, outside.as_ref()) {
        Ok(report) if report.ok => good(
            ID,
            format!("{} entries, the chain is whole", report.entries),
        ),
        Ok(_) => bad(
            ID,
            "the chain is broken",
            "see where: `ctxrelay ledger verify`",
        ),
        Err(error) => bad(
            ID,
            format!("cannot read {}: {error}", path.display()),
            "see that it is a file of yours and no link",
        ),
    }
}

fn codex(setting: &ProjectContext) -> Check {
    let Some(program) = &setting.codex_program else {
        return note(
            "codex",
            "the `codex` program is not found; everything else works",
            "npm install -g @openai/codex, or name it with CONTEXTRELAY_CODEX_BIN",
        );
    };
    match version(setting, program) {
        Ok(version) if version.numbers < CODEX_TRIED => note(
            "codex",
            format!("{}, older than what this was built against", version.text),
            "update Codex if it does not answer",
        ),
        Ok(version) => good("codex", version.text),
        Err(why) => bad("codex", why, "run `codex --version` by yourself"),
    }
}

fn claude(setting: &ProjectContext) -> Check {
    let Some(program) = &setting.claude_program else {
        return note(
            "claude",
            "the `claude` program is not found; everything else works",
            "npm install -g @anthropic-ai/claude-code, or name it with CONTEXTRELAY_CLAUDE_BIN",
        );
    };
    match version(setting, program) {
        Ok(version) if version.numbers < CLAUDE_MIN => bad(
            "claude",
            format!("{} is too old: its plugins cannot wake it", version.text),
            "update Claude Code to 2.1.80 or later",
        ),
        Ok(version) => good("claude", version.text),
        Err(why) => bad("claude", why, "run `claude --version` by yourself"),
    }
}

/// What a program says about itself.
struct Version {
    text: String,
    numbers: [u64; 3],
}

fn version(setting: &ProjectContext, program: &Path) -> Result<Version, String> {
    let said = capture(
        program,
        &["--version".into()],
        &setting.dirs.root,
        VERSION_WAIT,
    )?;
    let text = said
        .stdout
        .lines()
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned();
    let numbers = numbers(&text).filter(|_| said.ok);
    numbers
        .map(|numbers| Version {
            text: text.clone(),
            numbers,
        })
        .ok_or_else(|| format!("{} does not tell its version", program.display()))
}

/// The first word of a line that begins with three numbers.
fn numbers(line: &str) -> Option<[u64; 3]> {
    line.split_whitespace().find_map(|word| {
        let mut parts = word.splitn(3, '.');
        let mut next = || {
            let part = parts.next()?;
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            part.get(..digits)?.parse().ok()
        };
        Some([next()?, next()?, next()?])
    })
}

fn plugin(setting: &ProjectContext) -> Check {
    const ID: &str = "plugin";
    let dir = plugin_dir(setting);
    if plugin_spec(setting).is_current(&dir) {
        return good(ID, "the Claude plugin is of this program");
    }
    if exists(&dir) {
        return note(
            ID,
            "the Claude plugin is of another program or version",
            "`ctxrelay claude` renews it; restart a Claude that runs",
        );
    }
    note(
        ID,
        "the Claude plugin is not written yet",
        "`ctxrelay claude` writes it",
    )
}

fn tmux(setting: &ProjectContext) -> Check {
    const ID: &str = "tmux";
    let Some(program) = find_program(Path::new("tmux"), environment("PATH").as_deref()) else {
        return note(
            ID,
            "tmux is not found: `ctxrelay pair` prints its commands instead",
            "install tmux",
        );
    };
    match capture(&program, &["-V".into()], &setting.dirs.root, VERSION_WAIT) {
        Ok(said) => good(ID, said.stdout.trim().to_owned()),
        Err(why) => note(ID, why, "`ctxrelay pair` needs it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_the_agents_say() {
        assert_eq!(numbers("codex-cli 0.169.0"), Some([0, 169, 0]));
        assert_eq!(numbers("2.1.330 (Claude Code)"), Some([2, 1, 330]));
        assert_eq!(numbers("0.170.0-alpha.1"), Some([0, 170, 0]));
        assert_eq!(numbers("no version"), None);
        assert!([2, 1, 79] < CLAUDE_MIN && [2, 1, 330] > CLAUDE_MIN);
    }
}
