//! `ctxrelay kill`: ends the daemon and leaves the `killed` sentinel. An operator command.
//!
//! It depends on nothing that a broken daemon could block: if the daemon does not answer, the
//! owner's lock names its process, which gets a signal once the sentinel keeps others from
//! starting.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::cli::connection::connect::{self, DaemonFound, wait_for};
use crate::cli::connection::lock_owner::{becomes_free, named_owners, owner};
use crate::cli::connection::operator;
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::offline::disk::unreadable;
use crate::cli::report::{Report, ReportText};
use crate::cli::text::words::{count, now_ms};
use crate::host::ProjectContext;
use crate::store::dirs::{ProjectDirs, exists, make_private_dir};
use crate::store::owner::{Hold, hold, is_owned};
use crate::store::{registry, sentinel};
use crate::wire::control::{Command, ProgramCode, StopParams};

/// How long an owner that cannot be asked may take to go by itself: a daemon that is just ending,
/// or a command that has the project to itself for a moment.
const GOES_WAIT: Duration = Duration::from_secs(2);

/// From the signal to the end of a process. Above a daemon's own deadlines together.
const END_WAIT: Duration = Duration::from_secs(20);

/// Arguments of `kill`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay kill")]
pub struct Args {
    /// The daemons of all projects
    #[arg(long)]
    pub all: bool,
}

/// What became of one project.
struct Killed {
    root: PathBuf,
    was: Was,
}

