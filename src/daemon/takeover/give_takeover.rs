//! [`give_takeover`]: another process takes over from this one; [`TakeoverOutcome`]: how that went.

use std::process::Command;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Takeover;
use super::next_daemon::NextDaemon;
use super::next_daemon_error::NextDaemonError;
use crate::daemon::running::Running;
use crate::daemon::start_error::StartError;
use crate::wire::control::Refusal;

/// How long the daemon may take to come to a halt: its own steps together, and a little.
const LEAVE_WAIT: Duration = Duration::from_secs(25);

/// How it went.
#[derive(Debug)]
pub enum TakeoverOutcome {
    /// Another process has everything.
    Done,
    /// It could not; the daemon goes on here.
    Kept(Box<Running>, NextDaemonError),
    /// The daemon has ended, and nobody goes on.
    Ended(NextDaemonError),
    /// As [`Self::Ended`], by [`DaemonFault::Hung`](crate::daemon::fault::DaemonFault::Hung): this
    /// process keeps the project until it ends.
    Hung,
}

/// Has the program of a command go on in place of this process, which ends by itself when nobody
/// needs it if `detached`. `begun` is told whether it can, before anything is stopped. Where the
/// next process fails, `go_on` starts a daemon here again, detached as this one was.
pub async fn give_takeover(
    running: Running,
    program: Command,
    detached: bool,
    begun: impl FnOnce(Result<(), Refusal>),
    go_on: impl AsyncFnOnce(Takeover, bool) -> Result<Running, StartError>,
) -> TakeoverOutcome {
    let started = spawn_blocking(|| NextDaemon::start(program)).await;
    let next = match started.map_err(NextDaemonError::from).flatten() {
        Ok(next) => next,
        Err(error) => {
            begun(Err(error.to_refusal()));
            return TakeoverOutcome::Kept(Box::new(running), error);
        }
    };
    if let Err(refusal) = running.handle.begin_takeover().await {
        begun(Err(refusal.clone()));
        next.dismiss();
        return TakeoverOutcome::Kept(Box::new(running), NextDaemonError::Refused(refusal));
    }
    begun(Ok(()));
    let was_detached = running.published.detached;
    let left = timeout(LEAVE_WAIT, running.takeover).await;
    let Ok(Ok(mut takeover)) = left else {
        next.dismiss();
        let has_ended = left.is_ok();
        if has_ended {
            // How it ended is known once it has.
            running.handle.ended().cancelled().await;
        }
        if !has_ended || running.handle.is_hung() {
            return TakeoverOutcome::Hung;
        }
        return TakeoverOutcome::Ended(NextDaemonError::NotHandedOver);
    };
    takeover.detached = detached;
    match spawn_blocking(|| next.give(takeover)).await {
        Ok(Ok(())) => TakeoverOutcome::Done,
        Ok(Err((takeover, error))) => {
            let why = error.to_string();
            tracing::error!(why, "nobody takes over; going on here");
            match go_on(*takeover, was_detached).await {
                Ok(running) => TakeoverOutcome::Kept(Box::new(running), error),
                Err(error) => TakeoverOutcome::Ended(error.into()),
            }
        }
        Err(error) => TakeoverOutcome::Ended(error.into()),
    }
}
