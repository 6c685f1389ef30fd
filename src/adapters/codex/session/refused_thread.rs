//! [`RefusedThread`]: why Codex refuses to open a conversation.

use crate::core::id::ThreadId;
use crate::wire::codex::frame::RpcError;

/// How much of Codex's reason is told; some of its texts are very long.
const WHY_CHARS_MAX: usize = 200;

/// How often one is tried that Codex cannot read, before another takes its place: a disk or a file
/// may be busy for a moment, and a damaged one is never read again.
const TRIES_MAX: u32 = 3;

/// Why Codex does not open a conversation, by the words of its refusal (0.169.0, observed).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedThread {
    /// There is none, or nothing was written of it yet.
    Gone,
    /// The person has put it away.
    Archived,
    /// Another process has it open.
    OpenElsewhere,
    /// Codex cannot read it, or says something else.
    Unreadable,
}

impl RefusedThread {
    pub(super) fn of(error: &RpcError) -> Self {
        let says = |why| error.message.contains(why);
        if says("no rollout found") || says("is not materialized yet") {
            Self::Gone
        } else if says("is archived") {
            Self::Archived
        } else if says("active writer") {
            Self::OpenElsewhere
        } else {
            Self::Unreadable
        }
    }

    /// Whether another conversation takes its place, after so many tries to read it in a row. Where it is only
    /// open elsewhere, none ever does: what was said in it would be lost to the pair.
    pub(super) fn is_replaced(self, unreadable_tries: u32) -> bool {
        match self {
            Self::Gone | Self::Archived => true,
            Self::OpenElsewhere => false,
            Self::Unreadable => unreadable_tries >= TRIES_MAX,
        }
    }

    /// Said where another one took its place, unless there was nothing to replace.
    pub(super) fn replaced(self, thread_id: &ThreadId, error: &RpcError) -> Option<String> {
        let why = match self {
            Self::Gone => return None,
            Self::Archived => "is archived".to_owned(),
            Self::OpenElsewhere | Self::Unreadable => {
                format!("cannot be opened ({})", Self::reason(error))
            }
        };
        Some(format!(
            "Codex works in a new conversation: the one before, {thread_id}, {why}"
        ))
    }

    /// Said while it is waited for: Codex's reason, and what a person can do.
    pub(super) fn awaited(self, thread_id: &ThreadId, error: &RpcError) -> String {
        let next = match self {
            Self::OpenElsewhere => "close it where it is open",
            _ => "it is tried again, and then a new one is made",
        };
        let why = Self::reason(error);
        format!(
            "its conversation {thread_id} does not open ({why}); {next}, messages wait until then"
        )
    }

    fn reason(error: &RpcError) -> String {
        error.message.chars().take(WHY_CHARS_MAX).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_of_the_real_codex_is_told_from_the_others() {
        let of = |message: &str| {
            let error = RpcError {
                code: -32600,
                message: message.to_owned(),
                data: serde_json::Value::Null,
            };
            let refused = RefusedThread::of(&error);
            let thread_id = ThreadId::new("T");
            let replaced = refused.replaced(&thread_id, &error);
            (refused, refused.is_replaced(1), replaced)
        };
        let (refused, at_once, said) = of("no rollout found for thread id T");
        assert_eq!((refused, at_once, said), (RefusedThread::Gone, true, None));
        let (refused, at_once, said) =
            of("session T is archived. Run `codex unarchive T` to unarchive it first.");
        assert_eq!((refused, at_once), (RefusedThread::Archived, true));
        assert!(said.is_some_and(|said| said.contains("T, is archived")));
        let (refused, at_once, _) = of("thread T already has an active writer");
        assert_eq!((refused, at_once), (RefusedThread::OpenElsewhere, false));
        assert!(!refused.is_replaced(u32::MAX));
        let (refused, at_once, said) = of(
            "failed to read thread: thread-store internal error: failed to read session metadata",
        );
        assert_eq!((refused, at_once), (RefusedThread::Unreadable, false));
        assert!(refused.is_replaced(TRIES_MAX));
        assert!(said.is_some_and(|said| said.contains("failed to read")));
    }
}
