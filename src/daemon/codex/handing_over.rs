//! One message leaves to Codex.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::LifecycleEvent;
use crate::core::id::{AttemptId, EntryId, RuntimeSession};
use crate::core::instructions::coordinator_note;
use crate::core::relay_cost::CostSort;
use crate::daemon::bodies::Body;
use crate::daemon::inbox::{enveloped, whole_text};
use crate::daemon::owners::{Agents, Base, Daemon};

impl Daemon {
    /// One message to the adapter. Its row is on disk.
    pub(in crate::daemon) fn deliver_to_adapter(
        &mut self,
        id: EntryId,
        attempt: AttemptId,
        on_busy: OnBusy,
        repeat: bool,
        body: Option<Body>,
    ) {
        let Some(body) = body else {
            return self.agents.not_sent(
                &mut self.base,
                id,
                "a message could not be read from the record",
            );
        };
        let message = enveloped(&self.base.identity, &body, repeat);
        self.deliveries.given.note(&message);
        let mut text = message.text;
        let pair = RuntimeSession::default();
        let more = self.agents.rides_along(&self.base, Agent::Codex, &pair);
        if let Some(more) = &more {
            text.push_str("\n\n");
            text.push_str(&more.text);
        }
        if let Some(note) = self.agents.tell_coordinator(&mut self.base, &id) {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        let ours = text.chars().count();
        let ours = ours.saturating_sub(whole_text(&body).chars().count());
        let now_ms = self.base.clock.now_ms();
        self.agents
            .costs
            .add(Agent::Codex, CostSort::Envelopes, ours, now_ms);
        let message = self.deliveries.outbox.attempted(&id);
        let asked = self.agents.codex.deliver(message, attempt, text, on_busy);
        if asked.is_err() {
            return self
                .agents
                .not_sent(&mut self.base, id, "the Codex adapter takes no requests");
        }
        if let Some(more) = more {
            self.agents.reminders.said(Agent::Codex, &pair, &more);
        }
    }
}

impl Agents {
    /// What tells Codex, with this message, that the operator changed who writes to git; recorded,
    /// and said once. Codex reads its instruction files when a conversation begins, and not again.
    fn tell_coordinator(&mut self, base: &mut Base, with: &EntryId) -> Option<String> {
        let world = base.recorder.world();
        let change = world.session_id.clone().zip(world.untold_coordinator);
        if !self.codex.begin_to_tell_coordinator(change, with) {
            return None;
        }
        let note = coordinator_note(base.configuration.policy().coordinator);
        let text = format!("Codex is told with message {}: {note}", with.short());
        base.recorder
            .note_fact(Party::System, LifecycleEvent::CoordinatorTold, text);
        Some(note)
    }

    /// The message stays where it is, and the lane rests.
    pub(in crate::daemon) fn not_sent(&mut self, base: &mut Base, id: EntryId, why: &str) {
        base.later.not_sent(id);
        self.codex_trouble(base, why);
    }

    /// Why the lane rests, for the status.
    pub(in crate::daemon) fn codex_trouble(&mut self, base: &Base, why: &str) {
        if self.codex.rests_because(why) {
            base.clients.status_changed();
        }
    }
}
