//! A message leaves through the bridge, or the doorbell rings.

use super::ring::ring_line;
use crate::core::delivery::{LadderInput, LaterInput, Shown};
use crate::core::id::EntryId;
use crate::daemon::attach::ConnId;
use crate::daemon::bodies::Body;
use crate::daemon::inbox::enveloped;
use crate::daemon::owners::Daemon;
use crate::wire::control::Notification;

/// So many messages a ring names for the log of the doorbell.
const RUNG_IDS_MAX: usize = 64;

impl Daemon {
    /// One message through the bridge, with its body. Its row is on disk.
    pub(in crate::daemon) fn push_to_claude(
        &mut self,
        bridge: u64,
        id: EntryId,
        repeat: bool,
        body: Option<Body>,
    ) {
        let Some(row) = self.deliveries.outbox.get(&id) else {
            return;
        };
        // Where channels are off nobody hears of it.
        let (pair, is_heard) = (row.runtime_session.clone(), row.shown == Shown::Whole);
        let sent = body.is_some_and(|body| {
            let message = enveloped(&self.base.identity, &body, repeat);
            self.deliveries.given.note(&message);
            self.deliveries
                .outbox
                .following(&id)
                .in_scope(|| tracing::debug!(repeat, "pushed to the bridge"));
            self.base
                .clients
                .send(ConnId::of(bridge), Notification::Push(Box::new(message)))
        });
        let now_ms = self.base.clock.now_ms();
        match (sent, is_heard) {
            (true, true) => self.deliveries.outbox.has_left(&id, now_ms),
            (true, false) => self.deliveries.outbox.was_sent(&id, now_ms),
            (false, _) => {}
        }
        if !sent {
            self.base
                .later
                .push(LaterInput::Ladder(pair, LadderInput::OutletFull { id }));
        }
    }

    /// One line that says that messages wait. `asks`: no hook will carry them.
    pub(in crate::daemon) fn ring(&mut self, bell: u64, ids: Vec<EntryId>, asks: bool) {
        let bell = ConnId::of(bell);
        let has_hooks = self
            .base
            .clients
            .get(bell)
            .and_then(|bell| bell.hello.agent_pid)
            .is_some_and(|process| self.agents.claude_processes.runs_hooks(process));
        let waiting: Vec<(&str, &str)> = ids
            .iter()
            .filter_map(|id| {
                let message = self.base.recorder.world().unsettled.get(id)?;
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
        let rung = self.base.clients.send(bell, ring);
        for id in &ids {
            self.deliveries
                .outbox
                .following(id)
                .in_scope(|| tracing::debug!(rung, "announced by the doorbell"));
        }
        if !rung {
            for id in ids {
                if let Some(pair) = self.deliveries.outbox.pair_of(&id) {
                    self.base
                        .later
                        .push(LaterInput::Ladder(pair, LadderInput::OutletFull { id }));
                }
            }
        }
    }
}
