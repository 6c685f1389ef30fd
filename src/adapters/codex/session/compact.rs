//! A compaction that the operator requests.

use super::super::fact::CodexFact;
use super::super::rpc::Lost;
use super::{CallError, Session};
use crate::wire::codex::call::CompactStart;

impl Session<'_> {
    /// Has the visible thread's context compacted, in a turn of its own. `Ok(Err(_))`: it does not
    /// begin, and why.
    pub(in super::super) async fn compact(&mut self) -> Result<Result<(), String>, Lost> {
        let begun = self.begin_compaction().await?;
        if begun.is_err() {
            self.tell(CodexFact::NotCompacted).await;
        }
        Ok(begun)
    }

    async fn begin_compaction(&mut self) -> Result<Result<(), String>, Lost> {
        let Some(book) = &self.thread_state.visible else {
            return Ok(Err("codex has no thread".to_owned()));
        };
        let thread_id = book.thread_id().clone();
        if book.open_turn().is_some() || !self.is_idle() {
            return Ok(Err("a turn runs, which it would cut off".to_owned()));
        }
        let is_awaited = !self.thread_state.inflight.on(&thread_id, false).is_empty();
        if is_awaited || !self.thread_state.waiting.is_empty() {
            let why = "a message is on its way into the thread, and its turn would be cut off";
            return Ok(Err(why.to_owned()));
        }
        let thread_id = thread_id.to_string();
        match self.call(CompactStart { thread_id }).await {
            Ok(_) => Ok(Ok(())),
            Err(CallError::Refused(error)) => Ok(Err(error.message)),
            Err(CallError::Lost(lost)) => Err(lost),
        }
    }
}
