//! Facts about a message that was to be delivered: not taken, too large, unanswered.

use crate::core::id::EntryId;

use super::super::fact::CodexFact;
use super::Session;

impl Session<'_> {
    /// Tells of a message that the app-server certainly does not have.
    pub(super) async fn not_taken(&self, id: &EntryId, why: &str) {
        tracing::debug!(why, "not taken");
        self.tell(CodexFact::NotTaken {
            message_id: id.clone(),
            why: why.to_owned(),
        })
        .await;
    }

    /// Tells of a message that no app-server takes, however often it is offered.
    pub(super) async fn too_large(&self, message_id: EntryId, why: String) {
        tracing::debug!(why, "too large");
        self.tell(CodexFact::TooLarge { message_id, why }).await;
    }

    /// Tells of a message of which it cannot be said yet whether the app-server has it.
    pub(super) async fn unanswered(&self, id: &EntryId) {
        tracing::debug!("unanswered");
        self.tell(CodexFact::Unanswered {
            message_id: id.clone(),
        })
        .await;
    }
}
