//! `ctxrelay` alone: the deck of this project, which hosts the daemon or attaches to it.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use ctxrelay_ui::QuitChoice;
use ctxrelay_ui::model::Level;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::cli::connection::connect::is_ending;
use crate::cli::connection::state_elsewhere::StateElsewhere;
use crate::cli::context::CliContext;
use crate::cli::exit::{CliOutcome, ExitKind, Failure};
use crate::cli::lifecycle::daemon::serve_until_end;
use crate::cli::lifecycle::detach;
use crate::cli::lifecycle::end_signals::{END_WAIT, EndSignals, at_once, too_late};
use crate::cli::lifecycle::replace::offer;
use crate::cli::logging;
use crate::cli::screen::deck_screen::{DeckScreen, about, options, stop_of};
use crate::cli::screen::hosted::{Hosted, clients, may_host};
use crate::core::agent::AgentState;
use crate::daemon::running::Running;
use crate::daemon::start::StartError;
use crate::deck::event_loop::deck_exit::DeckExit;
use crate::deck::event_loop::run::run as show;
use crate::host::{DaemonFault, ProjectContext, TakeoverOutcome};
use crate::store::ledger::ReadProgress;
use crate::store::owner::is_held;
use crate::store::published::Published;
use crate::wire::control::{Command, ProgramCode, RefusalCode};
use crate::wire::status::Status;

/// How long a start may take to be done after the operator has left its screen.
const LEFT_WAIT: Duration = Duration::from_secs(1);

/// Threads of the runtime. Drawing and input have their own.
const THREADS: usize = 2;

pub fn run(context: &CliContext) -> CliOutcome {
    run_saying(context, None)
}

/// As [`run`], with something to say from the start.
pub fn run_saying(context: &CliContext, said: Option<String>) -> CliOutcome {
    if context.out.is_json() || !has_terminal() {
        return Err(Failure::new(
            ExitKind::Usage,
            ProgramCode::NoTerminal,
            "the deck needs a terminal",
            "see `ctxrelay --help`; without a screen there are `ctxrelay daemon` and `ctxrelay status`",
        ));
    }
    let project = &context.project;
    let runtime = runtime()?;
    let _log = logging::start(project);
    let after = loop {
        let opened = if !is_held(&project.dirs) {
            may_host(project)?;
            runtime.block_on(open(project))?
        } else if let Some(elsewhere) = StateElsewhere::of(project) {
            return Err(elsewhere.failure());
        } else {
            Opened::Owned
        };
        break match opened {
            Opened::Left => Ok(After {
                daemon: DaemonAfter::Nothing,
                has_failed: false,
            }),
            Opened::Here(shown, running) => runtime.block_on(host(context, shown, running, said)),
            Opened::Owned => {
                let read_only = offer(context, &runtime);
                match runtime.block_on(attach(context, read_only, said.clone())) {
                    Ok(Some(left)) => Ok(After {
                        daemon: DaemonAfter::Nothing,
                        has_failed: left == DeckExit::Failed,
                    }),
                    // The place is free.
                    Ok(None) => continue,
                    Err(failure) => Err(failure),
                }
            }
        };
    };
    runtime.shutdown_timeout(Duration::from_secs(1));
    let After { daemon, has_failed } = after?;
    let verdict = match daemon {
        DaemonAfter::Nothing => Ok(ExitKind::Ok),
        DaemonAfter::GoesOn(said) => {
            let ready = Published::read(&project.dirs).ok_or_else(Failure::no_daemon)?;
            report(context, said, &ready)
        }
        // Only now is the lock free.
        DaemonAfter::StartsAnew(said) => report(context, said, &detach::start(context, false)?),
    };
    if has_failed {
        return Err(Failure::internal(
            "draw the deck",
            "a fault of ctxrelay's own",
        ));
    }
    verdict
}

/// How far the first frame has led.
enum Opened {
    /// The daemon runs in this process.
    Here(DeckScreen, Box<Running>),
    /// Somebody else was faster.
    Owned,
    /// The operator left before it ran.
    Left,
}

