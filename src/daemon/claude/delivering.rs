//! Does what the ladders say: a push through the bridge, a line of the doorbell, a row, an entry.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::ring::ring_line;
use crate::core::agent::Agent;
use crate::core::delivery::LadderInput;
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::attach::ConnId;
use crate::daemon::bodies::Body;
use crate::daemon::inbox::enveloped;
use crate::daemon::owners::Daemon;
use crate::wire::control::{Notification, Refusal};

impl Daemon {
    /// Hands something to the ladder of a pair, and does what it says.
    ///
    /// # Errors
    ///
    /// When a row could not be written; nothing has left after it.
    pub(in crate::daemon) fn claude_input(
        &mut self,
        pair: &RuntimeSession,
        input: LadderInput,
    ) -> Result<(), Refusal> {
        let at = self.moment();
        let effects = self
            .claude
            .apply(pair, input, &mut self.outbox.backlog, &at);
        self.perform(Agent::Claude, effects)
    }

    /// As [`Self::claude_input`], where nobody asked: a refusal has been said to the operator.
    pub(in crate::daemon) fn tell_ladder(&mut self, pair: &RuntimeSession, input: LadderInput) {
        let _ = self.claude_input(pair, input);
    }

    /// The pair that a message belongs to.
    pub(in crate::daemon) fn pair_of(&self, id: &EntryId) -> Option<RuntimeSession> {
        Some(self.outbox.get(id)?.runtime_session.clone())
    }

    /// The first pair, and those for which something waits.
    pub(in crate::daemon) fn pairs_of_claude(&self) -> BTreeSet<RuntimeSession> {
        let waiting = self.outbox.backlog.lane(Agent::Claude);
        waiting
            .map(|row| row.runtime_session.clone())
            .chain([RuntimeSession::default()])
            .collect()
    }

    /// Offers what has not been offered, by the best way there is.
    pub(in crate::daemon) fn pump_claude(&mut self) {
        if self.claude.lets_expire() {
            // What waits for a Claude that never came expires too.
            for pair in self.pairs_of_claude() {
                self.claude.know(&pair);
            }
        }
        self.tell_all_ladders(&LadderInput::News);
    }

    /// Everything may be offered again: the record is a new one.
    pub(in crate::daemon) fn claude_forgets(&mut self) {
        self.tell_all_ladders(&LadderInput::NewContext);
    }

    pub(in crate::daemon) fn tell_all_ladders(&mut self, input: &LadderInput) {
        for pair in self.claude.pairs() {
            self.tell_ladder(&pair, input.clone());
        }
    }

    /// When something about Claude happens by itself.
    pub(in crate::daemon) fn claude_next(&self) -> Option<Instant> {
        self.next_ladder_ms().map(|at_ms| self.clock.instant(at_ms))
    }

    fn next_ladder_ms(&self) -> Option<i64> {
        self.claude.next_ms(&self.outbox.backlog)
    }

    pub(in crate::daemon) fn claude_deadline(&mut self) {
        let now_ms = self.clock.now_ms();
        if self.next_ladder_ms().is_some_and(|at_ms| at_ms <= now_ms) {
            self.tell_all_ladders(&LadderInput::Tick);
            self.clients.status_changed();
        }
    }

    /// One message through the bridge, with its body. Its row is on disk.
    pub(in crate::daemon) fn push_to_claude(
        &mut self,
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
            let message = enveloped(&self.identity, &body, repeat);
            self.given.note(&message);
            self.following(&id)
                .in_scope(|| tracing::debug!(repeat, "pushed to the bridge"));
            self.clients
                .send(ConnId::of(bridge), Notification::Push(Box::new(message)))
        });
        if !sent {
            self.tell_ladder(&pair, LadderInput::OutletFull { id });
        }
    }

    /// One line that says that messages wait. `asks`: no hook will carry them.
    pub(in crate::daemon) fn ring(&mut self, bell: u64, ids: Vec<EntryId>, asks: bool) {
        let bell = ConnId::of(bell);
        let has_hooks = self
            .clients
            .get(bell)
            .and_then(|bell| bell.hello.agent_pid)
            .is_some_and(|process| self.claude_processes.runs_hooks(process));
        let waiting: Vec<(&str, &str)> = ids
            .iter()
            .filter_map(|id| {
                let message = self.recorder.world().unsettled.get(id)?;
                Some((message.from.as_str(), id.as_str()))
            })
            .collect();
        if waiting.is_empty() {
            return;
        }
        let line = ring_line(&waiting, asks || !has_hooks);
        let rung = self.clients.send(bell, Notification::Ring { line });
        for id in &ids {
            self.following(id)
                .in_scope(|| tracing::debug!(rung, "announced by the doorbell"));
        }
        if !rung {
            for id in ids {
                if let Some(pair) = self.pair_of(&id) {
                    self.tell_ladder(&pair, LadderInput::OutletFull { id });
                }
            }
        }
    }
}
