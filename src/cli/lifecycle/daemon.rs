//! `ctxrelay daemon`: the daemon without a screen.

use std::time::Duration;

use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::cli::connection::connect;
use crate::cli::connection::operator;
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::lifecycle::detach;
use crate::cli::lifecycle::end_signals::{END_WAIT, EndSignals, at_once, too_late};
use crate::cli::lifecycle::replace::replace;
use crate::cli::logging;
use crate::cli::output::Output;
use crate::cli::report::Report;
use crate::cli::text::gauge::Gauge;
use crate::host::{
    DaemonFault, PreviousDaemon, ProjectContext, Replacement, Running, StartError, Takeover,
    TakeoverOutcome, on_heap,
};
use crate::store::dirs::{ProjectDirs, exists};
use crate::store::ledger::ReadProgress;
use crate::store::published::Published;
use crate::store::shown_reading::ShownReading;
use crate::wire::control::{RefusalCode, Reply};

/// How long a start may take before it says what takes so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it looks how far that is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What `--detach` says of a daemon that runs already, and not in the background.
const IN_ANOTHER_TERMINAL: &str = "it runs already, as part of a deck or of `ctxrelay daemon` in \
    another terminal, and can end with that one. To keep it, leave that deck with “stay”: the \
    daemon then goes on in the background";

/// Threads of the runtime: the loop is one task, the rest waits for sockets.
const THREADS: usize = 2;

/// Arguments of `daemon`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay daemon --detach")]
pub struct Args {
    /// Go on in the background; it ends by itself after 30 s in which nothing is attached, and no
    /// message and no question to you waits
    #[arg(long)]
    pub detach: bool,
    /// Go on in place of the daemon that runs, for instance after an update
    #[arg(long, conflicts_with = "detach")]
    pub replace: bool,
    /// Do not start what the operator killed, or where nobody has begun
    #[arg(long, hide = true)]
    pub unless_killed: bool,
    /// The background process itself
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub detached_child: bool,
    /// As the background process, in place of the daemon on standard input
    #[arg(long, hide = true, conflicts_with_all = ["detach", "detached_child", "replace"])]
    pub take_over: bool,
}

pub fn run(context: &CliContext, args: &Args) -> CliOutcome {
    if args.unless_killed && !exists(&context.project.dirs.relay) {
        // It was there a moment ago, for the agent that starts us.
        return Err(Failure::state(
            RefusalCode::NoProject,
            format!(
                "{} is no ctxrelay project",
                context.project.dirs.root.display()
            ),
            "begin with `ctxrelay init` or `ctxrelay`",
        ));
    }
    if args.detach {
        let ready = detach::start(context, !args.unless_killed)?;
        announce(&context.out, &context.project.dirs, &ready)?;
        if !ready.detached {
            context.out.note(IN_ANOTHER_TERMINAL);
        }
        return Ok(ExitKind::Ok);
    }
    if args.replace {
        let runtime = connect::runtime()?;
        let ready = replace(context, &runtime)?;
        announce(&context.out, &context.project.dirs, &ready)?;
        return Ok(ExitKind::Ok);
    }
    if args.detached_child || args.take_over {
        // A session of its own: the terminal it was started from may close. Fails only for a
        // process that leads its group, and then there is no terminal to leave.
        let _ = rustix::process::setsid();
        // Nobody reads standard error, and writing to a closed one would panic once more. The log
        // tells of it.
        std::panic::set_hook(Box::new(|_| {}));
    }
    let _log = logging::start(&context.project);
    let before = if args.take_over {
        Some(PreviousDaemon::takeover(&context.project.dirs)?)
    } else {
        None
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|error| Failure::internal("start the runtime", error))?;
    let verdict = runtime.block_on(on_heap(|| serve(context, args, before)));
    runtime.shutdown_timeout(Duration::from_secs(1));
    verdict
}

async fn serve(
    context: &CliContext,
    args: &Args,
    before: Option<(PreviousDaemon, Takeover)>,
) -> CliOutcome {
    let signals = EndSignals::listen()?;
    let project = &context.project;
    let reading = ReadProgress::default();
    let shown = tokio::spawn(show_reading(project.dirs.clone(), reading.clone()));
    let started = match before {
        Some((before, takeover)) => project.take_over_from(before, takeover, reading).await,
        None => {
            let clears_kill = !args.unless_killed && operator::lifts_kill(project)?;
            project
                .start_daemon_watched(args.detached_child, clears_kill, reading)
                .await
        }
    };
    // The line is gone before the next one is written.
    shown.abort();
    let _ = shown.await;
    let running = started.map_err(|error| not_started(project, error))?;
    // A daemon goes on when nobody reads its one line.
    let _ = announce(&context.out, &project.dirs, &running.published);
    serve_until_end(project, running, signals).await
}

