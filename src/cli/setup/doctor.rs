//! `ctxrelay doctor`: checks, each a sentence with the next step. Changes nothing.

mod check;
mod programs;
mod space;
mod writing;

use std::ffi::OsString;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::json;

use self::check::{Check, bad, good, note};
use crate::adapters::port_holder::holder;
use crate::cli::connection::connect::{self, DaemonFound, runtime};
use crate::cli::connection::difference::{Difference, REPLACE_HINT};
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::context::CliContext;
use crate::cli::exit::CliOutcome;
use crate::cli::offline::disk;
use crate::cli::offline::newer_state::newer_state;
use crate::cli::output::Tone;
use crate::cli::report::{Report, ReportText};
use crate::cli::settings::find_program;
use crate::cli::setup::instruction_files::{Homes, Plan};
use crate::cli::text::shell::quote;
use crate::host::ProjectContext;
use crate::store::dirs::exists;
use crate::store::owner::{Hold, NO_LOCKS_HINT, hold, no_locks};
use crate::store::published::Published;
use crate::store::secrets::{Secret, read_token};
use crate::store::{config, ledger, sentinel};
use crate::wire::config::Problem;
use crate::wire::status::HookReview;

/// A ledger above this is not verified as a whole here; `ledger verify` is there for it.
const VERIFY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay doctor --json | jq '.checks[] | select(.ok | not)'")]
pub struct Args {
    /// Not in this version
    #[arg(long, hide = true, num_args = 0.., allow_hyphen_values = true)]
    pub contract: Option<Vec<OsString>>,
}

pub fn run(context: &CliContext, _args: &Args) -> CliOutcome {
    let project = &context.project;
    let (found, status) = runtime()?.block_on(async {
        let found = connect::control(project).await;
        let status = match &found {
            DaemonFound::Live(live) => live.status().await.ok(),
            _ => None,
        };
        (found, status)
    });
    let mut checks = vec![
        project_found(project),
        git(project),
        instructions(project),
        permissions(project),
        config(project),
        daemon(project, &found),
        ports(project, &found),
        tokens(project),
        record(project),
        space::check(project),
        writing::check(project),
        programs::codex(project, status.as_ref()),
        programs::claude(project),
        programs::plugin(project),
        programs::tmux(project),
    ];
    checks.extend(programs::hooks(project));
    checks.extend(programs::installed_plugin(project));
    checks.extend(programs::codex_mcp(project));
    let hook = status.and_then(|status| status.agents.codex.hook);
    checks.extend(hook.map(|review| codex_hook(&review)));
    let ok = checks.iter().all(|check| check.ok);
    let report = Report::new(&json!({"ok": ok, "checks": checks}), text(&checks));
    context.out.report(report.checked(ok))
}

fn text(checks: &[Check]) -> ReportText {
    let mut out = ReportText::new();
    let longest = checks.iter().map(|check| check.id.len()).max();
    let width = longest.unwrap_or_default() + 2;
    for check in checks {
        let (tone, word) = match (check.ok, check.hint.is_empty()) {
            (true, true) => (Tone::Good, "ok    "),
            (true, false) => (Tone::Warning, "note  "),
            (false, _) => (Tone::Bad, "fail  "),
        };
        let indent = format!("{:1$}", "", 6 + width);
        for (number, line) in check.message.lines().enumerate() {
            let (head, id) = match number {
                0 => (word, format!("{:<width$}", check.id)),
                _ => ("", indent.clone()),
            };
            out.spans(&[(tone, head), (Tone::Faint, &id), (Tone::Plain, line)]);
        }
        if !check.hint.is_empty() {
            out.spans(&[(Tone::Faint, &format!("{indent}next: {}", check.hint))]);
        }
    }
    out
}

