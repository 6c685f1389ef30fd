//! `ctxrelay kill`: ends the daemon and leaves the `killed` sentinel. An operator command.
//!
//! Depends on nothing that a broken daemon could hold up: when none answers, the sentinel alone
//! is written.

use serde_json::{Value, json};

use super::connect::{self, Found, runtime};
use super::context::Context;
use super::disk::unreadable;
use super::exit::{ExitKind, Failure, Verdict};
use super::operator;
use super::words::{count, now_ms};
use crate::host::Setting;
use crate::store::dirs::{ProjectDirs, exists, make_private_dir};
use crate::store::{registry, sentinel};
use crate::wire::control::{Command, StopParams};

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
    root: std::path::PathBuf,
    was_running: bool,
}

pub fn run(context: &Context, args: &Args) -> Verdict {
    runtime()?.block_on(async {
        let stop = Command::Stop(StopParams { kill: true });
        operator::check(context, &stop).await?;
        let settings = targets(context, args.all)?;
        let what = if args.all {
            format!(
                "This ends the daemons of {} and keeps the agents from starting them again.",
                count(settings.len() as u64, "project", "projects")
            )
        } else {
            format!(
                "This ends the daemon of {} and keeps the agents from starting it again.",
                context.setting.dirs.root.display()
            )
        };
        operator::confirm(context, &what, "kill")?;
        let mut killed = Vec::new();
        let mut failed = None;
        for setting in settings {
            match kill(&setting, stop.clone()).await {
                Ok(was_running) => killed.push(Killed {
                    root: setting.dirs.root,
                    was_running,
                }),
                // The others are still to be ended.
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        match failed {
            // One JSON value, also on failure.
            Some(failure) if context.out.is_json() => Err(failure),
            failed => {
                report(context, &killed)?;
                failed.map_or(Ok(ExitKind::Ok), Err)
            }
        }
    })
}

fn report(context: &Context, killed: &[Killed]) -> Result<(), Failure> {
    if context.out.is_json() {
        let rows: Vec<Value> = killed
            .iter()
            .map(|one| json!({"projectRoot": one.root, "wasRunning": one.was_running}))
            .collect();
        return context.out.json(&json!({"killed": rows}));
    }
    for one in killed {
        let word = if one.was_running {
            "ended"
        } else {
            "was not running, stays stopped"
        };
        context
            .out
            .line(&format!("{}: {word}", one.root.display()))?;
    }
    context
        .out
        .note("start it again with `ctxrelay`, `daemon`, `claude`, `codex` or `pair`");
    Ok(())
}

fn targets(context: &Context, all: bool) -> Result<Vec<Setting>, Failure> {
    let own = &context.setting;
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
        .map(|dirs| Setting {
            dirs,
            ..own.clone()
        })
        .collect())
}

/// Says whether a daemon was running.
async fn kill(setting: &Setting, stop: Command) -> Result<bool, Failure> {
    let was_running = match connect::operator(setting).await {
        Found::Live(live) => {
            live.ask(stop).await?;
            true
        }
        Found::Nobody | Found::Unfit(_) => false,
    };
    // The daemon writes it as it ends; here it also stands when there was none, or a stuck one.
    make_private_dir(&setting.dirs.relay)
        .and_then(|()| make_private_dir(&setting.dirs.state))
        .and_then(|()| sentinel::write(&setting.dirs, now_ms()))
        .map_err(|error| {
            Failure::state(
                "unwritable",
                format!("cannot write {}: {error}", setting.dirs.state.display()),
                "make it writable for you",
            )
        })?;
    Ok(was_running)
}
