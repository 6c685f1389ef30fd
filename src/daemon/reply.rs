//! [`ReplySender`]: the way back to who asked.

use tokio::sync::oneshot;

use crate::wire::control::{Refusal, RefusalCode, Reply};

/// The answer to a command.
pub type ReplySender = oneshot::Sender<Result<Reply, Refusal>>;

/// Answers, unless the asker has gone.
pub(super) fn answer(reply: ReplySender, result: Result<Reply, Refusal>) {
    let _ = reply.send(result);
}

/// Refuses because the daemon ends.
pub(super) fn stopping() -> Refusal {
    Refusal::new(
        RefusalCode::DaemonStopping,
        "the daemon is stopping",
        "the call was not carried out; try again once a daemon runs",
    )
}