/// What there was to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Was {
    /// Nothing.
    Stopped,
    /// A daemon that ended as it was asked, or by itself.
    Running,
    /// A process that could not be asked, or did not end though it agreed. It ended on a signal.
    Stuck(Pid),
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    wait_for(async {
        // The mark would lie where the daemon does not look for it; with `--all` it lies right.
        if !args.all
            && let Some(elsewhere) = StateElsewhere::of(&context.project)
        {
            return Err(elsewhere.failure());
        }
        let stop = Command::Stop(StopParams { kill: true });
        operator::check(context, &stop).await?;
        let projects = targets(context, args.all)?;
        if !args.all && !is_begun(&context.project.dirs) {
            // Nothing to stop, and no project is made of this folder for it.
            return context.out.report(report_none(&context.project.dirs));
        }
        let what = if args.all {
            format!(
                "This ends the daemons of {} and keeps the agents from starting them again.",
                count(projects.len() as u64, "project", "projects")
            )
        } else {
            format!(
                "This ends the daemon of {} and keeps the agents from starting it again.",
                context.project.dirs.root.display()
            )
        };
        operator::confirm(context, &what, "kill")?;
        let mut killed = Vec::new();
        let mut failed = None;
        for project in projects {
            match kill(&project, stop.clone()).await {
                Ok(was) => killed.push(Killed {
                    root: project.dirs.root,
                    was,
                }),
                // The others are still to be ended.
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        match failed {
            // One JSON value, also on failure. Where nothing was ended there is nothing to report.
            Some(failure) if context.out.is_json() || killed.is_empty() => Err(failure),
            failed => {
                let kind = context.out.report(report(&killed))?;
                failed.map_or(Ok(kind), Err)
            }
        }
    })
}

/// Whether ctxrelay was ever here.
fn is_begun(dirs: &ProjectDirs) -> bool {
    exists(&dirs.relay) || exists(&dirs.state)
}

fn report_none(dirs: &ProjectDirs) -> Report {
    let rows = json!({"projectRoot": dirs.root, "wasRunning": false, "signalledPid": null});
    let text = format!(
        "{}: no daemon runs here, and nothing of ctxrelay is here to stop",
        dirs.root.display()
    );
    Report::new(&json!({"killed": [rows]}), text)
}

fn report(killed: &[Killed]) -> Report {
    let rows: Vec<Value> = killed
        .iter()
        .map(|one| {
            let signalled = match one.was {
                Was::Stuck(pid) => Some(pid.as_raw_pid()),
                Was::Running | Was::Stopped => None,
            };
            json!({
                "projectRoot": one.root,
                "wasRunning": one.was != Was::Stopped,
                "signalledPid": signalled,
            })
        })
        .collect();
    let mut text = ReportText::new();
    for one in killed {
        let word = match one.was {
            Was::Running => "ended".to_owned(),
            Was::Stuck(pid) => format!(
                "did not end by itself; process {} was told to end, and did",
                pid.as_raw_pid()
            ),
            Was::Stopped => "was not running, stays stopped".to_owned(),
        };
        text.line(format!("{}: {word}", one.root.display()));
    }
    text.note("start it again with `ctxrelay`, `daemon`, `claude`, `codex` or `pair`");
    Report::new(&json!({"killed": rows}), text)
}

fn targets(context: &CliContext, all: bool) -> Result<Vec<ProjectContext>, Failure> {
    let own = &context.project;
    if !all {
        return Ok(vec![own.clone()]);
    }
    let instances = registry::list(&own.user_dirs)
        .map_err(|error| unreadable(&own.user_dirs.instances(), &error))?;
    Ok(instances
        .into_iter()
        .map(|instance| {
            let state = Some(instance.state_dir).filter(|dir| !dir.as_os_str().is_empty());
            ProjectDirs::new(instance.project_root, state)
        })
        .filter(|dirs| exists(&dirs.relay))
        .map(|dirs| ProjectContext {
            begun: dirs.relay.clone(),
            dirs,
            ..own.clone()
        })
        .collect())
}

async fn kill(project: &ProjectContext, stop: Command) -> Result<Was, Failure> {
    let asked = match connect::operator(project).await {
        DaemonFound::Live(live) => match live.ask(stop).await {
            Ok(_) => true,
            // It went silent over it, or is of another version and does not know the word.
            Err(failure) if failure.kind == ExitKind::Unavailable => false,
            Err(failure) => return Err(failure),
        },
        DaemonFound::Nobody | DaemonFound::Unfit(_) => false,
    };
    // The daemon writes it as it ends; here it also stands when there was none, or a stuck one.
    make_private_dir(&project.dirs.relay)
        .and_then(|()| make_private_dir(&project.dirs.state))
        .and_then(|()| sentinel::write(&project.dirs, now_ms()))
        .map_err(|error| {
            Failure::unwritable(&project.dirs.state, error, "make it writable for you")
        })?;
    if asked {
        return end_asked(&project.dirs, END_WAIT, END_WAIT).await;
    }
    end_owner(&project.dirs, GOES_WAIT, END_WAIT).await
}

/// Waits for the end of a daemon that has agreed to it. One that hangs over it is ended like one that
/// cannot be asked.
async fn end_asked(
    dirs: &ProjectDirs,
    goes_wait: Duration,
    end_wait: Duration,
) -> Result<Was, Failure> {
    if !is_owned(dirs) || becomes_free(dirs, goes_wait).await {
        return Ok(Was::Running);
    }
    end_owner(dirs, Duration::ZERO, end_wait).await
}

/// Ends the process that has the project's lock, when there is one.
async fn end_owner(
    dirs: &ProjectDirs,
    goes_wait: Duration,
    end_wait: Duration,
) -> Result<Was, Failure> {
    if !is_owned(dirs) {
        return Ok(Was::Stopped);
    }
    if becomes_free(dirs, goes_wait).await {
        return Ok(Was::Running);
    }
    let Some(pid) = owner(dirs) else {
        if hold(dirs) == Hold::NoLocks {
            return Ok(Was::Stopped);
        }
        let lock = dirs.state_file("daemon.lock");
        let named = named_owners(dirs).next().map_or_else(
            || "see who has the file open, and end it".to_owned(),
            |pid| format!("process {} may be it: look, and end it", pid.as_raw_pid()),
        );
        return Err(Failure::unavailable(
            ProgramCode::OwnerUnknown,
            format!(
                "a process that cannot be asked has {}, and which one is not certain",
                lock.display()
            ),
            named,
        ));
    };
    let raw = pid.as_raw_pid();
    if let Err(error) = kill_process(pid, Signal::TERM)
        && error != rustix::io::Errno::SRCH
    {
        return Err(Failure::unavailable(
            ProgramCode::StillRunning,
            format!("process {raw} does not answer and takes no signal of yours: {error}"),
            format!("end process {raw} as the user who started it"),
        ));
    }
    // One that was stopped in its terminal takes the signal only when it goes on.
    let _ = kill_process(pid, Signal::CONT);
    if becomes_free(dirs, end_wait).await {
        return Ok(Was::Stuck(pid));
    }
    Err(Failure::unavailable(
        ProgramCode::StillRunning,
        format!(
            "process {raw} does not answer, was told to end, and did not within {} s",
            end_wait.as_secs()
        ),
        format!("end it with `kill -9 {raw}`; the project stays stopped"),
    ))
}

#[cfg(test)]
mod tests;
