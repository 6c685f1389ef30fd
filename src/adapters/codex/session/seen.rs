//! [`Seen`]: how much Codex showed of the places where a message may be.

use crate::wire::codex::frame::RpcError;

use super::refused_thread::RefusedThread;

/// How much Codex showed of where a message of ours may be. A list that it refuses says nothing of
/// what is in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Seen {
    /// All that can hold one.
    #[default]
    Whole,
    /// It refused to show all of it, or shows it as we cannot read it.
    Part,
    /// There is no conversation, or none with a message in it yet.
    Nothing,
}

impl Seen {
    /// What a refusal leaves to be seen of the history.
    pub(super) fn behind(error: &RpcError) -> Self {
        if RefusedThread::of(error) == RefusedThread::Gone {
            return Self::Nothing;
        }
        tracing::debug!(why = error.message, "codex does not show what it has");
        Self::Part
    }

    /// Whether it is certain that what was not seen is not there.
    pub(super) fn is_all(queue: Self, history: Self) -> bool {
        queue == Self::Nothing || queue == Self::Whole && history != Self::Part
    }
}