/// Opens the screen and starts the daemon behind it: reading a long record takes time.
async fn open(project: &ProjectContext) -> Result<Opened, Failure> {
    let shown = DeckScreen::open()?;
    let reading = ReadProgress::default();
    // A task of its own: parts of a start do not let go of their thread.
    let mut start = tokio::spawn({
        let (project, reading) = (project.clone(), reading.clone());
        async move { project.start_daemon_watched(false, true, reading).await }
    });
    let about = about(project, false);
    let Some((shown, started)) = shown.wait_for(about, &reading, &mut start).await else {
        // One that is just done ends in order; the process does not wait for any other.
        if let Ok(Ok(Ok(running))) = timeout(LEFT_WAIT, start).await {
            end(running, &mut EndSignals::listen_once_more()?).await?;
        }
        return Ok(Opened::Left);
    };
    let failure = match started {
        Ok(Ok(running)) => return Ok(Opened::Here(shown, Box::new(running))),
        Ok(Err(StartError::Owned)) => None,
        Ok(Err(error)) => Some(Failure::from(error)),
        Err(panicked) => Some(Failure::internal("start the daemon", panicked)),
    };
    // What went wrong is said on the terminal as it was.
    shown.display.close().await;
    failure.map_or(Ok(Opened::Owned), Err)
}

/// How it stands when the deck was left for good.
struct After {
    daemon: DaemonAfter,
    /// Drawing had failed by a fault of our own.
    has_failed: bool,
}

