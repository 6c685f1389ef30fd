//! [`Handed`]: messages in answers that have not left yet. An agent is reported to have a body once
//! the answer with it was given to the connection, never before: if an answer does not get that
//! far, its message is given again, as a repeat, and does not count as read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use rmcp::model::RequestId;

use crate::client::Client;
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryWay;
use crate::core::id::EntryId;
use crate::core::lock::lock;
use crate::wire::control::{Command, IdsParams};

/// What answers hold, by their request: as many as there are open requests, and one more for each
/// call that was taken back in the very moment in which it was done.
#[derive(Debug, Clone, Default)]
pub(super) struct Handed(Arc<Mutex<HashMap<RequestId, HandedPage>>>);

impl Handed {
    /// The answer of this request will hold a page.
    pub(super) fn keep(&self, request: RequestId, page: HandedPage) {
        self.pages().insert(request, page);
    }

    /// The page in an answer that is about to leave. The answer of a call that was taken back does
    /// not come by here: the next call of the same number takes what is left of it.
    pub(super) fn take(&self, request: &RequestId) -> Option<HandedPage> {
        self.pages().remove(request)
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<RequestId, HandedPage>> {
        lock(&self.0)
    }
}

/// The messages that one answer holds whole.
#[derive(Debug)]
pub(super) struct HandedPage {
    /// The way to the daemon.
    pub(super) client: Client,
    /// Whose they are.
    pub(super) side: Agent,
    pub(super) ids: Vec<EntryId>,
    /// They are read with this answer.
    pub(super) are_read: bool,
}

impl HandedPage {
    /// The answer has left.
    pub(super) async fn report(self) {
        let ids = IdsParams {
            agent: self.side,
            ids: self.ids,
            rung: Some(DeliveryWay::Pull),
        };
        // Without this record the messages come again, which is better than not at all.
        if let Err(error) = self.client.call(Command::Fetched(ids.clone())).await {
            tracing::warn!(%error, "the delivery of fetched messages is not recorded");
            return;
        }
        // What Codex has is settled by its turn.
        if self.are_read && self.side == Agent::Claude {
            let read = self
                .client
                .call(Command::Ack(IdsParams { rung: None, ..ids }));
            if let Err(error) = read.await {
                tracing::warn!(%error, "that an answer was read is not recorded");
            }
        }
    }
}
