//! The messages that wait in a thread's queue, at Codex.

use crate::core::id::ThreadId;
use crate::wire::codex::call::{QueueList, QueuedSubmission};
use crate::wire::codex::frame::RpcError;

use super::super::rpc::Lost;
use super::seen::Seen;
use super::{CallError, Session};

const QUEUE_PAGES_MAX: usize = 20;

impl Session<'_> {
    /// What waits in a thread's queue, and whether that is all of it; nothing where there is no
    /// queue.
    pub(super) async fn queue(
        &mut self,
        thread_id: &ThreadId,
    ) -> Result<(Vec<QueuedSubmission>, Seen), Lost> {
        let mut found = Vec::new();
        let mut cursor = None;
        let mut is_whole = true;
        for _ in 0..QUEUE_PAGES_MAX {
            let list = QueueList {
                thread_id: thread_id.to_string(),
                cursor: cursor.take(),
            };
            match self.call(list).await {
                Ok(page) => {
                    is_whole &= page.data.is_whole;
                    found.extend(page.data.members);
                    cursor = page.next_cursor;
                }
                Err(CallError::Refused(error)) if has_no_queue(&error) => break,
                Err(CallError::Refused(error)) => return Ok((found, Seen::behind(&error))),
                Err(CallError::Lost(lost)) => return Err(lost),
            }
            if cursor.is_none() {
                break;
            }
        }
        let seen = match cursor {
            None if is_whole => Seen::Whole,
            _ => Seen::Part,
        };
        Ok((found, seen))
    }
}

/// The experimental API is absent, or was taken back.
pub(super) fn has_no_queue(error: &RpcError) -> bool {
    error.message.contains("requires experimentalApi")
        || (error.message.contains("unknown variant") && error.message.contains("thread/queue"))
        || error.code == -32601
}
