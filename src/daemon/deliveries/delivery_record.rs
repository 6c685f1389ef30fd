//! What is recorded of a message's way to its receiver.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{DeliveryState, DeliveryWay};
use crate::core::entry::{DeliveryRecord, DeliveryResult, Entry, EntryKind};
use crate::core::id::{EntryId, TurnId};
use crate::daemon::decisions::decision_messages::track_told;
use crate::daemon::owners::{Base, Deliveries};

impl Deliveries {
    /// A message that waits is settled as given to nobody, for another reason than that its receiver
    /// is busy. `before`: what the record is told ahead of that.
    pub(in crate::daemon) fn reject(
        &mut self,
        base: &mut Base,
        id: &EntryId,
        before: Option<Entry>,
        why: String,
    ) {
        let Some(to) = self.outbox.get(id).map(|row| row.to) else {
            return;
        };
        if self.outbox.backlog().is_recording(id) {
            return;
        }
        let result = DeliveryResult::Rejected;
        let mut settled = self.settled_entry(base, id, to, result);
        settled.content = why;
        self.outbox.mark_recording(id, result);
        let id = id.clone();
        let told = base.nothing_comes_of_ended([&settled]);
        // From here on nothing is offered of it, and while the disk refuses its end it is kept.
        base.recorder.keep_then(
            before.into_iter().chain([settled]).chain(told).collect(),
            Box::new(move |daemon, recorded| {
                track_told(daemon, recorded);
                if recorded.is_ok() {
                    daemon.result_is_durable(id, result);
                }
            }),
        );
        base.clients.status_changed();
    }

    /// The delivery entry of a message of which no way and no turn is told.
    pub(in crate::daemon) fn settled_entry(
        &self,
        base: &Base,
        id: &EntryId,
        to: Agent,
        result: DeliveryResult,
    ) -> Entry {
        self.delivery_entry(base, id, to, result, None, None)
    }

    /// As [`Self::delivery_entry`], of what the machines of delivery decided: they end what its own
    /// sender closed, and hear what Codex began before it gave it back.
    pub(in crate::daemon) fn decided_entry(
        &self,
        base: &Base,
        id: &EntryId,
        to: Agent,
        result: DeliveryResult,
        rung: Option<DeliveryWay>,
        turn_id: Option<TurnId>,
    ) -> Entry {
        let mut entry = self.delivery_entry(base, id, to, result, rung, turn_id);
        let text = match result {
            DeliveryResult::Cancelled => self.closed_text(base, id, to),
            DeliveryResult::Confirmed => self.after_all_text(id, to),
            _ => None,
        };
        if let Some(text) = text {
            entry.content = text;
        }
        entry
    }

    /// The delivery entry of a message.
    pub(in crate::daemon) fn delivery_entry(
        &self,
        base: &Base,
        id: &EntryId,
        to: Agent,
        result: DeliveryResult,
        rung: Option<DeliveryWay>,
        turn_id: Option<TurnId>,
    ) -> Entry {
        let row = self.outbox.get(id);
        let is_proof = match result {
            DeliveryResult::Confirmed => true,
            // What was acknowledged without another proof.
            DeliveryResult::Acknowledged => {
                row.is_some_and(|row| row.state != DeliveryState::Confirmed)
            }
            _ => false,
        };
        // Where nobody has it, no attempt led to this.
        let attempt = row.filter(|row| {
            result != DeliveryResult::Cancelled || row.state != DeliveryState::Queued
        });
        let attempt_id = attempt.and_then(|row| row.attempt.clone());
        let text = delivery_text(to, result, rung.as_ref());
        let given = self.given.of(id).filter(|_| is_proof).cloned();
        base.recorder.entry(
            Party::System,
            Some(to.into()),
            EntryKind::Delivery(DeliveryRecord {
                message_id: id.clone(),
                attempt_id,
                to,
                result,
                outcome: None,
                rung,
                turn_id,
                given,
            }),
            text,
            row.map(|row| row.runtime_session.clone()),
        )
    }

    /// The text of a proof that came although nobody was to get the message any more.
    fn after_all_text(&self, id: &EntryId, to: Agent) -> Option<String> {
        let is_unwanted = self.outbox.backlog().is_unwanted(id);
        let text = "Codex got it after all: it was asked back, and a turn had it by then";
        (is_unwanted && to == Agent::Codex).then(|| text.to_owned())
    }

    /// The text of a message's end of which its being closed is the cause. What its receiver has, or
    /// perhaps has, the operator alone takes back.
    fn closed_text(&self, base: &Base, id: &EntryId, to: Agent) -> Option<String> {
        let message = base.recorder.world().unsettled.get(id)?;
        let what_follows = match self.outbox.get(id).map(|row| row.state)? {
            DeliveryState::Queued => "does not get it",
            DeliveryState::Attempted | DeliveryState::Offered => "is not given it again",
            _ => return None,
        };
        let (from, to) = (message.from.title(), to.title());
        if message.closed_by_sender {
            return Some(format!(
                "{from}, who sent it, closed it: {to} {what_follows}"
            ));
        }
        // In a session before this one, which says by whom.
        let is_known = message.closed_by_operator || !message.closed;
        (!is_known).then(|| format!("it was closed: {to} {what_follows}"))
    }
}

/// The text of what became of a message, for its delivery entry.
fn delivery_text(to: Agent, result: DeliveryResult, rung: Option<&DeliveryWay>) -> String {
    let to = to.title();
    let by = rung.map(|rung| format!(" by {rung}")).unwrap_or_default();
    match result {
        DeliveryResult::Confirmed => format!("{to} has it{by}"),
        DeliveryResult::Acknowledged if rung.is_some() => {
            format!("the turn of {to} that had it came to its end")
        }
        DeliveryResult::Acknowledged => format!("{to} acknowledged it"),
        DeliveryResult::Rejected => format!("{to} could not take it at once: rejected as asked"),
        DeliveryResult::Expired => "it waited too long".to_owned(),
        DeliveryResult::Ambiguous => {
            format!("nobody can know whether {to} has it; only the operator sends it again")
        }
        DeliveryResult::Cancelled => "the operator took it back".to_owned(),
        DeliveryResult::Requeued => "the operator asked for another try".to_owned(),
    }
}
