//! Takes a message out of Codex's queue: a turn waits for it, or nobody is to get it any more.

use super::super::fact::CodexFact;
use super::super::rpc::Lost;
use super::{CallError, Session};
use crate::core::id::{EntryId, ThreadId};
use crate::wire::codex::call::{QueueDelete, QueuedSubmission};

impl Session<'_> {
    /// Takes a message of ours out of the visible thread's queue. One that is there no more has begun
    /// as a turn, or is about to: what becomes of it is told by that.
    pub(in super::super) async fn take_back(&mut self, id: &EntryId) -> Result<(), Lost> {
        // Where the connection is lost on the way, or the app-server ends, it is taken out before the
        // thread goes on.
        self.thread_state.inflight.ask_back(id);
        let Some(thread_id) = self.thread_state.thread_id().cloned() else {
            return Ok(());
        };
        if !self
            .thread_state
            .inflight
            .on(&thread_id, false)
            .contains(id)
        {
            return Ok(());
        }
        let (queue, _) = self.queue(&thread_id).await?;
        let is_it = |client_id: &str| client_id == id.as_str();
        let Some(ours) = queue
            .into_iter()
            .find(|submission| is_it(&submission.client_user_message_id))
        else {
            tracing::debug!("asked back, and not in codex's queue any more");
            return Ok(());
        };
        self.take_out(&thread_id, id, ours).await
    }

    /// Takes a message of ours out of a thread's queue, where it was seen.
    pub(super) async fn take_out(
        &mut self,
        thread_id: &ThreadId,
        id: &EntryId,
        ours: QueuedSubmission,
    ) -> Result<(), Lost> {
        let delete = QueueDelete {
            thread_id: thread_id.to_string(),
            queued_submission_id: ours.id,
        };
        match self.call(delete).await {
            Ok(answer) if answer.deleted => {
                if self.thread_state.inflight.remove(id.as_str()).is_some() {
                    tracing::debug!("taken out of codex's queue");
                    let message_id = id.clone();
                    self.tell(CodexFact::TakenBack { message_id }).await;
                }
                Ok(())
            }
            Ok(_) => {
                tracing::debug!("asked back, and left codex's queue just then");
                Ok(())
            }
            Err(CallError::Refused(error)) => {
                tracing::debug!(why = error.message, "codex does not give it back");
                Ok(())
            }
            // Everything is unconfirmed behind a lost connection, and is looked for.
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }
}
