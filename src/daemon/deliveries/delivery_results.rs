//! What becomes of messages once the record has an entry, or cannot take it.

use std::sync::Arc;

use crate::core::agent::Agent;
use crate::core::delivery::{ClaudeInput, CodexInput, LadderInput};
use crate::core::entry::{DeliveryResult, Entry, EntryKind};
use crate::core::id::EntryId;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::owners::{Daemon, Deliveries};
use crate::daemon::waiting_calls::unwritable;
use crate::store::ledger::Stored;
use crate::wire::control::Refusal;

impl Daemon {
    /// A fact was refused by the disk. What it says of messages is kept in mind, so that nothing
    /// is offered once more meanwhile; given up for good, the lanes hear of it.
    pub(in crate::daemon) fn fact_refused(
        &mut self,
        entries: &[Entry],
        refusal: &Refusal,
        is_kept: bool,
    ) {
        let of_messages = entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Delivery(record) => Some((record.message_id.clone(), record.result)),
            _ => None,
        });
        let of_messages: Vec<(EntryId, DeliveryResult)> = of_messages.collect();
        let ids: Vec<EntryId> = of_messages.iter().map(|(id, _)| id.clone()).collect();
        match is_kept {
            true => self.base.refuse_ack_waiters(&ids, &unwritable()),
            false => self.base.refuse_ack_waiters(&ids, refusal),
        }
        for (id, result) in of_messages {
            match self.deliveries.outbox.get(&id).map(|row| row.to) {
                _ if is_kept => {}
                Some(Agent::Claude) => {
                    if let Some(pair) = self.deliveries.outbox.pair_of(&id) {
                        self.tell_ladder(&pair, LadderInput::NotDurable { id, result });
                    }
                }
                Some(Agent::Codex) => self.codex_input(CodexInput::NotDurable { id, result }),
                None => {}
            }
        }
    }

    /// The ledger says what became of a message: this and nothing else moves it to its end.
    pub(in crate::daemon) fn result_is_durable(&mut self, id: EntryId, result: DeliveryResult) {
        if matches!(result, DeliveryResult::Rejected | DeliveryResult::Cancelled) {
            // Sent again it is another one.
            self.deliveries.handoff_dedup.forget(&id);
        }
        let row = self.deliveries.outbox.get(&id);
        match row.map(|row| (row.to, row.runtime_session.clone())) {
            Some((Agent::Claude, pair)) => {
                let durable = LadderInput::Durable {
                    id: id.clone(),
                    result,
                };
                self.tell_ladder(&pair, durable);
                if self.deliveries.outbox.get(&id).is_none() {
                    let id = id.clone();
                    self.claude_hears(&pair, ClaudeInput::Settled { id });
                }
            }
            _ => self.codex_input(CodexInput::Durable {
                id: id.clone(),
                result,
            }),
        }
        self.recorded_for_ack_waiters(&id, result);
        self.base.clients.status_changed();
    }
}

impl Deliveries {
    /// What the record says was taken back is not delivered any more, also where the disk was so
    /// late that nobody waited for it.
    pub(in crate::daemon) fn forget_taken_back(
        &mut self,
        codex: &mut CodexLane,
        stored: &[Arc<Stored>],
    ) {
        self.outbox.forget_taken_back(stored);
        codex.forget_settled(self.outbox.backlog());
    }
}
