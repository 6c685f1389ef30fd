//! [`LifecycleEvent`]: the events in the life of the daemon, and of what it owns.

use serde_json::Value;

use super::{Entry, EntryKind};
use crate::word::words;

/// The key of an entry's `meta` that says that the person's prompts are recorded from there on.
const PROMPTS_RECORDED: &str = "promptsRecorded";

words! {
    /// A step in the life of the daemon, of a session or of what belongs to them.
    pub enum LifecycleEvent {
        /// The operator has seen an alarm, which makes nothing of the lines in question true.
        AlarmAcknowledged = "alarm_acknowledged",
        /// A bridge of Claude's that is silent gave its place to one that waited for it.
        ClaudeBridgeReplaced = "claude_bridge_replaced",
        /// The Codex terminal came.
        CodexTuiAttached = "codex_tui_attached",
        /// The Codex terminal went.
        CodexTuiLeft = "codex_tui_left",
        /// The operator had an agent's context compacted.
        CompactionAsked = "compaction_asked",
        /// The operator said who alone writes to git.
        CoordinatorChanged = "coordinator_changed",
        /// Codex, which reads its instruction files at its start alone, is told of that with a message.
        CoordinatorTold = "coordinator_told",
        /// A `config.json` of ContextRelay 3 was taken over.
        ConfigMigrated = "config_migrated",
        /// A changed `config.json` was read again.
        ConfigReloaded = "config_reloaded",
        /// The operator trusted what has power in `config.json`.
        ConfigTrusted = "config_trusted",
        /// A record of ContextRelay 3 was taken over.
        ContextRelay3Adopted = "contextrelay_3_adopted",
        /// The daemon lets another process go on in its place.
        DaemonHandedOver = "daemon_handed_over",
        /// A daemon's life begins.
        DaemonStarted = "daemon_started",
        /// The daemon ends.
        DaemonStopped = "daemon_stopped",
        /// The life of a daemon begins which goes on in place of another one, with its app-server.
        DaemonTakenOver = "daemon_taken_over",
        /// A turn ended before it was done with a message.
        DeliveryCutOff = "delivery_cut_off",
        /// Claude's monitor has ended.
        DoorbellDead = "doorbell_dead",
        /// A session that was sealed before a crash is in the archives.
        SessionArchived = "session_archived",
        /// The operator changed what the agents may do.
        PermissionsChanged = "permissions_changed",
        /// The person wrote into an agent's terminal, or let the agents go on: what these say to each
        /// other is counted from there.
        PersonSpoke = "person_spoke",
        /// The operator cleared the session.
        SessionCleared = "session_cleared",
        /// The operator compacted the session.
        SessionCompacted = "session_compacted",
        /// What a crash had left of a deleted session is gone.
        SessionDeleted = "session_deleted",
        /// Decisions are signed from here on, by another key, or not any more.
        SigningChanged = "signing_changed",
        /// A rule of the operator's kept an agent from a call of a tool.
        ToolRefused = "tool_refused",
        /// The operator stopped a turn.
        TurnInterrupted = "turn_interrupted",
    }
}

impl Entry {
    /// Says of the beginning of a daemon's life or of a session that the person's prompts are recorded
    /// from there on. Earlier versions recorded none, and their entries do not say so.
    #[must_use]
    pub fn with_prompts_recorded(mut self) -> Self {
        self.meta.insert(PROMPTS_RECORDED.to_owned(), true.into());
        self
    }

    /// Whether the person's prompts are recorded from here on; `None` where nothing begins.
    pub fn prompts_recorded(&self) -> Option<bool> {
        let begins = matches!(
            self.kind,
            EntryKind::SessionStarted { .. }
                | EntryKind::Lifecycle {
                    event: LifecycleEvent::DaemonStarted | LifecycleEvent::DaemonTakenOver
                }
        );
        let says = self.meta.get(PROMPTS_RECORDED).and_then(Value::as_bool);
        begins.then_some(says == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As they stand in the record, in the order of [`LifecycleEvent::ALL`].
    const TEXTS: [&str; 26] = [
        "alarm_acknowledged",
        "claude_bridge_replaced",
        "codex_tui_attached",
        "codex_tui_left",
        "compaction_asked",
        "coordinator_changed",
        "coordinator_told",
        "config_migrated",
        "config_reloaded",
        "config_trusted",
        "contextrelay_3_adopted",
        "daemon_handed_over",
        "daemon_started",
        "daemon_stopped",
        "daemon_taken_over",
        "delivery_cut_off",
        "doorbell_dead",
        "session_archived",
        "permissions_changed",
        "person_spoke",
        "session_cleared",
        "session_compacted",
        "session_deleted",
        "signing_changed",
        "tool_refused",
        "turn_interrupted",
    ];

    #[test]
    fn every_event_is_the_text_that_it_was_and_comes_back_from_it() {
        let texts: Vec<String> = LifecycleEvent::ALL
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(texts, TEXTS);
        for (event, text) in LifecycleEvent::ALL.iter().zip(TEXTS) {
            assert_eq!(LifecycleEvent::from(text), *event);
        }
        let other = LifecycleEvent::from("an_event_of_a_later_version");
        assert_eq!(other.to_string(), "an_event_of_a_later_version");
        assert!(!LifecycleEvent::ALL.contains(&other));
    }
}
