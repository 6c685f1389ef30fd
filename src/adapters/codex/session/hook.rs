//! Our hook in the app-server: whether it will run, and what it printed.

use sha2::{Digest as _, Sha256};

use super::super::fact::CodexFact;
use super::super::rpc::Lost;
use super::{CallError, Session, Todo};
use crate::core::hex::hex;
use crate::wire::codex::call::HooksList;
use crate::wire::codex::notification::HookCompleted;
use crate::wire::status::HookReview;

impl Session<'_> {
    /// Asks what Codex thinks of our hook, where it is wanted, and tells it.
    pub(in super::super) async fn ask_review(&mut self) -> Result<(), Lost> {
        if !self.context.hook.is_wanted() {
            return Ok(());
        }
        let cwds = vec![self.context.project_root.clone()];
        let review = match self.call(HooksList { cwds }).await {
            Ok(listed) => listed.review(self.context.hook.command()),
            Err(CallError::Refused(_)) => None,
            Err(CallError::Lost(lost)) => return Err(lost),
        };
        self.is_hook_trusted = review == Some(HookReview::Trusted);
        self.tell(CodexFact::HookReviewed { review }).await;
        Ok(())
    }

    /// A hook has run; its words go into the next request.
    pub(super) async fn hook_ran(&mut self, completed: &HookCompleted) {
        if !self.thread_state.is_visible(&completed.thread_id) || !completed.is_of_command_line() {
            return;
        }
        let is = |text: &str, sha256: &str| hex(&Sha256::digest(text.as_bytes())) == sha256;
        match &mut self.thread_state.packet {
            Some(packet) if completed.context().any(|text| is(text, &packet.sha256)) => {
                self.is_hook_due = false;
                packet.seen();
            }
            // Its packet may be on its way to us, and the rollout will hold it.
            None if completed.context().next().is_some() => self.is_hook_due = false,
            _ => self.hook_gave_nothing().await,
        }
    }

    /// The model is asked after a compaction, and our hook gave it nothing: the packet is put in.
    pub(super) async fn hook_gave_nothing(&mut self) {
        if !std::mem::take(&mut self.is_hook_due) {
            return;
        }
        match &self.thread_state.packet {
            Some(packet) if !packet.is_seen() && !packet.is_put_in => {
                self.todo.push_back(Todo::Packet);
            }
            _ => self.tell(CodexFact::HookGaveNothing).await,
        }
    }
}
