//! Sends a message through the bridge, or rings the doorbell.

use super::ring::ring_line;
use crate::core::delivery::{LadderInput, LaterInput};
use crate::core::id::EntryId;
use crate::daemon::agents::claude_processes::ClaudeProcesses;
use crate::daemon::attach::ConnId;
use crate::daemon::deliveries::bodies::Body;
use crate::daemon::deliveries::envelope::enveloped;
use crate::daemon::owners::{Base, Deliveries};
use crate::wire::control::Notification;

/// So many messages a ring names for the log of the doorbell.
const RUNG_IDS_MAX: usize = 64;

impl Deliveries {
    /// One message through the bridge, with its body. Its row is on disk.
    pub(in crate::daemon) fn push_to_claude(
        &mut self,
        base: &mut Base,
        bridge: u64,
        id: EntryId,
        repeat: bool,
        body: Option<Body>,
    ) {
        let Some(row) = self.outbox.get(&id) else {
            return;
        };
        let pair = row.runtime_session.clone();
        let sent = body.is_some_and(|body| {
            let message = enveloped(&base.identity, &body, repeat);
            self.given.note(&message);
            self.outbox
                .following(&id)
                .in_scope(|| tracing::debug!(repeat, "pushed to the bridge"));
            base.clients
                .send(ConnId::of(bridge), Notification::Push(Box::new(message)))
        });
        if sent {
            self.outbox.was_pushed(&id, base.clock.now_ms());
        } else {
            base.later
                .push(LaterInput::Ladder(pair, LadderInput::OutletFull { id }));
        }
    }

    /// One line that says that messages wait. `asks`: no hook will carry them.
    pub(in crate::daemon) fn ring(
        &self,
        base: &mut Base,
        claude_processes: &ClaudeProcesses,
        bell: u64,
        ids: Vec<EntryId>,
        asks: bool,
    ) {
        let bell = ConnId::of(bell);
        let has_hooks = base
            .clients
            .get(bell)
            .and_then(|bell| bell.hello.agent_pid)
            .is_some_and(|process| claude_processes.runs_hooks(process));
        let waiting: Vec<(&str, &str)> = ids
            .iter()
            .filter_map(|id| {
                let message = base.recorder.world().unsettled.get(id)?;
                Some((message.from.as_str(), id.as_str()))
            })
            .collect();
        if waiting.is_empty() {
            return;
        }
        let line = ring_line(&waiting, asks || !has_hooks);
        let about = waiting.iter().take(RUNG_IDS_MAX);
        let about = about.map(|(_, id)| EntryId::new(*id)).collect();
        let ring = Notification::Ring { line, ids: about };
        let sent = base.clients.send(bell, ring);
        for id in &ids {
            self.outbox
                .following(id)
                .in_scope(|| tracing::debug!(sent, "announced by the doorbell"));
        }
        if !sent {
            for id in ids {
                if let Some(pair) = self.outbox.pair_of(&id) {
                    base.later
                        .push(LaterInput::Ladder(pair, LadderInput::OutletFull { id }));
                }
            }
        }
    }
}