/// Why there is no daemon. Of one that an agent started nobody sees more than the log.
fn not_started(project: &ProjectContext, error: StartError) -> Failure {
    match error {
        // Of several starts at once one is the daemon, and one that was killed stays so: no faults.
        StartError::Killed => error.into(),
        StartError::Owned => match StateElsewhere::of(project) {
            Some(elsewhere) => elsewhere.failure(),
            None => error.into(),
        },
        error => {
            let hint = error.hint();
            tracing::error!(%error, hint, "the daemon did not start");
            error.into()
        }
    }
}

/// Shows how far the reading of a long record is: on our terminal, and to the process that waits for
/// us at another one.
async fn show_reading(dirs: ProjectDirs, reading: ReadProgress) {
    sleep(PATIENCE).await;
    let mut gauge = Gauge::of_reading(false);
    let shown = ShownReading::of(&dirs);
    loop {
        let so_far = reading.so_far();
        gauge.tell_reading(so_far);
        shown.tell(so_far);
        sleep(LOOK_EVERY).await;
    }
}

/// Stays with a daemon without a screen until it has ended, or until another process goes on.
pub(in crate::cli) async fn serve_until_end(
    project: &ProjectContext,
    running: Running,
    mut signals: EndSignals,
) -> CliOutcome {
    let mut running = running;
    let mut once_more = EndSignals::listen_once_more()?;
    let mut ending = loop {
        let ended = running.handle.ended().clone();
        let replacement = tokio::select! {
            () = ended.cancelled() => return verdict(running.ended().await),
            () = signals.next() => {
                once_more.forget();
                running.handle.shutdown(false).await;
                break running;
            }
            Some(replacement) = running.next_daemons.recv() => replacement,
        };
        let Replacement { program, reply } = replacement;
        let begun = |begun: Result<(), _>| {
            let _ = reply.send(begun.map(|()| Reply::Done));
        };
        // One that was started to stay stays.
        let detached = running.published.detached;
        let given = project.give_takeover(running, &program, detached, begun);
        let failure: Failure = match given.await {
            TakeoverOutcome::Done => return Ok(ExitKind::Ok),
            TakeoverOutcome::Kept(kept, _) => {
                running = *kept;
                continue;
            }
            TakeoverOutcome::Ended(error) => error.into(),
            TakeoverOutcome::Hung => DaemonFault::Hung.into(),
        };
        // A detached one has no other reader than the log.
        tracing::error!(why = failure.message, "nobody goes on");
        return Err(nobody_goes_on(failure));
    };
    tokio::select! {
        done = timeout(END_WAIT, ending.ended()) => match done {
            Ok(ended) => verdict(ended),
            Err(_) => Err(too_late()),
        },
        () = once_more.next() => Err(at_once()),
    }
}

/// How the process ends whose daemon ended so.
fn verdict(ended: Result<(), DaemonFault>) -> CliOutcome {
    ended.map(|()| ExitKind::Ok).map_err(Failure::from)
}

/// The daemon ended over its takeover. Only the program that asked for it may start another.
fn nobody_goes_on(failure: Failure) -> Failure {
    Failure {
        message: format!("{}; no other daemon took over", failure.message),
        hint: format!(
            "{}; `ctxrelay status` says whether one was started anew, else start it with \
             `ctxrelay daemon`",
            failure.hint
        ),
        ..failure
    }
}

/// The one line that says that the daemon is ready.
fn announce(out: &Output, dirs: &ProjectDirs, ready: &Published) -> CliOutcome {
    let value = json!({
        "ready": true,
        "pid": ready.pid,
        "version": ready.version,
        "controlPort": ready.control_port,
        "proxyPort": ready.proxy_port,
        "projectRoot": dirs.root,
        "detached": ready.detached,
    });
    let line = format!(
        "ready: control port {}, proxy port {}, pid {}, project {}",
        ready.control_port,
        ready.proxy_port,
        ready.pid,
        dirs.root.display()
    );
    out.report(Report::new(&value, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_ended_over_its_takeover_says_so_and_what_to_do() {
        let why = Failure::unavailable(
            RefusalCode::NotHandedOver,
            "it could not leave",
            "see the log",
        );
        let told = nobody_goes_on(why.clone());
        assert_eq!((told.kind, &told.code), (why.kind, &why.code));
        assert!(told.message.starts_with("it could not leave; no other"));
        assert!(told.hint.starts_with("see the log; ") && told.hint.contains("`ctxrelay daemon`"));
    }
}