/// What is to be done about the daemon then.
enum DaemonAfter {
    Nothing,
    /// Another process has it; says why.
    GoesOn(&'static str),
    /// A new one is to begin; says why.
    StartsAnew(&'static str),
}

fn report(context: &CliContext, said: &str, ready: &Published) -> CliOutcome {
    context.out.line(&format!(
        "{said}: the daemon goes on in the background, control port {}; `ctxrelay` comes back to it",
        ready.control_port
    ))?;
    Ok(ExitKind::Ok)
}

/// The deck over the daemon of this process, until it is left for good.
async fn host(
    context: &CliContext,
    mut shown: DeckScreen,
    mut running: Box<Running>,
    said: Option<String>,
) -> Result<After, Failure> {
    let mut once_more = EndSignals::listen_once_more()?;
    let mut notice = said.map(|said| (Level::Warn, said));
    loop {
        let left = show_once(context, shown, *running, notice).await?;
        let has_failed = left.exit == DeckExit::Failed;
        match leave(&context.project, left, &mut once_more).await? {
            Next::Over(daemon) => return Ok(After { daemon, has_failed }),
            Next::Again(kept, why) => (running, notice) = (kept, Some((Level::Error, why))),
        }
        shown = match DeckScreen::open() {
            Ok(shown) => shown,
            Err(failure) => {
                end(*running, &mut once_more).await?;
                return Err(failure);
            }
        };
    }
}

/// How a deck was left that began with a daemon of this process.
struct LeftDeck {
    exit: DeckExit,
    /// The process was told to end.
    was_told: bool,
    hosted: Hosted,
}

/// The deck over the daemon of this process, until it is left.
async fn show_once(
    context: &CliContext,
    shown: DeckScreen,
    running: Running,
    notice: Option<(Level, String)>,
) -> Result<LeftDeck, Failure> {
    let project = &context.project;
    let told_to_end = shown.told_to_end.clone();
    let hosted = Hosted::here(project, running).await?;
    let Hosted::Here { client, .. } = &hosted else {
        return Err(Failure::no_daemon());
    };
    let about = about(project, false);
    let mut options = options(project, about, client.clone(), client.clone(), &shown);
    options.hosting = true;
    options.notice = notice.or(options.notice);
    let hosted = Arc::new(Mutex::new(hosted));
    options.restart = {
        let (project, hosted) = (project.clone(), Arc::clone(&hosted));
        Arc::new(move || {
            let (project, hosted) = (project.clone(), Arc::clone(&hosted));
            Box::pin(async move {
                let mut hosted = hosted.lock().await;
                let again = hosted.again(&project).await;
                let (again, restarted) = again.map_err(|failure| failure.message)?;
                *hosted = again;
                Ok(Some(restarted))
            })
        })
    };
    let exit = show(shown.display, options, |line| context.out.note(line)).await;
    let was_told = *told_to_end.borrow();
    let hosted = Arc::into_inner(hosted).ok_or_else(Failure::no_daemon)?;
    Ok(LeftDeck {
        exit,
        was_told,
        hosted: hosted.into_inner(),
    })
}

/// What comes after a deck that was left.
enum Next {
    /// Nothing: it was left for good.
    Over(DaemonAfter),
    /// Another deck over this daemon, which tells why.
    Again(Box<Running>, String),
}

/// Ends the daemon of a deck that was left, or gives it to another process.
async fn leave(
    project: &ProjectContext,
    left: LeftDeck,
    once_more: &mut EndSignals,
) -> Result<Next, Failure> {
    const NOTHING: Next = Next::Over(DaemonAfter::Nothing);
    let LeftDeck { exit, was_told, .. } = left;
    if was_told {
        once_more.forget();
    }
    let (mut running, client) = match left.hosted {
        Hosted::Here { running, client } => (*running, client),
        Hosted::Elsewhere { operator } => {
            if let Some(stop) = stop_of(exit) {
                operator.call(stop).await?;
            }
            return Ok(NOTHING);
        }
    };
    if running.handle.fault().is_some() {
        // It was left as it was: the process ends as a daemon without a screen would.
        return Ok(running.ended().await.map(|()| NOTHING)?);
    }
    let status = client.ask_for::<Box<Status>>(Command::ReadStatus).await;
    let status = status.ok();
    let is_needed = status.as_deref().is_some_and(is_needed);
    let said = match exit {
        DeckExit::Chosen(QuitChoice::Stay) => "left",
        // Whatever became of the screen, the agents keep their daemon.
        DeckExit::Gone if is_needed => "the terminal went away",
        DeckExit::Failed if is_needed => "the deck could not be drawn",
        DeckExit::Chosen(_) | DeckExit::Gone | DeckExit::Failed => {
            let is_kept = exit == DeckExit::Chosen(QuitChoice::KeepStopped);
            running.handle.shutdown(is_kept).await;
            end(running, once_more).await?;
            return Ok(NOTHING);
        }
    };
    let program = project.own_program.clone();
    let giving = project.give_takeover(running, &program, true, |_| ());
    let again = async || once_more.next().await;
    let (given, is_told) = unless_insisted(giving, was_told, again).await?;
    let (kept, failure) = match given {
        TakeoverOutcome::Done => return Ok(Next::Over(DaemonAfter::GoesOn(said))),
        TakeoverOutcome::Kept(kept, error) => (kept, Failure::from(error)),
        TakeoverOutcome::Ended(error) => {
            tracing::error!(why = error.to_string(), "a new daemon begins");
            return Ok(Next::Over(DaemonAfter::StartsAnew(said)));
        }
        TakeoverOutcome::Hung => return Err(DaemonFault::Hung.into()),
    };
    if is_told && !was_told {
        // Meanwhile, and there is no other process: this one ends with what it has.
        end(*kept, once_more).await?;
        return Ok(NOTHING);
    }
    if matches!(exit, DeckExit::Gone | DeckExit::Failed) {
        // Nobody is left to be told: the daemon goes on right here, without a screen.
        stay(project, *kept).await?;
        return Ok(NOTHING);
    }
    let in_turn = status.is_some_and(|status| status.agents.codex.turn_id.is_some());
    if failure.is(&RefusalCode::CannotTakeOver) && !in_turn {
        // Another version was installed meanwhile, and nothing is lost by a stop.
        end(*kept, once_more).await?;
        return Ok(Next::Over(DaemonAfter::StartsAnew(said)));
    }
    let why = format!("{}; {}", failure.message, failure.hint);
    Ok(Next::Again(kept, why))
}

/// Whether somebody would miss the daemon that is told so. Not by a gate that runs: the next process
/// does not go on with it.
fn is_needed(status: &Status) -> bool {
    let (claude, codex) = (&status.agents.claude, &status.agents.codex);
    // Codex works for messages of Claude's without a terminal too.
    let is_at_work = matches!(codex.state, AgentState::Busy | AgentState::Waiting)
        || codex.turn_id.is_some()
        || status.queue.codex.in_flight > 0;
    // The deck that asks is one of them still.
    let has_other_deck = status.decks > 1;
    claude.state.is_attached() || codex.tui || is_at_work || has_other_deck
}

/// Does this, unless somebody insists on the end meanwhile: who was told to end already by the next
/// signal, who was not by the second. Whether it was told to by now.
async fn unless_insisted<T>(
    doing: impl Future<Output = T>,
    was_told: bool,
    mut once_more: impl AsyncFnMut(),
) -> Result<(T, bool), Failure> {
    let mut is_told = was_told;
    tokio::pin!(doing);
    loop {
        tokio::select! {
            done = &mut doing => return Ok((done, is_told)),
            () = once_more() => {
                if std::mem::replace(&mut is_told, true) {
                    return Err(at_once());
                }
            }
        }
    }
}

/// Goes on in this process, as a daemon that ends when nobody needs it.
async fn stay(project: &ProjectContext, running: Running) -> Result<(), Failure> {
    let signals = EndSignals::listen()?;
    let running = match running.handle.begin_takeover().await {
        Err(_) => running,
        Ok(()) => match running.takeover.await {
            Ok(takeover) => project.take_over(takeover, true).await?,
            Err(_) => return Err(Failure::no_daemon()),
        },
    };
    serve_until_end(project, running, signals).await.map(drop)
}

/// The deck over a daemon that runs elsewhere; without the operator's way in when it must be left
/// alone. `None`: that daemon was just ending.
async fn attach(
    context: &CliContext,
    read_only: Option<String>,
    said: Option<String>,
) -> Result<Option<DeckExit>, Failure> {
    let project = &context.project;
    let (client, operator) = clients(project);
    if is_ending(project, &client).await {
        return Ok(None);
    }
    let operator = match read_only {
        Some(_) => client.clone(),
        None => operator,
    };
    let shown = DeckScreen::open()?;
    let about = about(project, false);
    let mut options = options(project, about, client, operator.clone(), &shown);
    let read_only = read_only.map(|why| (Level::Error, why));
    let said = said.map(|said| (Level::Warn, said));
    options.notice = read_only.or(said).or(options.notice);
    options.restart = {
        let project = project.clone();
        Arc::new(move || {
            let project = project.clone();
            Box::pin(async move {
                let started = spawn_blocking(move || detach::start_again_unseen(&project)).await;
                match started {
                    // The clients look for it all the time.
                    Ok(Ok(_)) => Ok(None),
                    Ok(Err(failure)) => Err(format!("{}: {}", failure.message, failure.hint)),
                    Err(_) => Err("it could not be started".to_owned()),
                }
            })
        })
    };
    let left = show(shown.display, options, |line| context.out.note(line)).await;
    if let Some(stop) = stop_of(left) {
        operator.call(stop).await?;
    }
    Ok(Some(left))
}

/// Ends the daemon in order, unless that takes too long or somebody insists.
pub(in crate::cli) async fn end(
    mut running: Running,
    once_more: &mut EndSignals,
) -> Result<(), Failure> {
    running.handle.shutdown(false).await;
    tokio::select! {
        ended = timeout(END_WAIT, running.ended()) => match ended {
            Ok(ended) => Ok(ended?),
            Err(_) => Err(too_late()),
        },
        () = once_more.next() => Err(at_once()),
    }
}

pub(in crate::cli) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

pub(in crate::cli) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(|error| Failure::internal("start the runtime", error))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use super::*;

    /// Hands over for as long as so many signals wait to be heeded.
    async fn giving(signals: usize, was_told: bool) -> Result<((), bool), Failure> {
        let waiting = Cell::new(signals);
        let doing = async {
            while waiting.get() > 0 {
                tokio::task::yield_now().await;
            }
        };
        let once_more = async || match waiting.get() {
            0 => pending().await,
            some => waiting.set(some - 1),
        };
        unless_insisted(doing, was_told, once_more).await
    }

    #[tokio::test]
    async fn the_second_signal_ends_a_deck_that_hands_its_daemon_over() {
        assert_eq!(giving(0, false).await, Ok(((), false)));
        assert_eq!(giving(0, true).await, Ok(((), true)));
        // The first is heeded behind it.
        assert_eq!(giving(1, false).await, Ok(((), true)));
        for (signals, was_told) in [(2, false), (1, true)] {
            let ended = giving(signals, was_told).await.unwrap_err();
            assert_eq!(ended.kind, ExitKind::Internal);
            assert!(ended.message.contains("a second signal"));
        }
    }
}
