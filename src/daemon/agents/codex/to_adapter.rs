//! Gives one message to the Codex adapter.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::LifecycleEvent;
use crate::core::id::{AttemptId, EntryId, RuntimeSession};
use crate::core::instructions::coordinator_note;
use crate::daemon::agents::codex_lane::CoordinatorChange;
use crate::daemon::deliveries::bodies::Body;
use crate::daemon::deliveries::envelope::{enveloped, enveloped_for_later, whole_text};
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::wire::codex::call::INPUT_CHARS_MAX;

/// What rides along is shorter than this, in characters: a few lines of ours.
const RIDERS_CHARS: usize = 4_000;

/// Whether a text is no longer than Codex takes with what rides along, too. Bytes bound characters
/// from above, so most texts need no counting.
fn has_room_for_riders(text: &str) -> bool {
    let room = INPUT_CHARS_MAX - RIDERS_CHARS;
    text.len() <= room || text.chars().count() <= room
}

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
        // It lies in Codex's queue until the turn that runs has ended.
        let message = match self.agents.codex.is_busy() {
            true => enveloped_for_later(&body, repeat),
            false => enveloped(&self.base.identity, &body, repeat),
        };
        self.deliveries.given.note(&message);
        let mut text = message.text;
        let pair = RuntimeSession::default();
        // What has no room goes with the next message; that it is too large is no message's fault.
        let has_room = has_room_for_riders(&text);
        let more = has_room.then(|| self.agents.rides_along(&self.base, Agent::Codex, &pair));
        let more = more.flatten();
        if let Some(more) = &more {
            text.push_str("\n\n");
            text.push_str(&more.text);
        }
        let note = has_room.then(|| self.agents.coordinator_note(&self.base, &id));
        if let Some(note) = note.flatten() {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        let ours = text.chars().count();
        let ours = ours.saturating_sub(whole_text(&body).chars().count());
        self.agents.codex.carries_of_ours(&id, ours);
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
    /// What tells Codex, with this message, that the operator changed who writes to git. Codex reads its
    /// instruction files when a conversation begins, and not again.
    fn coordinator_note(&mut self, base: &Base, with: &EntryId) -> Option<String> {
        let change = coordinator_change(base)?;
        let tells = self.codex.tells_of_coordinator(with, change);
        tells.then(|| coordinator_note(base.configuration.policy().coordinator))
    }

    /// A message is in the conversation: what it told of who writes to git is recorded as told, unless
    /// that changed once more.
    pub(in crate::daemon) fn heard_of_coordinator(&mut self, base: &mut Base, with: &EntryId) {
        let told = self.codex.heard_of_coordinator(with);
        if told.is_none() || told != coordinator_change(base) {
            return;
        }
        let note = coordinator_note(base.configuration.policy().coordinator);
        let text = format!("Codex was told with message {}: {note}", with.short());
        base.recorder
            .mention(Party::System, LifecycleEvent::CoordinatorTold, text);
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

/// The change of who writes to git of which the record does not say that Codex was told.
fn coordinator_change(base: &Base) -> Option<CoordinatorChange> {
    let world = base.recorder.world();
    world.session_id.clone().zip(world.untold_coordinator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rides_along_takes_no_room_from_a_message() {
        let room = INPUT_CHARS_MAX - RIDERS_CHARS;
        for letter in ["x", "\u{e9}"] {
            assert!(has_room_for_riders(&letter.repeat(room)));
            assert!(!has_room_for_riders(&letter.repeat(room + 1)));
        }
    }
}
