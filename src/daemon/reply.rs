//! [`ReplySender`]: the way back to the caller; and the refusals that several places give.

use tokio::sync::oneshot;

use crate::wire::control::{Refusal, RefusalCode, Reply};

/// The answer to a command.
pub type ReplySender = oneshot::Sender<Result<Reply, Refusal>>;

/// Answers, unless the asker has gone.
pub(super) fn answer(reply: ReplySender, result: Result<Reply, Refusal>) {
    let _ = is_answered(reply, result);
}

/// As [`answer`]; whether somebody was there to take it.
pub(super) fn is_answered(reply: ReplySender, result: Result<Reply, Refusal>) -> bool {
    reply.send(result).is_ok()
}

/// Refuses because the daemon ends.
pub(super) fn stopping() -> Refusal {
    Refusal::new(
        RefusalCode::DaemonStopping,
        "the daemon is stopping",
        "the call was not carried out; try again once a daemon runs",
    )
}

/// Refuses a client that has not said who it is.
pub(super) fn no_hello() -> Refusal {
    Refusal::new(
        RefusalCode::NoHello,
        "say hello first",
        "send a `hello` request with protocol, role and pid",
    )
}

/// Refuses for now: so much of something waits already.
pub(super) fn too_much(waits: impl Into<String>) -> Refusal {
    let hint = "nothing is wrong; try again in a moment";
    Refusal::new(RefusalCode::Overloaded, waits, hint)
}

/// Refuses because nobody drives Codex.
pub(super) fn no_adapter() -> Refusal {
    Refusal::new(
        RefusalCode::CodexUnavailable,
        "the Codex adapter takes no requests",
        "try again in a moment",
    )
}