fn project_found(project: &ProjectContext) -> Check {
    let root = &project.dirs.root;
    let target = if exists(&project.dirs.relay) {
        &project.dirs.relay
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

fn git(project: &ProjectContext) -> Check {
    if find_program("git").is_none() {
        return bad(
            "git",
            "the `git` program is not found",
            "install git: sign-off records commit and tree",
        );
    }
    if project
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

fn instructions(project: &ProjectContext) -> Check {
    const ID: &str = "instructions";
    let plan = Plan::of(&project.dirs.root, &Homes::from_env());
    let hidden: Vec<String> = plan.hiding.iter().map(ToString::to_string).collect();
    if hidden.is_empty() {
        good(ID, "no file of ours hides one of yours")
    } else {
        bad(ID, hidden.join("; "), "mend it with `ctxrelay init`")
    }
}

fn permissions(project: &ProjectContext) -> Check {
    const ID: &str = "permissions";
    let dirs = &project.dirs;
    for dir in [&dirs.relay, &dirs.state] {
        let found = match dir.symlink_metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return note(
                    ID,
                    "there is no state yet",
                    "start with `ctxrelay` or `ctxrelay init`",
                );
            }
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
        if let Some((message, hint)) = of_another(dir, &found) {
            return bad(ID, message, hint);
        }
        if found.permissions().mode() & 0o077 != 0 {
            return bad(
                ID,
                format!("{name} is open to others"),
                format!("close it: chmod 700 {name}"),
            );
        }
        let writable = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        if let Err(error) = rustix::fs::access(dir, writable) {
            return bad(
                ID,
                format!("{name} cannot be written: {error}"),
                format!("make it writable for you: chmod 700 {name}"),
            );
        }
    }
    good(ID, "the state folder is yours alone and can be written")
}

/// What is said of a folder that is another user's, and the way on.
fn of_another(dir: &Path, found: &Metadata) -> Option<(String, String)> {
    let uid = found.uid();
    (uid != rustix::process::geteuid().as_raw()).then(|| {
        let name = dir.display();
        let message = format!("{name} belongs to somebody else (user id {uid})");
        let word = quote(dir.as_os_str());
        let hint =
            format!("work as that user, or take it over: sudo chown -R \"$(id -un)\" {word}");
        (message, hint)
    })
}

/// What is said of what may not be read, where all of the state is another user's.
fn denied(project: &ProjectContext) -> Option<(String, String)> {
    let dirs = [&project.dirs.relay, &project.dirs.state];
    dirs.into_iter()
        .find_map(|dir| of_another(dir, &dir.symlink_metadata().ok()?))
}

/// What of `config.json` does not count.
fn config(project: &ProjectContext) -> Check {
    const ID: &str = "config";
    let read = rustix::fs::access(project.dirs.config(), rustix::fs::Access::READ_OK);
    if read == Err(rustix::io::Errno::ACCESS)
        && let Some((message, hint)) = denied(project)
    {
        return bad(ID, message, hint);
    }
    let loaded = config::load(&project.dirs, &project.user_dirs);
    let said = Problem::told(&loaded.ineffective());
    if !said.is_empty() {
        let hint = "mend .contextrelay/config.json; `ctxrelay config show` says what counts";
        return match loaded.problems.is_empty() {
            true => note(ID, said.join("\n"), hint),
            false => bad(ID, said.join("\n"), hint),
        };
    }
    let waiting = loaded.ignored_keys();
    if waiting.is_empty() {
        return good(ID, "config.json is as it has to be");
    }
    note(
        ID,
        format!("{} waits for your trust", waiting.join(", ")),
        "see it and trust it: `ctxrelay trust`",
    )
}

fn daemon(project: &ProjectContext, found: &DaemonFound) -> Check {
    const ID: &str = "daemon";
    match found {
        DaemonFound::Live(_) => match Difference::of(&project.dirs) {
            Some(difference) => note(ID, difference.to_string(), REPLACE_HINT),
            None => good(ID, "the daemon answers"),
        },
        DaemonFound::Unfit(why) => bad(
            ID,
            format!("the daemon cannot be asked: {why}"),
            "stop it with `ctxrelay kill` and start it again",
        ),
        DaemonFound::Nobody => match StateElsewhere::of(project) {
            Some(elsewhere) => {
                let failure = elsewhere.failure();
                bad(ID, failure.message, failure.hint)
            }
            None => nobody(project, hold(&project.dirs)),
        },
    }
}

fn nobody(project: &ProjectContext, hold: Hold) -> Check {
    const ID: &str = "daemon";
    if let Some(newer) = newer_state(project).filter(|_| hold == Hold::Free) {
        return bad(ID, newer.to_string(), newer.hint());
    }
    if sentinel::is_killed(&project.dirs) {
        return note(ID, "stopped by you", "start it with `ctxrelay`");
    }
    match hold {
        Hold::Held => bad(
            ID,
            "a process owns this project and does not answer",
            "stop it with `ctxrelay kill`, or see who holds .contextrelay/state/daemon.lock",
        ),
        Hold::NoLocks => bad(ID, no_locks(&project.dirs), NO_LOCKS_HINT),
        Hold::Free => note(ID, "no daemon runs", "start it with `ctxrelay`"),
    }
}

/// Our hook in Codex. Whether it may run is asked and answered there.
fn codex_hook(review: &HookReview) -> Check {
    const ID: &str = "codex hook";
    match review {
        HookReview::Trusted => good(ID, "reviewed in Codex, which runs it"),
        _ => note(
            ID,
            "Codex leaves out the hook of `continuity.codexHook` until you review it",
            "`/hooks` in Codex's terminal",
        ),
    }
}

fn ports(project: &ProjectContext, found: &DaemonFound) -> Check {
    const ID: &str = "ports";
    if let (DaemonFound::Live(_), Some(published)) = (found, Published::read(&project.dirs)) {
        return good(
            ID,
            format!(
                "control {}, proxy {}",
                published.control_port, published.proxy_port
            ),
        );
    }
    let Some(ports) = project.ports else {
        return good(
            ID,
            format!("free ones are taken from {} on", project.port_base),
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

fn tokens(project: &ProjectContext) -> Check {
    const ID: &str = "tokens";
    for secret in [Secret::Claude, Secret::Codex, Secret::Reader, Secret::Proxy] {
        match read_token(&project.dirs, secret) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return note(ID, "there are no tokens yet", "the first daemon makes them");
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let (message, hint) = denied(project).unwrap_or_else(|| {
                    let path = project.dirs.state_file(secret.file_name());
                    let failure = disk::unreadable(&path, &error);
                    (failure.message, failure.hint)
                });
                return bad(ID, message, hint);
            }
            // The message names the file and never what is in it.
            Err(error) => {
                return bad(
                    ID,
                    error.to_string(),
                    format!(
                        "remove {} and restart the daemon",
                        project.dirs.state_file(secret.file_name()).display()
                    ),
                );
            }
        }
    }
    good(ID, "the tokens are there and private")
}

fn record(project: &ProjectContext) -> Check {
    const ID: &str = "record";
    let (session, path) = match disk::current(project) {
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
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let gone = disk::gone(&session);
            return bad(ID, gone.message, gone.hint);
        }
        _ => {}
    }
    let outside = match disk::outside_head(project) {
        Ok(outside) => outside,
        Err(failure) => return bad(ID, failure.message, failure.hint),
    };
    if let Some(lost) = outside.as_ref().filter(|kept| kept.is_lost(&project.dirs)) {
        let gone = disk::gone(&lost.head.session_id);
        return bad(ID, gone.message, gone.hint);
    }
    match ledger::verify(&path, outside.as_ref()) {
        Ok(report) if report.ok => good(
            ID,
            format!("{} entries, the chain is whole", report.entries),
        ),
        Ok(report) if report.first_bad.is_some() => bad(
            ID,
            "the chain is broken",
            "see where: `ctxrelay ledger verify`",
        ),
        Ok(report) => {
            let mut alarms = report.alarms.iter().filter(|alarm| !alarm.acknowledged);
            let first = alarms.next().map_or_else(String::new, |it| it.alarm.text());
            bad(
                ID,
                format!("the chain is whole, and an alarm waits for you: {first}"),
                "acknowledge it on its card in the deck's Inbox",
            )
        }
        Err(error) => {
            let failure = disk::unreadable(&path, &error);
            bad(ID, failure.message, failure.hint)
        }
    }
}
