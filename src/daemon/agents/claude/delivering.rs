//! Feeds inputs to the ladders to Claude and carries out their effects; their deadlines.

use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::core::agent::Agent;
use crate::core::delivery::LadderInput;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::wire::control::Refusal;

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
        let at = self.base.clock.moment();
        let claude = &mut self.agents.claude;
        let effects = self
            .deliveries
            .outbox
            .decide(|backlog| claude.apply(pair, input, backlog, &at));
        self.perform(Agent::Claude, effects)
    }

    /// As [`Self::claude_input`], where nobody asked: a refusal has been said to the operator.
    pub(in crate::daemon) fn tell_ladder(&mut self, pair: &RuntimeSession, input: LadderInput) {
        let _ = self.claude_input(pair, input);
    }

    /// Offers what has not been offered, by the best way there is.
    pub(in crate::daemon) fn pump_claude(&mut self) {
        if self.agents.claude.lets_expire() {
            // What waits for a Claude that never came expires too.
            for pair in self.deliveries.pairs_of_claude() {
                self.agents.claude.know(&pair);
            }
        }
        self.tell_all_ladders(&LadderInput::News);
    }

    /// Everything may be offered again: the record is a new one.
    pub(in crate::daemon) fn claude_forgets(&mut self) {
        self.tell_all_ladders(&LadderInput::NewContext);
    }

    pub(in crate::daemon) fn tell_all_ladders(&mut self, input: &LadderInput) {
        for pair in self.agents.claude.pairs() {
            self.tell_ladder(&pair, input.clone());
        }
    }

    pub(in crate::daemon) fn claude_deadline(&mut self) {
        let now_ms = self.base.clock.now_ms();
        if self
            .deliveries
            .next_ladder_ms(&self.agents.claude)
            .is_some_and(|at_ms| at_ms <= now_ms)
        {
            self.tell_all_ladders(&LadderInput::Tick);
            self.base.clients.status_changed();
        }
    }
}

impl Deliveries {
    /// The first pair, and those for which something waits.
    pub(in crate::daemon) fn pairs_of_claude(&self) -> BTreeSet<RuntimeSession> {
        let first = RuntimeSession::default();
        self.outbox
            .backlog()
            .pairs()
            .cloned()
            .chain([first])
            .collect()
    }

    /// When something about Claude happens by itself.
    pub(in crate::daemon) fn claude_next(
        &self,
        base: &Base,
        claude: &ClaudeLane,
    ) -> Option<Instant> {
        self.next_ladder_ms(claude)
            .map(|at_ms| base.clock.instant(at_ms))
    }

    fn next_ladder_ms(&self, claude: &ClaudeLane) -> Option<i64> {
        claude.next_ms(self.outbox.backlog())
    }
}
