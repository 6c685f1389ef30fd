//! [`give_takeover`]: another process takes over from this one; [`TakeoverOutcome`]: how that went.

use std::future::ready;
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::exit::Failure;
use super::next_daemon::NextDaemon;
use crate::host::{DaemonFault, ProjectContext, Running};
use crate::wire::control::RefusalCode;

/// How long the daemon may take to come to a halt: its own steps together, and a little.
const LEAVE_WAIT: Duration = Duration::from_secs(25);

/// How it went.
#[derive(Debug)]
pub enum TakeoverOutcome {
    /// Another process has everything.
    Done,
    /// It could not; the daemon goes on here.
    Kept(Box<Running>, Failure),
    /// The daemon has ended, and nobody goes on.
    Ended(Failure),
    /// As [`Self::Ended`], and this process keeps the project until it ends.
    Hung(Failure),
}

/// Has a program go on in place of this process, which ends by itself when nobody needs it if
/// `detached`. `begun` is told whether it can, before anything is stopped.
pub async fn give_takeover(
    setting: &ProjectContext,
    running: Running,
    program: &Path,
    detached: bool,
    begun: impl FnOnce(Result<(), &Failure>),
) -> TakeoverOutcome {
    let next = {
        let (setting, program) = (setting.clone(), program.to_owned());
        blocking(move || NextDaemon::start(&setting, &program)).await
    };
    let next = match next {
        Ok(next) => next,
        Err(failure) => {
            begun(Err(&failure));
            return TakeoverOutcome::Kept(Box::new(running), failure);
        }
    };
    if let Err(refusal) = running.handle.begin_takeover().await {
        let failure = Failure::from(refusal);
        begun(Err(&failure));
        next.dismiss();
        return TakeoverOutcome::Kept(Box::new(running), failure);
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
            return TakeoverOutcome::Hung(DaemonFault::Hung.into());
        }
        return TakeoverOutcome::Ended(Failure::unavailable(
            RefusalCode::NotHandedOver,
            "the daemon could not leave what was under way, and ended",
            "see .contextrelay/state/contextrelay.log",
        ));
    };
    takeover.detached = detached;
    match blocking(move || Ok(next.give(takeover))).await {
        Ok(Ok(())) => TakeoverOutcome::Done,
        Ok(Err((takeover, failure))) => {
            tracing::error!(why = failure.message, "nobody takes over; going on here");
            match setting
                .take_over(*takeover, ready(true), was_detached)
                .await
            {
                Ok(running) => TakeoverOutcome::Kept(Box::new(running), failure),
                Err(error) => TakeoverOutcome::Ended(error.into()),
            }
        }
        Err(failure) => TakeoverOutcome::Ended(failure),
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(Failure::internal("let another process take over", error)))
}
